"""Language identification: UTF-8 texts to the probability of each language, by a fastText classifier.

A text is the mean of the vectors of its words. The vector of a word is the sum of its own, where the model has the
word, and those of its character n-grams, where the model has them. A binary tree (hierarchical softmax) turns the mean
into probabilities: each inner node is a logistic regression, and the probability of a language is the product along the
path to its leaf. The columns of a result are languages by number. The order of additions is always the same: a text has
one result, alone or in a batch.
"""

from math import exp
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import popcount
from periplus.accel.pointers import borrow, keep
from periplus.accel.simd import add_floats

__all__ = ["DIMENSIONS", "ModelArrays", "score_texts", "sum_words", "word_hash"]

DIMENSIONS = 16
"""Length of a vector: a constant, as many numbers as `add_floats` adds."""
_LONGEST_WORD = 1024
"""Bytes of a word that are examined; the rest of a longer one is ignored, as are the spaces it may lack."""
_OFFSET, _PRIME = np.uint32(2166136261), np.uint32(16777619)
_ONE = np.uint64(1)
_KEY_OFFSET, _KEY_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_LEAST_CACHE, _MOST_CACHE, _BYTES_PER_WORD = 16, 4096, 4
"""Words of a call whose vectors are cached, and bytes of text for each; two words with one 64-bit hash are equal."""
_SIGN = np.uint32(0xFFFFFF00)
_LOG_FLOOR = np.float32(1e-5)
"""Added to every factor along a path, as in fastText."""
_LEAST_REACH = np.float32(1e-4)
"""Probability of a part of the tree below which its languages are left out."""
_LESS, _GREATER = np.uint8(60), np.uint8(62)


class ModelArrays(NamedTuple):
    """A classifier as arrays."""

    slots: npt.NDArray[np.int32]
    """Open-addressing hash table of the words: their numbers, -1 for a free slot."""
    hashes: npt.NDArray[np.uint32]
    """By word."""
    starts: npt.NDArray[np.int32]
    """Offset of each word in `blob`; one offset more than words."""
    blob: npt.NDArray[np.uint8]
    vectors: npt.NDArray[np.float32]
    """By word, the sum of its vector and those of its n-grams; then the vector of each n-gram, by bucket."""
    word_counts: npt.NDArray[np.int32]
    """By word, the number of vectors in that sum."""
    bits: npt.NDArray[np.uint64]
    """A bit for each bucket of n-grams: whether the model has it."""
    ranks: npt.NDArray[np.int32]
    """By element of `bits`, the number of bits before it."""
    buckets: np.uint32
    shortest: int
    longest: int
    """Characters of an n-gram."""
    end_word: int
    """Number of the word that ends every text, -1 if there is none."""
    output: npt.NDArray[np.float32]
    """The vector of each inner node of the tree, a column each, the root last."""
    left: npt.NDArray[np.int32]
    """Left child of each inner node: an inner node, or the complement (~) of the number of a language."""
    right: npt.NDArray[np.int32]


@njit(cache=True, nogil=True, forceinline=True)
def _hash_byte(hashed: Any, byte: Any) -> Any:  # pragma: no cover - compiled
    """Add a byte to a FNV-1a hash, sign-extended as by fastText."""
    value = np.uint32(byte)
    if byte >= 128:
        value |= _SIGN
    return np.uint32((hashed ^ value) * _PRIME)


@njit(cache=True, nogil=True)
def word_hash(data: npt.NDArray[np.uint8], begin: int, end: int) -> Any:  # pragma: no cover - compiled
    """Return the hash of a word.

    Parameters
    ----------
    data: UTF-8.
    begin, end: offsets of the word in `data`.

    Returns
    -------
    The 32-bit hash by which the model addresses words and n-grams.
    """
    hashed = _OFFSET
    for at in range(begin, end):
        hashed = _hash_byte(hashed, data[at])
    return hashed


@njit(cache=True, nogil=True, forceinline=True)
def _is_space(byte: Any) -> Any:  # pragma: no cover - compiled
    return byte == 32 or (byte <= 13 and (byte >= 9 or byte == 0))


@njit(cache=True, nogil=True, forceinline=True)
def _find_word(model: Any, data: Any, begin: Any, end: Any, hashed: Any) -> Any:  # pragma: no cover - compiled
    """Return the row of a word, -1 if the model does not have it."""
    slots, mask, hashes, starts, blob = model[0], model[1], model[2], model[3], model[4]
    slot = np.int64(hashed) & mask
    while True:
        number = np.int64(slots[slot])
        if number < 0:
            return np.int64(-1)
        start = np.int64(starts[number])
        if hashes[number] == hashed and np.int64(starts[number + 1]) - start == end - begin:
            at = np.int64(0)
            while at < end - begin and blob[start + at] == data[begin + at]:
                at += 1
            if at == end - begin:
                return number
        slot = (slot + 1) & mask


