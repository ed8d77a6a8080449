"""What a node of a term-partitioned index does with a query bundle: add the scores of its terms, and prune.

A bundle travels from node to node (Moffat, Webber, Zobel and Baeza-Yates, 'A pipelined architecture for distributed
text query evaluation'). It has accumulators, ascending by document: a document, its score so far, and for a phrase
where in it the phrase may begin. Pruning is exact: a document stays out or is dropped only if the terms to come cannot
lift it to the k-th best score.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.dense_blocks.kernels import find_dense, is_dense
from periplus.index.kernels.positions import read_positions
from periplus.index.kernels.postings_format import BLOCK, ESCAPED, SPARSE
from periplus.index.kernels.postings_reader import (
    block_offsets,
    block_span,
    find_block_header,
    get_postings,
    read_escaped,
    seek_posting,
)
from periplus.index.kernels.postings_scan import look_up_documents, read_postings
from periplus.index.kernels.term_dictionary import entry_of_row, read_varint, write_varint

SLACK = np.float32(1 + 1e-5)
"""Sums in another order may differ by this much."""
SEEK_COST = 12
"""Looking up one document takes as long as reading this many postings."""
MOST_POSITIONS = 1 << 14
ANY, ALL = 0, 1
"""Whether a document needs one term of the query, or all."""


class Bundle(NamedTuple):
    """Accumulators, ascending by document."""

    documents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]


@njit(cache=True, nogil=True)
def kth_best(scores: Any, k: int) -> Any:  # pragma: no cover - compiled
    """Return the k-th highest of some scores, 0 if there are fewer."""
    if len(scores) < k:
        return np.float32(0)
    return np.partition(scores, len(scores) - k)[len(scores) - k]


@njit(cache=True, nogil=True)
def _impact_in(postings: Any, entry: Any, document: int) -> int:  # pragma: no cover - compiled
    """Return the impact of a term that is not sparse in a document, -1 if it is not there."""
    block, offset = document // BLOCK, document % BLOCK
    header = find_block_header(postings, entry, block)
    if header < 0:
        return np.int64(-1)
    at, stop = block_span(postings, entry, header)
    if is_dense(postings.stream, at, stop):
        impact, code, _, _ = find_dense(postings.stream, at, offset)
        if impact < 0 or code == ESCAPED:
            return np.int64(impact)
        return np.int64(postings.plain_impact[(block * ESCAPED + code) * BLOCK + offset])
    while at < stop:
        byte = np.int64(postings.stream[at])
        at += 1
        impact = np.int64(-1)
        if byte >= ESCAPED << 6:
            _, impact, at = read_escaped(postings.stream, at)
        if byte & (BLOCK - 1) == offset:
            code = byte >> 6
            return (
                impact
                if code == ESCAPED
                else np.int64(postings.plain_impact[(block * ESCAPED + code) * BLOCK + offset])
            )
    return np.int64(-1)


@njit(cache=True, nogil=True)
def _seek(
    postings: Any, entry: Any, weight: Any, documents: Any, scores: Any, mode: int, rest: Any, least: Any
) -> int:  # pragma: no cover - compiled
    """Look the accumulators' documents up one by one; return how many stay."""
    kept = 0
    for n in range(len(documents)):
        impact = _impact_in(postings, entry, np.int64(documents[n]))
        if impact < 0 and mode == ALL:
            continue
        score = scores[n] + (weight * np.float32(impact) if impact > 0 else np.float32(0))
        if (score + rest) * SLACK >= least:
            documents[kept], scores[kept] = documents[n], score
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _merge(
    postings: Any, entry: Any, weight: Any, documents: Any, scores: Any, mode: int, fresh: bool, rest: Any, least: Any
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Read all postings of a term and merge them with the accumulators; `fresh` is whether new ones may be made."""
    count = entry.frequency
    others, codes = np.empty(count, np.int32), np.empty(count, np.uint8)
    masks, impacts = np.empty(count, np.uint8), np.empty(count, np.uint8)
    count = read_postings(postings, entry, others, codes, masks, impacts)
    size = len(documents) + count if fresh else len(documents)
    out_documents, out_scores = np.empty(size, np.int32), np.empty(size, np.float32)
    i, j, n = 0, 0, 0
    while i < len(documents) or (fresh and j < count):
        has_left = i < len(documents) and (j >= count or documents[i] <= others[j])
        has_right = j < count and (i >= len(documents) or others[j] <= documents[i])
        score = np.float32(0)
        document = documents[i] if has_left else others[j]
        if has_left:
            score += scores[i]
            i += 1
        if has_right:
            score += weight * np.float32(impacts[j])
            j += 1
        wanted = (has_left or fresh) and (mode == ANY or fresh or has_right)
        if wanted and (score + rest) * SLACK >= least:
            out_documents[n], out_scores[n] = document, score
            n += 1
    return out_documents[:n], out_scores[:n]


@njit(cache=True, nogil=True)
def add_terms(
    postings_at: Any,
    rows: Any,
    weights: Any,
    bounds: Any,
    documents: Any,
    scores: Any,
    mode: int,
    first: bool,
    rest: Any,
    least: Any,
    k: int,
) -> tuple[Any, Any, Any, int]:  # pragma: no cover - compiled
    """Add the terms of one node to a bundle.

    Parameters
        postings_at: addresses of the segment's postings
        rows, weights, bounds: the node's terms: their entries, what one step of impact adds, the most each adds
        documents, scores: the accumulators; changed
        mode: ANY or ALL
        first: whether this is the first node
        rest: the most that the terms of later nodes add
        least: a score that the k-th best document has at least
        k: results wanted
    Returns
        documents and scores of the new accumulators, `least` as it is then, and how many postings were decoded
    """
    postings = get_postings(postings_at)
    decoded, left = np.int64(0), np.float32(0)
    for n in range(len(rows)):
        left += bounds[n]
    for n in range(len(rows)):
        entry, weight = entry_of_row(rows, n), weights[n]
        left -= bounds[n]
        after = max(np.float32(0), left) + rest
        if entry.frequency == 0:
            if mode == ALL:
                return documents[:0], scores[:0], least, decoded
            continue
        fresh = (first and n == 0) if mode == ALL else (bounds[n] + after) * SLACK >= least
        least_here = least if mode == ANY else np.float32(0)
        if not fresh and entry.encoding != SPARSE and len(documents) * SEEK_COST < entry.frequency:
            kept = _seek(postings, entry, weight, documents, scores, mode, after, least_here)
            decoded += len(documents)
            documents, scores = documents[:kept], scores[:kept]
        else:
            documents, scores = _merge(postings, entry, weight, documents, scores, mode, fresh, after, least_here)
            decoded += entry.frequency
        if mode == ANY:
            least = max(least, kth_best(scores, k))
    return documents, scores, least, decoded


@njit(cache=True, nogil=True)
def _positions_of(postings: Any, entry: Any, document: int, row: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Read where a term is in a document."""
    if entry.encoding == SPARSE:
        return read_positions(postings, row[3], row[2], row[0], out) if row[0] else 0
    block, offset = document // BLOCK, document % BLOCK
    header = find_block_header(postings, entry, block)
    if header < 0:
        return 0
    at, stop = block_span(postings, entry, header)
    _, position = block_offsets(postings, entry, header)
    impact, code, mask, begin = seek_posting(postings, at, stop, position, offset)
    return read_positions(postings, begin, code, mask, out) if impact >= 0 else 0


@njit(cache=True, nogil=True)
def keep_phrase(
    postings_at: Any, row: Any, place: int, documents: Any, starts: Any, begins: Any, first: bool
) -> tuple[Any, Any, Any]:  # pragma: no cover - compiled
    """Keep the documents of a bundle in which a term of a phrase is where it must be.

    Parameters
        postings_at, row: addresses of the segment's postings, and the entry of the term, as the only row
        place: of the term in the phrase
        documents: of the accumulators, all of which have the term
        starts, begins: where the phrase may begin, for all documents, and the first of each document
        first: whether there are no `starts` yet
    Returns
        which accumulators stay, and new `starts` and `begins`
    """
    postings, entry = get_postings(postings_at), entry_of_row(row, 0)
    found = look_up_documents(postings, entry, documents) if entry.encoding == SPARSE else np.zeros((1, 4), np.int64)
    stays = np.zeros(len(documents), np.bool_)
    out = np.empty(MOST_POSITIONS, np.int64)
    room = 1024 if first else len(starts)
    new_starts, new_begins = np.empty(room, np.int64), np.zeros(len(documents) + 1, np.int64)
    used, kept = 0, 0
    for n in range(len(documents)):
        count = _positions_of(postings, entry, np.int64(documents[n]), found[n % len(found)], out)
        before, i = used, 0 if first else begins[n]
        for j in range(count):
            at = out[j] - place
            if first:
                if used == len(new_starts):
                    new_starts = np.concatenate((new_starts, np.empty(used, np.int64)))
                new_starts[used] = at
                used += 1
                continue
            while i < begins[n + 1] and starts[i] < at:
                i += 1
            if i < begins[n + 1] and starts[i] == at:
                new_starts[used] = at
                used += 1
        if used > before:
            stays[n] = True
            kept += 1
            new_begins[kept] = used
    return stays, new_starts[:used], new_begins[: kept + 1]


@njit(cache=True, nogil=True)
def pack_bundle(documents: Any, scores: Any, starts: Any, begins: Any) -> Any:  # pragma: no cover - compiled
    """Return accumulators as bytes: deltas of documents as varints, scores as they are, starts of phrases as deltas."""
    phrase = len(begins) > 1
    out = np.empty(16 + len(documents) * 14 + len(starts) * 9, np.uint8)
    at, last = write_varint(out, 0, np.int64(len(documents))), np.int64(-1)
    bits = scores.view(np.uint32)
    for n in range(len(documents)):
        at = write_varint(out, at, np.int64(documents[n]) - last)
        last = np.int64(documents[n])
        for shift in range(0, 32, 8):
            out[at] = np.uint8(bits[n] >> np.uint32(shift) & np.uint32(255))
            at += 1
        if phrase:
            at = write_varint(out, at, begins[n + 1] - begins[n])
            before = np.int64(0)
            for i in range(begins[n], begins[n + 1]):
                at = write_varint(out, at, starts[i] - before)
                before = starts[i]
    return out[:at]


@njit(cache=True, nogil=True)
def unpack_bundle(data: Any, phrase: bool) -> tuple[Any, Any, Any, Any]:  # pragma: no cover - compiled
    """Return the accumulators that `pack_bundle` wrote: documents, scores, starts and begins."""
    count, at = read_varint(data, 0)
    documents, bits = np.empty(count, np.int32), np.zeros(count, np.uint32)
    begins, starts = np.zeros(count + 1 if phrase else 0, np.int64), np.empty(len(data) if phrase else 0, np.int64)
    last, used = np.int64(-1), 0
    for n in range(count):
        step, at = read_varint(data, at)
        last += step
        documents[n] = last
        for shift in range(0, 32, 8):
            bits[n] |= np.uint32(data[at]) << np.uint32(shift)
            at += 1
        if phrase:
            here, at = read_varint(data, at)
            before = np.int64(0)
            for _ in range(here):
                step, at = read_varint(data, at)
                before += step
                starts[used] = before
                used += 1
            begins[n + 1] = used
    return documents, bits.view(np.float32), starts[:used], begins


@njit(cache=True, nogil=True)
def kth_impact(postings_at: Any, row: Any, k: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the highest and the k-th highest impact of a term, the latter 0 if fewer documents have it."""
    postings, entry = get_postings(postings_at), entry_of_row(row, 0)
    count = entry.frequency
    documents, codes = np.empty(count, np.int32), np.empty(count, np.uint8)
    masks, impacts = np.empty(count, np.uint8), np.empty(count, np.uint8)
    read_postings(postings, entry, documents, codes, masks, impacts)
    counts = np.zeros(256, np.int64)
    for n in range(count):
        counts[impacts[n]] += 1
    highest, kth, seen = 0, 0, 0
    for impact in range(255, -1, -1):
        if counts[impact] and not highest:
            highest = impact
        seen += counts[impact]
        if seen >= k:
            kth = impact
            break
    return highest, kth


__all__ = [
    "ALL",
    "ANY",
    "Bundle",
    "add_terms",
    "keep_phrase",
    "kth_best",
    "kth_impact",
    "pack_bundle",
    "unpack_bundle",
]
