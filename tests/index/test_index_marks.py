"""Simhashes that a crawl left with pages: kept with their texts, through merges, and used to fold results."""

import os
from pathlib import Path

import msgspec
import numpy as np
import pytest

from index.made_pages import random_visits, visit
from periplus.index import Index, Segment, build_index
from periplus.index.builder.spool import Spool
from periplus.index.merge.segment_merger import merge_segments
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import IndexSettings, Settings

SETTINGS = IndexSettings()


def marks(segment: Segment) -> dict[str, int]:
    return {segment.string("url", n): int(segment.simhashes[n]) for n in range(segment.documents)}


def test_marks_stay_with_their_pages_and_survive_merging(tmp_path: Path) -> None:
    visits = [
        msgspec.structs.replace(page, simhash=(1 << 63) + n if n % 3 else 0)
        for n, page in enumerate(random_visits(4, 90))
    ]
    expected = {page.url: page.simhash for page in visits}
    segments = []
    for part in range(3):
        build_index(visits[part::3], tmp_path / f"{part}", SETTINGS)
        segments.append(Index.open(tmp_path / f"{part}").segments[0])
        assert marks(segments[-1]).items() <= expected.items()
    merge_segments(tmp_path / "merged", segments, SETTINGS)
    assert marks(Segment(tmp_path / "merged")) == expected


def test_a_segment_without_marks_says_that_none_are_known(tmp_path: Path) -> None:
    build_index(random_visits(4, 10), tmp_path, SETTINGS)
    segment = Index.open(tmp_path).segments[0]
    assert not segment.simhashes.any()
    assert len(segment.simhashes) == 10


@pytest.mark.parametrize("mark", [0, 77])
def test_pages_of_one_mark_are_folded(tmp_path: Path, mark: int) -> None:
    texts = [" ".join(f"lighthouse{n} keeper{k}" for k in range(40)) for n in range(2)]
    pages = [visit(f"https://{name}.test/page", "tower", text) for name, text in zip("ab", texts, strict=True)]
    build_index([msgspec.structs.replace(page, simhash=mark) for page in pages], tmp_path / "index", SETTINGS)
    found = Searcher.open(tmp_path, Settings(folder=str(tmp_path))).search(Query("tower"))
    assert len(found.hits) == (1 if mark else 2)
    assert len(found.hits[0].similar) == (1 if mark else 0)


@pytest.mark.parametrize("most", [0, 5, 1 << 20])
def test_a_spool_gives_back_what_it_took(tmp_path: Path, most: int) -> None:
    with Spool(tmp_path / "some.part", most) as spool:
        for piece in (b"sea", b"", b"chart" * 3):
            spool.add(piece)
        assert spool.size == 18
        assert spool.array().tobytes() == b"sea" + b"chart" * 3
        assert spool.array().dtype == np.uint8
    assert list(tmp_path.iterdir()) == []


def test_a_spool_writes_more_pieces_than_one_call_takes(tmp_path: Path) -> None:
    pieces = [bytes((number % 251,)) * (number % 7) for number in range(1_700)]
    with Spool(tmp_path / "some.part", sum(map(len, pieces)) - 1) as spool:
        for piece in pieces:
            spool.add(piece)
        assert (tmp_path / "some.part").stat().st_size == spool.size
        assert spool.array().tobytes() == b"".join(pieces)


def test_a_spool_goes_on_where_a_write_was_partial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.writev", lambda file, pieces: os.write(file, b"".join(pieces)[:4]))
    with Spool(tmp_path / "some.part", 0) as spool:
        for piece in (b"sea", b"chart" * 3):
            spool.add(piece)
        assert spool.array().tobytes() == b"sea" + b"chart" * 3
