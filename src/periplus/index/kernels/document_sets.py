"""Sets of documents: those with any of some terms, with some in a row, of a site, or in no language of a term."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import popcount
from periplus.accel.pointers import pin
from periplus.index.dense_blocks.kernels import is_dense
from periplus.index.kernels.inversion import FIELD_SHIFT
from periplus.index.kernels.positions import keep_followed, read_positions
from periplus.index.kernels.postings_format import (
    BITSET,
    BLOCK,
    DENSE_ALL,
    DENSE_MARK,
    ESCAPED,
    LONG_BLOCK,
    SIZED,
    SKIP_STEP,
    SPARSE,
    long_length,
    skipped_blocks,
)
from periplus.index.kernels.postings_reader import (
    PostingsReader,
    block_bitset,
    get_postings,
    make_tiny_postings,
)
from periplus.index.kernels.postings_scan import (
    LOOKUP_CODE,
    LOOKUP_FIELDS,
    LOOKUP_POSITIONS,
    look_up_documents,
    read_documents,
)
from periplus.index.kernels.term_dictionary import (
    ENTRY_BEGIN,
    ENTRY_BITSET_ROW,
    ENTRY_ENCODING,
    ENTRY_FREQUENCY,
    ENTRY_HEADERS,
    entry_of_row,
)
from periplus.index.sparse_postings.kernels import enter_sparse, read_sparse

__all__ = [
    "build_bitsets",
    "count_shared",
    "exclude_terms",
    "find_phrase_documents",
    "mark_site",
    "mark_terms",
]

_ONE = np.uint64(1)
_COLON, _SLASH, _DOT = 58, 47, 46
_MAX_POSITIONS = 1 << 14
"""Positions of one term in one document that are read."""


@njit(cache=True, nogil=True)
def _fills_range(stream: Any, at: int, stop: int) -> bool:  # pragma: no cover - compiled
    """Return whether the last of the postings from `at` to `stop` ends there."""
    if is_dense(stream, at, stop):
        # More is not read of it.
        return stop - at > BLOCK // 8 or stream[at] == np.uint8(DENSE_MARK | DENSE_ALL << 6)
    while at < stop:
        is_escaped = stream[at] >= ESCAPED << 6
        at += 1
        if is_escaped:
            if at >= stop:
                return False
            at += 1 if stream[at] else 3
    return at == stop


@njit(cache=True, nogil=True)
def build_bitsets(stream: Any, sized: int, bitset_terms: Any, blocks: int) -> Any:  # pragma: no cover - compiled
    """Return the documents of each term that is encoded as a bitset, by term and block.

    Parameters
        stream, sized: postings of the segment, and its `sized`
        bitset_terms: for each such term, where its postings begin and how many headers it has; may be damaged
        blocks: how many blocks the segment has
    Returns
        a row for each term; fewer if one of them has blocks that do not exist, or postings beyond the stream
    """
    sets, size = np.zeros((len(bitset_terms), blocks), np.uint64), np.int64(len(stream))
    for row in range(len(bitset_terms)):
        begin, number = bitset_terms[row, 0], bitset_terms[row, 1]
        if begin < 0 or begin > size or number < 1 or number > size:
            return sets[:row]
        headers = begin + 2
        lengths = headers + number
        at = lengths + (number + 3) // 4
        block = np.int64(-1)
        if at > size:
            return sets[:row]
        for n in range(number):
            step = np.int64(stream[headers + n]) & 15
            length = (np.int64(stream[lengths + (n >> 2)]) >> (2 * (n & 3))) & 3
            if step == SKIP_STEP:
                block += skipped_blocks(np.int64(stream[headers + n]))
                at += 1
                continue
            block += step + 1
            if length == LONG_BLOCK and at < size:
                length = long_length(np.int64(stream[at]), sized) - 1
                at += 1
            stop = at + length + 1
            if block >= blocks or stop > size or (stop == size and not _fills_range(stream, at, stop)):
                return sets[:row]
            sets[row, block] = block_bitset(stream, at, stop)
            at = stop
    return sets


@njit(cache=True, nogil=True)
def _mark_sparse(stream: Any, at: int, width: int, frequency: int, sets: Any) -> None:  # pragma: no cover - compiled
    """Add the documents of a sparse term, whose first posting is at `at`; see `enter_sparse`."""
    document = np.int64(-1)
    for _ in range(frequency):
        step, _, _, _, at = read_sparse(stream, at, width)
        document += step
        sets[document // BLOCK] |= _ONE << np.uint64(document % BLOCK)


@njit(cache=True, nogil=True)
def _mark_blocked(stream: Any, sized: int, begin: int, number: int, sets: Any) -> None:  # pragma: no cover - compiled
    """Add the documents of a term with `number` headers, whose postings begin at `begin`; sized: of the segment."""
    headers = begin + 2
    lengths = headers + number
    at = lengths + (number + 3) // 4
    block = np.int64(-1)
    for n in range(number):
        step = np.int64(stream[headers + n]) & 15
        if step == SKIP_STEP:
            block += skipped_blocks(np.int64(stream[headers + n]))
            at += 1
            continue
        block += step + 1
        length = (np.int64(stream[lengths + (n >> 2)]) >> (2 * (n & 3))) & 3
        if length == LONG_BLOCK:
            length = long_length(np.int64(stream[at]), sized) - 1
            at += 1
        sets[block] |= block_bitset(stream, at, at + length + 1)
        at += length + 1


@njit(cache=True, nogil=True)
def mark_terms(postings: PostingsReader, entries: Any, sets: Any, most: int) -> tuple[int, int]:  # pragma: no cover
    """Add the documents that have any of some terms to a set.

    Parameters
        postings: of the segment
        entries: a row for each term, with the columns ENTRY_*; those of frequency 0 are passed over
        sets: a 64-bit word for each block; filled
        most: work units, each a posting or a block of a bitset, after which no further term is read
    Returns
        how many of the terms were read, and the work units that it took
    """
    work = np.int64(0)
    for n in range(len(entries)):
        if work >= most:
            return n, work
        if entries[n, ENTRY_FREQUENCY] == 0:
            continue
        encoding = entries[n, ENTRY_ENCODING]
        if encoding == BITSET:
            row = entries[n, ENTRY_BITSET_ROW]
            for block in range(len(sets)):
                sets[block] |= postings.bitsets[row, block]
            work += len(sets)
            continue
        if encoding == SPARSE:
            begin, frequency = entries[n, ENTRY_BEGIN], entries[n, ENTRY_FREQUENCY]
            at, width = enter_sparse(begin, frequency, postings.plain_impact, postings.is_packed)
            _mark_sparse(postings.stream, at, width, frequency, sets)
        else:
            _mark_blocked(postings.stream, postings.sized, entries[n, ENTRY_BEGIN], entries[n, ENTRY_HEADERS], sets)
        work += entries[n, ENTRY_FREQUENCY]
    return len(entries), work


@njit(cache=True, nogil=True)
def count_shared(
    postings_at: npt.NDArray[np.int64], entries: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Return how many documents have the first of some terms together with each of the others.

    Parameters
        postings_at: the addresses of the segment's postings
        entries: as those of `mark_terms`
    """
    postings = get_postings(postings_at)
    counts = np.zeros(len(entries) - 1, np.int64)
    own, other = np.zeros(len(postings.live), np.uint64), np.empty(len(postings.live), np.uint64)
    mark_terms(postings, entries[:1], own, 1)
    for n in range(1, len(entries)):
        other[:] = 0
        mark_terms(postings, entries[n : n + 1], other, 1)
        count = np.int64(0)
        for block in range(len(own)):
            count += popcount(own[block] & other[block])
        counts[n - 1] = count
    return counts


