"""Visits reported from outside: nothing acknowledged is lost, and the crawl acts on them."""

import multiprocessing
import os
import random
import shutil

import pytest
from shards_together import killed_in_move, together

from periplus.crawl import Crawler
from periplus.crawl.reported_visits import VisitReportReader
from periplus.errors import Overloaded
from periplus.hashing import fingerprint_text
from periplus.records import VisitReport
from periplus.signals import append_visit_reports, read_visit_counts, update_visit_counts
from periplus.signals.visit_counts import prune_visit_reports
from periplus.signals.visit_reports import LogPosition, log_files, read_visit_reports

A, B = "http://a.test/x", "http://b.test/y"


def urls(found):
    return [sighting.url for sighting in found]


def test_what_was_taken_comes_back_once(tmp_path):
    assert append_visit_reports(
        tmp_path, [VisitReport(A, 3, "d1", 5.0), VisitReport("nonsense"), VisitReport(B + "#part")]
    ) == (
        2,
        1,
    )
    found, position = read_visit_reports(tmp_path, LogPosition())
    assert (found[0], found[1].url, found[1].count) == (VisitReport(A, 3, "d1", 5.0), B, 1)
    assert read_visit_reports(tmp_path, position) == ([], position)
    append_visit_reports(tmp_path, [VisitReport(A)])
    assert urls(read_visit_reports(tmp_path, position)[0]) == [A]


@pytest.mark.parametrize(
    "record",
    [
        VisitReport("javascript:alert(1)"),
        VisitReport("http://a.test/" + "x" * 5_000),
        VisitReport(""),
        VisitReport("http://[::bad/"),
        VisitReport("file:///etc/passwd"),
    ],
)
def test_what_is_no_url_of_ours_is_refused(tmp_path, record):
    assert append_visit_reports(tmp_path, [record]) == (0, 1)
    assert not list(tmp_path.iterdir())


def test_numbers_and_digests_are_bounded(tmp_path):
    append_visit_reports(
        tmp_path, [VisitReport(A, -5, "é\n\0" + "d" * 999, 1e300), VisitReport(A, 10**15, "", float("nan"))]
    )
    (first, second), _ = read_visit_reports(tmp_path, LogPosition())
    assert first.count == 1
    assert len(first.digest) < 129
    assert first.digest.isascii()
    assert first.when < 1e11
    assert second.count == 1_000_000
    assert second.when > 0


def _append(folder, name):
    for number in range(40):
        append_visit_reports(folder, [VisitReport(f"http://{name}.test/{number}/{k}") for k in range(5)])


def test_many_may_write_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append, args=(tmp_path, f"w{n}")) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found, _ = read_visit_reports(tmp_path, LogPosition(), 1 << 30)
    assert len(set(urls(found))) == len(found) == 4 * 40 * 5


def test_torn_and_damaged_lines_cost_only_themselves(tmp_path):
    append_visit_reports(tmp_path, [VisitReport(A)])
    _, path = log_files(tmp_path / "passive")[0]
    whole = path.read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 2):
        path.write_bytes(whole + whole[:cut])
        before, position = read_visit_reports(tmp_path, LogPosition())
        assert urls(before) == [A]
        append_visit_reports(tmp_path, [VisitReport(B)])
        assert urls(read_visit_reports(tmp_path, position)[0]) == [B]
        assert urls(read_visit_reports(tmp_path, LogPosition())[0]) == [A, B]
    chance = random.Random(1)
    data = bytearray(path.read_bytes())
    for _ in range(200):
        data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        assert set(urls(read_visit_reports(tmp_path, LogPosition())[0])) <= {A, B}


