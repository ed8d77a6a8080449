"""Merging: a merged segment is the one that a build of its live documents makes, byte for byte."""

import random
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import Ranks, random_visits
from naive.merge import naive_tokens
from periplus.index import Segment, build_index
from periplus.index.kernels import postings_merge
from periplus.index.live.merge_timing import IDLE_SECONDS, MergeKind, MergeTiming
from periplus.index.merge import postings_merger
from periplus.index.merge.segment_merger import SegmentSize, choose_idle_merge, choose_merge, merge_segments
from periplus.settings import IndexSettings

SETTINGS = IndexSettings()


@pytest.mark.parametrize(("parts", "dying"), [(1, 0.0), (1, 0.5), (2, 0.0), (3, 0.3), (5, 0.9), (4, 1.0)])
@pytest.mark.parametrize("tokens", [1, 300, 1 << 30])
def test_merged_is_as_if_built_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int, dying: float, tokens: int
) -> None:
    """However few tokens are in hand at a time."""
    monkeypatch.setattr(postings_merger, "_BYTES_PER_TOKEN", SETTINGS.memory_mb * 1_000_000 / tokens)
    visits = random_visits(parts, 130)
    chance = random.Random(parts)
    # Ranks differ, for pages of equal rank may go into either of two tiers.
    ranks = Ranks({v.key: n / 200 for n, v in enumerate(chance.sample(visits, len(visits)))})
    dead = {number for number in range(len(visits)) if chance.random() < dying}
    folder, segments = tmp_path, []
    for part in range(parts):
        own = visits[part::parts]
        build_index(own, folder / f"{part}", SETTINGS, ranks)
        path = next((folder / f"{part}").glob("seg-*"))
        gone = {visits[number].key for number in dead}
        marked = np.array([n for n, key in enumerate(Segment(path).column("key")) if int(key) in gone], np.int64)
        segments.append(Segment(path, marked))
    maps = merge_segments(folder / "merged", segments, SETTINGS)
    kept = [v for number, v in enumerate(visits) if number not in dead]
    build_index(kept, folder / "whole", SETTINGS, ranks)
    whole = next((folder / "whole").glob("seg-*"), None)
    if whole is None:
        assert Segment(folder / "merged").documents == 0
        return
    for part in ("lexicon", "postings", "documents", "text"):
        one = (folder / "merged" / f"{part}.arrays").read_bytes()
        assert one == (whole / f"{part}.arrays").read_bytes(), part
    keys = Segment(whole).column("key")
    for segment, numbers in zip(segments, maps, strict=True):
        for document in range(segment.documents):
            new = int(numbers[document])
            assert segment.is_live[document] == (new >= 0)
            assert new < 0 or keys[new] == segment.column("key")[document]


def test_tokens_of_the_kernels_are_those_of_the_naive_twin(tmp_path: Path) -> None:
    build_index(random_visits(7, 100), tmp_path, SETTINGS)
    segment = Segment(next(tmp_path.glob("seg-*")))
    numbers = np.full(segment.documents + 64, -1, np.int64)
    numbers[: segment.documents] = np.arange(segment.documents)[::-1]
    numbers[3] = -1
    counts, lengths = np.zeros(100, np.int64), np.zeros((100, 7), np.int32)
    held = segment.terms()
    every = np.arange(len(held.frequency))
    part, totals = postings_merge.MergeSource(held, 0, len(every), every, numbers), np.zeros(len(every), np.int64)
    postings_merge.measure_tokens(segment.postings, part, lengths, totals)
    postings_merge.count_tokens(segment.postings, part, counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    terms, positions = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint32)
    postings_merge.collect_tokens(segment.postings, part, 0, starts[:-1].copy(), terms, positions)
    expected = naive_tokens(segment, numbers)
    in_order = zip(terms.tolist(), np.repeat(range(100), counts).tolist(), positions.tolist(), strict=True)
    assert sorted(in_order) == sorted(expected)
    starts, tokens = np.concatenate([[0], np.cumsum(totals)]), np.zeros(int(totals.sum()), np.uint64)
    postings_merge.gather_tokens(segment.postings, part, 0, starts[:-1].copy(), tokens)
    found = postings_merge.sort_by_document(starts, tokens)
    owner = np.repeat(every, np.diff(found.starts))
    assert list(zip(owner.tolist(), found.documents.tolist(), found.positions.tolist(), strict=True)) == expected
    for document in range(100):
        places = [p for _, d, p in expected if d == document]
        for field in range(7):
            last = max((p & (1 << 29) - 1 for p in places if p >> 29 == field), default=-1)
            assert lengths[document, field] == last + 1


