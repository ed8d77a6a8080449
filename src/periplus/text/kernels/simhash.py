"""Simhashes: 64-bit hashes over shingles of words, and the pairs of texts whose hashes differ in few bits.

A word is a run of letters and digits, or one character of a script written without spaces. Every shingle of `SHINGLE`
words votes on each of the 64 bits; texts that share most of their shingles agree in most of their bits.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["SHINGLE", "distances", "mix", "near_pairs", "simhash_text", "simhashes"]

SHINGLE = 3
_NEIGHBOURS = 64
"""Neighbours in the order of a band that each hash is compared with: bounds the work for thousands of equal pages."""
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_BYTES = np.uint64(0x0101010101010101)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def mix(value: Any) -> Any:
    """Return a number spread over all 64 bits."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


def _letters() -> npt.NDArray[np.uint8]:
    table = np.arange(256).astype(np.uint8)
    table[:128] = 0
    table[48:58], table[97:123] = np.arange(48, 58), np.arange(97, 123)
    table[65:91] = table[97:123]
    return table


_LETTER = _letters()
"""For each byte of a word, its folded form: ASCII letters in lower case; 0 for bytes between words."""
_UNSPACED = np.array([0xE3 <= byte <= 0xED for byte in range(256)])
"""First bytes of characters of scripts written without spaces."""


@njit(cache=True, nogil=True, forceinline=True)
def _next_word(data: Any, offset: int, end: int) -> Any:
    """Return the hash of the next word and the offset of its end; hash 0 if rows is none."""
    at, stop = np.uint64(offset), np.uint64(end)
    while at < stop and not _LETTER[data[at]]:
        at += np.uint64(1)
    if at >= stop:
        return np.uint64(0), np.int64(at)
    hashed = _OFFSET
    if _UNSPACED[data[at]]:
        for _ in range(3):
            if at < stop:
                hashed = (hashed ^ np.uint64(data[at])) * _PRIME
                at += np.uint64(1)
        return hashed | np.uint64(1), np.int64(at)
    while at < stop:
        letter = _LETTER[data[at]]
        if letter == 0 or _UNSPACED[letter]:
            break
        hashed = (hashed ^ np.uint64(letter)) * _PRIME
        at += np.uint64(1)
    return hashed | np.uint64(1), np.int64(at)


@njit(cache=True, nogil=True, forceinline=True)
def _vote(lanes: Any, shingle: Any) -> None:
    """Count the bits that are set: lane i counts bits i, i + 8, ..., one byte each, so eight at a time."""
    for lane in range(8):
        lanes[lane] += (shingle >> np.uint64(lane)) & _BYTES


@njit(cache=True, nogil=True)
def _collect(lanes: Any, votes: Any) -> None:
    """Add the counts of the lanes to the votes, and reset them."""
    for lane in range(8):
        for byte in range(8):
            votes[8 * byte + lane] += np.int64((lanes[lane] >> np.uint64(8 * byte)) & np.uint64(255))
        lanes[lane] = 0


@njit(cache=True, nogil=True)
def _simhash(data: Any, offset: int, end: int, votes: Any, lanes: Any) -> Any:
    votes[:] = 0
    lanes[:] = 0
    words, voters = 0, 0
    shingle = first = second = np.uint64(0)
    while True:
        word, offset = _next_word(data, offset, end)
        if word == 0:
            break
        shingle = mix(first * np.uint64(3) + mix(second * np.uint64(5) + mix(word)))
        first, second = second, word
        words += 1
        if words >= SHINGLE:
            _vote(lanes, shingle)
            voters += 1
            if voters % 255 == 0:  # A byte cannot count further.
                _collect(lanes, votes)
    if words == 0:
        return np.uint64(0)
    if words < SHINGLE:
        _vote(lanes, shingle)
        voters = 1
    _collect(lanes, votes)
    result = np.uint64(0)
    for bit in range(64):
        if 2 * votes[bit] > voters:
            result |= np.uint64(1) << np.uint64(bit)
    return result | np.uint64(words > 0 and result == 0)


