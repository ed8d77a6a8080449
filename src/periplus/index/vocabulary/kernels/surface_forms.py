"""Vocabularies: words as people write them, their document frequencies, and pairs of neighbours.

A vocabulary is stored front-coded, and unpacked into letters of 16 bits, so that a letter of any alphabet is one
element. A pair of neighbours is identified by a hash of both words.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.term_dictionary import read_bounded_varint, write_varint
from periplus.text.kernels.word_table import hash_words

__all__ = [
    "MAX_LETTERS",
    "MIN_LETTERS",
    "PairTable",
    "Vocabulary",
    "count_pairs",
    "finish_vocabulary",
    "is_spellable",
    "look_up_pairs",
    "merge_vocabularies",
    "pack_vocabulary",
    "prefix_keys",
    "unpack_vocabulary",
]

MIN_LETTERS, MAX_LETTERS = 2, 24
"""Letters of the words that are stored."""
_BYTES = 3 * MAX_LETTERS
_MAX_COUNT = 1 << 30
"""More documents than a segment has."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Vocabulary(NamedTuple):
    """A vocabulary, in order."""

    letters: npt.NDArray[np.uint16]
    """The letters of all words, one after the other."""
    start: npt.NDArray[np.int64]
    """Where each word begins; one more than there are words."""
    count: npt.NDArray[np.int32]
    """Documents that have each word."""
    shared: npt.NDArray[np.uint8]
    """How many letters each word shares with the one before."""


class PairTable(NamedTuple):
    """A table of pairs while they are counted."""

    key: npt.NDArray[np.uint32]
    """0 where the slot is free."""
    count: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]
    """The document that was counted last."""


