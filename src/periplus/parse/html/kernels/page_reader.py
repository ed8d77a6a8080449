"""From markup to all that is always read of a page, in one call: its scan, its hints and its strings."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow, keep
from periplus.parse.html.kernels.markup_hints import find_hints_in_markup
from periplus.parse.kernels.html import scan_page
from periplus.parse.kernels.html_columns import SPEC_WIDTH, gather_page
from periplus.parse.kernels.html_state import LINK_ROW, state_size
from periplus.parse.kernels.html_tables import build_tables

__all__ = ["read_page"]


@njit(cache=True, nogil=True)
def _count_links(kinds: Any, rows: int) -> int:
    count = 0
    for row in range(rows):
        count += kinds[row] == LINK_ROW
    return count


@njit(cache=True, nogil=True)
def read_page(
    data: Any,
    tables: Any,
    spec: Any,
    state: Any,
    out: Any,
    kinds: Any,
    pieces: Any,
    numbers: Any,
    max_depth: int,
    max_rows: int,
    values_begin: int,
    values_limit: int,
    max_traces: int,
    max_links: int,
    max_text: int,
) -> Any:
    """Scan a page, and gather its strings.

    Parameters: data, tables, state, out, kinds and the limits up to max_traces as for `scan_page`; spec, max_links and
    max_text as for `gather_page`, which writes to pieces; numbers (int64 array), receives the counts of `gather_page`,
    then the rows of the selected links.
    Returns: how many rows there are, how long the pieces are, which hints `find_hints` finds.
    """
    rows = scan_page(data, tables, state, out, kinds, max_depth, max_rows, values_begin, values_limit, max_traces)
    hints = find_hints_in_markup(borrow(data), len(data))
    links = _count_links(kinds, rows)
    room = 1
    while room <= 2 * links:
        room *= 2
    slots, counts = np.zeros(room, np.int64), len(spec) // SPEC_WIDTH + 4
    used = gather_page(state, spec, max_links, max_text, out, slots, numbers[counts:], pieces, numbers[:counts])
    keep((slots,))
    return rows, used, hints


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data, spec = np.frombuffer(b"<p>a</p>", np.uint8), np.zeros(SPEC_WIDTH, np.int64)
    state, numbers = np.empty(state_size(8, 8), np.int64), np.zeros(16, np.int64)
    out, kinds, pieces = (np.empty(256, np.uint8) for _ in range(3))
    read_page(data, build_tables(), spec, state, out, kinds, pieces, numbers, 8, 8, 64, 128, 8, 1, 1)
