"""The open elements of a page while it is read: as much of the tree builder as text, links and headings depend on.

The stack is an array of bounded depth; nothing is ever searched for that a count does not say is there. Text that
HTML moves before a table goes to an *area* of its own: areas are chains of *segments* of the text, and are put in
their place at the end, once.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.parse.kernels import html_tags as tags_of
from periplus.parse.kernels.html_tags import NUMBER
from periplus.parse.kernels.html_tokenizer import MOST_ATTRIBUTES, SPANS

__all__ = [
    "area_of_top",
    "break_out",
    "end_format",
    "end_link",
    "enter_area",
    "in_scope",
    "make_state",
    "pop_to",
    "push",
]

DEPTH, AREA, SEGMENT, PENDING, USED, HIDDEN, LINK, LINK_MARKS, MARKS, TABLES = range(10)
AREAS, SEGMENTS, OVER, FOSTERED, NO_FRAMES, FRAMES, TITLED, ROWS, VALUES, NOTED, LIMIT, MOST_ROWS, FIRST_VALUE = range(
    10, 23
)
TRACES, TRACE_TABLE, MOST_TRACES, END_OF_VALUES = range(23, 27)
"""Places in the state, which is one array of numbers: those that stand alone come first. Traces are where in the page a
tag is that parts blocks, and where in the text that is; they are kept behind the rows."""
TITLE, HEADING, EMPHASIS, LINK_ROW, META, REFERENCE, IMAGE, BASE, LANGUAGE, TIME, DATA = (
    np.int64(kind) for kind in range(11)
)
MEDIA, FIGURE, CAPTION, TABLE_ROW, PROPERTY, STYLE = (np.int64(kind) for kind in range(11, 17))
"""Kinds of rows."""
ALSO = 8
"""Column of rows without a third value: one more than the number of another row for the same element."""
KEY, FLAGS, WHERE, FOREIGN, ROW, FOSTER = range(6)
"""Columns of the stack."""
SVG, MATH, HTML_POINT, TEXT_POINT, ANNOTATION = (np.int64(kind) for kind in range(1, 6))
"""Kinds of foreign elements; 0 is HTML."""
KNOWN = 256
DEEPEST = 1_024
MOST_AREAS = 4_096
MOST_SEGMENTS = 16_384
COLUMNS = 10
"""A row is: kind, number, begin and end in `text`, and three pairs of begin and end in `values`."""

OPEN = SPANS + 2 * MOST_ATTRIBUTES
"""From here: how many elements of each kind are open; kinds that are not known share places by their hash."""
STACK = OPEN + KNOWN + 512
TABLE_PLACES = STACK + 6 * DEEPEST
"""Where in the stack tables and templates are."""
AREA_TABLE = TABLE_PLACES + DEEPEST
"""Last segment and pending white space of each area."""
CHAIN = AREA_TABLE + 2 * MOST_AREAS
"""Begin, end and next of each segment; -1 where there is none."""
ROW_TABLE = CHAIN + 3 * MOST_SEGMENTS

_BLOCK, _SPECIAL, _SCOPE = tags_of.BLOCK, tags_of.SPECIAL, tags_of.SCOPE
_HIDE, _MARK, _HOLDS = tags_of.HIDE, tags_of.MARK, tags_of.HOLDS
_TABLE_TAG = NUMBER["table"]
_OL, _UL = (NUMBER[name] for name in ["ol", "ul"])


@njit(cache=True, nogil=True, forceinline=True)
def _place(key: int) -> int:  # pragma: no cover - compiled
    return key if key >= 0 else KNOWN + (key & 511)


@njit(cache=True, nogil=True)
def _segment_after(now: Any, before: int) -> int:  # pragma: no cover - compiled
    segment = now[SEGMENTS]
    now[SEGMENTS] += 1
    now[CHAIN + 3 * segment + 0] = now[CHAIN + 3 * segment + 1] = -1
    now[CHAIN + 3 * segment + 2] = now[CHAIN + 3 * before + 2]
    now[CHAIN + 3 * before + 2] = segment
    return segment


@njit(cache=True, nogil=True, forceinline=True)
def enter_area(now: Any, area: int) -> None:  # pragma: no cover - compiled
    """Write text to another area from here on."""
    if now[AREA] == area:
        return
    segment = now[AREA_TABLE + 2 * area + 0]
    if now[CHAIN + 3 * segment + 0] >= 0:
        if now[SEGMENTS] >= MOST_SEGMENTS:
            return
        segment = _segment_after(now, segment)
        now[AREA_TABLE + 2 * area + 0] = segment
    now[CHAIN + 3 * now[SEGMENT] + 1] = now[USED]
    now[AREA_TABLE + 2 * now[AREA] + 1] = now[PENDING]
    now[CHAIN + 3 * segment + 0] = now[USED]
    now[PENDING], now[AREA], now[SEGMENT] = now[AREA_TABLE + 2 * area + 1], area, segment


@njit(cache=True, nogil=True, forceinline=True)
def push(now: Any, key: int, flags: int, area: int, foreign: int, row: int) -> None:  # pragma: no cover - compiled
    """Open an element; what is too deep is counted only."""
    depth = now[DEPTH]
    if depth >= now[LIMIT]:
        now[OVER] += 1
        return
    entry = STACK + 6 * depth
    now[entry + KEY], now[entry + FLAGS], now[entry + WHERE] = key, flags, area
    now[entry + FOREIGN], now[entry + ROW], now[entry + FOSTER] = foreign, row, 0
    now[OPEN + _place(key)] += 1
    now[DEPTH] = depth + 1
    if flags & (_MARK | _HOLDS | _HIDE):
        if flags & _MARK:
            now[MARKS] += 1
        if flags & _HOLDS and foreign == 0:
            _hold(now, key, area, depth)
        if flags & _HIDE and now[HIDDEN] < 0:
            now[HIDDEN] = depth
    enter_area(now, now[entry + WHERE])


@njit(cache=True, nogil=True)
def _hold(now: Any, key: int, area: int, depth: int) -> None:  # pragma: no cover - compiled
    """Note a table or template; a table gets an area of its own, and one for the text that belongs before it."""
    entry = STACK + 6 * depth
    now[TABLE_PLACES + now[TABLES]] = depth
    now[TABLES] += 1
    if key != _TABLE_TAG:
        return
    now[entry + FOSTER] = area
    if now[AREAS] + 2 <= MOST_AREAS and now[SEGMENTS] + 4 <= MOST_SEGMENTS:
        first = _segment_after(now, now[AREA_TABLE + 2 * area + 0])
        second = _segment_after(now, first)
        now[AREA_TABLE + 2 * area + 0] = _segment_after(now, second)
        foster = now[AREAS]
        now[AREAS] += 2
        now[AREA_TABLE + 2 * foster + 0], now[AREA_TABLE + 2 * foster + 1] = first, 0
        now[AREA_TABLE + 2 * (foster + 1) + 0], now[AREA_TABLE + 2 * (foster + 1) + 1] = second, 2
        now[entry + FOSTER], now[entry + WHERE] = foster, foster + 1


@njit(cache=True, nogil=True, forceinline=True)
def end_link(now: Any) -> None:  # pragma: no cover - compiled
    """The text of the link that is open ends here."""
    if now[LINK] >= 0:
        now[ROW_TABLE + 10 * now[LINK] + 3] = now[USED]
        now[LINK] = -1


@njit(cache=True, nogil=True)
def _end_rows(now: Any, row: int) -> None:  # pragma: no cover - compiled
    """The text of a row ends here, and that of other rows for the same element, of which each leads to the next."""
    while row >= 0:
        place = ROW_TABLE + 10 * row
        now[place + 3] = now[USED]
        if now[place] == FIGURE:
            now[place + 1] = now[ROWS]
        row = now[place + ALSO] - 1


@njit(cache=True, nogil=True, forceinline=True)
def _left(now: Any, at: int) -> None:  # pragma: no cover - compiled
    """Do what the end of the element at `at` brings with it."""
    entry = STACK + 6 * at
    now[OPEN + _place(now[entry + KEY])] -= 1
    if now[entry + ROW] >= 0:
        _end_rows(now, now[entry + ROW])
    flags = now[entry + FLAGS]
    if flags & (_MARK | _HOLDS | _HIDE | _BLOCK):
        if flags & _MARK:
            now[MARKS] -= 1
            if now[LINK] >= 0 and now[LINK_MARKS] > now[MARKS]:
                end_link(now)
        if flags & _HOLDS and now[entry + FOREIGN] == 0:
            now[TABLES] -= 1
        if now[HIDDEN] == at:
            now[HIDDEN] = -1
        if flags & _BLOCK and now[HIDDEN] < 0:
            now[PENDING] = 2


@njit(cache=True, nogil=True)
def pop_to(now: Any, depth: int) -> None:  # pragma: no cover - compiled
    """Close elements until `depth` are open."""
    while now[DEPTH] > depth:
        at = now[DEPTH] - 1
        broken = now[STACK + 6 * at + FLAGS] & _BLOCK
        if broken and now[HIDDEN] < 0:
            enter_area(now, now[STACK + 6 * at + WHERE])
        _left(now, at)
        now[DEPTH] = at
        enter_area(now, now[STACK + 6 * (at - 1) + WHERE] if at > 0 else 0)
        if broken and now[HIDDEN] < 0:
            now[PENDING] = 2


@njit(cache=True, nogil=True)
def in_scope(now: Any, key: int, stops: int) -> int:  # pragma: no cover - compiled
    """Give where the innermost `key` is, unless something that stops the search is nearer; else -1."""
    if now[OPEN + _place(key)] == 0:
        return -1
    for at in range(now[DEPTH] - 1, -1, -1):
        entry = STACK + 6 * at
        if now[entry + KEY] == key and now[entry + FOREIGN] == 0:
            return at
        if now[entry + FLAGS] & _SCOPE or (stops >= 0 and now[entry + KEY] == stops and now[entry + FOREIGN] == 0):
            return -1
        if stops == _OL and now[entry + KEY] == _UL:
            return -1
    return -1


@njit(cache=True, nogil=True)
def end_format(now: Any, key: int) -> None:  # pragma: no cover - compiled
    """End formatting: what is inside is closed with it, or outlives it where it is a block."""
    if now[OPEN + _place(key)] == 0:
        return
    special = False
    for at in range(now[DEPTH] - 1, -1, -1):
        entry = STACK + 6 * at
        if now[entry + KEY] == key and now[entry + FOREIGN] == 0:
            if not special:
                pop_to(now, at)
                return
            _left(now, at)
            hidden = now[HIDDEN]
            for i in range(at, now[DEPTH] - 1):
                for column in range(6):
                    now[STACK + 6 * i + column] = now[STACK + 6 * (i + 1) + column]
            for i in range(now[TABLES]):
                if now[TABLE_PLACES + i] > at:
                    now[TABLE_PLACES + i] -= 1
            now[DEPTH] -= 1
            if hidden > at:
                now[HIDDEN] = hidden - 1
            return
        if now[entry + FLAGS] & _SCOPE:
            return
        special = special or (now[entry + FLAGS] & _SPECIAL) != 0


@njit(cache=True, nogil=True)
def break_out(now: Any) -> None:  # pragma: no cover - compiled
    """Leave SVG or MathML."""
    depth = now[DEPTH]
    while depth > 0 and (now[STACK + 6 * (depth - 1) + FOREIGN] in (SVG, MATH, ANNOTATION)):
        depth -= 1
    pop_to(now, depth)


@njit(cache=True, nogil=True, forceinline=True)
def area_of_top(now: Any) -> int:  # pragma: no cover - compiled
    """Give the area of the innermost open element."""
    depth = now[DEPTH]
    return now[STACK + 6 * (depth - 1) + WHERE] if depth > 0 else 0


def make_state(
    deepest: int, most_rows: int, values: int, end_of_values: int, most_traces: int = 0
) -> npt.NDArray[np.int64]:
    """Make the state for reading one page; `values` is where values begin in the output."""
    traces = ROW_TABLE + COLUMNS * most_rows
    now = np.empty(traces + 2 * most_traces, np.int64)
    now[:STACK] = 0
    now[TRACE_TABLE], now[MOST_TRACES] = traces, most_traces
    now[HIDDEN] = now[LINK] = -1
    now[AREAS] = now[SEGMENTS] = 1
    now[VALUES] = now[FIRST_VALUE] = values
    now[END_OF_VALUES] = end_of_values
    now[MOST_ROWS] = most_rows
    now[LIMIT] = min(deepest, DEEPEST)
    now[AREA_TABLE : AREA_TABLE + 2] = 0
    now[CHAIN : CHAIN + 3] = 0, 0, -1
    return now
