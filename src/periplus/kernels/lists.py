"""Reading a segment's packed postings: entries of a term, postings of an entry, positions of a posting."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.invert import BLOCK, FIELD_SHIFT, FIELDS, GROUP, PLAIN, SHORT
from periplus.kernels.lexicon import get_number

__all__ = [
    "BODY",
    "Lists",
    "find_positions",
    "get_entry",
    "get_place",
    "look_up",
    "make_tiny_lists",
    "read_documents",
    "read_positions",
    "seek_posting",
    "skip_positions",
]

BODY = 1 << (FIELDS - 1)
"""The mask of a plain posting."""


class Lists(NamedTuple):
    """The arrays of a segment that matching reads; see `invert.Postings` for the first seven."""

    stream: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint8]
    dense_max: npt.NDArray[np.uint8]
    dense_start: npt.NDArray[np.uint32]
    dense_position: npt.NDArray[np.uint32]
    plain_impact: npt.NDArray[np.uint8]
    static: npt.NDArray[np.float32]
    """Static rank by document."""
    block_static: npt.NDArray[np.float32]
    """The highest static rank in each block."""
    live: npt.NDArray[np.uint64]
    """The set of documents in each block that are not deleted."""


@njit(cache=True, nogil=True)
def get_place(data: Any, at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a number of a position; give it and the place after it."""
    value = np.int64(data[at])
    if value < SHORT:
        return value, at + 1
    if value < 255:
        return SHORT + ((value - SHORT) << 8) + np.int64(data[at + 1]), at + 2
    value, at = get_number(data, at + 1)
    return value + SHORT, at


@njit(cache=True, nogil=True)
def get_entry(stream: Any, at: int) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Read the head of an entry; give blocks since the last, kind, and where its postings begin and end."""
    head, at = get_number(stream, at)
    kind = head & 3
    if kind == 0:
        return head >> 2, 0, at + 2, at + 2 + np.int64(stream[at])
    if kind == 1 and stream[at] >> 6 == PLAIN:
        return head >> 2, 1, at, at + 3
    return head >> 2, kind, at, at + kind


@njit(cache=True, nogil=True)
def find_positions(lists: Any, at: int, position: int, wanted: int) -> int:  # pragma: no cover - compiled
    """Give where the positions of the entry whose postings begin at `wanted` are, from those of the entry at `at`."""
    while True:
        _, _, begin, stop = get_entry(lists.stream, at)
        if begin == wanted:
            return position
        while begin < stop:
            code = np.int64(lists.stream[begin]) >> 6
            mask = np.int64(lists.stream[begin + 1]) if code == PLAIN else np.int64(BODY)
            position = skip_positions(lists.positions, position, code, mask)
            begin += 3 if code == PLAIN else 1
        at = stop


@njit(cache=True, nogil=True)
def skip_positions(data: Any, at: int, code: int, mask: int) -> int:  # pragma: no cover - compiled
    """Pass over one posting's positions."""
    if code < PLAIN:
        for _ in range(code + 1):
            _, at = get_place(data, at)
        return at
    while mask:
        mask &= mask - 1
        count, at = get_place(data, at)
        for _ in range(count):
            _, at = get_place(data, at)
    return at


@njit(cache=True, nogil=True)
def read_positions(data: Any, at: int, code: int, mask: int, out: Any) -> int:  # pragma: no cover - compiled
    """Read one posting's positions, each with its field, into `out`; give how many. Those beyond its room are left."""
    used = 0
    for field in range(FIELDS):
        if not (mask >> field) & 1:
            continue
        count = code + 1
        if code == PLAIN:
            count, at = get_place(data, at)
        place = np.int64(0)
        for _ in range(count):
            step, at = get_place(data, at)
            place += step
            if used < len(out):
                out[used] = (field << FIELD_SHIFT) | place
                used += 1
    return used


