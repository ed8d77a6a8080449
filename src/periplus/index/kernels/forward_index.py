"""What a segment is made of before its documents have an order: tokens and texts, taken in any order of documents.

Tokens of a document are together, field after field; documents lie about in the order in which they came. So an order
of documents is nothing but a list of places, and no token is moved before it is sorted by its term.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.inversion import FIELD_SHIFT, Sorted

__all__ = ["Texts", "count_spaces", "count_uses", "cut_blocks", "gather", "sample", "sort_tokens"]


class Texts(NamedTuple):
    """Documents as word numbers, in the order that they are to have."""

    words: npt.NDArray[np.int32]
    """The tokens of all documents, those left out too."""
    begin: npt.NDArray[np.int64]
    """Where in `words` each document begins."""
    lengths: npt.NDArray[np.int32]
    """Tokens by document and field."""


@njit(cache=True, nogil=True)
def count_uses(texts: Texts, words: int) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Count for each word the documents that have it, and its tokens: a row each."""
    counted = np.zeros((words, 2), np.int64)  # First the document counted last, plus one, above the number of them.
    for document in range(len(texts.begin)):
        mark = np.int64(document + 1) << 32
        at = texts.begin[document]
        for _ in range(texts.lengths[document].sum()):
            word = np.uint64(texts.words[at])
            at += 1
            held = counted[word, 0]
            counted[word, 1] += 1
            if held < mark:
                counted[word, 0] = mark | ((held & 0xFFFFFFFF) + 1)
    for word in range(words):
        counted[word, 0] &= 0xFFFFFFFF
    return counted


@njit(cache=True, nogil=True)
def sort_tokens(
    texts: Texts, terms: npt.NDArray[np.int32], totals: npt.NDArray[np.int64], first: int
) -> Sorted:  # pragma: no cover - compiled
    """Sort the tokens of some terms, from `first` on as many as `totals` gives the tokens of; `terms` is by word."""
    count = np.uint64(len(totals))
    starts = np.zeros(len(totals) + 1, np.int64)
    for term in range(len(totals)):
        starts[term + 1] = starts[term] + totals[term]
    place = starts[:-1].copy()
    documents, positions = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint32)
    for document in range(len(texts.begin)):
        token = np.uint64(texts.begin[document])
        for field in range(texts.lengths.shape[1]):
            tag = np.uint32(field) << np.uint32(FIELD_SHIFT)
            for i in range(texts.lengths[document, field]):
                term = np.uint64(np.int64(terms[np.uint64(texts.words[token])]) - first)
                token += np.uint64(1)
                if term < count:
                    at = np.uint64(place[term])
                    place[term] += 1
                    documents[at] = document
                    positions[at] = tag | np.uint32(i)
    return Sorted(starts, documents, positions)


@njit(cache=True, nogil=True)
def sample(
    texts: Texts, every: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:  # pragma: no cover - compiled
    """Give the tokens of all fields but the last, and of the last those of one in `every` documents; and how many."""
    fields = texts.lengths.shape[1]
    lengths = texts.lengths.copy()
    for document in range(len(texts.begin)):
        if document % every:
            lengths[document, fields - 1] = 0
    tokens = np.empty(lengths.sum(), np.int32)
    done = 0
    for document in range(len(texts.begin)):
        at = texts.begin[document]
        for _ in range(lengths[document].sum()):
            tokens[done] = texts.words[at]
            at += 1
            done += 1
    return tokens, lengths.reshape(-1)


@njit(cache=True, nogil=True)
def cut_blocks(
    sizes: npt.NDArray[np.int64], least: int, ends: npt.NDArray[np.uint32], first: npt.NDArray[np.uint32]
) -> int:  # pragma: no cover - compiled
    """Put texts into blocks, each of `least` bytes at least but the last; give how many blocks there are.

    Fills `ends`, where each text ends in its block, and `first`, the first text of each block and their number.
    """
    blocks, size = 0, 0
    first[0] = 0
    for text in range(len(sizes)):
        size += sizes[text]
        ends[text] = size
        if size >= least or text == len(sizes) - 1:
            blocks, size = blocks + 1, 0
            first[blocks] = text + 1
    return blocks


@njit(cache=True, nogil=True)
def gather(
    data: npt.NDArray[np.uint8], begin: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:  # pragma: no cover - compiled
    """Put texts that lie about in `data` one after the other."""
    out = np.empty(sizes.sum(), np.uint8)
    at = 0
    for text in range(len(sizes)):
        out[at : at + sizes[text]] = data[begin[text] : begin[text] + sizes[text]]
        at += sizes[text]
    return out


@njit(cache=True, nogil=True)
def count_spaces(data: Any, begin: Any, sizes: Any) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Count the spaces of each text."""
    counts = np.zeros(len(begin), np.int64)
    for text in range(len(begin)):
        for at in range(begin[text], begin[text] + sizes[text]):
            counts[text] += data[at] == 32
    return counts


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    blob = np.frombuffer(b"a", np.uint8)
    tokens = np.zeros(1, np.int32)
    tokens.flags.writeable = False
    texts = Texts(tokens, zero, np.eye(1, 6, dtype=np.int32))
    count_uses(texts, 1)
    sort_tokens(texts, np.zeros(1, np.int32), one, 0)
    sample(texts, 1)
    cut_blocks(one, 1, np.zeros(1, np.uint32), np.zeros(2, np.uint32))
    gather(blob, zero, one)
    count_spaces(blob, zero, one)