@njit(cache=True, nogil=True)
def _is_within(blob: Any, begin: int, end: int, host: Any) -> bool:  # pragma: no cover - compiled
    """Return whether the host from `begin` to `end` is `host` or a subdomain of it."""
    shift = end - begin - len(host)
    if shift < 0 or (shift > 0 and blob[begin + shift - 1] != _DOT):
        return False
    same = 0
    while same < len(host) and blob[begin + shift + same] == host[same]:
        same += 1
    return same == len(host)


@njit(cache=True, nogil=True)
def _is_below(blob: Any, begin: int, end: int, path: Any) -> bool:  # pragma: no cover - compiled
    """Return whether what comes after the host of a URL begins with `path`."""
    at = begin
    while at + 3 <= end and not (blob[at] == _COLON and blob[at + 1] == _SLASH and blob[at + 2] == _SLASH):
        at += 1
    at = at + 3 if at + 3 <= end else end
    while at < end and blob[at] != _SLASH:
        at += 1
    if at == end:
        return len(path) == 1 and path[0] == _SLASH
    if end - at < len(path):
        return False
    same = 0
    while same < len(path) and blob[at + same] == path[same]:
        same += 1
    return same == len(path)


@njit(cache=True, nogil=True)
def mark_site(
    host_start: Any, host_blob: Any, hosts: Any, url_start: Any, url_blob: Any, host: Any, path: Any, sets: Any
) -> int:  # pragma: no cover - compiled
    """Add the pages of a host and its subdomains, below a path, to a set.

    Parameters
        host_start, host_blob: the table of hosts
        hosts: the number of each document's host, or one for all of them
        url_start, url_blob: the table of URLs, by document
        host, path: bytes; an empty path stands for any
        sets: a 64-bit word for each block; filled
    Returns
        the work units that it took: hosts, documents and URLs that were compared
    """
    documents = len(url_start) - 1
    wanted = np.zeros(len(host_start) - 1, np.bool_)
    for number in range(len(wanted)):
        wanted[number] = _is_within(host_blob, host_start[number], host_start[number + 1], host)
    work = len(wanted) + documents
    for document in range(documents):
        if not wanted[hosts[document if len(hosts) > 1 else 0]]:
            continue
        if len(path) > 0:
            work += 1
            if not _is_below(url_blob, url_start[document], url_start[document + 1], path):
                continue
        sets[document // BLOCK] |= _ONE << np.uint64(document % BLOCK)
    return work


@njit(cache=True, nogil=True)
def find_phrase_documents(
    lists: PostingsReader, rows: npt.NDArray[np.int64], fields: int, limit: int
) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Return the documents in which terms stand one after the other, ascending.

    Parameters
    ----------
    lists: the postings of a segment.
    rows: the dictionary rows of the terms, in order, with the columns of `TermEntry`.
    fields: the fields in which they may stand, as a mask.
    limit: the most documents of the rarest term that are looked at; further ones are left out.

    Returns
    -------
    Numbers of documents; none if the segment lacks one of the terms.
    """
    rarest = np.argmin(rows[:, 0])
    if rows[rarest, 0] == 0:
        return np.zeros(0, np.int32)
    documents = read_documents(lists, entry_of_row(rows, rarest))[:limit]
    postings = np.zeros((len(rows), len(documents), 4), np.int64)
    shared = np.ones(len(documents), np.bool_)
    for term in range(len(rows)):
        postings[term] = look_up_documents(lists, entry_of_row(rows, term), documents)
        shared &= (postings[term, :, LOOKUP_FIELDS] & fields) != 0
    starts, positions = np.empty(_MAX_POSITIONS, np.int64), np.empty(_MAX_POSITIONS, np.int64)
    for n in np.flatnonzero(shared):
        first = postings[0, n]
        count = read_positions(lists, first[LOOKUP_POSITIONS], first[LOOKUP_CODE], first[LOOKUP_FIELDS], starts)
        for term in range(1, len(rows)):
            row = postings[term, n]
            size = read_positions(lists, row[LOOKUP_POSITIONS], row[LOOKUP_CODE], row[LOOKUP_FIELDS], positions)
            count = keep_followed(starts, count, positions, size, term)
        within = False
        for start in starts[:count]:
            within |= (fields >> (start >> FIELD_SHIFT)) & 1 == 1
        shared[n] = within
    return documents[shared]


@njit(cache=True, nogil=True)
def exclude_terms(
    masks: npt.NDArray[np.uint64],
    bits: npt.NDArray[np.uint64],
    first: npt.NDArray[np.uint8],
    second: npt.NDArray[np.uint8],
    documents: npt.NDArray[np.int32],
) -> npt.NDArray[np.bool_]:  # pragma: no cover - compiled
    """Return, by document and term, whether the document is in none of the languages of the term.

    Parameters
        masks: by language, as the first and as the second of a document: the sets that have it, as bits
        bits: by term, the bit of its set
        first, second: languages of each document of the segment; the latter may be empty
        documents: numbers of some of them
    """
    excluded = np.empty((len(documents), len(bits)), np.bool_)
    for i in range(len(documents)):
        having = masks[0, first[documents[i]]]
        if len(second):
            having |= masks[1, second[documents[i]]]
        for term in range(len(bits)):
            excluded[i, term] = not (having >> bits[term]) & np.uint64(1)
    return excluded


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    sets, terms = np.zeros(1, np.uint64), np.zeros((0, 2), np.int64)
    terms.flags.writeable = False
    build_bitsets(make_tiny_postings().stream, SIZED, terms, 1)
    entries = np.array([[1, 0, 1, 0, 0, 0, 0, -1]], np.int64)
    mark_terms(make_tiny_postings(), entries, sets, 1)
    start, blob, url = np.array([0, 1]), np.frombuffer(b"a", np.uint8), np.frombuffer(b"x://a/", np.uint8)
    start.flags.writeable = False
    mark_site(start, blob, np.zeros(1, np.int64), start, url, blob, np.zeros(0, np.uint8), sets)
    find_phrase_documents(make_tiny_postings(), entries, 255, 10)
    count_shared(pin(make_tiny_postings()).addresses, np.concatenate((entries, entries)))
    languages = np.zeros(1, np.uint8)
    languages.flags.writeable = False
    exclude_terms(np.zeros((2, 256), np.uint64), sets, languages, languages, np.zeros(1, np.int32))