def test_files_rotate_and_go_when_they_were_read(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.signals.visit_reports._MAX_FILE_BYTES", 300)
    for number in range(20):
        append_visit_reports(tmp_path, [VisitReport(A, 2), VisitReport(f"http://c.test/{number}")])
    assert len(log_files(tmp_path / "passive")) > 5
    found, position = read_visit_reports(tmp_path, LogPosition(), 1 << 20)
    assert len(found) == 40
    prune_visit_reports(tmp_path, position, kept=400)
    left = log_files(tmp_path / "passive")
    assert len(left) < 4
    assert left[-1][0] == position.file
    known = read_visit_counts(tmp_path)
    assert known.lookup(fingerprint_text(A)) == 40
    assert known.lookup(fingerprint_text("http://c.test/3")) == 1
    assert known.lookup(7) == 0
    prune_visit_reports(tmp_path, position, kept=0)
    assert read_visit_counts(tmp_path).lookup(fingerprint_text(A)) == 40


def test_reporters_are_counted_once_however_often_they_report(tmp_path):
    day = 20_000 * 86_400.0
    reports = [VisitReport(A, 1_000, "", day, 7) for _ in range(300)]
    reports += [VisitReport(B, 1, "", day, source) for source in range(1, 11)]
    append_visit_reports(tmp_path, reports)
    known = read_visit_counts(tmp_path)
    by_url = dict(zip(known.keys.tolist(), known.reporters().tolist(), strict=True))
    assert by_url[fingerprint_text(A)] == pytest.approx(1.0, abs=0.05)
    assert by_url[fingerprint_text(B)] == pytest.approx(10.0, abs=1.0)
    assert known.lookup(fingerprint_text(A)) == 300_000


def test_reports_fade_and_late_ones_do_not_add_up(tmp_path):
    first, period = 20_000 * 86_400.0, 28 * 86_400.0
    for step in range(4):  # One reporter, for ever.
        append_visit_reports(tmp_path, [VisitReport(A, 9, "", first + step * period, 7)])
        assert update_visit_counts(tmp_path, 0)
    many = [VisitReport(B, 1, "", first, source) for source in range(1, 41)]
    append_visit_reports(tmp_path, many)  # Too old to count, however many say so.
    update_visit_counts(tmp_path, 0)
    known = read_visit_counts(tmp_path)
    by_url = dict(zip(known.keys.tolist(), known.reporters().tolist(), strict=True))
    assert 1.5 < by_url[fingerprint_text(A)] < 2.1
    assert by_url[fingerprint_text(B)] == 0
    assert known.lookup(fingerprint_text(B)) == 40


def test_counts_are_brought_up_to_date_once_in_a_while(tmp_path):
    assert not update_visit_counts(tmp_path)
    append_visit_reports(tmp_path, [VisitReport(A)])
    assert update_visit_counts(tmp_path)
    append_visit_reports(tmp_path, [VisitReport(A)])
    assert not update_visit_counts(tmp_path)
    assert update_visit_counts(tmp_path, 0)
    assert not update_visit_counts(tmp_path, 0)
    assert read_visit_counts(tmp_path).lookup(fingerprint_text(A)) == 2
    (tmp_path / "passive" / "counts.arrays").write_bytes(b"damaged")
    assert update_visit_counts(tmp_path, 0)
    assert read_visit_counts(tmp_path).lookup(fingerprint_text(A)) == 2


@pytest.mark.parametrize("bite", [1, 100, 3_000, 1 << 20])
def test_small_bites_come_to_the_same(tmp_path, monkeypatch, bite):
    monkeypatch.setattr("periplus.signals.visit_reports._MAX_FILE_BYTES", 2_500)
    for number in range(40):
        append_visit_reports(
            tmp_path, [VisitReport(f"http://a.test/{number}/{part}") for part in range(number % 9 + 1)]
        )
    (whole, end), found, position = read_visit_reports(tmp_path, LogPosition(), 1 << 20), [], LogPosition()
    for _ in range(1_000):
        more, after = read_visit_reports(tmp_path, position, bite)
        if after == position:
            break
        found, position = found + more, after
    assert (found, position) == (whole, end)
    assert len(found) == sum(number % 9 + 1 for number in range(40))


def test_a_queue_that_nobody_reads_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.signals.visit_reports.MAX_LOG_BYTES", 1_000)
    while sum(os.path.getsize(path) for _, path in log_files(tmp_path / "passive")) < 900:
        append_visit_reports(tmp_path, [VisitReport(A)])
    with pytest.raises(Overloaded):
        append_visit_reports(tmp_path, [VisitReport(A)] * 10)
    assert sum(os.path.getsize(path) for _, path in log_files(tmp_path / "passive")) <= 1_000


def test_reported_pages_are_fetched_the_popular_first(scripted, tmp_path, read_stored):
    scripted.put("http://a.test/", "<p>start")
    for number in range(6):
        scripted.put(f"http://a.test/hidden{number}", f"<p>hidden page {number}, which nobody links to")
    settings = scripted.settings(tmp_path, "a.test", scope="domain")
    folder = tmp_path / "data"
    append_visit_reports(folder, [VisitReport(f"http://a.test/hidden{number}", 10**number) for number in range(6)])
    append_visit_reports(folder, [VisitReport("http://elsewhere.test/", 5)])
    Crawler(folder, settings, ["http://a.test/"]).run()
    asked = [url for url in scripted.requests if "hidden" in url]
    assert asked == [f"http://a.test/hidden{number}" for number in reversed(range(6))]
    assert not any("elsewhere" in url for url in scripted.requests)
    Crawler(folder, settings).run()
    assert len(read_stored(folder, settings)) == 7


def test_a_changed_digest_is_looked_at_again_and_an_old_one_not(scripted, tmp_path, read_stored):
    scripted.put("http://a.test/", '<p>start <a href="/p">p</a> <a href="/q">q</a>', ETag='"1"')
    scripted.put("http://a.test/p", "<p>first words of this page", ETag='"p1"')
    scripted.put("http://a.test/q", "<p>other words of that page", ETag='"q1"')
    settings = scripted.settings(tmp_path, "a.test")
    folder = tmp_path / "data"
    append_visit_reports(folder, [VisitReport("http://a.test/p", 1, "one"), VisitReport("http://a.test/q", 1, "one")])
    Crawler(folder, settings, ["http://a.test/"]).run()
    assert len(scripted.requests) == 3
    scripted.put("http://a.test/p", "<p>quite different words by now", ETag='"p2"')
    append_visit_reports(folder, [VisitReport("http://a.test/p", 1, "two"), VisitReport("http://a.test/q", 1, "one")])
    final = Crawler(folder, settings).run()
    assert scripted.requests[3:] == ["http://a.test/p"]
    assert scripted.headers[3]["If-None-Match"] == '"p1"'
    newest = [visit for visit in read_stored(folder, settings) if visit.url.endswith("/p")][-1]
    assert newest.revisit
    assert "different" in newest.page.text
    assert final.pages == 3
    append_visit_reports(folder, [VisitReport("http://a.test/p", 1, "three", when=newest.when - 100)])
    Crawler(folder, settings).run()
    assert len(scripted.requests) == 4


def test_the_place_in_the_queue_is_kept_with_the_snapshot(scripted, tmp_path):
    scripted.put("http://a.test/", "<p>start")
    settings = scripted.settings(tmp_path, "a.test")
    folder = tmp_path / "data"
    crawler = Crawler(folder, settings, ["http://a.test/"])
    while crawler.step():
        pass
    crawler.checkpoint()
    append_visit_reports(folder, [VisitReport("http://a.test/late")])
    crawler._state.read_reports(crawler._store)
    # The process dies here: nothing of what was heard is in the snapshot, neither the URL nor the place.
    crawler._release()
    scripted.put("http://a.test/late", "<p>late words")
    Crawler(folder, settings).run()
    assert "http://a.test/late" in scripted.requests


def test_digests_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.crawl.reported_visits._MAX_DIGESTS", 10)
    passive = VisitReportReader(tmp_path)
    for number in range(100):
        passive._is_changed(number, VisitReport(A, 1, "x"))
    assert len(passive.state.digests) == 10


def test_every_shard_hears_of_its_own_hosts(scripted, tmp_path):
    hosts = [f"host{number}.test" for number in range(8)]
    for host in hosts:
        scripted.put(f"http://{host}/", "<p>start")
        scripted.put(f"http://{host}/hidden", f"<p>hidden page of {host}")
    settings = scripted.settings(tmp_path, *hosts)
    append_visit_reports(tmp_path / "data", [VisitReport(f"http://{host}/hidden", 2, "one") for host in hosts])
    with together(tmp_path / "data", settings, [f"http://{host}/" for host in hosts], 3) as crawl:
        crawl.turns()
        assert sorted(url for url in scripted.requests if "hidden" in url) == [f"http://{h}/hidden" for h in hosts]
        scripted.requests.clear()
        append_visit_reports(tmp_path / "data", [VisitReport(f"http://{host}/hidden", 1, "two") for host in hosts])
        for shard in crawl.shards:
            shard._state.read_reports(shard._store)
        crawl.turns()
        assert sorted(scripted.requests) == [f"http://{host}/hidden" for host in hosts]


def lagging(scripted, folder):
    """Crawl eight hosts in three shards, then report a page of each; only the first shard has read that."""
    hosts = [f"host{number}.test" for number in range(8)]
    for host in hosts:
        scripted.put(f"http://{host}/", f"<p>start of {host}")
        scripted.put(f"http://{host}/hidden", f"<p>hidden page of {host}")
    settings = scripted.settings(folder, *hosts)
    data = folder / "data"
    with together(data, settings, [f"http://{host}/" for host in hosts], 3) as crawl:
        crawl.turns()
        append_visit_reports(data, [VisitReport(f"http://{host}/hidden", 2, "one") for host in hosts])
        while crawl.shards[0]._state.read_reports(crawl.shards[0]._store):
            pass
        crawl.shards[0].checkpoint()
        assert crawl.shards[1]._state.visit_reports.position < crawl.shards[0]._state.visit_reports.position
        for shard in crawl.shards:
            shard._release()  # killed: nothing more is read, and what was read is in the first snapshot only
    return settings, data, [f"http://{host}/hidden" for host in hosts]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_reports_that_a_shard_has_not_read_move_with_its_hosts(scripted, tmp_path, count):
    settings, data, hidden = lagging(scripted, tmp_path)
    with together(data, settings, (), count) as crawl:
        crawl.turns()
    assert sorted(url for url in scripted.requests if "hidden" in url) == hidden
    scripted.requests.clear()
    # What was reported to one shard is known to the one that has the host now.
    append_visit_reports(data, [VisitReport(url, 1, "two") for url in hidden])
    with together(data, settings, (), 1 if count > 1 else 2) as crawl:
        crawl.turns()
    assert sorted(scripted.requests) == hidden


def test_no_report_is_lost_when_a_move_is_killed(scripted, tmp_path, monkeypatch):
    """The process dies at the n-th file that the move replaces; files that were read go as early as they can."""
    monkeypatch.setattr(prune_visit_reports, "__defaults__", (0,))
    settings, data, hidden = lagging(scripted, tmp_path)
    for after in range(0, 60, 3):
        copy = tmp_path / str(after)
        shutil.copytree(data, copy)
        died = killed_in_move(monkeypatch, copy, settings, 1, after)
        scripted.requests.clear()
        with together(copy, settings, (), 1) as crawl:
            crawl.turns()
        assert sorted(url for url in scripted.requests if "hidden" in url) == hidden, after
        if not died:
            break
    assert 6 <= after < 57


def test_the_first_shard_keeps_what_others_have_not_read(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.signals.visit_reports._MAX_FILE_BYTES", 100)
    monkeypatch.setattr(prune_visit_reports, "__defaults__", (0,))
    settings, data, _ = lagging(scripted, tmp_path)
    for number in range(5):
        append_visit_reports(data, [VisitReport(f"http://host{number}.test/more", 1)])
    with together(data, settings, (), 3) as crawl:
        first = crawl.shards[0]
        while first._state.read_reports(first._store):
            pass
        before = log_files(data / "passive")
        first.checkpoint()
        assert log_files(data / "passive") == before
        for shard in (*crawl.shards[1:], first):
            while shard._state.read_reports(shard._store):
                pass
            shard.checkpoint()
        assert len(log_files(data / "passive")) < len(before)