@njit(cache=True, nogil=True)
def _hash_all(data: Any, bounds: Any, most: int, out: Any) -> None:
    votes, lanes = np.zeros(64, np.int64), np.zeros(8, np.uint64)
    for number in range(len(out)):
        end = min(bounds[number + 1], bounds[number] + most)
        out[number] = _simhash(data, bounds[number], end, votes, lanes)


@njit(cache=True, nogil=True)
def simhash_text(data: Any) -> Any:
    """Return the simhash of a text (uint8 array, UTF-8); 0 without words."""
    return _simhash(data, 0, len(data), np.zeros(64, np.int64), np.zeros(8, np.uint64))


def simhashes(
    data: npt.NDArray[np.uint8], bounds: npt.NDArray[np.int64], most: int = 1 << 62
) -> npt.NDArray[np.uint64]:
    """Return the simhash of the first `most` bytes of each text of `data` (UTF-8) between `bounds`; 0 without words."""
    out = np.zeros(max(0, len(bounds) - 1), np.uint64)
    _hash_all(data, bounds, most, out)
    return out


@njit(cache=True, nogil=True)
def _popcount(value: Any) -> Any:
    value = value - ((value >> np.uint64(1)) & np.uint64(0x5555555555555555))
    value = (value & np.uint64(0x3333333333333333)) + ((value >> np.uint64(2)) & np.uint64(0x3333333333333333))
    value = (value + (value >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((value * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def distances(one: Any, other: Any) -> Any:
    """Return the number of bits in which the hashes of two arrays differ, row by row.

    Parameters
    ----------
    one, other: arrays of 64-bit hashes of equal length.
    """
    out = np.empty(len(one), np.int64)
    for number in range(len(one)):
        out[number] = _popcount(one[number] ^ other[number])
    return out


@njit(cache=True, nogil=True)
def _compare(hashes: Any, order: Any, mask: Any, distance: int, out: Any) -> int:
    """Write the near pairs among neighbours that agree in a band; return their number."""
    count = 0
    for i in range(len(order)):
        for j in range(i + 1, min(i + 1 + _NEIGHBOURS, len(order))):
            one, other = hashes[order[i]], hashes[order[j]]
            if (one ^ other) & mask != 0:
                break
            if _popcount(one ^ other) <= distance:
                if count < len(out):
                    out[count, 0], out[count, 1] = min(order[i], order[j]), max(order[i], order[j])
                count += 1
    return count


def near_pairs(hashes: npt.NDArray[np.uint64], distance: int) -> npt.NDArray[np.int64]:
    """Return the pairs of rows, each once, whose hashes differ in at most `distance` bits; 0 is near nothing.

    The bits are divided into `distance + 1` bands: two hashes that near agree in at least one band.
    """
    bands = min(64, distance + 1)
    edges = [64 * band // bands for band in range(bands + 1)]
    rows = np.flatnonzero(hashes).astype(np.int64)
    pairs_of_bands = [np.zeros((0, 2), np.int64)]
    for low, high in pairwise(edges):
        mask = np.uint64(((1 << (high - low)) - 1) << low)
        values = hashes[rows]
        rotated = (values >> np.uint64(low)) | (values << np.uint64((64 - low) % 64)) if low else values
        # Rotate the band to the top, so that hashes which agree in it become neighbours, the most similar nearest.
        rotated = (rotated << np.uint64((64 - (high - low)) % 64)) | (rotated >> np.uint64((high - low) % 64))
        order = rows[np.argsort(rotated, kind="stable")]
        out = np.empty((4 * len(order) + 16, 2), np.int64)
        count = _compare(hashes, order, mask, distance, out)
        if count > len(out):
            out = np.empty((count, 2), np.int64)
            _compare(hashes, order, mask, distance, out)
        pairs_of_bands.append(out[:count])
    pairs: npt.NDArray[np.int64] = np.unique(np.concatenate(pairs_of_bands), axis=0)
    return pairs


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    hashes = simhashes(np.frombuffer(b"one two three four", np.uint8), np.array([0, 18, 18], np.int64))
    simhash_text(np.frombuffer(b"one two three four", np.uint8))
    near_pairs(hashes, 3)
    distances(hashes, hashes)
