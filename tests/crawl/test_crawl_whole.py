"""Whole crawls of a small fake web, compared with what is true of it."""

from collections import Counter

import pytest

from periplus.crawl import Crawler, CrawlStatistics
from periplus.errors import BadInput, BadUrl, DiskFailed, FolderInUse, NoNetwork
from periplus.fakeweb import FakeWeb, FakeWebPlan, run_in_thread
from periplus.records import Outcome
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from periplus.store import PageStore


def pages_asked(server) -> dict[str, int]:
    return {url: n for url, n in server.requests().counts.items() if not url.endswith("/robots.txt")}


def test_a_crawl_finds_the_truth(server, fast, fake_web, tmp_path, read_stored, urls_of):
    truth, settings = fake_web.truth(), fast()
    seen: list[CrawlStatistics] = []
    with Crawler(tmp_path / "data", settings, truth.seeds) as crawler:
        final = crawler.run(seen.append)
    visits = read_stored(tmp_path / "data", settings)
    by_url = {visit.url: visit for visit in visits}
    asked = pages_asked(server)

    assert {page.url for page in truth.pages} <= urls_of(visits)
    assert not truth.blocked & asked.keys()
    assert all(by_url[url].outcome is Outcome.ROBOTS for url in truth.blocked & by_url.keys())
    assert not truth.unlisted & asked.keys()
    assert max(asked.values()) == 1
    for copy, original in truth.duplicates.items():
        if copy in by_url:
            pair = (by_url[copy], by_url[original])
            canonical = by_url[copy].page.canonical if by_url[copy].page else ""
            assert pair[0].duplicate_of == original or pair[1].duplicate_of == copy or canonical == original
    for url in truth.missing & by_url.keys():
        assert by_url[url].outcome is Outcome.GONE
    for url, target in truth.redirects.items():
        if url in by_url:
            assert by_url[url].outcome is Outcome.REDIRECT
            assert not target or target in by_url
    assert all(visit.page is None for visit in visits if visit.duplicate_of)
    assert final.pages == sum(visit.page is not None and not visit.page.kind.endswith("-list") for visit in visits)
    assert final.waiting == final.busy == 0
    assert seen[-1].pages == final.pages
    assert final.errors["robots"] >= len(truth.blocked & by_url.keys())
    assert len(final.recent) == 5


def test_stored_pages_can_be_read_back(server, fast, fake_web, tmp_path):
    settings = fast(pages=5)
    Crawler(tmp_path / "data", settings, fake_web.seeds).run()
    with PageStore.open(tmp_path / "data" / "store", settings.store) as store:
        pages = [visit for visit in store.records() if visit.page and visit.page.kind == "text/html"]
        assert len(pages) == 5
        for visit in pages:
            assert len(store.read_response(visit).body) == visit.bytes


def test_trouble_does_not_stop_a_crawl(make_settings, tmp_path, read_stored, urls_of):
    web = FakeWeb(FakeWebPlan(seed=3, hosts=3, pages=30, trouble=("slow", "broken", "trap", "lying")))
    truth = web.truth()
    with run_in_thread(web) as server:
        server.write_hosts_file(tmp_path / "hosts")
        settings = make_settings(tmp_path / "hosts", host_pages=40)
        settings = Settings(
            fetch=FetchSettings(
                allow=settings.fetch.allow,
                hosts_file=settings.fetch.hosts_file,
                timeout=3,
                slow_seconds=2,
                max_bytes=300_000,
            ),
            frontier=FrontierSettings(delay=0, max_delay=0, back_off=0.01, max_failures=2, retries=1),
            crawl=settings.crawl,
        )
        final = Crawler(tmp_path / "data", settings, truth.seeds).run()
    visits = read_stored(tmp_path / "data", settings)
    good = {page.url for page in truth.pages}
    assert good <= urls_of(visits)
    assert final.given_up > 0
    hosts = Counter(visit.url.split("/")[2] for visit in visits if visit.page and visit.page.kind == "text/html")
    assert max(hosts.values()) <= 40


def test_hosts_are_left_alone_between_requests(fake_web, tmp_path):
    web = FakeWeb(FakeWebPlan(seed=5, hosts=4, pages=24))
    with run_in_thread(web, log=True) as server:
        server.write_hosts_file(tmp_path / "hosts")
        settings = Settings(
            fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(tmp_path / "hosts")),
            frontier=FrontierSettings(delay=0.05, delay_factor=0, max_delay=0.05),
            crawl=CrawlSettings(scope="web", pages=30),
        )
        Crawler(tmp_path / "data", settings, web.seeds).run()
        log = server.requests().log
    last: dict[str, float] = {}
    for request in log:
        if not request.path.startswith("/robots.txt"):
            assert request.time - last.get(request.host, -1.0) >= 0.05
            last[request.host] = request.time
    assert len(log) > 30


def test_limits_count_what_is_already_there(server, fast, fake_web, tmp_path, read_stored):
    data = tmp_path / "data"
    assert Crawler(data, fast(pages=12), fake_web.seeds).run().pages == 12
    assert Crawler(data, fast(pages=12)).run().pages == 12
    assert Crawler(data, fast(pages=7)).run().pages == 12
    before = server.requests().total
    assert Crawler(data, fast(pages=20)).run().pages == 20
    assert server.requests().total > before
    assert max(pages_asked(server).values()) == 1