@njit(cache=True, nogil=True)
def seek_posting(
    lists: Lists, at: int, stop: int, position: int, offset: int
) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Find the posting at `offset` within an entry; give its place (-1 if none), code, fields and positions' place."""
    while at < stop:
        byte = np.int64(lists.stream[at])
        code = byte >> 6
        mask = np.int64(lists.stream[at + 1]) if code == PLAIN else np.int64(BODY)
        if byte & 63 == offset:
            return at, code, mask, position
        if position >= 0:
            position = skip_positions(lists.positions, position, code, mask)
        at += 3 if code == PLAIN else 1
    return -1, 0, 0, 0


@njit(cache=True, nogil=True)
def look_up(
    lists: Lists, place: tuple[int, int, int, int, int, int], documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Find one term in some documents, given in ascending order.

    Gives for each: its fields (0 if it is not there), its impact, the posting's code and where its positions are.
    """
    _, at, end, size_at, position, row = place
    found = np.zeros((len(documents), 4), np.int64)
    i, passed, group = 0, 0, at
    block = np.int64(-1)
    while i < len(documents):
        if row >= 0:
            block = documents[i] // BLOCK
            at, stop = np.int64(lists.dense_start[row, block]), np.int64(lists.dense_start[row, block + 1])
            there = np.int64(lists.dense_position[row, block])
        else:
            if at >= end:
                break
            if passed == GROUP:
                size, size_at = get_number(lists.sizes, size_at)
                position += size
                passed, group = 0, at
            step, _, at, stop = get_entry(lists.stream, at)
            block += step
            passed += 1
            there = np.int64(-1)
        while i < len(documents) and documents[i] // BLOCK < block:
            i += 1
        while i < len(documents) and documents[i] // BLOCK == block:
            offset = documents[i] % BLOCK
            if there < 0:
                there = find_positions(lists, group, position, at)
            posting, code, mask, spot = seek_posting(lists, at, stop, there, offset)
            if posting >= 0:
                plain = (block * PLAIN + code) * BLOCK + offset
                impact = lists.stream[posting + 2] if code == PLAIN else lists.plain_impact[plain]
                found[i, 0], found[i, 1], found[i, 2], found[i, 3] = mask, impact, code, spot
            i += 1
        at = stop
    return found


@njit(cache=True, nogil=True)
def read_documents(
    lists: Lists, place: tuple[int, int, int, int, int, int]
) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Give all documents of a term, in ascending order."""
    frequency, at, _, _, _, row = place
    documents = np.zeros(frequency, np.int32)
    n = 0
    block = np.int64(-1)
    while n < frequency:
        if row >= 0:
            block += 1
            at, stop = np.int64(lists.dense_start[row, block]), np.int64(lists.dense_start[row, block + 1])
        else:
            step, _, at, stop = get_entry(lists.stream, at)
            block += step
        while at < stop and n < frequency:
            byte = np.int64(lists.stream[at])
            documents[n] = block * BLOCK + (byte & 63)
            at += 3 if byte >> 6 == PLAIN else 1
            n += 1
        at = stop
    return documents


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def make_tiny_lists() -> Lists:
    """Make a segment of one document with one term, with the types of production: segments are mapped read-only."""
    return Lists(
        _read_only(np.array([5, 0], np.uint8)),
        _read_only(np.array([0], np.uint8)),
        _read_only(np.array([0], np.uint8)),
        _read_only(np.zeros((1, 1), np.uint8)),
        _read_only(np.zeros((1, 2), np.uint32)),
        _read_only(np.zeros((1, 2), np.uint32)),
        _read_only(np.ones(PLAIN * BLOCK, np.uint8)),
        _read_only(np.zeros(1, np.float32)),
        _read_only(np.zeros(1, np.float32)),
        np.ones(1, np.uint64),
    )


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists, place = make_tiny_lists(), (1, 0, 2, 0, 0, -1)
    look_up(lists, place, np.zeros(1, np.int32))
    read_documents(lists, place)
    read_positions(lists.positions, 0, 0, BODY, np.empty(1, np.int64))
