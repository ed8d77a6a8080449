"""What a start tag states beyond its text, by its element and by its attributes."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels import html_tags
from periplus.parse.kernels.html_extras import chain_rows, record_embedded, record_global_attributes
from periplus.parse.kernels.html_rows import append_row, record_link, record_other
from periplus.parse.kernels.html_state import (
    DEPTH,
    EMPHASIS_ROW,
    FOREIGN,
    HEADING_ROW,
    HIDDEN_LEVEL,
    MATH,
    SPANS,
    STACK,
    STACK_WIDTH,
    SVG,
)
from periplus.parse.kernels.html_tables import LEVEL_OF
from periplus.parse.kernels.html_tags import ATTRIBUTE, ELEMENT, hash_name
from periplus.parse.kernels.html_tokenizer import hash_range

__all__ = ["record_element"]

_ZERO, _NO_ROW = np.int64(0), np.int64(-1)
_HIDDEN, _ARIA_HIDDEN = ATTRIBUTE["hidden"], ATTRIBUTE["aria-hidden"]
_BIT_HIDDEN, _BIT_ARIA_HIDDEN = np.int64(1) << _HIDDEN, np.int64(1) << _ARIA_HIDDEN
_EXTRAS = np.int64(1) << ATTRIBUTE["itemprop"] | np.int64(1) << ATTRIBUTE["style"]
GLOBAL_ATTRIBUTES = _BIT_HIDDEN | _BIT_ARIA_HIDDEN | _EXTRAS
"""Attributes that have a meaning on every element."""
_TRUE = hash_name("true")
_A, _AREA_TAG = ELEMENT["a"], ELEMENT["area"]
_IS_HEADING, _IS_EMPHASIS, _VOID, _HIDE = html_tags.HEADING, html_tags.EMPHASIS, html_tags.VOID, html_tags.HIDE


@njit(cache=True, nogil=True)
def _is_hidden(data: Any, attributes: int, state: Any) -> bool:  # pragma: no cover - compiled
    """Return whether an attribute hides the element."""
    if (attributes >> _HIDDEN) & 1:
        return True
    if not (attributes >> _ARIA_HIDDEN) & 1:
        return False
    return hash_range(data, state[SPANS + 2 * _ARIA_HIDDEN], state[SPANS + 2 * _ARIA_HIDDEN + 1]) == _TRUE


@njit(cache=True, nogil=True)
def record_element(
    data: Any, attributes: int, key: int, flags: int, tables: Any, state: Any, out: Any
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Record what a start tag states beyond its text.

    Parameters
    ----------
    data
        Bytes of the page.
    attributes
        Bits of the attributes that the tag has; their values are in the state from SPANS on.
    key
        Number of the element; negative, and made of the hash of its name, if it is not known.
    flags
        Flags of the element, see `html_tags`.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        The state of the scan, laid out as in `html_state`.
    out
        Output bytes: text from the start, values from `state[VALUES_BEGIN]` on.

    Returns
    -------
    HIDE if an attribute hides the element, else 0; and the row that the text of the element belongs to, or -1.
    """
    depth = state[DEPTH]
    foreign = state[STACK + STACK_WIDTH * (depth - 1) + FOREIGN] if depth > 0 else _ZERO
    if (foreign in (SVG, MATH)) and not flags & html_tags.BREAKOUT:
        return _ZERO, _NO_ROW
    row = record_global_attributes(data, attributes, tables, state, out) if attributes & _EXTRAS else _NO_ROW
    if flags & (html_tags.HAS_METADATA | html_tags.EMBEDS):
        if flags & html_tags.EMBEDS:
            row = chain_rows(state, row, record_embedded(data, attributes, key, tables, state, out))
        elif flags & (_IS_HEADING | _IS_EMPHASIS):
            if state[HIDDEN_LEVEL] < 0:
                row = chain_rows(
                    state,
                    row,
                    append_row(state, HEADING_ROW if flags & _IS_HEADING else EMPHASIS_ROW, tables[LEVEL_OF + key]),
                )
        elif key in (_A, _AREA_TAG):
            record_link(data, attributes, key, tables, state, out)
        elif record_other(data, attributes, key, tables, state, out):
            return _ZERO, row
    hidden = attributes & (_BIT_HIDDEN | _BIT_ARIA_HIDDEN) and not flags & _VOID and _is_hidden(data, attributes, state)
    return _HIDE if hidden else _ZERO, row