def test_time_is_a_limit_too(server, fast, fake_web, tmp_path):
    first = Crawler(tmp_path / "data", fast(minutes=0.001), fake_web.seeds).run()
    assert first.waiting > 0
    assert Crawler(tmp_path / "data", fast(pages=first.pages + 5)).run().pages == first.pages + 5


def test_ctrl_c_leaves_a_usable_folder(server, fast, fake_web, tmp_path, read_stored, urls_of):
    data, settings = tmp_path / "data", fast()

    def interrupt(found: CrawlStatistics) -> None:
        if found.pages > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Crawler(data, settings, fake_web.seeds) as crawler:
        crawler.run(interrupt)
    Crawler(data, settings).run()
    assert {page.url for page in fake_web.truth().pages} <= urls_of(read_stored(data, settings))
    assert sum(count - 1 for count in pages_asked(server).values()) <= settings.fetch.connections


def test_depth_and_scope_are_kept(server, fast, fake_web, tmp_path, read_stored):
    settings = fast(depth=1, scope="host", sitemaps=False, feeds=False)
    Crawler(tmp_path / "data", settings, fake_web.seeds[:1]).run()
    visits = read_stored(tmp_path / "data", settings)
    assert {visit.depth for visit in visits} <= {0, 1}
    host = fake_web.seeds[0].split("/")[2]
    assert {visit.url.split("/")[2].removeprefix("www.") for visit in visits} == {host.removeprefix("www.")}


def test_sitemaps_are_read_when_wanted(server, fast, fake_web, tmp_path, read_stored):
    for wanted in (True, False):
        settings = fast(pages=40, sitemaps=wanted, feeds=wanted)
        Crawler(tmp_path / str(wanted), settings, fake_web.seeds).run()
        kinds = {visit.page.kind for visit in read_stored(tmp_path / str(wanted), settings) if visit.page}
        assert any(kind.endswith("-list") for kind in kinds) is wanted


def test_stopping_is_graceful_and_resumable(server, fast, fake_web, tmp_path, read_stored, urls_of):
    data, settings = tmp_path / "data", fast()
    crawler = Crawler(data, settings, fake_web.seeds)
    for _ in range(30):
        crawler.step()
    crawler.stop()
    first = crawler.run()
    assert first.busy == 0
    Crawler(data, settings).run()
    visits = read_stored(data, settings)
    assert {page.url for page in fake_web.truth().pages} <= urls_of(visits)
    assert max(pages_asked(server).values()) == 1


def test_a_second_stop_is_at_once(server, fast, fake_web, tmp_path, read_stored, urls_of):
    data, settings = tmp_path / "data", fast()
    crawler = Crawler(data, settings, fake_web.seeds)
    while crawler.statistics().busy < 3:
        crawler.step()
    crawler.stop()
    crawler.stop()
    assert not crawler.step()
    crawler.close()
    Crawler(data, settings).run()
    assert {page.url for page in fake_web.truth().pages} <= urls_of(read_stored(data, settings))


def test_a_bad_seed_is_named_and_nothing_written(fast, tmp_path):
    for bad in ("not a url", "irc://a.test/", "http://"):
        with pytest.raises(BadUrl, match=bad):
            Crawler(tmp_path / "data", fast(), ["http://fine.test/", bad])
    assert not (tmp_path / "data").exists()


def test_a_crawl_needs_a_seed_once(fast, tmp_path):
    with pytest.raises(BadInput, match="no crawl"):
        Crawler(tmp_path / "data", fast())


def test_one_crawler_at_a_time(fast, fake_web, tmp_path):
    with (
        Crawler(tmp_path / "data", fast(), fake_web.seeds),
        pytest.raises(FolderInUse),
    ):
        Crawler(tmp_path / "data", fast())


def test_nobody_can_be_reached(server, fast, fake_web, tmp_path):
    data = tmp_path / "data"
    frontier = FrontierSettings(delay=0, back_off=0.01, retries=1)
    cut_off = Settings(frontier=frontier)
    with pytest.raises(NoNetwork, match=r"one\.invalid"):
        Crawler(data, cut_off, ["http://one.invalid/", "http://two.invalid/"]).run()
    # The folder stays usable: with the network back, the same seeds are tried anew.
    with pytest.raises(NoNetwork):
        Crawler(data, cut_off).run()
    assert Crawler(data, fast(pages=3), fake_web.seeds).run().pages == 3


def test_a_full_disk_ends_cleanly(server, fast, fake_web, tmp_path, monkeypatch, read_stored, urls_of):
    data, settings = tmp_path / "data", fast()
    crawler = Crawler(data, settings, fake_web.seeds)
    append, left = crawler._store.append, [50]

    def failing(visit, fetched=None):
        left[0] -= 1
        if left[0] < 0:
            raise DiskFailed("The disk is full: cannot write pages.")
        return append(visit, fetched)

    monkeypatch.setattr(crawler._store, "append", failing)
    with pytest.raises(DiskFailed, match="full"):
        crawler.run()
    Crawler(data, settings).run()
    assert {page.url for page in fake_web.truth().pages} <= urls_of(read_stored(data, settings))
    twice = sum(count - 1 for count in pages_asked(server).values())
    assert twice <= settings.fetch.connections
