"""Postings back to tokens: what merging segments needs, in two passes of counting sort and without comparisons.

Tokens of several segments are put in the order of their new documents, then of their new terms. What comes out is what
`invert.sort_tokens` gives for the same documents, so that a merged segment is the one a build would have made.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.invert import BLOCK, FIELD_SHIFT, FIELDS, Sorted
from periplus.kernels.lists import Lists, make_tiny_lists

__all__ = ["count_tokens", "place_tokens", "sort_by_term"]


@njit(cache=True, nogil=True)
def _number(data: npt.NDArray[np.uint8], at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a variable-length number; give it and where the next begins."""
    value = np.int64(0)
    shift = 0
    while True:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return int(value), at


@njit(cache=True, nogil=True)
def count_tokens(
    lists: Lists,
    documents: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int32],
) -> None:  # pragma: no cover - compiled
    """Add the tokens of each document, by its new number in `documents` (-1: left out), and note field lengths."""
    for entry in range(len(lists.block)):
        at = np.int64(lists.block_position[entry])
        first = np.int64(lists.block[entry]) * BLOCK
        for posting in range(lists.block_posting[entry], lists.block_posting[entry + 1]):
            document = documents[first + lists.offset[posting]]
            count, at = _number(lists.positions, at)
            position = np.int64(0)
            for _ in range(count):
                step, at = _number(lists.positions, at)
                position += step
                if document >= 0:
                    field, place = position >> FIELD_SHIFT, position & ((1 << FIELD_SHIFT) - 1)
                    lengths[document, field] = max(lengths[document, field], place + 1)
            if document >= 0:
                counts[document] += count


@njit(cache=True, nogil=True)
def place_tokens(
    lists: Lists,
    term_block: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int64],
    documents: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    terms: npt.NDArray[np.int32],
    positions: npt.NDArray[np.uint32],
) -> None:  # pragma: no cover - compiled
    """Put each token, with its new term from `numbers`, where `place` says that its document goes on."""
    for term in range(len(term_block) - 1):
        for entry in range(term_block[term], term_block[term + 1]):
            at = np.int64(lists.block_position[entry])
            first = np.int64(lists.block[entry]) * BLOCK
            for posting in range(lists.block_posting[entry], lists.block_posting[entry + 1]):
                document = documents[first + lists.offset[posting]]
                count, at = _number(lists.positions, at)
                position = np.int64(0)
                for _ in range(count):
                    step, at = _number(lists.positions, at)
                    position += step
                    if document >= 0:
                        to = place[document]
                        place[document] = to + 1
                        terms[to] = numbers[term]
                        positions[to] = position


@njit(cache=True, nogil=True)
def sort_by_term(
    starts: npt.NDArray[np.int64], terms: npt.NDArray[np.int32], positions: npt.NDArray[np.uint32], count: int
) -> Sorted:  # pragma: no cover - compiled
    """Sort tokens, which are in the order of their documents (that begin at `starts`), by their terms."""
    begin = np.zeros(count + 1, np.int64)
    for term in terms:
        begin[term + 1] += 1
    for term in range(count):
        begin[term + 1] += begin[term]
    place = begin[:-1].copy()
    by_document = np.empty(len(terms), np.int32)
    by_position = np.empty(len(terms), np.uint32)
    for document in range(len(starts) - 1):
        for token in range(starts[document], starts[document + 1]):
            to = place[terms[token]]
            place[terms[token]] = to + 1
            by_document[to] = document
            by_position[to] = positions[token]
    return Sorted(begin, by_document, by_position)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists, documents, place = make_tiny_lists(), np.zeros(64, np.int64), np.zeros(1, np.int64)
    count_tokens(lists, documents, place.copy(), np.zeros((1, FIELDS), np.int32))
    terms, positions, blocks = np.zeros(1, np.int32), np.zeros(1, np.uint32), np.array([0, 1], np.int64)
    blocks.flags.writeable = False
    place_tokens(lists, blocks, np.zeros(1, np.int64), documents, place, terms, positions)
    sort_by_term(np.array([0, 1], np.int64), terms, positions, 1)