@njit(cache=True, nogil=True)
def is_spellable(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:  # pragma: no cover - compiled
    """Return which words (UTF-8) can be corrected: of letters only, not too long, of a script that separates words."""
    spellable = np.zeros(len(start) - 1, np.bool_)
    for word in range(len(spellable)):
        letters, allowed = 0, True
        for at in range(start[word], start[word + 1]):
            byte = blob[at]
            if byte < 0x80:
                allowed = allowed and (0x61 <= byte <= 0x7A or byte == 0x27)
            elif byte >= 0xC0:  # From Thai on, scripts do not separate words, but for Georgian and Latin Extended.
                last = blob[at + 1]
                spaced = (byte == 0xE0 and last < 0xB8) or (byte == 0xE1 and (last == 0x83 or last >= 0xB8))
                allowed = allowed and (byte < 0xE0 or spaced)
            letters += byte & 0xC0 != 0x80
        spellable[word] = allowed and MIN_LETTERS <= letters <= MAX_LETTERS
    return spellable


@njit(cache=True, nogil=True)
def prefix_keys(
    blob: npt.NDArray[np.uint8], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:  # pragma: no cover - compiled
    """Return up to eight bytes of each string from `begin` on, as an integer that sorts as they do."""
    keys = np.zeros(len(begin), np.uint64)
    for number in range(len(begin)):
        for at in range(begin[number], min(begin[number] + 8, end[number])):
            keys[number] |= np.uint64(blob[at]) << np.uint64(8 * (7 - (at - begin[number])))
    return keys


@njit(cache=True, nogil=True, forceinline=True)
def _pair_key(first: Any, second: Any) -> Any:  # pragma: no cover - compiled
    mixed = (first * _MULTIPLIER) ^ second
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _MULTIPLIER
    return np.uint32(mixed >> np.uint64(32)) | np.uint32(1)


@njit(cache=True, nogil=True)
def count_pairs(
    tokens: npt.NDArray[np.int32],
    lengths: npt.NDArray[np.int32],
    fields: int,
    hashes: npt.NDArray[np.uint64],
    pairs: PairTable,
) -> int:  # pragma: no cover - compiled
    """Count the documents of each pair of neighbours.

    Parameters
        tokens, lengths: words of all fields, and how many each field of each document has
        fields: how many fields a document has
        hashes: hash of each word; a word of hash 0 is in no pair
        pairs: the table of pairs; updated. At three quarters full, it accepts no new pairs
    Returns
        how many new pairs there are
    """
    mask = np.uint64(len(pairs.key) - 1)
    most = len(pairs.key) * 3 // 4
    used, at = 0, 0
    for text in range(len(lengths)):
        document = text // fields
        end = at + lengths[text]
        before = np.uint64(0)
        for token in range(at, end):
            hashed = hashes[tokens[token]]
            if before != 0 and hashed != 0:
                key = _pair_key(before, hashed)
                slot = np.uint64(key >> np.uint32(1)) & mask
                while pairs.key[slot] != 0 and pairs.key[slot] != key:
                    slot = (slot + np.uint64(1)) & mask
                if pairs.key[slot] == 0 and used < most:
                    pairs.key[slot] = key
                    pairs.last[slot] = -1
                    used += 1
                if pairs.key[slot] == key and pairs.last[slot] != document:
                    pairs.last[slot] = document
                    pairs.count[slot] += 1
            before = hashed
        at = end
    return used


@njit(cache=True, nogil=True)
def look_up_pairs(
    key: npt.NDArray[np.uint32],
    count: npt.NDArray[np.int32],
    first: npt.NDArray[np.uint64],
    second: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Return the frequency of pairs.

    Parameters
        key, count: sorted keys of pairs, and their frequencies
        first, second: hashes of the words of each pair to look up
    """
    frequencies = np.zeros(len(first), np.int32)
    for number in range(len(first)):
        wanted = _pair_key(first[number], second[number])
        at = np.searchsorted(key, wanted)
        if at < len(key) and key[at] == wanted:
            frequencies[number] = count[at]
    return frequencies


@njit(cache=True, nogil=True)
def pack_vocabulary(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64], count: npt.NDArray[np.int32]
) -> npt.NDArray[np.uint8]:  # pragma: no cover - compiled
    """Return sorted words (UTF-8) packed: bytes shared with the one before, bytes added, those bytes, documents."""
    out = np.empty(len(blob) + 8 * len(count), np.uint8)
    at = 0
    for word in range(len(count)):
        begin, length, shared = start[word], start[word + 1] - start[word], 0
        if word:
            before = start[word - 1]
            most = min(length, begin - before)
            while shared < most and blob[before + shared] == blob[begin + shared]:
                shared += 1
        at = write_varint(out, at, shared)
        at = write_varint(out, at, length - shared)
        for i in range(shared, length):
            out[at] = blob[begin + i]
            at += 1
        at = write_varint(out, at, count[word])
    return out[:at].copy()


@njit(cache=True, nogil=True)
def _decode_letters(raw: Any, length: int, out: Any, at: int) -> int:  # pragma: no cover - compiled
    """Decode UTF-8 of up to three bytes a letter into `out`; return where the letters end."""
    i = 0
    while i < length:
        first = np.int64(raw[i])
        if first < 0x80:
            out[at] = first
            i += 1
        elif first < 0xE0:
            out[at] = (first & 0x1F) << 6 | (np.int64(raw[i + 1]) & 0x3F)
            i += 2
        else:
            out[at] = (first & 0x0F) << 12 | (np.int64(raw[i + 1]) & 0x3F) << 6 | (np.int64(raw[i + 2]) & 0x3F)
            i += 3
        at += 1
    return at


@njit(cache=True, nogil=True)
def _count_letters(raw: Any, length: int) -> int:  # pragma: no cover - compiled
    """Return how many letters `_decode_letters` makes of some bytes."""
    count, i = 0, 0
    while i < length:
        i += 1 if raw[i] < 0x80 else (2 if raw[i] < 0xE0 else 3)
        count += 1
    return count


@njit(cache=True, nogil=True)
def finish_vocabulary(
    letters: npt.NDArray[np.uint16], start: npt.NDArray[np.int64], count: npt.NDArray[np.int32]
) -> Vocabulary:  # pragma: no cover - compiled
    """Return a vocabulary of sorted words, with what each shares with the one before."""
    shared = np.zeros(len(count), np.uint8)
    for word in range(1, len(count)):
        before, begin, end = start[word - 1], start[word], start[word + 1]
        same = 0
        while begin + same < end and before + same < begin and letters[before + same] == letters[begin + same]:
            same += 1
        shared[word] = same
    return Vocabulary(letters[: start[len(count)]].copy(), start.copy(), count.copy(), shared)


@njit(cache=True, nogil=True)
def unpack_vocabulary(packed: npt.NDArray[np.uint8], words: int) -> Vocabulary:  # pragma: no cover - compiled
    """Return an unpacked vocabulary of `words` words; one that is damaged ends where that shows."""
    letters = np.empty(words * MAX_LETTERS, np.uint16)
    start, count = np.zeros(words + 1, np.int64), np.zeros(words, np.int32)
    raw = np.zeros(_BYTES + 2, np.uint8)
    at, done = 0, 0
    while done < words and at < len(packed):
        shared, at = read_bounded_varint(packed, at, len(packed))
        added, at = read_bounded_varint(packed, at, len(packed))
        if at < 0 or shared + added > _BYTES or at + added >= len(packed):
            break
        for i in range(added):
            raw[shared + i] = packed[at + i]
        at += added
        number, at = read_bounded_varint(packed, at, len(packed))
        end = start[done]
        if at < 0 or _count_letters(raw, shared + added) > MAX_LETTERS:
            break
        start[done + 1] = _decode_letters(raw, shared + added, letters, end)
        count[done] = min(number, _MAX_COUNT)
        done += 1
    return finish_vocabulary(letters, start[: done + 1], count[:done])


@njit(cache=True, nogil=True)
def _order(one: Vocabulary, i: int, two: Vocabulary, j: int) -> int:  # pragma: no cover - compiled
    """Return a number below, at or above 0, as a word sorts before, equals or sorts after another."""
    a, b = one.start[i], two.start[j]
    long_a, long_b = one.start[i + 1] - a, two.start[j + 1] - b
    for k in range(min(long_a, long_b)):
        if one.letters[a + k] != two.letters[b + k]:
            return np.int64(one.letters[a + k]) - np.int64(two.letters[b + k])
    return long_a - long_b


@njit(cache=True, nogil=True)
def merge_vocabularies(one: Vocabulary, two: Vocabulary) -> Vocabulary:  # pragma: no cover - compiled
    """Return two vocabularies merged, the documents of words that both have summed."""
    letters = np.empty(len(one.letters) + len(two.letters), np.uint16)
    most = len(one.count) + len(two.count)
    start, count = np.zeros(most + 1, np.int64), np.zeros(most, np.int32)
    i, j, done, at = 0, 0, 0, 0
    while i < len(one.count) or j < len(two.count):
        if i == len(one.count):
            order = 1
        elif j == len(two.count):
            order = -1
        else:
            order = _order(one, i, two, j)
        source, word = (one, i) if order <= 0 else (two, j)
        for k in range(source.start[word], source.start[word + 1]):
            letters[at] = source.letters[k]
            at += 1
        count[done] = (one.count[i] if order <= 0 else 0) + (two.count[j] if order >= 0 else 0)
        i += order <= 0
        j += order >= 0
        done += 1
        start[done] = at
    return finish_vocabulary(letters, start[: done + 1], count[:done])


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    blob, start = np.frombuffer(b"abcd", np.uint8), np.array([0, 2, 4])
    is_spellable(blob, start)
    for pieces in (blob, blob.copy()):
        prefix_keys(pieces, start[:1], start[1:2])
        pack_vocabulary(pieces, start, np.ones(2, np.int32))
    hashes = hash_words(blob, start)
    tokens, lengths = np.array([0, 1], np.int32), np.array([2], np.int32)
    pairs = PairTable(np.zeros(8, np.uint32), np.zeros(8, np.int32), np.zeros(8, np.int32))
    count_pairs(tokens, lengths, 1, hashes, pairs)
    look_up_pairs(np.sort(pairs.key), pairs.count, hashes, hashes)
    packed = pack_vocabulary(blob, start, np.ones(2, np.int32))
    packed.flags.writeable = False
    words = unpack_vocabulary(packed, 2)
    merge_vocabularies(words, words)
    finish_vocabulary(words.letters, words.start, words.count)
