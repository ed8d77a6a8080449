"""Long blocks that say both of their lengths in a byte, those with shared positions, and long skips between blocks."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from index.made_pages import visit
from naive import dense_blocks as naive
from periplus.index import Index, Segment, build_index, check_index, replace_index
from periplus.index.dense_blocks.kernels import are_shared, dense_bytes, find_dense, is_dense
from periplus.index.kernels.postings_format import (
    SIZED,
    SKIP_STEP,
    UNSIZED,
    long_length,
    sized_first,
    sized_positions,
    skipped_blocks,
)
from periplus.index.kernels.postings_reader import block_span, find_block_header, pass_dense
from periplus.settings import IndexSettings

DOCUMENTS = 9_000
SETTINGS = IndexSettings(order="site")


def test_a_byte_says_both_lengths() -> None:
    seen = set()
    for length in range(4, 260):
        for positions in range(1, 300):
            first = sized_first(length, positions)
            assert bool(first) == (length <= 11 and length - 1 <= positions <= length + 10)
            if first:
                assert SIZED <= first < 256
                assert long_length(first, SIZED) == length
                assert sized_positions(first) == positions
                seen.add(first)
    assert len(seen) == 96
    assert [long_length(first, SIZED) for first in range(SIZED)] == list(range(4, SIZED + 4))
    assert [long_length(first, UNSIZED) for first in range(256)] == list(range(4, 260))


@pytest.mark.parametrize("impacts", [[7] * 64, list(range(1, 65)), [1] * 63 + [255]])
def test_blocks_of_all_documents_are_read_in_both_editions(impacts: list[int]) -> None:
    for raw in (naive.write_all(impacts, 5, shares=True), naive.write_earlier_all(impacts, 5)):
        stream: Any = np.frombuffer(raw + bytes(8), np.uint8)[: len(raw)]
        assert is_dense(stream, 0, len(raw))
        assert dense_bytes(stream, 0, len(raw), 63) == 64
        assert [find_dense(stream, 0, offset) for offset in range(64)] == [
            (impact, naive.ESCAPED, 5, offset) for offset, impact in enumerate(impacts)
        ]
    assert dense_bytes(stream, 0, len(raw), 62) < 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of a host whose words are in every URL, with words of every frequency, some of them far apart."""
    folder, chance = tmp_path_factory.mktemp("shared"), random.Random(3)

    def text(number: int) -> str:
        words = [f"w{n}" for n in range(9) if chance.random() < 2.0**-n for _ in range(chance.randint(1, 5))]
        words += ["4711"] * (number < 300 or number > DOCUMENTS - 300)
        chance.shuffle(words)
        return " ".join([*words, f"n{number}"])

    pages = [visit(f"https://shared.test/page/p{n:04}", f"Page {n % 7}", text(n)) for n in range(DOCUMENTS)]
    build_index(pages[: DOCUMENTS // 2], folder, SETTINGS)
    build_index(pages[DOCUMENTS // 2 :], folder, SETTINGS, append=True)
    replace_index(folder, Index.open(folder).segments, SETTINGS)
    return folder


@pytest.fixture(scope="module")
def segment(folder: Path) -> Segment:
    [segment] = Index.open(folder).segments
    return segment


def test_positions_that_all_documents_share_are_written_once(segment: Segment) -> None:
    entry = segment.find_term(b"test")
    assert entry is not None
    assert entry.frequency == DOCUMENTS
    stream, shared = segment.postings.stream, 0
    for block in range(DOCUMENTS // 64):
        at, stop = block_span(segment.postings, entry, find_block_header(segment.postings, entry, block))
        if is_dense(stream, at, stop) and are_shared(stream, at):
            assert pass_dense(segment.postings, at, 0, 63, 77) == 77
            shared += 1
    assert shared == DOCUMENTS // 64
    expected, impact, mask = segment.positions(entry, 0)
    assert len(expected) == 1
    for document in range(0, DOCUMENTS, 37):
        found, its_impact, its_mask = segment.positions(entry, document)
        assert (found.tolist(), its_mask) == (expected.tolist(), mask)
        assert its_impact
    assert impact


def test_terms_are_found_behind_long_skips(segment: Segment) -> None:
    entry = segment.find_term(b"4711")
    assert entry is not None
    heads = segment.postings.stream[entry.begin + 2 : entry.begin + 2 + entry.headers].tolist()
    assert max(skipped_blocks(head) for head in heads if head & 15 == SKIP_STEP) > SKIP_STEP
    found = [document for document in range(DOCUMENTS) if segment.positions(entry, document)[1]]
    assert len(found) == entry.frequency


def test_all_of_it_is_consistent(folder: Path) -> None:
    assert check_index(folder) == []
