"""Looking things up in a segment: a term in the lexicon, a block among a term's, a document's positions in a block."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.invert import BLOCK

__all__ = [
    "MOST_POSITIONS",
    "Lists",
    "fields_of",
    "find_term",
    "make_tiny_lists",
    "positions_in",
    "read_positions",
    "seek_block",
]

MOST_POSITIONS = 1 << 16
"""More positions of one term in one document than this are not read."""


class Lists(NamedTuple):
    """The arrays of a segment that matching reads; see `invert.Postings` for the first eight."""

    block: npt.NDArray[np.uint32]
    block_max: npt.NDArray[np.uint8]
    block_posting: npt.NDArray[np.uint32]
    block_position: npt.NDArray[np.uint32]
    offset: npt.NDArray[np.uint8]
    impact: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint8]
    static: npt.NDArray[np.float32]
    """Static rank by document."""
    block_static: npt.NDArray[np.float32]
    """The highest static rank in each block."""
    live: npt.NDArray[np.uint64]
    """The set of documents in each block that are not deleted."""


@njit(cache=True, nogil=True)
def seek_block(lists: Lists, begin: int, end: int, block: int) -> int:  # pragma: no cover - compiled
    """Find the entry of `block` among a leaf's entries, which are in order; -1 if it has none."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if lists.block[middle] < block:
            low = middle + 1
        else:
            high = middle
    return low if low < end and lists.block[low] == block else -1


@njit(cache=True, nogil=True)
def read_positions(lists: Lists, entry: int, offset: int, out: Any) -> int:  # pragma: no cover - compiled
    """Read the positions of the document at `offset` of an entry's block into `out`; give how many."""
    at = lists.block_position[entry]
    for posting in range(lists.block_posting[entry], lists.block_posting[entry + 1]):
        wanted = lists.offset[posting] == offset
        count = np.int64(0)
        shift = 0
        while True:
            byte = np.int64(lists.positions[at])
            at += 1
            count |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        value = np.int64(0)
        for i in range(count):
            step = np.int64(0)
            shift = 0
            while True:
                byte = np.int64(lists.positions[at])
                at += 1
                step |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            value += step
            if wanted and i < len(out):
                out[i] = value
        if wanted:
            return int(count) if count < len(out) else len(out)
    return 0


@njit(cache=True, nogil=True)
def positions_in(
    lists: Lists, begin: int, end: int, document: int
) -> tuple[npt.NDArray[np.int64], int, int]:  # pragma: no cover - compiled
    """Give one term's positions in a document, its impact there (0 if it is not there) and its fields."""
    empty = np.empty(0, np.int64)
    entry = seek_block(lists, begin, end, document // BLOCK)
    if entry < 0:
        return empty, 0, 0
    for posting in range(lists.block_posting[entry], lists.block_posting[entry + 1]):
        if lists.offset[posting] == document % BLOCK:
            most: Any = np.int64(lists.block_position[entry + 1]) - np.int64(lists.block_position[entry])
            out = np.empty(min(MOST_POSITIONS, most), np.int64)
            count = read_positions(lists, entry, document % BLOCK, out)
            return out[:count], int(lists.impact[posting]), int(lists.mask[posting])
    return empty, 0, 0


@njit(cache=True, nogil=True)
def fields_of(
    lists: Lists, begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64], documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.uint8]:  # pragma: no cover - compiled
    """Give the fields in which each of some documents has each of some terms, as masks by document and term."""
    masks = np.zeros((len(documents), len(begin)), np.uint8)
    for row in range(len(documents)):
        for term in range(len(begin)):
            entry = seek_block(lists, begin[term], end[term], documents[row] // BLOCK)
            if entry < 0:
                continue
            for posting in range(lists.block_posting[entry], lists.block_posting[entry + 1]):
                if lists.offset[posting] == documents[row] % BLOCK:
                    masks[row, term] = lists.mask[posting]
    return masks


@njit(cache=True, nogil=True)
def find_term(
    blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], term: npt.NDArray[np.uint8]
) -> int:  # pragma: no cover - compiled
    """Find a term in a sorted lexicon by bisection; -1 if it is not there."""
    low, high = 0, len(starts) - 1
    while low < high:
        middle = (low + high) >> 1
        begin = starts[middle]
        size = starts[middle + 1] - begin
        order = 0
        for i in range(min(size, len(term))):
            if blob[begin + i] != term[i]:
                order = -1 if blob[begin + i] < term[i] else 1
                break
        if order == 0:
            if size == len(term):
                return middle
            order = -1 if size < len(term) else 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return -1


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def make_tiny_lists() -> Lists:
    """Make a segment of one document with one term, with the types of production: segments are mapped read-only."""
    return Lists(
        _read_only(np.zeros(1, np.uint32)),
        _read_only(np.ones(1, np.uint8)),
        _read_only(np.array([0, 1], np.uint32)),
        _read_only(np.array([0, 2], np.uint32)),
        _read_only(np.zeros(1, np.uint8)),
        _read_only(np.ones(1, np.uint8)),
        _read_only(np.ones(1, np.uint8)),
        _read_only(np.array([1, 0], np.uint8)),
        _read_only(np.zeros(1, np.float32)),
        _read_only(np.zeros(1, np.float32)),
        np.ones(1, np.uint64),
    )


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    positions_in(make_tiny_lists(), 0, 1, 0)
    fields_of(make_tiny_lists(), np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1, np.int32))
    blob, starts = _read_only(np.array([97], np.uint8)), _read_only(np.array([0, 1], np.int64))
    find_term(blob, starts, np.frombuffer(b"a", np.uint8))
