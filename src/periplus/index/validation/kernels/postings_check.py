"""Verifies the postings of a segment: reads all of them and checks what matching relies on."""

import numpy as np

from periplus.accel import njit
from periplus.index.kernels.positions import read_position_delta, skip_positions
from periplus.index.kernels.postings_format import (
    BITSET,
    BLOCK,
    ESCAPED,
    SPARSE,
    bound_level,
    choose_encoding,
    group_count,
)
from periplus.index.kernels.postings_reader import (
    PostingsReader,
    TermEntry,
    block_bitset,
    block_offsets,
    block_span,
    find_block_header,
    make_tiny_postings,
    term_entry,
)
from periplus.index.kernels.postings_scan import POSITIONS_SHARED, POSITIONS_SIZED, read_postings
from periplus.index.kernels.term_dictionary import TermTable
from periplus.index.kernels.term_packing import make_tiny_terms

__all__ = ["FAULTS", "verify_postings"]

FAULTS = (
    "",
    "rows and groups of a term exist",
    "documents of a term ascend and exist",
    "impacts are positive",
    "block maxima are maxima",
    "frequencies agree",
    "postings fill their range",
    "positions fill their range",
)


@njit(cache=True, nogil=True)
def _check_entry(postings: PostingsReader, entry: TermEntry, documents: int) -> int:  # pragma: no cover - compiled
    """Return the fault of a term's entry, 0 if its postings may be read."""
    if (
        entry.frequency < 1
        or entry.frequency > documents
        or entry.end < entry.begin
        or entry.encoding != choose_encoding(entry.frequency, documents)
    ):
        return 5
    if (entry.encoding == BITSET) != (0 <= entry.bitset_row < len(postings.bitsets)):
        return 1
    if entry.encoding == SPARSE:
        return 0
    if (
        entry.first_group < 0
        or entry.headers < 1
        or entry.first_group + group_count(entry.headers, entry.encoding) > len(postings.groups)
    ):
        return 1
    return 6 if entry.begin + 2 + entry.headers + (entry.headers + 3) // 4 > entry.end else 0


@njit(cache=True, nogil=True)
def _check_block(
    postings: PostingsReader, entry: TermEntry, block: int, highest: int, documents: int, position: int
) -> int:  # pragma: no cover - compiled
    """Return the fault of one block of a term that is not sparse, 0 if there is none."""
    header = find_block_header(postings, entry, block)
    if header < 0:
        return 6
    low, high = np.int64(postings.stream[entry.begin]), np.int64(postings.stream[entry.begin + 1])
    if np.int64(postings.stream[entry.begin + 2 + header]) >> 4 != bound_level(highest, low, high):
        return 4
    at, stop = block_span(postings, entry, header)
    if stop > entry.end or block_bitset(postings.stream, at, stop) != documents:
        return 6
    if entry.encoding == BITSET and postings.bitsets[entry.bitset_row, block] != documents:
        return 6
    return 7 if block_offsets(postings, entry, header) != (at, position) else 0


@njit(cache=True, nogil=True)
def verify_postings(postings: PostingsReader, terms: TermTable, documents: int) -> int:  # pragma: no cover - compiled
    """Read every posting and position.

    Parameters
        postings: the arrays of the segment
        terms: its unpacked dictionary
        documents: how many documents the segment has
    Returns
        the number of the first fault in FAULTS, 0 if there is none
    """
    most = max(1, documents)
    found, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(len(terms.frequency)):
        entry = term_entry(terms, term)
        fault = _check_entry(postings, entry, documents)
        if fault:
            return fault
        frequency = entry.frequency
        if read_postings(postings, entry, found[:frequency], codes, masks, impacts) != frequency:
            return 5
        position = entry.positions
        last, n = -1, 0
        while n < frequency:
            if codes[n] & POSITIONS_SIZED:
                _, position = read_position_delta(postings.positions, position)
            block, first, highest, members = found[n] // BLOCK, position, np.int64(0), np.uint64(0)
            while n < frequency and found[n] // BLOCK == block:
                if found[n] <= last or found[n] >= documents:
                    return 2
                if impacts[n] == 0 or masks[n] == 0:
                    return 3
                last, highest = found[n], max(highest, np.int64(impacts[n]))
                members |= np.uint64(1) << np.uint64(found[n] % BLOCK)
                after = skip_positions(
                    postings.positions, postings.is_packed, position, codes[n] & ESCAPED, np.int64(masks[n])
                )
                position = position if codes[n] & POSITIONS_SHARED else after
                n += 1
            if entry.encoding != SPARSE:
                fault = _check_block(postings, entry, block, highest, members, first)
                if fault:
                    return fault
        if position != terms.position_end[term]:
            return 7
    return 0


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    verify_postings(make_tiny_postings(), make_tiny_terms(), 1)
