"""The edit cost of two words: mistyped letters, and letters that sound alike.

A weighted Damerau-Levenshtein distance; an ordinary edit costs 100. Adjacent keys (on the keyboards of several
countries), vowels, and consonants of one sound cost less than others; so do doubled letters, and digraphs that are
spoken as one letter. `sound_key` is the same number for words that sound alike.
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
"""Rows of keys, and what it costs to hit an adjacent one."""
_SOUNDS = ("ck", "cs", "sz", "dt", "bp", "gk", "gj", "fv", "vw", "mn", "iy", "qk", "xs", "cz", "jy", "bv", "uw", "lr")
_DIGRAPHS = (
    *("ph-f", "ck-k", "gh-g", "qu-k", "ks-x", "cs-x", "ae-a", "ae-e", "oe-o", "oe-e", "ue-u", "th-t", "dt-t", "sh-s"),
    *("ch-k", "ch-c", "sz-s", "ou-u", "ou-o", "oo-u", "ee-i", "ea-e", "ie-i", "ei-i", "ai-e", "wh-w", "kn-n", "wr-r"),
    *("ps-s", "rh-r", "gn-n", "sc-s", "cz-c", "tz-z", "ts-z", "au-o", "eu-u", "ey-i", "ay-e", "gu-g", "lh-l", "nh-n"),
)
_DISTANT_KEYS, _ADJACENT_KEYS, _VOWEL_FOR_VOWEL, _SAME_SOUND = 110, 75, 75, 75
_SWAP, _DOUBLED_LETTER, _DIGRAPH_FOR_LETTER = 65, 50, 50
_DELETION, _INSERTION = 75, 105
"""A missing letter, and an extra one: people leave out letters more often than they add them."""
_FIRST_LETTER = 15
"""Added to an edit of the first letter, which people seldom mistype."""
_APOSTROPHE = 0x27


def _substitution_table() -> npt.NDArray[np.int32]:
    """Return what it costs to type one letter of a to z for another."""
    table = np.full((26, 26), _DISTANT_KEYS, np.int32)
    for one in "aeiouy":
        for two in "aeiouy":
            table[ord(one) - 97, ord(two) - 97] = _VOWEL_FOR_VOWEL
    for keys, cost in _KEYBOARDS:
        rows = keys.split()
        keys_at = {letter: (row, column) for row, line in enumerate(rows) for column, letter in enumerate(line)}
        for one, (row, column) in keys_at.items():
            for two, (other, along) in keys_at.items():
                beside = (row == other and abs(column - along) == 1) or (other - row == 1 and column - along in (0, 1))
                if beside:
                    for a, b in ((one, two), (two, one)):
                        table[ord(a) - 97, ord(b) - 97] = min(table[ord(a) - 97, ord(b) - 97], cost)
    for sounds in _SOUNDS:
        a, b = sounds[0], sounds[1]
        table[ord(a) - 97, ord(b) - 97] = table[ord(b) - 97, ord(a) - 97] = _SAME_SOUND
    np.fill_diagonal(table, 0)
    return table


def _digraph_table() -> npt.NDArray[np.int64]:
    """Return, for each two letters, the single letters that they may be spoken as, as bits."""
    table = np.zeros(26 * 26, np.int64)
    for two, one in (rule.split("-") for rule in _DIGRAPHS):
        table[(ord(two[0]) - 97) * 26 + ord(two[1]) - 97] |= 1 << (ord(one) - 97)
    return table


def _sound_class_table() -> npt.NDArray[np.uint8]:
    """Return the sound of each letter: 0 for vowels and silent letters, one number for all consonants of a sound."""
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


_SUBSTITUTION, _DIGRAPH_LETTERS, _SOUND_CLASS = _substitution_table(), _digraph_table(), _sound_class_table()


@njit(cache=True, nogil=True, forceinline=True)
def _substitution(a: int, b: int) -> int:  # pragma: no cover - compiled
    if a == b:
        return 0
    if 97 <= a <= 122 and 97 <= b <= 122:
        return _SUBSTITUTION[a - 97, b - 97]
    return _DISTANT_KEYS


@njit(cache=True, nogil=True, forceinline=True)
def _deletion(letter: int, before: int, after: int) -> int:  # pragma: no cover - compiled
    """Return the cost of leaving out a letter between two others."""
    if letter == _APOSTROPHE:
        return _DOUBLED_LETTER // 2
    return _DOUBLED_LETTER if letter in (before, after) else _DELETION


@njit(cache=True, nogil=True, forceinline=True)
def _insertion(letter: int, before: int, after: int) -> int:  # pragma: no cover - compiled
    """Return the cost of an extra letter between two others."""
    if letter in (before, after):
        return _DOUBLED_LETTER
    is_adjacent = False
    if 97 <= letter <= 122:
        is_adjacent = 97 <= before <= 122 and _SUBSTITUTION[letter - 97, before - 97] == _ADJACENT_KEYS
        is_adjacent = is_adjacent or (97 <= after <= 122 and _SUBSTITUTION[letter - 97, after - 97] == _ADJACENT_KEYS)
    return _ADJACENT_KEYS if is_adjacent else _INSERTION


@njit(cache=True, nogil=True, forceinline=True)
def _is_digraph(a: int, b: int, one: int) -> bool:  # pragma: no cover - compiled
    letters = 97 <= a <= 122 and 97 <= b <= 122 and 97 <= one <= 122
    return letters and (_DIGRAPH_LETTERS[(a - 97) * 26 + b - 97] >> (one - 97)) & 1 == 1


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
    """Return the cost of typing one word for another.

    Parameters
        typed, begin, end: letters, and which of them are the typed word
        letters, first, last: letters, and which of them are the intended word
        rows: int32 array of three rows, for intermediate results
    """
    n, m = end - begin, last - first
    for j in range(m + 1):
        rows[0, j] = 0 if j == 0 else rows[0, j - 1] + _DELETION + (_FIRST_LETTER if j == 1 else 0)
    for i in range(1, n + 1):
        now, one, two = i % 3, (i - 1) % 3, (i - 2) % 3
        a = np.int64(typed[begin + i - 1])
        before_a = np.int64(typed[begin + i - 2]) if i > 1 else -1
        after_a = np.int64(typed[begin + i]) if i < n else -1
        rows[now, 0] = rows[one, 0] + _INSERTION + (_FIRST_LETTER if i == 1 else 0)
        for j in range(1, m + 1):
            b = np.int64(letters[first + j - 1])
            before_b = np.int64(letters[first + j - 2]) if j > 1 else -1
            after_b = np.int64(letters[first + j]) if j < m else -1
            first_letter = _FIRST_LETTER if i == 1 and j == 1 and a != b else 0
            best = rows[one, j - 1] + _substitution(a, b) + first_letter
            best = min(best, rows[one, j] + _insertion(a, before_a, after_a))
            best = min(best, rows[now, j - 1] + _deletion(b, before_b, after_b))
            if i > 1 and j > 1 and a == before_b and b == before_a and a != b:
                best = min(best, rows[two, j - 2] + _SWAP)
            if i > 1 and _is_digraph(before_a, a, b):
                best = min(best, rows[two, j - 1] + _DIGRAPH_FOR_LETTER)
            if j > 1 and _is_digraph(before_b, b, a):
                best = min(best, rows[one, j - 2] + _DIGRAPH_FOR_LETTER)
            rows[now, j] = best
    return rows[n % 3, m]


@njit(cache=True, nogil=True)
def sound_key(letters: npt.NDArray[np.uint16], first: int, last: int) -> Any:  # pragma: no cover - compiled
    """Return a number that words share which sound alike: consonants by sound, vowels only at the beginning."""
    hashed, before = np.uint64(2166136261), 0
    at = first
    while at < last:
        a = np.int64(letters[at])
        b = np.int64(letters[at + 1]) if at + 1 < last else 0
        kind = np.int64(_SOUND_CLASS[a]) if a < 0x700 else a & 0xFF
        if a == 112 and b == 104:  # ph
            kind = np.int64(_SOUND_CLASS[102])
            at += 1
        elif a == 99 and (b == 101 or b == 105 or b == 121):  # ce, ci, cy
            kind = np.int64(_SOUND_CLASS[115])
        elif a == 103 and b == 104:  # gh
            kind = 0
            at += 1
        elif at == first and ((a == 107 and b == 110) or (a == 119 and b == 114) or (a == 112 and b == 115)):
            at += 1  # kn, wr, ps
            kind = np.int64(_SOUND_CLASS[b])
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
