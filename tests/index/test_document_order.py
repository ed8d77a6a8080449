"""The order of documents in a segment: as it is set, after a build and after a merge, recorded and verified."""

from itertools import pairwise
from pathlib import Path

import pytest

from index.made_pages import Ranks, random_visits
from naive.engine import NaiveEngine
from periplus.arrays import ArrayFile, write_arrays
from periplus.index import Index, Segment, build_index, check_index
from periplus.index.index_manifest import SEGMENT_FORMAT
from periplus.index.merge.segment_merger import merge_segments
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.settings import IndexSettings

ORDERS = ("tiers", "rank", "site")
VISITS = random_visits(5, 150)
RANKS = {record.key: number % 40 / 40 for number, record in enumerate(VISITS)}
SCORING = Scoring(static_weight=0.7, all_words_bonus=0.3, short_query=3)
PARTS = ("lexicon", "postings", "documents", "text")


def rows(segment: Segment) -> list[tuple[float, str, bytes]]:
    """Static rank, host and URL of each document."""
    urls = [segment.string("url", n) for n in range(segment.documents)]
    hosts = [segment.string("hosts", int(number)) for number in segment.column("host")]
    return [(float(s), h, u.encode()) for s, h, u in zip(segment.column("static"), hosts, urls, strict=True)]


@pytest.mark.parametrize("order", ORDERS)
def test_documents_are_in_the_order_that_is_set(tmp_path: Path, order: str) -> None:
    build_index(VISITS, tmp_path, IndexSettings(order=order), Ranks(RANKS))
    assert check_index(tmp_path) == []
    segment = Index.open(tmp_path).segments[0]
    assert segment.order == order
    found = rows(segment)
    if order == "rank":
        assert found == sorted(found, key=lambda row: (-row[0], *row[1:]))
    elif order == "site":
        assert found == sorted(found, key=lambda row: row[1:])
    else:
        ends = [-(-tier * len(found) // 4) for tier in range(5)]
        tiers = [found[begin:end] for begin, end in pairwise(ends)]
        assert all(tier == sorted(tier, key=lambda row: row[1:]) for tier in tiers)
        ranks = [[rank for rank, _, _ in tier] for tier in tiers]
        assert all(min(better) >= max(worse) for better, worse in pairwise(ranks))


@pytest.mark.parametrize("order", ORDERS)
def test_results_are_those_of_the_naive_engine(tmp_path: Path, order: str) -> None:
    settings = IndexSettings(order=order)
    build_index(VISITS, tmp_path, settings, Ranks(RANKS))
    index, naive = Index.open(tmp_path), NaiveEngine(VISITS, settings, RANKS)
    for words in ("sea chart", '"sea light" OR fog', "+ship -bell", "harbour tide wind", "intitle:rope sail"):
        tree = parse_query(words).tree
        assert tree is not None
        found, expected = find_candidates(index, plan_query(index, tree, SCORING), 20), naive.search(tree, SCORING)
        best = sorted(expected.values(), reverse=True)[:20]
        assert found.total == len(expected)
        assert found.scores.tolist() == pytest.approx(best, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("order", ORDERS)
def test_a_merge_puts_documents_into_the_order_that_is_set(tmp_path: Path, order: str) -> None:
    """Whatever the order of the segments: those of an index that was built before the setting was changed."""
    ranks = Ranks({record.key: number / 200 for number, record in enumerate(VISITS)})
    segments = []
    for part, other in enumerate(ORDERS):
        build_index(VISITS[part::3], tmp_path / other, IndexSettings(order=other), ranks)
        segments.append(Segment(next((tmp_path / other).glob("seg-*"))))
    merge_segments(tmp_path / "merged", segments, IndexSettings(order=order))
    build_index(VISITS, tmp_path / "whole", IndexSettings(order=order), ranks)
    whole = next((tmp_path / "whole").glob("seg-*"))
    for part_name in PARTS:
        merged = (tmp_path / "merged" / f"{part_name}.arrays").read_bytes()
        assert merged == (whole / f"{part_name}.arrays").read_bytes(), part_name


@pytest.mark.parametrize(("order", "claimed"), [("tiers", "rank"), ("tiers", "site"), ("site", ""), ("rank", "")])
def test_check_finds_documents_that_are_not_in_their_order(tmp_path: Path, order: str, claimed: str) -> None:
    """Tiers need not be recorded: all segments of earlier versions have them."""
    build_index(VISITS, tmp_path, IndexSettings(order=order), Ranks(RANKS))
    path = next(tmp_path.glob("seg-*")) / "documents.arrays"
    file = ArrayFile(path, "documents")
    arrays = {name: file[name].copy() for name in file.sizes()}
    notes = {name: value for name, value in file.notes.items() if name != "order"}
    write_arrays(path, "documents", arrays, notes | ({"order": claimed} if claimed else {}), format=SEGMENT_FORMAT)
    faults = check_index(tmp_path)
    assert len(faults) == 1
    assert "documents are in order" in faults[0]
