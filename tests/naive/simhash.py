"""Simhash as it is written on paper, over strings and lists."""

import re

SHINGLE = 3
_ALL = (1 << 64) - 1
_WORD = re.compile(rb"[\xe3-\xed].{0,2}|[0-9A-Za-z\x80-\xe2\xee-\xff]+", re.DOTALL)


def _mix(value):
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _ALL
    return value ^ (value >> 31)


def _hash(word):
    hashed = 0xCBF29CE484222325
    for byte in word.lower() if word[0] not in range(0xE3, 0xEE) else word:
        hashed = ((hashed ^ byte) * 0x100000001B3) & _ALL
    return hashed | 1


def simhash(text):
    """Hash bytes of UTF-8."""
    words = [_hash(word) for word in _WORD.findall(text)]
    if not words:
        return 0
    padded = [0, 0, *words]
    shingles = [
        _mix((a * 3 + _mix((b * 5 + _mix(c)) & _ALL)) & _ALL)
        for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)
    ]
    shingles = shingles[SHINGLE - 1 :] or shingles[-1:]
    result = 0
    for bit in range(64):
        if 2 * sum(shingle >> bit & 1 for shingle in shingles) > len(shingles):
            result |= 1 << bit
    return result or 1


def near_pairs(hashes, distance):
    """Compare all with all."""
    return [
        [i, j]
        for i in range(len(hashes))
        for j in range(i + 1, len(hashes))
        if hashes[i] and hashes[j] and (hashes[i] ^ hashes[j]).bit_count() <= distance
    ]
