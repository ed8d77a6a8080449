"""What a start tag says beyond its text, by the element it opens and by its attributes."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels import html_tags as tags_of
from periplus.parse.kernels.html_extras import follow, note_anywhere, note_shown
from periplus.parse.kernels.html_rows import note_link, note_other, put_row
from periplus.parse.kernels.html_tables import LEVEL_OF
from periplus.parse.kernels.html_tags import ATTRIBUTE, NUMBER, hash_name
from periplus.parse.kernels.html_tokenizer import SPANS, hash_range
from periplus.parse.kernels.html_tree import DEPTH, EMPHASIS, FOREIGN, HEADING, HIDDEN, MATH, STACK, SVG

__all__ = ["note_element"]

_ZERO, _NO_ROW = np.int64(0), np.int64(-1)
_HIDDEN, _ARIA_HIDDEN = ATTRIBUTE["hidden"], ATTRIBUTE["aria-hidden"]
_BIT_HIDDEN, _BIT_ARIA_HIDDEN = np.int64(1) << _HIDDEN, np.int64(1) << _ARIA_HIDDEN
_EXTRAS = np.int64(1) << ATTRIBUTE["itemprop"] | np.int64(1) << ATTRIBUTE["style"]
ANYWHERE = _BIT_HIDDEN | _BIT_ARIA_HIDDEN | _EXTRAS
"""Attributes that say something on every element."""
_TRUE = hash_name("true")
_A, _AREA_TAG = NUMBER["a"], NUMBER["area"]
_IS_HEADING, _IS_EMPHASIS, _VOID, _HIDE = tags_of.HEADING, tags_of.EMPHASIS, tags_of.VOID, tags_of.HIDE


@njit(cache=True, nogil=True)
def _is_hidden(data: Any, have: int, now: Any) -> bool:  # pragma: no cover - compiled
    """Tell whether an attribute takes the element out of sight."""
    if (have >> _HIDDEN) & 1:
        return True
    if not (have >> _ARIA_HIDDEN) & 1:
        return False
    return hash_range(data, now[SPANS + 2 * _ARIA_HIDDEN], now[SPANS + 2 * _ARIA_HIDDEN + 1]) == _TRUE


@njit(cache=True, nogil=True)
def note_element(
    data: Any, have: int, key: int, flags: int, book: Any, now: Any, out: Any
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Note what a start tag says; give HIDE if the element is out of sight, and the row its text belongs to, or -1."""
    depth = now[DEPTH]
    foreign = now[STACK + 6 * (depth - 1) + FOREIGN] if depth > 0 else _ZERO
    if (foreign in (SVG, MATH)) and not flags & tags_of.BREAKOUT:
        return _ZERO, _NO_ROW
    row = note_anywhere(data, have, book, now, out) if have & _EXTRAS else _NO_ROW
    if flags & (tags_of.SAYS | tags_of.SHOWS):
        if flags & tags_of.SHOWS:
            row = follow(now, row, note_shown(data, have, key, book, now, out))
        elif flags & (_IS_HEADING | _IS_EMPHASIS):
            if now[HIDDEN] < 0:
                row = follow(now, row, put_row(now, HEADING if flags & _IS_HEADING else EMPHASIS, book[LEVEL_OF + key]))
        elif key in (_A, _AREA_TAG):
            note_link(data, have, key, book, now, out)
        elif note_other(data, have, key, book, now, out):
            return _ZERO, row
    hidden = have & (_BIT_HIDDEN | _BIT_ARIA_HIDDEN) and not flags & _VOID and _is_hidden(data, have, now)
    return _HIDE if hidden else _ZERO, row
