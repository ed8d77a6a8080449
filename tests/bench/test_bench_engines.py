"""The engines of the benchmarks find the same documents for the same tokens, so that their times can be compared."""

from itertools import islice
from pathlib import Path

import pytest

from build import Row as BuildRow
from build import last_line as build_line
from corpus import KINDS, Asked, make_passages, make_queries, tokenise
from figures import overlap
from peers import Absent, load
from peers.ours import Ours, OursWhole
from query import Row, growth, last_line, race, rows_of

TEXTS = list(tokenise(p.text for p in islice(make_passages(40, 500, 10), 300)))
QUERIES = make_queries(TEXTS, 12)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "ours"
    built = Ours().build(TEXTS, folder)
    assert built.bytes > 0
    assert built.stored > 0
    return folder


def asked(kind: str) -> list[Asked]:
    return [query for query in QUERIES if query.kind == kind]


def matching(query: Asked) -> set[int]:
    """Look at every text."""
    padded = [f" {text} " for text in TEXTS]
    has = [[f" {term} " in text for term in query.terms] for text in padded]
    if query.kind == "phrase":
        return {n for n, text in enumerate(padded) if f" {' '.join(query.terms)} " in text}
    return {n for n, row in enumerate(has) if (all(row) if query.kind == "intersection" else any(row))}


@pytest.mark.parametrize("engine", [Ours, OursWhole])
@pytest.mark.parametrize("kind", ["union", "intersection", "phrase"])
def test_ours_finds_documents_that_match(engine: type[Ours], kind: str, ours: Path) -> None:
    opened = engine()
    opened.open(ours)
    opened.ready(asked(kind), 10)
    for query, hits in zip(asked(kind), opened.answers(), strict=True):
        right = matching(query)
        assert set(hits) <= right
        assert len(hits) == min(10, len(right))


@pytest.mark.parametrize("name", ["tantivy", "bm25s"])
def test_a_peer_agrees_with_ours(name: str, ours: Path, tmp_path: Path) -> None:
    peer = load(name)
    peer.build(TEXTS, tmp_path / name)
    peer.open(tmp_path / name)
    mine = Ours()
    mine.open(ours)
    for kind in sorted(peer.kinds - {"term", "phrase"}):
        raced = race([mine, peer], {kind: asked(kind)}, 1, 10)
        assert set(raced) == {("periplus", kind), (name, kind)}
        assert overlap(raced["periplus", kind][1], raced[name, kind][1]) > 0.85


def test_an_unknown_peer_is_absent() -> None:
    with pytest.raises(Absent, match="no such peer"):
        load("nothing")


def test_ratios_say_how_much_slower_a_peer_is() -> None:
    raced = {
        (engine, kind): ([factor * 1000] * 4, [[1]] * 4)
        for engine, factor in (("periplus", 2), ("tantivy", 12))
        for kind in KINDS
    }
    rows = rows_of(1_000, raced)
    assert last_line(rows) == "union 6.00x intersection 6.00x phrase 6.00x (mean, against tantivy)"
    assert {row.overlap for row in rows} == {1.0}


def test_growth_is_told_by_kind_and_engine() -> None:
    rows = [Row(n, "union", "periplus", 1, float(n), 1.0, 1.0, 1.0, 1.0, 1.0) for n in (10, 100, 1_000)]
    assert growth(rows) == [{"kind": "union", "engine": "periplus", "exponent": 1.0}]


def test_the_last_line_of_building_has_both_ratios() -> None:
    rows = [BuildRow(n, "tantivy", 1.0, 1.0, 1, 1, 1.25 * n, 0.9 * n, 1.0, 1.5 * n, 0, 0.8) for n in (1, 2)]
    expected = "build 2.50x documents/s, 3.00x by processor time, size without stored text 1.80x (against tantivy)"
    assert build_line(rows) == expected
