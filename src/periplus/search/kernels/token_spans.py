"""Where the words of a text are: the spans of its tokens, found as `words.split` finds them, without their numbers."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.text.kernels.symbols import is_leading_dot, parts_words, symbol_length
from periplus.text.kernels.tokenizer import (
    APOSTROPHE,
    MARK,
    MODIFIER,
    SEPARATOR,
    TABLE_SIZE,
    UNSPACED,
    WORD,
)

__all__ = ["find_spans"]


def _letters() -> Any:
    table = np.zeros(256, np.bool_)
    table[48:58] = table[65:91] = table[97:123] = True
    return table


_LETTER = _letters()
"""For each byte, whether it is an ASCII letter or digit."""


@njit(cache=True, nogil=True, forceinline=True)
def _kind_at(data: Any, at: int, end: int, kinds: Any) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the kind and length of the character at `at`, not an ASCII letter; invalid bytes separate words."""
    first = np.int64(data[at])
    if first < 0x80:
        return APOSTROPHE if first == 39 else SEPARATOR, 1
    code, step = np.int64(0), 1
    if first < 0xE0:
        if first >= 0xC2 and at + 1 < end:
            code, step = ((first & 0x1F) << 6) | (np.int64(data[at + 1]) & 0x3F), 2
    elif first < 0xF0:
        if at + 2 < end:
            code = ((first & 0x0F) << 12) | ((np.int64(data[at + 1]) & 0x3F) << 6) | (np.int64(data[at + 2]) & 0x3F)
            step = 3
    elif first < 0xF5 and at + 3 < end:
        code = ((first & 0x07) << 18) | ((np.int64(data[at + 1]) & 0x3F) << 12)
        code |= ((np.int64(data[at + 2]) & 0x3F) << 6) | (np.int64(data[at + 3]) & 0x3F)
        step = 4
    return (np.int64(kinds[code]) if 0 < code < TABLE_SIZE else SEPARATOR), step


@njit(cache=True, nogil=True, forceinline=True)
def _is_non_joiner(data: Any, at: int) -> bool:  # pragma: no cover - compiled
    """Return whether the character of three bytes at `at` is the zero-width non-joiner, U+200C."""
    return data[at] == 0xE2 and data[at + 1] == 0x80 and data[at + 2] == 0x8C


@njit(cache=True, nogil=True)
def find_spans(
    data: Any, at: int, end: int, kinds: Any, analysis: int, spans: Any, used: int, wanted: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write begin and end of tokens from byte `at`, which must lie between words, until there are `wanted`.

    Parameters
    ----------
    data: UTF-8 bytes.
    at, end: where to begin, and where the text ends; with no spans so far, the text begins at `at`.
    kinds: code point classes, as in `tokenizer.FoldTable`.
    analysis: the number of the tokenizer's rules by which the text was indexed, see `tokenizer.ANALYSIS`.
    spans, used: the spans, and how many there are so far; room for `tokenizer.max_tokens` of the text.
    wanted: the number of spans after which to stop; there may be one more.

    Returns
    -------
    The number of spans, and where to continue: `end` + 1 if there are no more.
    """
    inside, run, opened, opened_pair = False, 0, at, at
    begin = at if used == 0 else -1
    while at <= end:
        if not inside and run == 0 and used >= wanted:
            return used, at
        kind, step = SEPARATOR, 1
        if at < end:
            if _LETTER[data[np.uint64(at)]]:
                if run == 0:
                    if not inside:
                        opened, inside = at, True
                    letter = np.uint64(at)
                    while letter < np.uint64(end) and _LETTER[data[letter]]:
                        letter += np.uint64(1)
                    at = np.int64(letter)
                    if at < end and data[at] < 0x80 and (analysis > 0 or data[at] != 39):  # Most words end so.
                        spans[used, 0], spans[used, 1] = opened, at
                        used += 1
                        inside = False
                        length = symbol_length(data, at, end) if analysis > 0 else 0
                        if length > 0:
                            spans[used, 0], spans[used, 1] = at, at + length
                            used += 1
                        at += max(1, length)
                    continue
                kind = WORD
            else:
                kind, step = _kind_at(data, at, end, kinds)
        if kind == MARK and analysis > 0 and step == 3 and _is_non_joiner(data, at) and parts_words(data, at + 3, end):
            kind = SEPARATOR
        if kind == MODIFIER:
            kind = MARK if analysis > 0 else WORD
        if kind == MARK:
            at += step
            continue
        if kind == APOSTROPHE:
            after = np.int64(data[at + step]) if at + step < end else 0
            lettered = (after | 32) >= 97 and (after | 32) <= 122
            if analysis > 0 or not inside or not (lettered or after >= 0xC3):
                kind = SEPARATOR
        if kind != UNSPACED and run > 0:
            if run == 1:
                spans[used, 0], spans[used, 1] = opened_pair, at
                used += 1
            run = 0
        if kind in (WORD, APOSTROPHE):
            if not inside:
                opened, inside = at, True
            at += step
            continue
        if inside:
            spans[used, 0], spans[used, 1] = opened, at
            used += 1
            inside = False
            length = symbol_length(data, at, end) if analysis > 0 else 0
            if length > 0:
                spans[used, 0], spans[used, 1] = at, at + length
                used += 1
                at += length
                continue
        elif analysis > 0 and at < end and data[at] == 46 and is_leading_dot(data, at, begin, end):
            spans[used, 0], spans[used, 1] = at, at + 1
            used += 1
        if kind == UNSPACED:
            if run > 0:
                spans[used, 0], spans[used, 1] = opened_pair, at + step
                used += 1
            opened_pair = at
            run += 1
        at += step
    return used, end + 1
