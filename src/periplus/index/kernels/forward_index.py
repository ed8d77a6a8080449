"""The forward index: tokens and texts by document, before inversion.

The tokens of a document are together, field after field; documents are in the order in which they arrived. An order of
documents is therefore a list of offsets, and no token is moved before it is sorted by its term.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.index.kernels.inversion import BODY_FIELD, FIELD_SHIFT, FIELDS, SortedTokens

__all__ = [
    "USES_DOCUMENTS",
    "USES_TOKENS",
    "DocumentTokens",
    "SortRoom",
    "allocate_room",
    "assign_blocks",
    "concatenate_texts",
    "copy_texts",
    "count_spaces",
    "count_word_uses",
    "sample_tokens",
    "sort_tokens",
]

_AT_ONCE = 256
"""Tokens that are listed before they are sorted."""
USES_DOCUMENTS, USES_TOKENS = 0, 1
"""Columns of what `count_word_uses` returns."""


class DocumentTokens(NamedTuple):
    """Documents as word numbers, in the order of the segment."""

    words: npt.NDArray[np.int32]
    """The tokens of all documents, also of those that are left out."""
    begin: npt.NDArray[np.int64]
    """Where in `words` each document begins."""
    lengths: npt.NDArray[np.int32]
    """Tokens by document and field."""


class SortRoom(NamedTuple):
    """Memory for sorting: the system clears new memory first, which takes longer than sorting in several runs."""

    documents: npt.NDArray[np.int32]
    positions: npt.NDArray[np.uint32]


@njit(cache=True, nogil=True)
def count_word_uses(texts: DocumentTokens, words: int) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Count how often words are used.

    Parameters
        texts: the documents
        words: how many words there are
    Returns
        a row for each word: the documents that have it, and its tokens (columns USES_DOCUMENTS, USES_TOKENS)
    """
    # While counting, the upper half of USES_DOCUMENTS is the document that was counted last, plus one.
    counted = np.zeros((words, 2), np.int64)
    for document in range(len(texts.begin)):
        mark = np.int64(document + 1) << 32
        at = texts.begin[document]
        for _ in range(texts.lengths[document].sum()):
            word = np.uint64(texts.words[at])
            at += 1
            before = counted[word, USES_DOCUMENTS]
            counted[word, USES_TOKENS] += 1
            # Without a branch: a third of the words of a document come again in it.
            counted[word, USES_DOCUMENTS] = mark | ((before & 0xFFFFFFFF) + (before < mark))
    for word in range(words):
        counted[word, USES_DOCUMENTS] &= 0xFFFFFFFF
    return counted


def allocate_room(tokens: int) -> SortRoom:
    """Return memory for sorting so many tokens at a time.

    It is allocated here, where the system is asked for large pages: it takes a quarter of the time otherwise.
    """
    return SortRoom(np.empty(tokens, np.int32), np.empty(tokens, np.uint32))


def sort_tokens(
    texts: DocumentTokens,
    terms: npt.NDArray[np.int32],
    totals: npt.NDArray[np.int64],
    first: int,
    room: SortRoom | None = None,
) -> SortedTokens:
    """Sort the tokens of some consecutive terms by term, then document, then position.

    Parameters
        texts: the documents
        terms: the term of each word
        totals: the tokens of each term that is wanted
        first: the number of the first term that is wanted
        room: memory for as many tokens at least, which what is returned lies in
    """
    starts = np.zeros(len(totals) + 1, np.int64)
    np.cumsum(totals, out=starts[1:])
    count = int(starts[-1])
    documents, positions = room or allocate_room(count)
    tokens = SortedTokens(starts, documents[:count], positions[:count])
    _sort_tokens(texts, terms, first, tokens)
    return tokens


@njit(cache=True, nogil=True)
def _sort_tokens(
    texts: DocumentTokens, terms: Any, first: int, out: SortedTokens
) -> None:  # pragma: no cover - compiled
    """Fill in documents and positions, given where the tokens of each term begin.

    The tokens that are wanted are listed first, without a branch for each: of several runs, each wants some.
    """
    count = np.uint64(len(out.starts) - 1)
    cursors = out.starts[:-1].copy()
    documents, positions = out.documents, out.positions
    wanted, places = np.empty(_AT_ONCE, np.uint64), np.empty(_AT_ONCE, np.uint32)
    for document in range(len(texts.begin)):
        token = np.uint64(texts.begin[document])
        for field in range(texts.lengths.shape[1]):
            tag = np.uint32(field) << np.uint32(FIELD_SHIFT)
            size = int(texts.lengths[document, field])
            for begin in range(0, size, _AT_ONCE):
                listed = np.uint64(0)
                for i in range(begin, min(size, begin + _AT_ONCE)):
                    term = np.uint64(np.int64(terms[np.uint64(texts.words[token])]) - first)
                    token += np.uint64(1)
                    wanted[listed], places[listed] = term, tag | np.uint32(i)
                    listed += np.uint64(term < count)
                for i in range(np.int64(listed)):
                    term = wanted[i]
                    at = np.uint64(cursors[term])
                    cursors[term] += 1
                    documents[at] = document
                    positions[at] = places[i]


@njit(cache=True, nogil=True)
def sample_tokens(
    texts: DocumentTokens, every: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:  # pragma: no cover - compiled
    """Return the tokens of all fields before the body, and of the body those of one in `every` documents.

    Boilerplate, which comes after the body, is left out: it is the same on all pages of a site.

    Returns
        the tokens, and how many there are in each field of each document
    """
    lengths = texts.lengths.copy()
    for document in range(len(texts.begin)):
        lengths[document, BODY_FIELD + (document % every == 0) :] = 0
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
def assign_blocks(
    sizes: npt.NDArray[np.int64], least: int, ends: npt.NDArray[np.uint32], first: npt.NDArray[np.uint32]
) -> int:  # pragma: no cover - compiled
    """Assign texts to blocks of at least `least` bytes each, the last excepted.

    Parameters
        sizes: bytes of each text
        least: bytes from which on a block is full
        ends: where each text ends in its block; filled
        first: the first text of each block, then the number of texts; filled
    Returns
        how many blocks there are
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
def concatenate_texts(
    data: npt.NDArray[np.uint8], begin: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:  # pragma: no cover - compiled
    """Return texts of `data`, given where each begins and its size, one after the other."""
    out = np.empty(sizes.sum(), np.uint8)
    copy_texts(data, begin, sizes, out)
    return out


@njit(cache=True, nogil=True)
def copy_texts(data: Any, begin: Any, sizes: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Copy texts of `data`, given where each begins and its size, to an array that has room for all of them."""
    source, target = borrow(data), borrow(out)
    at = 0
    for text in range(len(sizes)):
        first = begin[text]
        for i in range(sizes[text]):
            target[at + i] = source[first + i]
        at += sizes[text]


@njit(cache=True, nogil=True)
def count_spaces(data: Any, begin: Any, sizes: Any) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Return how many spaces each text of `data` has, given where it begins and its size."""
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
    texts = DocumentTokens(tokens, zero, np.eye(1, FIELDS, dtype=np.int32))
    count_word_uses(texts, 1)
    sort_tokens(texts, np.zeros(1, np.int32), one, 0)
    sample_tokens(texts, 1)
    assign_blocks(one, 1, np.zeros(1, np.uint32), np.zeros(2, np.uint32))
    concatenate_texts(blob, zero, one)
    copy_texts(blob, zero, one, blob.copy())
    count_spaces(blob, zero, one)
