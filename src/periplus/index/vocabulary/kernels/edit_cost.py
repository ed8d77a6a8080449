"""What it costs to take one word for another: slips of the finger, and letters that sound alike.

A weighted distance with swaps, in hundredths of an ordinary slip. Keys that lie side by side (on the keyboards of
several countries), vowels, and consonants of one sound cost less than others; so do letters doubled or not, and two
letters that are spoken as one. `sound_key` gives words that are spoken alike the same number.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["edit_cost", "sound_key"]

_KEYBOARDS = (
    ("qwertyuiop asdfghjkl zxcvbnm", 75),
    ("qwertzuiop asdfghjkl yxcvbnm", 90),
    ("azertyuiop qsdfghjklm wxcvbn", 90),
)
"""Rows of keys, and what it costs to take one for its neighbour."""
_SOUNDS = ("ck", "cs", "sz", "dt", "bp", "gk", "gj", "fv", "vw", "mn", "iy", "qk", "xs", "cz", "jy", "bv", "uw", "lr")
_SPOKEN_AS_ONE = (
    *("ph-f", "ck-k", "gh-g", "qu-k", "ks-x", "cs-x", "ae-a", "ae-e", "oe-o", "oe-e", "ue-u", "th-t", "dt-t", "sh-s"),
    *("ch-k", "ch-c", "sz-s", "ou-u", "ou-o", "oo-u", "ee-i", "ea-e", "ie-i", "ei-i", "ai-e", "wh-w", "kn-n", "wr-r"),
    *("ps-s", "rh-r", "gn-n", "sc-s", "cz-c", "tz-z", "ts-z", "au-o", "eu-u", "ey-i", "ay-e", "gu-g", "lh-l", "nh-n"),
)
_FAR, _NEAR_KEY, _VOWELS, _ALIKE, _SWAP, _DOUBLE, _AS_ONE = 110, 75, 75, 75, 65, 50, 50
_MISSING, _ADDED = 75, 105
"""A letter left out, and one too many: fingers leave out more than they add."""
_FIRST = 15
"""What a slip in the first letter costs on top: people seldom miss it."""
_APOSTROPHE = 0x27


def _change_table() -> npt.NDArray[np.int32]:
    """What it costs to take one letter of a to z for another."""
    table = np.full((26, 26), _FAR, np.int32)
    for one in "aeiouy":
        for two in "aeiouy":
            table[ord(one) - 97, ord(two) - 97] = _VOWELS
    for keys, cost in _KEYBOARDS:
        rows = keys.split()
        places = {letter: (row, column) for row, line in enumerate(rows) for column, letter in enumerate(line)}
        for one, (row, column) in places.items():
            for two, (other, along) in places.items():
                beside = (row == other and abs(column - along) == 1) or (other - row == 1 and column - along in (0, 1))
                if beside:
                    for a, b in ((one, two), (two, one)):
                        table[ord(a) - 97, ord(b) - 97] = min(table[ord(a) - 97, ord(b) - 97], cost)
    for sounds in _SOUNDS:
        a, b = sounds[0], sounds[1]
        table[ord(a) - 97, ord(b) - 97] = table[ord(b) - 97, ord(a) - 97] = _ALIKE
    np.fill_diagonal(table, 0)
    return table


def _as_one_table() -> npt.NDArray[np.int64]:
    """For each two letters, the single letters that they are spoken as, as bits."""
    table = np.zeros(26 * 26, np.int64)
    for two, one in (rule.split("-") for rule in _SPOKEN_AS_ONE):
        table[(ord(two[0]) - 97) * 26 + ord(two[1]) - 97] |= 1 << (ord(one) - 97)
    return table


def _class_table() -> npt.NDArray[np.uint8]:
    """The sound of each letter: 0 for vowels and silent ones, one number for all consonants of a sound."""
    table = np.arange(0x700, dtype=np.int64).astype(np.uint8)
    groups = ("ckqgx", "szc", "dt", "bp", "fvw", "mn", "lr", "j")
    for number, group in enumerate(groups):
        for letter in group:
            table[ord(letter)] = 200 + number
    for number, group in enumerate(("кгх", "сз", "дт", "бп", "фв", "мн", "лр", "шщжч")):
        for letter in group:
            table[ord(letter)] = 210 + number
    for letter in "aeiouyh'аеиоуыэюяьъйαεηιουωאהועي":
        table[ord(letter)] = 0
    table[ord("c")] = 200
    return table


_CHANGE, _ONE, _CLASS = _change_table(), _as_one_table(), _class_table()


@njit(cache=True, nogil=True, forceinline=True)
def _change(a: int, b: int) -> int:  # pragma: no cover - compiled
    if a == b:
        return 0
    if 97 <= a <= 122 and 97 <= b <= 122:
        return _CHANGE[a - 97, b - 97]
    return _FAR


@njit(cache=True, nogil=True, forceinline=True)
def _missing(letter: int, before: int, after: int) -> int:  # pragma: no cover - compiled
    """Give the cost of leaving out a letter between two others."""
    if letter == _APOSTROPHE:
        return _DOUBLE // 2
    return _DOUBLE if letter in (before, after) else _MISSING


@njit(cache=True, nogil=True, forceinline=True)
def _added(letter: int, before: int, after: int) -> int:  # pragma: no cover - compiled
    """Give the cost of a letter too many between two others."""
    if letter in (before, after):
        return _DOUBLE
    near = False
    if 97 <= letter <= 122:
        near = 97 <= before <= 122 and _CHANGE[letter - 97, before - 97] == _NEAR_KEY
        near = near or (97 <= after <= 122 and _CHANGE[letter - 97, after - 97] == _NEAR_KEY)
    return _NEAR_KEY if near else _ADDED


@njit(cache=True, nogil=True, forceinline=True)
def _spoken_as_one(a: int, b: int, one: int) -> bool:  # pragma: no cover - compiled
    letters = 97 <= a <= 122 and 97 <= b <= 122 and 97 <= one <= 122
    return letters and (_ONE[(a - 97) * 26 + b - 97] >> (one - 97)) & 1 == 1


@njit(cache=True, nogil=True)
def edit_cost(
    typed: npt.NDArray[np.uint16],
    begin: int,
    end: int,
    letters: npt.NDArray[np.uint16],
    first: int,
    last: int,
    rows: npt.NDArray[np.int32],
) -> int:  # pragma: no cover - compiled
    """Give what it costs to write `typed[begin:end]` for `letters[first:last]`; `rows` is room for three rows."""
    n, m = end - begin, last - first
    for j in range(m + 1):
        rows[0, j] = 0 if j == 0 else rows[0, j - 1] + _MISSING + (_FIRST if j == 1 else 0)
    for i in range(1, n + 1):
        now, one, two = i % 3, (i - 1) % 3, (i - 2) % 3
        a = np.int64(typed[begin + i - 1])
        before_a = np.int64(typed[begin + i - 2]) if i > 1 else -1
        after_a = np.int64(typed[begin + i]) if i < n else -1
        rows[now, 0] = rows[one, 0] + _ADDED + (_FIRST if i == 1 else 0)
        for j in range(1, m + 1):
            b = np.int64(letters[first + j - 1])
            before_b = np.int64(letters[first + j - 2]) if j > 1 else -1
            after_b = np.int64(letters[first + j]) if j < m else -1
            begun = _FIRST if i == 1 and j == 1 and a != b else 0
            best = rows[one, j - 1] + _change(a, b) + begun
            best = min(best, rows[one, j] + _added(a, before_a, after_a))
            best = min(best, rows[now, j - 1] + _missing(b, before_b, after_b))
            if i > 1 and j > 1 and a == before_b and b == before_a and a != b:
                best = min(best, rows[two, j - 2] + _SWAP)
            if i > 1 and _spoken_as_one(before_a, a, b):
                best = min(best, rows[two, j - 1] + _AS_ONE)
            if j > 1 and _spoken_as_one(before_b, b, a):
                best = min(best, rows[one, j - 2] + _AS_ONE)
            rows[now, j] = best
    return rows[n % 3, m]


@njit(cache=True, nogil=True)
def sound_key(letters: npt.NDArray[np.uint16], first: int, last: int) -> Any:  # pragma: no cover - compiled
    """Give a number that words share which are spoken alike: consonants by sound, vowels only at the beginning."""
    hashed, before = np.uint64(2166136261), 0
    at = first
    while at < last:
        a = np.int64(letters[at])
        b = np.int64(letters[at + 1]) if at + 1 < last else 0
        kind = np.int64(_CLASS[a]) if a < 0x700 else a & 0xFF
        if a == 112 and b == 104:  # ph
            kind = np.int64(_CLASS[102])
            at += 1
        elif a == 99 and (b == 101 or b == 105 or b == 121):  # ce, ci, cy
            kind = np.int64(_CLASS[115])
        elif a == 103 and b == 104:  # gh
            kind = 0
            at += 1
        elif at == first and ((a == 107 and b == 110) or (a == 119 and b == 114) or (a == 112 and b == 115)):
            at += 1  # kn, wr, ps
            kind = np.int64(_CLASS[b])
        if kind == 0 and at == first:
            kind = 1
        if kind != 0 and kind != before:
            hashed = (hashed ^ np.uint64(kind)) * np.uint64(16777619)
        before = kind
        at += 1
    return np.uint32(hashed & np.uint64(0xFFFFFFFF))


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    letters = np.array([97, 98], np.uint16)
    edit_cost(letters, 0, 2, letters, 0, 2, np.zeros((3, 32), np.int32))
    sound_key(letters, 0, 2)
