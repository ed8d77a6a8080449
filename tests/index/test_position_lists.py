"""Positions of escaped postings: as by definition, in both editions, and safe on any bytes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive import position_lists as naive
from periplus.index.kernels.inversion import FIELD_SHIFT
from periplus.index.kernels.positions import read_positions, skip_positions
from periplus.index.kernels.postings_reader import PostingsReader, make_tiny_postings
from periplus.index.position_lists.kernels import write_list

OFFSETS = (
    st.integers(1, 29)
    .flatmap(lambda bits: st.lists(st.integers(0, (1 << bits) - 1), min_size=1, max_size=40, unique=True))
    .map(sorted)
)
FIELDS = st.dictionaries(st.integers(0, 6), OFFSETS, min_size=1, max_size=4)
RUNS = st.integers(1, 400).map(lambda count: list(range(count)))
BYTES = st.binary(max_size=40) | st.lists(st.sampled_from([0, 63, 64, 79, 80, 127, 255]), max_size=24).map(bytes)
_ROOM = 4_096


def segment_of(raw: bytes, packs: bool) -> PostingsReader:
    """Return the postings of a segment with some positions."""
    return make_tiny_postings()._replace(positions=np.frombuffer(raw, np.uint8), is_packed=int(packs))


def read(raw: bytes, mask: int, packs: bool) -> tuple[list[int], int]:
    """Return the positions of an escaped posting, and where they end."""
    lists, out = segment_of(raw, packs), np.zeros(_ROOM, np.int64)
    used = read_positions(lists, 0, 3, mask, out)
    return out[:used].tolist(), skip_positions(lists.positions, lists.is_packed, 0, 3, mask)


@given(OFFSETS | RUNS, st.integers(0, 6))
def test_positions_are_written_as_by_definition(offsets: list[int], field: int) -> None:
    tokens = np.array([field << FIELD_SHIFT | offset for offset in offsets], np.uint32)
    out = np.full(8 + 5 * len(offsets), 0xFF, np.uint8)
    offset_bits = np.uint32((1 << FIELD_SHIFT) - 1)
    end = write_list(tokens, np.uint64(0), np.uint64(len(tokens)), offset_bits, out, 0)
    assert out[:end].tobytes() == naive.write(offsets)


@given(FIELDS, st.booleans(), st.binary(max_size=9))
def test_positions_are_read_as_they_were_written(fields: dict[int, list[int]], packs: bool, after: bytes) -> None:
    ordered = sorted(fields.items())
    write = naive.write if packs else naive.write_bytes
    raw = b"".join(write(offsets) for _, offsets in ordered)
    mask = sum(1 << field for field in fields)
    expected = [field << FIELD_SHIFT | offset for field, offsets in ordered for offset in offsets]
    assert read(raw + after, mask, packs) == (expected, len(raw))


@given(BYTES, st.integers(1, 127), st.booleans())
def test_any_bytes_are_read_within_the_array(raw: bytes, mask: int, packs: bool) -> None:
    found, end = read(raw, mask, packs)
    assert len(found) <= 7 * (8 * len(raw) + 1)
    assert 0 <= end <= len(raw)


def test_positions_beyond_the_room_are_left_out() -> None:
    raw = naive.write(list(range(5, 50)))
    out = np.zeros(7, np.int64)
    lists = segment_of(raw + b"\x09", True)
    assert read_positions(lists, 0, 3, 1, out) == 7
    assert out.tolist() == list(range(5, 12))
    assert read_positions(lists, 0, 3, 3, out) == 7
    assert skip_positions(lists.positions, lists.is_packed, 0, 3, 3) == len(raw) + 1
