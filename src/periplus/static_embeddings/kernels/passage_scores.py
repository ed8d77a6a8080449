"""The similarity of documents to a query, by the signs of the vectors of their passages."""

from typing import Any

import numpy as np

from periplus.accel import njit

__all__ = ["score_documents", "warm"]


@njit(cache=True, nogil=True)
def score_documents(signs: Any, start: Any, query: Any, documents: Any, out: Any) -> None:
    """Write how similar each document's best passage is to a query.

    A passage is known by the signs of its components only, as if they were all of one size, so the similarity is
    about four fifths of the cosine. Eight components at a time are looked up in a table of sums.

    Parameters
    ----------
    signs: a row for each passage, as `embed_documents` writes them.
    start: the first row of each document, and the end of the last, uint32 (documents + 1).
    query: the vector of the query, float32 of length 1.
    documents: the documents to score, int32.
    out: receives a score for each, float32; nan for a document without passages.
    """
    groups = signs.shape[1]
    sums = np.empty((groups, 256), np.float32)
    size = np.float32(1 / np.sqrt(np.float64(len(query))))
    for group in range(groups):
        lowest = np.float32(0)
        for i in range(8):
            lowest -= query[8 * group + i] * size
        sums[group, 0] = lowest
        for i in range(8):
            step = np.float32(2) * query[8 * group + i] * size
            for bits in range(1 << i):
                sums[group, bits + (1 << i)] = sums[group, bits] + step
    for number in range(len(documents)):
        document = documents[number]
        best = np.float32(np.nan)
        for row in range(start[document], start[document + 1]):
            value = np.float32(0)
            for group in range(groups):
                value += sums[group, signs[row, group]]
            if not value <= best:
                best = value
        out[number] = best


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    signs, start = np.zeros((1, 1), np.uint8), np.zeros(2, np.uint32)
    signs.flags.writeable = start.flags.writeable = False
    score_documents(signs, start, np.zeros(8, np.float32), np.zeros(1, np.int32), np.zeros(1, np.float32))
