"""Reads all postings of a term, or those of some documents."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit, popcount
from periplus.accel.pointers import pin
from periplus.index.dense_blocks.kernels import (
    are_shared,
    dense_codes,
    dense_documents,
    enter_impacts,
    is_dense,
    read_impact,
)
from periplus.index.kernels.positions import skip_positions
from periplus.index.kernels.postings_format import (
    BLOCK,
    BODY_ONLY,
    ESCAPED,
    LONG_BLOCK,
    SKIP_STEP,
    SPARSE,
    long_length,
    skipped_blocks,
)
from periplus.index.kernels.postings_reader import (
    TINY_ENTRY,
    PostingsReader,
    block_offsets,
    block_span,
    find_block_header,
    get_postings,
    make_tiny_postings,
    read_escaped,
    seek_posting,
)
from periplus.index.kernels.term_dictionary import ENTRY_FREQUENCY, TermEntry, entry_of_row
from periplus.index.sparse_postings.kernels import enter_sparse, read_sparse

__all__ = [
    "LOOKUP_CODE",
    "LOOKUP_FIELDS",
    "LOOKUP_IMPACT",
    "LOOKUP_POSITIONS",
    "POSITIONS_SHARED",
    "POSITIONS_SIZED",
    "any_document_has",
    "look_up_documents",
    "read_documents",
    "read_postings",
]

POSITIONS_SIZED = 4
"""Added to the code of a posting before whose positions the size of its block's positions is written."""
POSITIONS_SHARED = 8
"""Added to the code of a posting whose positions are those of the next one, too, and written only once."""
LOOKUP_FIELDS, LOOKUP_IMPACT, LOOKUP_CODE, LOOKUP_POSITIONS = 0, 1, 2, 3
"""Columns of what `look_up_documents` returns: mask of fields, impact, code of the posting, offset of its positions."""
_LOOKUP_COLUMNS = 4


@njit(cache=True, nogil=True, forceinline=True)
def _read_dense(
    stream: Any, plain_impact: Any, at: int, block: int, n: int, documents: Any, codes: Any, masks: Any, impacts: Any
) -> int:  # pragma: no cover - compiled
    """Read the postings of a dense block; see `_read_block`."""
    left, escaped = dense_documents(stream, at), np.int64(0)
    kind, begin = enter_impacts(stream, at, popcount(left))
    low, high = dense_codes(stream, at, popcount(left))
    first = n
    while left and n < len(documents):
        offset = lowest_bit(left)
        left &= left - np.uint64(1)
        code = np.int64(low & np.uint64(ESCAPED))
        low >>= np.uint64(2)
        documents[n], codes[n], masks[n] = block * BLOCK + offset, code, BODY_ONLY
        if code == ESCAPED:
            masks[n], impacts[n] = read_impact(stream, kind, begin, escaped)
            escaped += 1
        else:
            impacts[n] = plain_impact[(block * ESCAPED + code) * BLOCK + offset]
        n += 1
        if n - first == BLOCK // 2:
            low = high
    return n


@njit(cache=True, nogil=True, forceinline=True)
def _read_block(
    stream: Any,
    plain_impact: Any,
    at: int,
    stop: int,
    block: int,
    n: int,
    documents: Any,
    codes: Any,
    masks: Any,
    impacts: Any,
) -> int:  # pragma: no cover - compiled
    """Read the postings of one block into the arrays from index `n` on; return the index after the last."""
    if is_dense(stream, at, stop):
        return _read_dense(stream, plain_impact, at, block, n, documents, codes, masks, impacts)
    while at < stop and n < len(documents):
        byte = np.int64(stream[at])
        code, offset = byte >> 6, byte & 63
        documents[n], codes[n], masks[n] = block * BLOCK + offset, code, BODY_ONLY
        at += 1
        if code == ESCAPED:
            masks[n], impacts[n], at = read_escaped(stream, at)
        else:
            impacts[n] = plain_impact[(block * ESCAPED + code) * BLOCK + offset]
        n += 1
    return n


