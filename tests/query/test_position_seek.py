"""Positions that are passed over eight at a time, compared with one at a time."""

import random
from typing import Any

import numpy as np
import pytest
from numba import njit

from index.made_pages import visit
from periplus.index import Index, Segment, build_index
from periplus.index.dense_blocks.kernels import find_dense, is_dense
from periplus.index.kernels.positions import keep_followed, read_positions, skip_position_deltas
from periplus.index.kernels.postings_format import SPARSE, group_shift
from periplus.index.kernels.postings_reader import (
    block_offsets,
    block_span,
    enter_block,
    find_block_header,
    group_offsets,
    make_tiny_postings,
    seek_posting,
)
from periplus.query.kernels.position_seek import (
    TOO_LONG,
    has_followed,
    pass_dense,
    pass_neighbours,
    seek_document,
    skip_deltas,
)
from periplus.settings import IndexSettings

PLAIN = ("fog", "bell", "tide", "rope")
"""Words that are in a page once or twice, in the text only."""
RICH = ("sea", "ship")
"""Words that some pages have often, in titles, or far behind."""


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> Segment:
    """Words of which most pages have some, others of which few pages have any, and runs of blocks without them."""
    folder, chance = tmp_path_factory.mktemp("positions"), random.Random(5)

    def text(number: int) -> str:
        share = 0.7 if number // 640 % 3 else 0.05
        words = [word for word in PLAIN for _ in range(2) if chance.random() < share]
        words += [word for word in RICH for _ in range(chance.choice([1, 1, 5, 9])) if chance.random() < share / 2]
        words += [f"w{chance.randrange(400)}" for _ in range(chance.choice([3, 9, 300]))]
        chance.shuffle(words)
        return " ".join(words)

    visits = [
        visit(f"https://sea.test/{number}", "sea" if chance.random() < 0.1 else "", text(number))
        for number in range(9_000)
    ]
    build_index(visits, folder, IndexSettings())
    return Index.open(folder).segments[0]


def compare(postings: Any, entry: Any, documents: Any, shift: int) -> Any:
    """Return how many documents have the term, and -1 for the first whose positions are found elsewhere."""
    found, first, at, position, known = 0, np.int64(-1), np.int64(0), np.int64(0), False
    for document in documents:
        header = find_block_header(postings, entry, document >> 6)
        if header < 0:
            continue
        begin, stop = block_span(postings, entry, header)
        own_at, own_position = block_offsets(postings, entry, header)
        _, code, _, expected = seek_posting(postings, own_at, stop, own_position, document & 63)
        if not known or first > header or first >> shift != header >> shift:
            first = header >> shift << shift
            at, position = group_offsets(postings, entry, header >> shift)
        at, position = pass_neighbours(postings, entry, first, header, at, position)
        first, known = header, True
        inside, there = enter_block(postings, entry, header, at, position)
        if inside != begin or there != own_position:
            return -1, document
        if (expected > 0 or code > 0) and is_dense(postings.stream, inside, stop):
            number = find_dense(postings.stream, inside, document & 63)[3]
            place = pass_dense(postings.stream, postings.positions, 1, inside, 0, number, there)
            if place != expected:
                return -1, document
            found += 1
        elif expected > 0 or code > 0:
            posting, place = seek_document(postings, inside, there, document & 63)
            if postings.stream[posting] & 63 != document & 63 or place != expected:
                return -1, document
            found += 1
    return found, -1


def test_positions_are_where_one_at_a_time_finds_them(segment: Segment) -> None:
    run: Any = njit(compare)
    chance, seen = random.Random(8), 0
    for word in (*PLAIN, *RICH, "w7"):
        entry = segment.find_term(word.encode())
        assert entry
        if entry.encoding == SPARSE:
            continue
        for share in (1.0, 0.3, 0.01):
            documents = np.array([n for n in range(segment.documents) if chance.random() < share], np.int64)
            found, wrong = run(segment.postings, entry, documents, group_shift(entry.encoding))
            assert wrong == -1, (word, share)
            seen += found
    assert seen > 10_000


def test_deltas_of_any_bytes_are_skipped_alike() -> None:
    def both(data: Any, at: int, count: int) -> Any:
        return skip_deltas(data, at, count), skip_position_deltas(data, at, count)

    run: Any = njit(both)
    chance = random.Random(2)
    for _ in range(2_000):
        least = chance.choice([0, 0, 185, 250])
        data = np.array(
            [
                min(255, max(0, chance.randint(least, 255) - chance.choice([0, 65])))
                for _ in range(chance.randint(1, 40))
            ],
            np.uint8,
        )
        ours, expected = run(data, chance.randrange(len(data)), chance.randrange(50))
        assert ours == expected


def test_few_positions_are_compared_as_all_are() -> None:
    def both(lists: Any, other: int, few: int, others: int, offset: int) -> Any:
        starts, positions = np.zeros(3, np.int64), np.zeros(3, np.int64)
        read_positions(lists, 0, few - 1, 32, starts)
        size = read_positions(lists, other, others - 1, 32, positions)
        expected = keep_followed(starts, few, positions, size, offset) > 0
        return has_followed(lists.positions, 0, few, other, others, offset), expected

    run: Any = njit(both)
    chance, seen = random.Random(4), {0: 0, 1: 0, TOO_LONG: 0}
    for _ in range(3_000):
        few, others, highest = chance.randint(1, 3), chance.randint(1, 3), chance.choice([3, 9, 191, 200])
        data = np.array([chance.randint(0, highest) for _ in range(16 if chance.random() < 0.9 else 11)], np.uint8)
        found, expected = run(make_tiny_postings()._replace(positions=data), 4, few, others, chance.randint(-4, 4))
        assert found in (TOO_LONG, int(expected))
        seen[found] += 1
    assert min(seen.values()) > 200
