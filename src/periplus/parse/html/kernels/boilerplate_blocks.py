"""Which blocks of a page are boilerplate: navigation, asides, footers, and what names say of elements."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.html.kernels.tag_names import AMBIGUOUS, ASIDE, FOOTER, HEADER, MAIN, NAMED, NAV, NESTED, ONWARD
from periplus.parse.html.kernels.text_blocks import CELL, HEADING

__all__ = ["LONG_BLOCK", "MAX_LINK_DENSITY", "MIN_REGION", "find_boilerplate"]

LONG_BLOCK = 70
"""Characters, without white space, of a block that counts by itself."""
MAX_LINK_DENSITY = 0.35
MIN_REGION = 40
"""Characters of text outside of links that a named region must have."""
_BOILERPLATE_REGIONS = NAV | ASIDE | FOOTER | HEADER
_MARKS = (_BOILERPLATE_REGIONS, NAMED, AMBIGUOUS, NESTED)
"""A name such as 'page-with-sidebar' on the outermost element says nothing; names within it do."""
_MIN_OTHER_SHARE = 0.2
"""Text outside of what is marked as boilerplate, as a share of it, from which on the marks are trusted."""
_MIN_MENU_DENSITY = 0.8
"""Link density of what is marked as boilerplate from which on it is a menu, and may be larger than all other text."""
_MAX_BAR_ROWS = 3
"""Rows of tables before the first heading up to which rows of links are a bar; more are a list."""


@njit(cache=True, nogil=True)
def find_boilerplate(chars: Any, linked: Any, kind: Any, inside: Any, container: Any, plain: Any, density: Any) -> Any:
    """Return what is in navigation, asides and footers, unless nearly all of the text is there."""
    count = len(chars)
    boilerplate, marked = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    for k in range(count):
        is_onward = inside[k] & ONWARD != 0
        boilerplate[k] = is_onward and (density[k] > MAX_LINK_DENSITY or chars[k] < LONG_BLOCK)
    for bits in _MARKS:
        rest, text, marked_chars = 0, 0, 0
        has_other_main = False
        for k in range(count):
            marked[k] = inside[k] & bits != 0 and not boilerplate[k]
            if marked[k]:
                text += plain[k]
                marked_chars += chars[k]
            else:
                rest += 0 if boilerplate[k] else plain[k]
                has_other_main |= inside[k] & MAIN != 0 and plain[k] > 0
        if bits == AMBIGUOUS and _is_interleaved(marked, boilerplate, plain, rest):
            continue
        is_menu = rest >= MIN_REGION and text < (1 - _MIN_MENU_DENSITY) * marked_chars
        if is_menu or rest >= _MIN_OTHER_SHARE * text or has_other_main:
            for k in range(count):
                boilerplate[k] |= marked[k]
    _add_bars(chars, linked, kind, container, plain, boilerplate)
    return boilerplate


@njit(cache=True, nogil=True)
def _is_interleaved(marked: Any, boilerplate: Any, plain: Any, rest: int) -> bool:
    """Return whether some of the marked blocks have much of the other text before them, and much behind them."""
    before = 0
    for k in range(len(marked)):
        if marked[k]:
            if before >= _MIN_OTHER_SHARE * rest and before <= rest - _MIN_OTHER_SHARE * rest:
                return True
        elif not boilerplate[k]:
            before += plain[k]
    return False


@njit(cache=True, nogil=True)
def _add_bars(chars: Any, linked: Any, kind: Any, container: Any, plain: Any, boilerplate: Any) -> None:
    """Mark the cells of rows with many links before the first heading, if these are few: a bar of navigation."""
    count = len(chars)
    first = 0
    while first < count and (kind[first] != HEADING or boilerplate[first]):
        first += 1
    if first == count:
        return
    rows, row_chars = np.empty(_MAX_BAR_ROWS, np.int64), np.zeros(_MAX_BAR_ROWS, np.int64)
    row_linked = np.zeros(_MAX_BAR_ROWS, np.int64)
    used = 0
    for k in range(first):
        if kind[k] == CELL and not boilerplate[k]:
            row = 0
            while row < used and rows[row] != container[k]:
                row += 1
            if row == _MAX_BAR_ROWS:
                return
            if row == used:
                rows[row] = container[k]
                used += 1
            row_chars[row] += chars[k]
            row_linked[row] += linked[k]
    in_bars, other = 0, 0
    is_bar = np.zeros(count, np.bool_)
    for k in range(count):
        if boilerplate[k]:
            continue
        other += plain[k]
        if k < first and kind[k] == CELL:
            row = 0
            while rows[row] != container[k]:
                row += 1
            is_bar[k] = row_linked[row] > MAX_LINK_DENSITY * row_chars[row]
            in_bars += plain[k] if is_bar[k] else 0
    if other >= 2 * in_bars:
        for k in range(first):
            boilerplate[k] |= is_bar[k]