@njit(cache=True, nogil=True)
def read_postings(
    postings: PostingsReader, entry: Any, documents: Any, codes: Any, masks: Any, impacts: Any
) -> int:  # pragma: no cover - compiled
    """Read all postings of a term.

    Parameters
        postings, entry: the segment, and a term of it
        documents, codes, masks, impacts: arrays of at least as many elements as the term has documents; filled. Codes
            have POSITIONS_SIZED and POSITIONS_SHARED added
    Returns
        how many postings were read
    """
    n, at, stream, plain_impact = 0, np.int64(entry.begin), postings.stream, postings.plain_impact
    sized = postings.sized
    if entry.encoding == SPARSE:
        document = np.int64(-1)
        at, width = enter_sparse(entry.begin, entry.frequency, plain_impact, postings.is_packed)
        for n in range(min(entry.frequency, len(documents))):
            step, code, masks[n], impact, at = read_sparse(stream, at, width)
            document += step
            documents[n], codes[n], impacts[n] = document, code, impact
            if code != ESCAPED:
                impacts[n] = plain_impact[(document // BLOCK * ESCAPED + code) * BLOCK + document % BLOCK]
        n = min(entry.frequency, len(documents))
    else:
        headers = at + 2
        lengths = headers + entry.headers
        at = lengths + (entry.headers + 3) // 4
        block = np.int64(-1)
        for header in range(entry.headers):
            step = np.int64(stream[headers + header]) & 15
            if step == SKIP_STEP:
                block += skipped_blocks(np.int64(stream[headers + header]))
                at += 1
                continue
            block += step + 1
            length = (np.int64(stream[lengths + (header >> 2)]) >> (2 * (header & 3))) & 3
            first, is_sized = n, False
            if length == LONG_BLOCK:
                is_sized = np.int64(stream[at]) < sized
                length = long_length(np.int64(stream[at]), sized) - 1
                at += 1
            n = _read_block(stream, plain_impact, at, at + length + 1, block, n, documents, codes, masks, impacts)
            if is_sized and first < n:
                codes[first] |= POSITIONS_SIZED
                if is_dense(stream, at, at + length + 1) and are_shared(stream, at):
                    for shared in range(first, n - 1):
                        codes[shared] |= POSITIONS_SHARED
            at += length + 1
    return n


@njit(cache=True, nogil=True)
def look_up_documents(
    postings: PostingsReader, entry: TermEntry, documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Look one term up in some documents.

    Parameters
        postings, entry: the segment, and a term of it
        documents: numbers of documents, ascending
    Returns
        a row for each document, with the columns LOOKUP_*; its mask of fields is 0 where the term does not occur
    """
    found = np.zeros((len(documents), _LOOKUP_COLUMNS), np.int64)
    if entry.encoding == SPARSE:
        _look_up_sparse(postings, entry, documents, found)
        return found
    for i in range(len(documents)):
        block, offset = documents[i] // BLOCK, documents[i] % BLOCK
        header = find_block_header(postings, entry, block)
        if header < 0:
            continue
        at, stop = block_span(postings, entry, header)
        _, position = block_offsets(postings, entry, header)
        impact, code, mask, position_at = seek_posting(postings, at, stop, position, offset)
        if impact >= 0:
            if code < ESCAPED:
                impact = np.int64(postings.plain_impact[(block * ESCAPED + code) * BLOCK + offset])
            found[i, LOOKUP_FIELDS], found[i, LOOKUP_IMPACT] = mask, impact
            found[i, LOOKUP_CODE], found[i, LOOKUP_POSITIONS] = code, position_at
    return found


@njit(cache=True, nogil=True)
def any_document_has(
    postings_at: npt.NDArray[np.int64],
    entries: npt.NDArray[np.int64],
    groups: npt.NDArray[np.int64],
    documents: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:  # pragma: no cover - compiled
    """Look several terms up, each in some documents.

    Parameters
        postings_at: the addresses of the segment's postings
        entries: a row for each term, with the columns of `TermEntry`; frequency 0 for one that the segment lacks
        groups: by term, the number of the group of documents in which it is looked up
        documents, starts: the documents of all groups, ascending in each; where each group begins, and the end
    Returns
        of each term, whether any document of its group has it
    """
    postings = get_postings(postings_at)
    present = np.zeros(len(entries), np.bool_)
    for term in range(len(entries)):
        group = documents[starts[groups[term]] : starts[groups[term] + 1]]
        if entries[term, ENTRY_FREQUENCY] and len(group):
            present[term] = look_up_documents(postings, entry_of_row(entries, term), group)[:, LOOKUP_FIELDS].any()
    return present


@njit(cache=True, nogil=True)
def _look_up_sparse(
    postings: PostingsReader, entry: TermEntry, documents: Any, found: Any
) -> None:  # pragma: no cover - compiled
    """Fill `found` for a sparse term: see `look_up_documents`."""
    position, document, i = entry.positions, np.int64(-1), 0
    at, width = enter_sparse(entry.begin, entry.frequency, postings.plain_impact, postings.is_packed)
    for _ in range(entry.frequency):
        if i == len(documents):
            break
        step, code, mask, impact, at = read_sparse(postings.stream, at, width)
        document += step
        if code != ESCAPED:
            impact = np.int64(postings.plain_impact[(document // BLOCK * ESCAPED + code) * BLOCK + document % BLOCK])
        while i < len(documents) and documents[i] < document:
            i += 1
        if i < len(documents) and documents[i] == document:
            found[i, LOOKUP_FIELDS], found[i, LOOKUP_IMPACT] = mask, impact
            found[i, LOOKUP_CODE], found[i, LOOKUP_POSITIONS] = code, position
        position = skip_positions(postings.positions, postings.is_packed, position, code, mask)


@njit(cache=True, nogil=True)
def read_documents(postings: PostingsReader, entry: TermEntry) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Return all documents of a term, ascending."""
    documents = np.zeros(entry.frequency, np.int32)
    codes, masks = np.empty(entry.frequency, np.uint8), np.empty(entry.frequency, np.uint8)
    read_postings(postings, entry, documents, codes, masks, np.empty(entry.frequency, np.uint8))
    return documents


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    postings = make_tiny_postings()
    look_up_documents(postings, TINY_ENTRY, np.zeros(1, np.int32))
    entries, zeros = np.array([TINY_ENTRY], np.int64), np.zeros(1, np.int64)
    any_document_has(pin(postings).addresses, entries, zeros, np.zeros(1, np.int32), np.array([0, 1], np.int64))
    read_documents(postings, TINY_ENTRY)
