"""The live index: taking, publishing, merging, snapshots, and what is left after the writer's sudden end."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import Ranks, random_visits, visit
from periplus.errors import CorruptFile, FolderInUse, NewerFormat
from periplus.index import Index, LiveIndex, build_index, check_index
from periplus.index.live.live_journal import Journal, JournalEntry, journal_path, repair_journal, scan_journal
from periplus.index.live.merge_timing import MergeKind
from periplus.index.segment import Segment
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.records import FetchRecord, Outcome
from periplus.settings import IndexSettings

SETTINGS = IndexSettings(publish_seconds=0.01)
SCORING = Scoring(static_weight=0.7, all_words_bonus=0.3, short_query=3)


def titles(index: Index) -> dict[str, str]:
    return {
        s.string("url", n): s.string("title", n) for s in index.segments for n in range(s.documents) if s.is_live[n]
    }


def find(index: Index, words: str) -> set[str]:
    tree = parse_query(words).tree
    assert tree is not None
    found = find_candidates(index, plan_query(index, tree, SCORING), 1000)
    pairs = zip(found.segments, found.documents, strict=True)
    return {index.segments[s].string("url", int(d)) for s, d in pairs}


def quiet(folder: Path) -> LiveIndex:
    return LiveIndex(folder, SETTINGS, background=False)


def test_add_update_and_delete(tmp_path: Path) -> None:
    with quiet(tmp_path) as live:
        live.add(visit("https://a.test/", "sea"))
        live.add(visit("https://b.test/", "land"))
        assert live.pending == 2
        assert live.publish()
        assert not live.publish()
        assert titles(Index.open(tmp_path)) == {"https://a.test/": "sea", "https://b.test/": "land"}
        live.add(visit("https://a.test/", "ocean"))
        live.delete("https://b.test/")
        live.delete("https://nowhere.test/")
        assert live.pending == 2
        live.publish()
        index = Index.open(tmp_path)
        assert titles(index) == {"https://a.test/": "ocean"}
        assert index.documents == 1
        assert find(index, "ocean") == {"https://a.test/"}
        assert find(index, "sea") == find(index, "land") == set()
        live.add(visit("https://b.test/", "land again"))
        live.publish()
        assert find(Index.open(tmp_path), "land") == {"https://b.test/"}
    assert check_index(tmp_path) == []


def test_the_last_word_before_publishing_counts(tmp_path: Path) -> None:
    with quiet(tmp_path) as live:
        live.add(visit("https://a.test/", "first"))
        live.delete("https://a.test/")
        live.delete("https://b.test/")
        live.add(visit("https://b.test/", "second"))
        live.publish()
        assert titles(Index.open(tmp_path)) == {"https://b.test/": "second"}


def test_pages_that_go_are_forgotten_and_failures_change_nothing(tmp_path: Path) -> None:
    pages = [visit(f"https://a.test/{n}", "sea") for n in range(4)]
    ends = [
        FetchRecord(pages[0].url, pages[0].key, Outcome.GONE, 2e6, 404),
        FetchRecord(pages[1].url, pages[1].key, Outcome.TIMEOUT, 2e6),
        visit(pages[2].url, "sea", noindex=True),
        FetchRecord("https://never.test/", 77, Outcome.GONE, 2e6, 404),
    ]
    with quiet(tmp_path) as live:
        for number, page in enumerate([*pages, *ends], 1):
            live.add(page, number)
        live.publish()
        assert live.record_count == live.manifest.record_count == 8
    assert set(titles(Index.open(tmp_path))) == {pages[1].url, pages[3].url}
    build_index([*pages, *ends], tmp_path / "whole", SETTINGS)
    assert set(titles(Index.open(tmp_path / "whole"))) == {pages[1].url, pages[3].url}


def test_taken_changes_survive_the_end_of_the_process(tmp_path: Path) -> None:
    live = quiet(tmp_path)
    live.add(visit("https://a.test/", "sea"))
    live.publish()
    live.add(visit("https://b.test/", "land \ud800"))
    live.delete("https://a.test/")
    live._stack.close()  # as if the process had ended: nothing published, nothing said
    with quiet(tmp_path) as again:
        assert again.pending == 2
    assert list(titles(Index.open(tmp_path))) == ["https://b.test/"]
    assert [path.stat().st_size for path in tmp_path.glob("journal-*.log")] == [12]


def test_a_torn_journal_keeps_every_whole_change(tmp_path: Path) -> None:
    path = journal_path(tmp_path, 3)
    journal = Journal(path)
    changes = [JournalEntry(record=visit(f"https://a.test/{n}", "sea")) for n in range(3)]
    ends = []
    for change in changes:
        journal.append(change)
        ends.append(path.stat().st_size)
    journal.close()
    whole = path.read_bytes()
    for cut in range(0, len(whole), 7):
        path.write_bytes(whole[:cut])
        torn = Journal(path)
        assert torn.entries == changes[: sum(end <= cut for end in ends)]
        torn.append(JournalEntry(deleted_key=9))
        torn.close()
        again = Journal(path)
        assert again.entries[-1] == JournalEntry(deleted_key=9)
        again.close()
    path.write_bytes(b"something else entirely")
    with pytest.raises(CorruptFile, match="journal"):
        Journal(path)
    path.write_bytes(whole[:8] + b"\x09\0\0\0")
    with pytest.raises(NewerFormat):
        Journal(path)


def test_every_flipped_bit_of_a_journal_is_an_error_and_the_other_changes_can_be_read(tmp_path: Path) -> None:
    path = journal_path(tmp_path, 3)
    journal = Journal(path)
    changes = [JournalEntry(deleted_key=key) for key in (5, 6, 7)]
    for change in changes:
        journal.append(change)
    journal.close()
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises((CorruptFile, NewerFormat)):
            Journal(path)
        assert path.read_bytes() == damaged
        if bit >= 8 * 12:
            assert len(scan_journal(path).entries) == 2
            assert repair_journal(path) == 2
            Journal(path).close()


def test_changes_that_a_power_failure_has_lost_end_a_journal(tmp_path: Path) -> None:
    path = journal_path(tmp_path, 3)
    journal = Journal(path)
    changes = [JournalEntry(record=visit(f"https://a.test/{n}", "sea " * 800)) for n in range(3)]
    ends = []
    for change in changes:
        journal.append(change)
        ends.append(path.stat().st_size)
    journal.close()
    whole = path.read_bytes()
    sector = ends[0] + -ends[0] % 512 + 512
    for lost in (whole[: ends[0]] + bytes(900), whole[:sector] + bytes(512) + whole[sector + 512 :]):
        path.write_bytes(lost)
        opened = Journal(path)
        assert opened.entries == changes[:1]
        opened.close()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with quiet(tmp_path), pytest.raises(FolderInUse):
        quiet(tmp_path)
    with quiet(tmp_path), pytest.raises(FolderInUse):
        build_index([], tmp_path, SETTINGS)


def test_readers_keep_their_snapshot_and_share_what_stays(tmp_path: Path) -> None:
    with quiet(tmp_path) as live:
        live.add(visit("https://a.test/", "sea", "old text"))
        live.publish()
        old = Index.open(tmp_path)
        for n in range(20):
            live.add(visit(f"https://b.test/{n}", "land"))
            live.publish()
        live.delete("https://a.test/")
        live.publish()
        middle = old.reopen()
        while live.merge():
            pass
        new = middle.reopen()
        assert middle.segments[0].files is old.segments[0].files
        assert titles(old) == {"https://a.test/": "sea"}
        assert old.segments[0].text(0) == b"old text"
        assert find(old, "sea") == {"https://a.test/"}
        assert find(middle, "sea") == set()
        assert len(titles(middle)) == len(titles(new)) == 20
        assert len(new.segments) < len(middle.segments)


def test_random_changes_end_as_a_dictionary_would(tmp_path: Path) -> None:
    chance = random.Random(5)
    pages = random_visits(5, 60)
    expected: dict[str, FetchRecord] = {}
    with quiet(tmp_path) as live:
        for step in range(200):
            page = chance.choice(pages)
            if chance.random() < 0.3:
                live.delete(page.url)
                expected.pop(page.url, None)
            else:
                page = visit(page.url, f"title{step}", page.page.text if page.page else "")
                live.add(page)
                expected[page.url] = page
            if chance.random() < 0.2:
                live.publish()
            if chance.random() < 0.1:
                live.merge()
        live.publish()
        while live.merge():
            pass
    index = Index.open(tmp_path)
    assert titles(index) == {url: page.page.title for url, page in expected.items() if page.page}
    assert check_index(tmp_path) == []
    for segment in index.segments:
        for n in np.flatnonzero(segment.is_live).tolist():
            page = expected[segment.string("url", n)].page
            assert page is not None
            assert segment.text(n).decode() == page.text


def test_many_dead_are_drawn_not_listed(tmp_path: Path) -> None:
    visits = [visit(f"https://a.test/{n}", f"page {n}") for n in range(4000)]
    build_index(visits, tmp_path, SETTINGS)
    with quiet(tmp_path) as live:
        for page in visits[:1100]:
            live.delete(page.url)
        live.publish()
        assert (tmp_path / live.manifest.deleted_file).is_file()
        index = Index.open(tmp_path)
        assert set(titles(index)) == {page.url for page in visits[1100:]}
        assert index.documents == 2900
        live.delete(visits[2000].url)
        live.publish()
    assert len(list(tmp_path.glob("dead-*.arrays"))) == 1
    assert Index.open(tmp_path).documents == 2899
    assert check_index(tmp_path) == []
    build_index([visits[0]], tmp_path, SETTINGS, append=True)
    assert Index.open(tmp_path).documents == 2900
    path = next(tmp_path.glob("dead-*.arrays"))
    raw = bytearray(path.read_bytes())
    raw[-70] ^= 4
    path.write_bytes(raw)
    with pytest.raises(CorruptFile, match="dead"):
        Index.open(tmp_path)
    assert any("dead" in fault for fault in check_index(tmp_path))


def test_what_dies_during_a_merge_is_dead_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from periplus.index.live import live_index as module

    with quiet(tmp_path) as live:
        for n in range(8):
            live.add(visit(f"https://a.test/{n}", "sea"))
            live.publish()
        real = module.merge_segments

        def meanwhile(*arguments: object) -> object:
            maps = real(*arguments)  # type: ignore[arg-type]
            live.delete("https://a.test/3")
            live.add(visit("https://a.test/4", "changed"))
            live.publish()
            return maps

        monkeypatch.setattr(module, "merge_segments", meanwhile)
        assert live.merge()
        index = Index.open(tmp_path)
        assert len(index.segments) == 2
        assert len(titles(index)) == index.documents == 7
        assert titles(index)["https://a.test/4"] == "changed"
        assert "https://a.test/3" not in titles(index)


def test_a_rebuild_takes_new_ranks_and_loses_nothing(tmp_path: Path) -> None:
    store = [visit(f"https://a.test/{n}", "sea") for n in range(50)]
    with quiet(tmp_path) as live:
        for number, page in enumerate(store, 1):
            live.add(page, number)
        live.publish()
        late = [visit(f"https://late.test/{n}", "sea") for n in range(3)]
        reads = []

        def visits(start: int) -> list[FetchRecord]:
            reads.append(start)
            found = store[start:]
            if not start:  # what comes in while the rebuild goes on
                store.extend(late)
                live.add(late[0], 51)
                live.publish()
            return found

        live.rebuild(visits, Ranks({store[7].key: 0.9}))
        assert reads == [0, 50]
        index = Index.open(tmp_path)
        assert index.documents == 53
        assert live.record_count == 53
        assert max(float(s.column("static").max()) for s in index.segments) == pytest.approx(0.9)
        assert len(index.segments) == 2


def test_a_page_becomes_searchable_by_itself_and_merges_follow(tmp_path: Path) -> None:
    seen: list[int] = []
    with LiveIndex(tmp_path, SETTINGS) as live:
        ended = threading.Event()

        def read() -> None:
            index = Index.open(tmp_path)
            while not ended.is_set():
                index = index.reopen()
                seen.append(index.documents)
                assert len(find(index, "sea")) == index.documents

        reader = threading.Thread(target=read)
        reader.start()
        for n in range(40):
            live.add(visit(f"https://a.test/{n}", "sea"))
            live.sync()
            time.sleep(0.005)
        limit = time.monotonic() + 60
        while (not seen or seen[-1] < 40) and time.monotonic() < limit and reader.is_alive():
            time.sleep(0.01)
        ended.set()
        reader.join()
        assert live.failure == ""
    assert seen[-1] == 40
    assert seen == sorted(seen)
    assert len(Index.open(tmp_path).segments) < 40
    assert check_index(tmp_path) == []


def test_several_processes_build_what_one_does(tmp_path: Path) -> None:
    visits = [visit(f"https://a.test/{n}", f"page {n}", "sea chart " * 30_000) for n in range(30)]
    settings = IndexSettings(memory_mb=64, workers=2)
    build_index(visits, tmp_path, settings)
    index = Index.open(tmp_path)
    assert len(index.segments) == 1  # Its parts were joined.
    assert set(titles(index)) == {page.url for page in visits}
    assert check_index(tmp_path) == []


def add_segments(live: LiveIndex, count: int) -> None:
    for n in range(count):
        live.add(visit(f"https://a.test/{n}", f"sea {n}"))
        live.publish()


def test_an_idle_index_is_merged_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.index.live.merge_timing.IDLE_SECONDS", 0.0)
    with quiet(tmp_path) as live:
        add_segments(live, 5)
        assert len(live.manifest.segments) == 5
    with LiveIndex(tmp_path, SETTINGS) as live:
        end = time.monotonic() + 60
        while len(live.manifest.segments) > 1 and time.monotonic() < end:
            time.sleep(0.02)
        assert len(live.manifest.segments) == 1
    assert titles(Index.open(tmp_path)) == {f"https://a.test/{n}": f"sea {n}" for n in range(5)}
    assert check_index(tmp_path) == []


@pytest.mark.parametrize("calls", range(5))
def test_a_merge_of_an_idle_index_is_given_up_when_it_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """calls: after so many steps of the merge, the index begins to close."""
    from periplus.index.live import live_index as module

    with quiet(tmp_path) as live:
        add_segments(live, 4)
        before = {path.name for path in tmp_path.iterdir()}
        real, steps = module.merge_segments, []

        def closing(
            folder: Path, segments: list[Segment], settings: IndexSettings, check: Callable[[], None]
        ) -> object:
            def step() -> None:
                steps.append(live.is_merging)
                if len(steps) > calls:
                    live._stopped.set()
                check()

            return real(folder, segments, settings, step)

        monkeypatch.setattr(module, "merge_segments", closing)
        assert live.merge(MergeKind.IDLE) is False
        assert steps == [True] * (calls + 1)
        assert not live.is_merging
        assert {path.name for path in tmp_path.iterdir()} == before
        live._stopped.clear()
        monkeypatch.setattr(module, "merge_segments", real)
        assert live.merge(MergeKind.IDLE) is True
    assert len(Index.open(tmp_path).segments) == 1
    assert len(titles(Index.open(tmp_path))) == 4
