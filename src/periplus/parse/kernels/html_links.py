"""The links of a page that can say something new: of many to one target, those up to the first good one."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.parse.kernels.html_rows import NOFOLLOW
from periplus.parse.kernels.html_state import (
    LINK_ROW,
    ROW_BEGIN,
    ROW_COUNT,
    ROW_END,
    ROW_KIND,
    ROW_NUMBER,
    ROW_TABLE,
    ROW_WIDTH,
    VALUE_1,
)
from periplus.parse.kernels.html_tables import HASH, NEWLINE, SPACE

__all__ = ["select_borrowed", "select_links"]

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@njit(cache=True, nogil=True)
def select_links(state: Any, max_rows: int, source: Any, slots: Any, chosen: Any) -> int:  # pragma: no cover - compiled
    """Select rows of links, in their order.

    Left out are links without a target before its fragment, and those whose target an earlier link with a text has that
    is not nofollow: neither changes what is known of the target.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    max_rows
        Rows of links that are considered.
    source
        Output of the scan, which the columns of rows are offsets into.
    slots
        Zeros; a power of two of them, more than there are rows of links.
    chosen
        Receives the numbers of the rows.

    Returns
    -------
    How many rows were selected.
    """
    return select_borrowed(borrow(state), max_rows, borrow(source), borrow(slots), len(slots) - 1, borrow(chosen))


@njit(cache=True, nogil=True)
def select_borrowed(
    state: Any, max_rows: int, source: Any, slots: Any, mask: int, chosen: Any
) -> int:  # pragma: no cover - compiled
    """Select rows of links as `select_links` does, in borrowed arrays; `mask` is one less than the slots."""
    count, considered = 0, 0
    for row in range(state[ROW_COUNT]):
        entry = ROW_TABLE + ROW_WIDTH * row
        if state[entry + ROW_KIND] != LINK_ROW:
            continue
        if considered >= max_rows:
            break
        considered += 1
        begin = state[entry + VALUE_1]
        end, hashed = _hash_target(source, begin, state[entry + VALUE_1 + 1])
        if end == begin:
            continue
        slot = np.int64(hashed & np.uint64(mask))
        # A slot has one more than the row of a settled target.
        while slots[slot] and not _is_same(state, slots[slot] - 1, source, begin, end):
            slot = (slot + 1) & mask
        if slots[slot]:
            continue
        chosen[count] = row
        count += 1
        if not state[entry + ROW_NUMBER] & NOFOLLOW and _has_text(
            source, state[entry + ROW_BEGIN], state[entry + ROW_END]
        ):
            slots[slot] = row + 1
    return count


@njit(cache=True, nogil=True)
def _hash_target(source: Any, begin: int, end: int) -> Any:  # pragma: no cover - compiled
    """Return where a target ends before its fragment, and its hash."""
    hashed = _OFFSET
    for at in range(begin, end):
        if source[at] == HASH:
            return at, hashed ^ (hashed >> np.uint64(32))
        hashed = (hashed ^ np.uint64(source[at])) * _PRIME
    return max(begin, end), hashed ^ (hashed >> np.uint64(32))


@njit(cache=True, nogil=True)
def _is_same(state: Any, row: int, source: Any, begin: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether the target of a row, before its fragment, is the given one."""
    entry = ROW_TABLE + ROW_WIDTH * row
    other, stop = state[entry + VALUE_1], state[entry + VALUE_1 + 1]
    for at in range(begin, end):
        if other >= stop or source[other] != source[at]:
            return False
        other += 1
    return other >= stop or source[other] == HASH


@njit(cache=True, nogil=True)
def _has_text(source: Any, begin: int, end: int) -> bool:  # pragma: no cover - compiled
    while begin < end and (source[begin] == SPACE or source[begin] == NEWLINE):
        begin += 1
    return begin < end


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    from periplus.parse.kernels.html_state import make_state

    zeros = np.zeros(2, np.int64)
    select_links(make_state(8, 8, 64, 128), 1, np.zeros(64, np.uint8), zeros, zeros)
