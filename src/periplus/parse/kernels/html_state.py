"""The layout of the state in which a page is scanned: one array of numbers, addressed by the names in this module.

One array, because each that is passed from function to function costs as much as the work on a tag. The scalars come
first, then the tables: attribute spans, open counts, the stack of open elements, areas, segments, rows and traces.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["begin_state", "make_state", "state_size"]

# Scalars, by their index in the state.
DEPTH = 0
"""Number of open elements."""
AREA = 1
"""Area that text is written to."""
SEGMENT = 2
"""Segment that text is written to."""
PENDING_BREAK = 3
"""White space to write before the next character: NO_BREAK, SPACE_BREAK or LINE_BREAK."""
TEXT_END = 4
"""Bytes of text written to the output."""
HIDDEN_LEVEL = 5
"""Level of the outermost hidden element, -1 if what is read is visible."""
OPEN_LINK = 6
"""Row of the link whose text is being read, -1 outside of links."""
LINK_MARKERS = 7
"""MARKERS when that link began."""
MARKERS = 8
"""Number of open elements that links and formatting do not reach out of."""
TABLE_COUNT = 9
"""Number of open tables and templates; their levels are in TABLE_LEVELS."""
AREA_COUNT = 10
SEGMENT_COUNT = 11
OVERFLOW = 12
"""Number of open elements beyond MAX_DEPTH, which are counted only."""
IS_FOSTERED = 13
"""1 once text was moved before a table."""
HAS_BODY = 14
"""1 once an element was seen after which a frameset is ignored."""
IS_FRAMESET = 15
"""1 in a page of frames, which has no text."""
HAS_TITLE = 16
ROW_COUNT = 17
VALUES_END = 18
"""Index in the output behind the values written."""
SCRIPT_ROW = 19
"""One more than the row of a JSON-LD script whose text follows, 0 if there is none."""
MAX_DEPTH = 20
MAX_ROWS = 21
VALUES_BEGIN = 22
"""Index in the output at which values begin."""
TRACE_COUNT = 23
TRACE_TABLE = 24
"""Index in the state at which traces begin: the offset of a tag that separates blocks, and TEXT_END there."""
MAX_TRACES = 25
VALUES_LIMIT = 26
"""Index in the output at which values must end."""

NO_BREAK, SPACE_BREAK, LINE_BREAK = range(3)

SPANS = 32
"""Begin and end in the page of the value of each attribute of the last tag, by the number of the attribute."""
MAX_ATTRIBUTES = 32
"""Attributes that have a number of their own."""

KNOWN_ELEMENTS = 256
OPEN_COUNTS = SPANS + 2 * MAX_ATTRIBUTES
"""Number of open elements of each name; names that are not known share counts by their hash."""

STACK_LIMIT = 1_024
STACK = OPEN_COUNTS + KNOWN_ELEMENTS + 512
"""The open elements, STACK_WIDTH numbers each."""
STACK_WIDTH = 6
KEY, FLAGS, ELEMENT_AREA, FOREIGN, TEXT_ROW, FOSTER_AREA = range(STACK_WIDTH)
"""Columns of the stack: number of the element (negative if it is not known), its flags, the area of its text, which
foreign content it is, the row that ends with it (-1 if none), and for a table the area of the text before it."""
SVG, MATH, HTML_INTEGRATION, TEXT_INTEGRATION, ANNOTATION = (np.int64(kind) for kind in range(1, 6))
"""Foreign content, with the integration points of the standard; 0 is HTML."""

TABLE_LEVELS = STACK + STACK_WIDTH * STACK_LIMIT
"""Levels in the stack of open tables and templates."""

MAX_AREAS = 4_096
AREA_TABLE = TABLE_LEVELS + STACK_LIMIT
AREA_WIDTH = 2
LAST_SEGMENT, AREA_BREAK = range(AREA_WIDTH)
"""Columns of an area: its last segment, and its pending break."""

MAX_SEGMENTS = 16_384
SEGMENT_TABLE = AREA_TABLE + AREA_WIDTH * MAX_AREAS
SEGMENT_WIDTH = 3
SEGMENT_BEGIN, SEGMENT_END, SEGMENT_NEXT = range(SEGMENT_WIDTH)
"""Columns of a segment: begin and end in the text (-1 while empty), and the next segment (-1 if none)."""

ROW_TABLE = SEGMENT_TABLE + SEGMENT_WIDTH * MAX_SEGMENTS
"""What the page says beyond its text, ROW_WIDTH numbers for each row."""
ROW_WIDTH = 10
ROW_KIND, ROW_NUMBER, ROW_BEGIN, ROW_END = range(4)
"""Columns of a row: its kind, a number that depends on the kind, begin and end of its text in the output."""
VALUE_1, VALUE_2, VALUE_3 = np.int64(4), np.int64(6), np.int64(8)
"""Columns of a row: begins of up to three values in the output; the end of each is in the next column."""
NEXT_ROW = 8
"""Column of rows without a third value: one more than another row for the same element, 0 if there is none."""
TITLE_ROW, HEADING_ROW, EMPHASIS_ROW, LINK_ROW, META_ROW, REFERENCE_ROW, IMAGE_ROW, BASE_ROW, LANGUAGE_ROW = (
    np.int64(kind) for kind in range(9)
)
TIME_ROW, JSON_LD_ROW, MEDIA_ROW, FIGURE_ROW, CAPTION_ROW, TABLE_ROW, PROPERTY_ROW, STYLE_ROW = (
    np.int64(kind) for kind in range(9, 17)
)
"""Kinds of rows."""


def _beginning() -> npt.NDArray[np.int64]:
    """Return what precedes the stack in every new state."""
    beginning = np.zeros(STACK, np.int64)
    beginning[[HIDDEN_LEVEL, OPEN_LINK]] = -1
    beginning[[AREA_COUNT, SEGMENT_COUNT]] = 1
    return beginning


_BEGINNING = _beginning()


def make_state(
    max_depth: int,
    max_rows: int,
    values_begin: int,
    values_limit: int,
    max_traces: int = 0,
) -> npt.NDArray[np.int64]:
    """Return the state for scanning one page.

    Parameters
    ----------
    max_depth
        Open elements that are kept on the stack, at most STACK_LIMIT.
    max_rows, max_traces
        Rows and traces that are kept.
    values_begin, values_limit
        The part of the output that values are written to; text comes before it.
    """
    state = np.empty(state_size(max_rows, max_traces), np.int64)
    begin_state(state, max_depth, max_rows, values_begin, values_limit, max_traces)
    return state


def state_size(max_rows: int, max_traces: int) -> int:
    """Return the length of a state."""
    return ROW_TABLE + ROW_WIDTH * max_rows + 2 * max_traces


@njit(cache=True, nogil=True)
def begin_state(
    state: Any, max_depth: int, max_rows: int, values_begin: int, values_limit: int, max_traces: int
) -> None:  # pragma: no cover - compiled
    """Write what a state begins with; the parameters are those of `make_state`."""
    for at in range(STACK):
        state[at] = _BEGINNING[at]
    state[VALUES_END] = state[VALUES_BEGIN] = values_begin
    state[MAX_DEPTH], state[MAX_ROWS] = min(max_depth, STACK_LIMIT), max_rows
    state[TRACE_TABLE], state[MAX_TRACES] = ROW_TABLE + ROW_WIDTH * max_rows, max_traces
    state[VALUES_LIMIT] = values_limit
    for at in range(AREA_TABLE, AREA_TABLE + AREA_WIDTH):
        state[at] = 0
    state[SEGMENT_TABLE], state[SEGMENT_TABLE + 1], state[SEGMENT_TABLE + 2] = 0, 0, -1