@njit(cache=True, nogil=True, forceinline=True)
def _find_ngrams(model: Any, word: Any, size: Any, rows: Any, used: Any) -> Any:  # pragma: no cover - compiled
    """Append the rows of the n-grams of `word`, which has its brackets, to `rows`; return how many there are now."""
    bits, ranks, buckets, shortest, longest, first_row = model
    for begin in range(size):
        if word[begin] & 0xC0 == 0x80:
            continue
        hashed = _OFFSET
        at = np.int64(begin)
        for length in range(1, longest + 1):
            if at >= size:
                break
            hashed = _hash_byte(hashed, word[at])
            at += 1
            while at < size and word[at] & 0xC0 == 0x80:
                hashed = _hash_byte(hashed, word[at])
                at += 1
            if length < shortest or (length == 1 and (begin == 0 or at == size)):
                continue
            bucket = np.uint32(hashed % buckets)
            element, bit = np.int64(bucket >> np.uint32(6)), np.uint64(bucket & np.uint32(63))
            flags = bits[element]
            if (flags >> bit) & _ONE:
                rows[used] = first_row + np.int64(ranks[element]) + popcount(flags & ((_ONE << bit) - _ONE))
                used += 1
    return used


@njit(cache=True, nogil=True)
def sum_words(model: ModelArrays) -> None:  # pragma: no cover - compiled
    """Add to the vector of each word of a model those of its n-grams, so that a word is one row.

    Parameters
    ----------
    model: the classifier, with `vectors` as in its file and `word_counts` of 1; both are changed.

    Returns
    -------
    None.
    """
    word = np.empty(_LONGEST_WORD + 2, np.uint8)
    rows = np.empty((_LONGEST_WORD + 2) * model.longest, np.int32)
    ngrams = (model.bits, model.ranks, model.buckets, model.shortest, model.longest, len(model.hashes))
    for number in range(len(model.hashes)):
        if number == model.end_word:
            continue
        begin = np.int64(model.starts[number])
        size = min(int(model.starts[number + 1]) - int(begin), _LONGEST_WORD)
        word[0] = _LESS
        for i in range(size):
            word[1 + i] = model.blob[begin + i]
        word[1 + size] = _GREATER
        used = _find_ngrams(ngrams, word, size + 2, rows, 0)
        for row in rows[:used]:
            for i in range(DIMENSIONS):
                model.vectors[number, i] += model.vectors[row, i]
        model.word_counts[number] += used


@njit(cache=True, nogil=True, fastmath=True)  # Sums in any order, which is the same for every text.
def _walk_tree(
    output: Any, left: Any, right: Any, mean: Any, products: Any, reach: Any, row: Any
) -> None:  # pragma: no cover - compiled
    """Write the probability of each language to `row`, from the root of the tree down, but for improbable parts."""
    products[:] = 0
    for i in range(DIMENSIONS):
        weight = mean[i]
        for node in range(len(products)):
            products[node] += output[i, node] * weight
    reach[:] = 0
    reach[len(left) - 1] = 1.0
    for node in range(len(left) - 1, -1, -1):
        if reach[node] < _LEAST_REACH:
            continue
        share = np.float32(1.0) / (np.float32(1.0) + np.float32(exp(-products[node])))
        value = reach[node] * (np.float32(1.0) - share + _LOG_FLOOR)
        child = np.int64(left[node])
        if child < 0:
            row[~child] = value
        else:
            reach[child] = value
        value = reach[node] * (share + _LOG_FLOOR)
        child = np.int64(right[node])
        if child < 0:
            row[~child] = value
        else:
            reach[child] = value


