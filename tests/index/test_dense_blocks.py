"""Dense blocks: written as by definition, read as they were written, and safe on any bytes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from naive import dense_blocks as naive
from naive.dense_blocks import Posting
from periplus.index.dense_blocks import kernels
from periplus.index.kernels.positions import skip_positions
from periplus.index.kernels.postings_format import (
    BITSET,
    BLOCK,
    BODY_ONLY,
    ESCAPED,
    LONG_BLOCK,
    TermPostings,
    write_blocked,
)
from periplus.index.kernels.postings_reader import block_bitset, make_tiny_postings, seek_posting
from periplus.index.kernels.postings_scan import read_postings
from periplus.index.kernels.term_dictionary import TermEntry
from periplus.query.kernels.position_seek import pass_dense

PAD = bytes(8)
"""Bytes behind a stream, as a mapped one has."""
MASKS = st.sampled_from([BODY_ONLY]) | st.integers(1, 127)


@st.composite
def blocks(draw: Any) -> list[Posting]:
    """Make the postings of one block."""
    offsets = draw(st.sets(st.integers(0, 63), min_size=1) | st.just(set(range(BLOCK))))
    codes = draw(st.sampled_from([(0, 1, 2), (0, 1, 2, 3), (3,)]))
    masks = draw(st.sampled_from([st.just(BODY_ONLY), st.just(5), MASKS]))
    postings = []
    for offset in sorted(offsets):
        code = draw(st.sampled_from(codes))
        is_escaped = code == ESCAPED
        postings.append(
            Posting(
                offset, code, draw(masks) if is_escaped else BODY_ONLY, draw(st.integers(1, 255)) if is_escaped else 0
            )
        )
    return postings


def term_postings(postings: list[Posting], impact: int) -> TermPostings:
    """Return a term that is in one block; impacts that are not written are `impact`."""
    columns = np.array(postings, np.int64).T
    impacts = np.where(columns[1] == ESCAPED, columns[3], impact).astype(np.uint8)
    return TermPostings(
        columns[0].astype(np.int32),
        columns[1].astype(np.uint8),
        columns[2].astype(np.uint8),
        impacts,
        np.zeros(len(postings) + 1, np.int64),
        *(np.zeros(1, kind) for kind in (np.int64, np.int32, np.uint8, np.int8, np.uint8)),
    )


def written(postings: list[Posting]) -> bytes:
    """Return the bytes of the block that is written for some postings."""
    out = np.full(4_096, 0xFF, np.uint8)
    end, headers = write_blocked(term_postings(postings, 7), len(postings), BITSET, out, 0, np.zeros(3, np.int64), 0)
    assert headers == 1
    return out[4:end].tobytes()


def stream_of(raw: bytes) -> Any:
    """Return bytes as a stream, behind which a few more can be read."""
    stream = np.frombuffer(raw + PAD, np.uint8)[: len(raw)]
    assert not stream.flags.writeable
    return stream


@given(blocks())
@example([Posting(offset, 3, 4, 9) for offset in range(BLOCK)])
@example([Posting(63, 3, 5, 9)])
@example([Posting(offset, 0) for offset in range(BLOCK)])
def test_blocks_are_written_as_by_definition(postings: list[Posting]) -> None:
    block = naive.write(postings)
    long = bytes([len(block) - LONG_BLOCK - 1]) if len(block) > LONG_BLOCK else b""
    assert written(postings) == long + block


@given(blocks())
@example([Posting(offset, 3, 4, 9) for offset in range(BLOCK)])
@example([Posting(offset, 0) for offset in range(12)])
def test_blocks_are_read_as_they_were_written(postings: list[Posting]) -> None:
    block = naive.write_dense(postings)
    stream, expected = stream_of(block), {posting.offset: posting for posting in postings}
    assert kernels.is_dense(stream, 0, len(stream))
    assert block_bitset(stream, 0, len(stream)) == sum(1 << posting.offset for posting in postings)
    assert kernels.dense_bytes(stream, 0, len(stream), BLOCK - 1) == len(postings)
    for offset in range(BLOCK):
        impact, code, mask, number = kernels.find_dense(stream, 0, offset)
        if offset not in expected:
            assert impact < 0
            continue
        assert (offset, code, mask, impact) == expected[offset]
        assert number == sum(other < offset for other in expected)


@given(blocks())
def test_all_postings_of_a_term_are_read(postings: list[Posting]) -> None:
    block = naive.write(postings)
    long = len(block) > LONG_BLOCK
    raw = bytes([0, 9, 0, (LONG_BLOCK if long else len(block) - 1)])
    raw += (bytes([len(block) - LONG_BLOCK - 1]) if long else b"") + block
    lists = make_tiny_postings()._replace(
        stream=stream_of(raw), plain_impact=np.arange(ESCAPED * BLOCK).astype(np.uint8)
    )
    documents, columns = np.zeros(BLOCK, np.int32), [np.zeros(BLOCK, np.uint8) for _ in range(3)]
    entry = TermEntry(len(postings), 0, len(raw), 0, BITSET, 0, 1, 0)
    assert read_postings(lists, entry, documents, *columns) == len(postings)
    for n, posting in enumerate(postings):
        impact = posting.impact if posting.code == ESCAPED else posting.code * BLOCK + posting.offset
        assert (documents[n], columns[0][n] & ESCAPED) == posting[:2]
        assert (columns[1][n], columns[2][n]) == (posting.mask, impact)


@given(blocks(), st.integers(1, 127), st.integers(0, (1 << BLOCK) - 1))
def test_scores_are_the_sums_of_impacts(postings: list[Posting], fields: int, chosen: int) -> None:
    stream = stream_of(naive.write_dense(postings))
    plain_impact = np.arange(1, 1 + ESCAPED * BLOCK).astype(np.uint8)
    plain_impact.flags.writeable = False
    expected, some = np.zeros(BLOCK, np.float32), np.zeros(BLOCK, np.float32)
    for offset, code, mask, impact in postings:
        score = np.float32(0.5) * np.float32(impact if code == ESCAPED else plain_impact[code * BLOCK + offset])
        expected[offset] = score if fields & mask else 0
        some[offset] = score if chosen >> offset & 1 else 0
    scores = np.zeros(BLOCK, np.float32)
    found, highest = kernels.score_dense(stream, 0, plain_impact, 0, fields, np.float32(0.5), scores, np.float32(0))
    assert scores.tolist() == expected.tolist()
    assert highest == expected.max()
    assert found == sum(1 << posting.offset for posting in postings if fields & posting.mask)
    scores[:] = 0
    kernels.score_dense_chosen(stream, 0, plain_impact, 0, np.float32(0.5), scores, np.uint64(chosen))
    assert scores.tolist() == some.tolist()


@given(blocks(), st.data())
def test_positions_begin_where_one_at_a_time_finds_them(postings: list[Posting], data: Any) -> None:
    positions, starts = b"", []
    for posting in postings:
        starts.append(len(positions))
        if posting.code < ESCAPED:
            positions += bytes(data.draw(st.sampled_from([3, 9, 191])) for _ in range(posting.code + 1))
        else:
            positions += bytes([7]) * posting.mask.bit_count()
    lists = make_tiny_postings()._replace(
        stream=stream_of(naive.write_dense(postings)), positions=stream_of(positions + PAD)
    )
    first = data.draw(st.integers(0, len(postings) - 1))
    for number in range(first, len(postings)):
        stream, size = lists.stream, len(lists.stream)
        assert pass_dense(stream, lists.positions, 1, 0, first, number, starts[first]) == starts[number]
        posting = postings[number]
        assert seek_posting(lists, 0, size, 0, posting.offset) == (
            *(posting.impact, posting.code, posting.mask),
            starts[number],
        )
        end = skip_positions(lists.positions, 1, starts[number], posting.code, posting.mask)
        assert end == ([*starts, len(positions)])[number + 1]


@given(blocks(), st.data())
def test_a_block_of_other_bytes_is_refused_or_one(postings: list[Posting], data: Any) -> None:
    raw = bytearray(naive.write_dense(postings))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(1, len(raw) - 1))] = data.draw(st.integers(0, 255))
    last = data.draw(st.integers(0, 200))
    stream = stream_of(bytes(raw))
    count = kernels.dense_bytes(stream, 0, len(stream), last)
    if count < 0:
        return
    found = [(offset, *kernels.find_dense(stream, 0, offset)) for offset in range(BLOCK)]
    kept = [Posting(offset, code, mask, impact) for offset, impact, code, mask, _ in found if impact >= 0]
    assert len(kept) == count
    assert max(posting.offset for posting in kept) <= last
    assert all(posting.impact and posting.mask for posting in kept if posting.code == ESCAPED)


@pytest.mark.parametrize("size", [1, 5, 9, 10, 14, 65, 66, 67])
@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("byte", [0, 1, 255])
def test_a_block_of_another_size_is_refused(kind: int, byte: int, size: int) -> None:
    raw = bytes([kind << 6 | 63]) + bytes([byte]) * (size - 1)
    is_block = kind == naive.ALL and size == 66 and byte == 1
    assert (kernels.dense_bytes(stream_of(raw), 0, size, BLOCK - 1) >= 0) == is_block