def sizes(*live: int) -> dict[str, SegmentSize]:
    return {f"s{n}": SegmentSize(count, count) for n, count in enumerate(live)}


def test_segments_of_one_size_are_merged_when_there_are_enough() -> None:
    assert choose_merge(sizes(*[5] * 7), SETTINGS) == []
    assert len(choose_merge(sizes(*[5] * 8), SETTINGS)) == 8
    assert len(choose_merge(sizes(*[5] * 8, 100_000), SETTINGS)) == 8
    assert choose_merge(sizes(*[4**n * 300 for n in range(8)]), SETTINGS) == []


def test_a_merge_stays_within_memory() -> None:
    assert choose_merge(sizes(*[300_000] * 9), SETTINGS) == []
    assert len(choose_merge(sizes(*[100_000] * 40), SETTINGS)) == 10


@pytest.mark.parametrize(("dead", "chosen"), [(10, []), (50, ["s"])])
def test_a_segment_with_many_dead_is_written_anew(dead: int, chosen: list[str]) -> None:
    assert choose_merge({"s": SegmentSize(100, 100 - dead)}, SETTINGS) == chosen


def test_merging_goes_on_until_sizes_differ() -> None:
    """Adding one document at a time leaves few segments, and each document is written a few times only."""
    segments: dict[str, SegmentSize] = {}
    written = 0
    for number in range(20_000):
        segments[f"n{number}"] = SegmentSize(1, 1)
        while names := choose_merge(segments, SETTINGS):
            total = sum(segments.pop(name).live for name in names)
            segments[f"m{number}"] = SegmentSize(total, total)
            written += total
    assert len(segments) < 40
    assert written < 25 * 20_000


@pytest.mark.parametrize(
    ("live", "count"),
    [
        ((), 0),
        ((5, 5), 0),
        ((5, 5, 5), 3),
        ((20_000, 20_000, 30_000, 30_000, 1, 15), 6),
        ((40_000, 4_000, 4_000, 2_000), 4),
        ((40_001, 4_000, 4_000, 2_000), 3),
        ((100_000, 1, 1), 0),
        ((100_000, 1, 1, 1), 3),
        ((300_000, 300_000, 300_000, 300_000), 3),
    ],
)
def test_an_idle_index_has_as_few_segments_as_is_worthwhile(live: tuple[int, ...], count: int) -> None:
    chosen = choose_idle_merge(sizes(*live), SETTINGS)
    assert len(chosen) == count
    assert sorted(live)[:count] == sorted(live[int(name[1:])] for name in chosen)


@pytest.mark.parametrize("pause", [1, 7, 100])
def test_an_index_that_is_often_idle_is_not_written_again_and_again(pause: int) -> None:
    """Documents are added one by one, with a time in which the index is idle after every few of them."""
    segments: dict[str, SegmentSize] = {}
    written = 0
    for number in range(20_000):
        segments[f"n{number}"] = SegmentSize(1, 1)
        for choose in (choose_merge, choose_idle_merge) if number % pause == 0 else (choose_merge,):
            while names := choose(segments, SETTINGS):
                total = sum(segments.pop(name).live for name in names)
                segments[f"m{number}-{len(names)}"] = SegmentSize(total, total)
                written += total
    assert written < 60 * 20_000
    while names := choose_idle_merge(segments, SETTINGS):
        total = sum(segments.pop(name).live for name in names)
        segments["last"] = SegmentSize(total, total)
    assert len(segments) <= 8


def test_each_commit_and_each_idle_time_are_followed_by_one_merge() -> None:
    timing = MergeTiming()
    assert timing.due(1, 100.0) is MergeKind.TIER
    assert timing.due(1, 100.0) is None
    assert timing.due(1, 100.0 + IDLE_SECONDS) is MergeKind.IDLE
    assert timing.due(1, 200.0) is None
    assert timing.due(2, 200.0) is MergeKind.TIER
    assert timing.due(3, 200.0 + IDLE_SECONDS) is MergeKind.TIER
    assert timing.due(3, 200.1 + IDLE_SECONDS) is None
    assert timing.due(3, 200.0 + 2 * IDLE_SECONDS) is MergeKind.IDLE