@njit(cache=True, nogil=True)
def score_texts(
    model: ModelArrays,
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    skipped: npt.NDArray[np.bool_],
    scores: npt.NDArray[np.float32],
    vector_counts: npt.NDArray[np.int32],
) -> None:  # pragma: no cover - compiled
    """Write the probability of each language of each text.

    Parameters
    ----------
    model: the classifier.
    data, bounds: the texts in UTF-8, and the offset of each; one offset more than texts. Any bytes are allowed.
    skipped: whether to leave a text out.
    scores: a row for each text with an element for each language by number, filled in; 0 for a text without words that
        the model knows anything about, and for a text that is left out.
    vector_counts: the number of vectors of the model that each text has, filled in.

    Returns
    -------
    None.
    """
    words = len(model.hashes)
    dictionary = (
        borrow(model.slots),
        len(model.slots) - 1,
        borrow(model.hashes),
        borrow(model.starts),
        borrow(model.blob),
    )
    ngrams = (borrow(model.bits), borrow(model.ranks), model.buckets, model.shortest, model.longest, words)
    vectors, raw = borrow(model.vectors.reshape(-1)), borrow(data)
    scratch = np.empty(_LONGEST_WORD + 2, np.uint8)
    row_scratch = np.empty((_LONGEST_WORD + 2) * model.longest, np.int32)
    sums = np.empty(DIMENSIONS, np.float32)
    size = _LEAST_CACHE
    while size < _MOST_CACHE and size * _BYTES_PER_WORD < len(data):
        size *= 2
    cached_keys, cached_sums = np.zeros(size, np.uint64), np.empty(size * DIMENSIONS, np.float32)
    cached_counts = np.empty(size, np.int32)
    keys, vector_sums, counts = borrow(cached_keys), borrow(cached_sums), borrow(cached_counts)
    word, rows, total = borrow(scratch), borrow(row_scratch), borrow(sums)
    products, reach = np.zeros(len(model.left), np.float32), np.zeros(len(model.left), np.float32)
    mask = np.uint64(size - 1)
    word[0] = _LESS
    for text in range(len(bounds) - 1):
        scores[text, :] = 0
        vector_counts[text] = 0
        if skipped[text]:
            continue
        end = bounds[text + 1]
        at = bounds[text]
        for i in range(DIMENSIONS):
            total[i] = np.float32(0.0)
        count = np.int64(0)
        while at < end:
            if _is_space(raw[at]):
                at += 1
                continue
            opened = at
            hashed, key = _OFFSET, _KEY_OFFSET
            while at < end and not _is_space(raw[at]):
                hashed = _hash_byte(hashed, raw[at])
                key = (key ^ np.uint64(raw[at])) * _KEY_PRIME
                at += 1
            key |= _ONE
            slot = np.int64((key ^ (key >> np.uint64(32))) & mask)
            begin = slot * DIMENSIONS
            if keys[slot] != key:
                keys[slot] = key
                number = _find_word(dictionary, raw, opened, at, hashed)
                if number >= 0:
                    rows[0] = number
                    used = np.int64(1)
                    counts[slot] = model.word_counts[number]
                else:
                    length = min(at - opened, _LONGEST_WORD)
                    for i in range(length):
                        word[1 + i] = raw[opened + i]
                    word[1 + length] = _GREATER
                    used = _find_ngrams(ngrams, word, length + 2, rows, np.int64(0))
                    counts[slot] = used
                for i in range(DIMENSIONS):
                    vector_sums[begin + i] = np.float32(0.0)
                for r in range(used):
                    add_floats(vectors, np.int64(rows[r]) * DIMENSIONS, vector_sums, begin)
            count += counts[slot]
            add_floats(vector_sums, begin, total, np.int64(0))
        vector_counts[text] = count
        if count == 0:
            continue
        if model.end_word >= 0:
            for i in range(DIMENSIONS):
                total[i] += model.vectors[model.end_word, i]
            count += model.word_counts[model.end_word]
        for i in range(DIMENSIONS):
            total[i] /= np.float32(count)
        _walk_tree(model.output, model.left, model.right, sums, products, reach, scores[text])
    keep((scratch, row_scratch, sums, cached_keys, cached_sums, cached_counts))


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    model = ModelArrays(
        np.full(4, -1, np.int32),
        np.zeros(1, np.uint32),
        np.array([0, 1], np.int32),
        np.frombuffer(b"a", np.uint8),
        np.zeros((2, DIMENSIONS), np.float32),
        np.ones(1, np.int32),
        np.ones(1, np.uint64),
        np.zeros(1, np.int32),
        np.uint32(64),
        2,
        4,
        -1,
        np.zeros((DIMENSIONS, 1), np.float32),
        np.array([~1], np.int32),
        np.array([~2], np.int32),
    )
    sum_words(model)
    data, bounds = np.frombuffer(b"a word", np.uint8), np.array([0, 6], np.int64)
    word_hash(data, 0, len(data))
    score_texts(model, data, bounds, np.zeros(1, np.bool_), np.zeros((1, 3), np.float32), np.zeros(1, np.int32))
