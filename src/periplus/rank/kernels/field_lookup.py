"""Looks terms up in some documents, for the fields that have them: without positions, which take longer to find."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.index.dense_blocks.kernels import find_dense, is_dense
from periplus.index.kernels.postings_format import BITSET, BLOCK, BODY_ONLY, ESCAPED, SPARSE
from periplus.index.kernels.postings_reader import PostingsReader, block_span, find_block_header, read_escaped
from periplus.index.kernels.term_dictionary import TermEntry
from periplus.index.sparse_postings.kernels import enter_sparse, read_sparse

__all__ = ["look_up_fields"]


@njit(cache=True, nogil=True, forceinline=True)
def _fields_in_block(stream: Any, at: int, stop: int, offset: int) -> int:  # pragma: no cover - compiled
    """Return the mask of fields of a document in a block, 0 if it is not among the postings from `at` to `stop`."""
    if is_dense(stream, at, stop):
        return find_dense(stream, at, offset)[2]
    while at < stop:
        byte = np.int64(stream[at])
        mask, at = np.int64(BODY_ONLY), at + 1
        if byte >= ESCAPED << 6:
            mask, _, at = read_escaped(stream, at)
        if byte & (BLOCK - 1) == offset:
            return mask
    return 0


@njit(cache=True, nogil=True)
def _look_up_sparse(
    postings: PostingsReader, entry: TermEntry, documents: Any, excluded: Any, fields: Any
) -> None:  # pragma: no cover - compiled
    """Do what `look_up_fields` does for a sparse term."""
    document, i = np.int64(-1), 0
    at, width = enter_sparse(entry.begin, entry.frequency, postings.plain_impact, postings.is_packed)
    for _ in range(entry.frequency):
        if i == len(documents):
            break
        step, _, mask, _, at = read_sparse(postings.stream, at, width)
        document += step
        while i < len(documents) and documents[i] < document:
            i += 1
        if i < len(documents) and documents[i] == document and not excluded[i]:
            fields[i] |= mask


@njit(cache=True, nogil=True)
def look_up_fields(
    postings: PostingsReader, entry: TermEntry, documents: Any, excluded: Any, fields: Any
) -> None:  # pragma: no cover - compiled
    """Look one term up in some documents.

    Parameters
        postings, entry: the segment, and a term of it
        documents: numbers of documents, ascending
        excluded: of each, whether the term does not count in it
        fields: the fields in which each document has the term are added to its mask
    """
    if entry.encoding == SPARSE:
        _look_up_sparse(postings, entry, documents, excluded, fields)
        return
    block, at, stop = np.int64(-1), np.int64(0), np.int64(0)
    for i in range(len(documents)):
        document = np.int64(documents[i])
        offset = np.uint64(document & (BLOCK - 1))
        if excluded[i]:
            continue
        if entry.encoding == BITSET and not (postings.bitsets[entry.bitset_row, document // BLOCK] >> offset) & 1:
            continue
        if document // BLOCK != block:
            block = document // BLOCK
            header = find_block_header(postings, entry, block)
            at, stop = block_span(postings, entry, header) if header >= 0 else (np.int64(0), np.int64(0))
        fields[i] |= _fields_in_block(postings.stream, at, stop, np.int64(offset))
