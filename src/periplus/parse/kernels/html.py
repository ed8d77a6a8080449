"""One pass over a page: its visible text, and flat tables of its links, headings and metadata.

In: a page as UTF-8. Out: `text` (references decoded, white space collapsed, a newline between blocks), `values`
(attribute values and the title, decoded) and `rows`, each with a kind and offsets into the two. Linear in the length
of the page, whatever is in it: nothing is read twice, and the stack of open elements is bounded.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.parse.kernels import html_tags as tags_of
from periplus.parse.kernels.html_columns import gather
from periplus.parse.kernels.html_elements import ANYWHERE, note_element
from periplus.parse.kernels.html_end_tags import close_tag
from periplus.parse.kernels.html_rows import put_title
from periplus.parse.kernels.html_start_tags import open_tag
from periplus.parse.kernels.html_tables import FLAGS_OF, SLOT_HASHES, SLOT_NUMBERS, SLOTS, make_book
from periplus.parse.kernels.html_tags import NUMBER
from periplus.parse.kernels.html_text import DECODE, MARKUP, ZEROS, begins_markup, is_blank_run, skip_text, write_text
from periplus.parse.kernels.html_tokenizer import (
    end_of_bogus,
    end_of_comment,
    end_of_raw,
    end_of_script,
    read_attributes,
    read_name,
)
from periplus.parse.kernels.html_tree import (
    ANNOTATION,
    AREAS,
    CHAIN,
    DEPTH,
    FLAGS,
    FOREIGN,
    FOSTER,
    FOSTERED,
    FRAMES,
    HIDDEN,
    MATH,
    MOST_TRACES,
    NO_FRAMES,
    NOTED,
    PENDING,
    ROW_TABLE,
    SEGMENT,
    STACK,
    SVG,
    TABLE_PLACES,
    TABLES,
    TITLED,
    TRACE_TABLE,
    TRACES,
    USED,
    area_of_top,
    end_link,
    enter_area,
    make_state,
    pop_to,
)

__all__ = ["find_key", "merge", "read"]

_RAW, _DECODE, _SCRIPT, _HIDE, _BLOCK = tags_of.RAW, tags_of.DECODE, tags_of.SCRIPT, tags_of.HIDE, tags_of.BLOCK
_SAYS, _ACTS, _PARTS = tags_of.SAYS | tags_of.SHOWS, tags_of.ACTS, tags_of.PARTS
_NOTHING, _NO_ROW = np.int64(0), np.int64(-1)
_TABLE, _NO_FRAMES = tags_of.TABLE, tags_of.NO_FRAMES
_TITLE, _PLAINTEXT, _FRAMESET, _NOFRAMES = (NUMBER[name] for name in ["title", "plaintext", "frameset", "noframes"])


@njit(cache=True, nogil=True)
def _choose_area(data: Any, at: int, end: int, book: Any, now: Any) -> None:  # pragma: no cover - compiled
    """Go to where the text at `at` belongs: right in a table, that is before the table."""
    depth = now[DEPTH]
    if depth > 0 and now[STACK + 6 * (depth - 1) + FLAGS] & _TABLE and not is_blank_run(data, at, end, book):
        now[FOSTERED] = 1
        enter_area(now, now[STACK + 6 * (now[TABLE_PLACES + now[TABLES] - 1]) + FOSTER])
    else:
        enter_area(now, area_of_top(now))


@njit(cache=True, nogil=True, forceinline=True)
def find_key(hashed: int, book: Any) -> int:  # pragma: no cover - compiled
    """Give the number of a known element, or a negative one made of its hash."""
    slot = hashed & (SLOTS - 1)
    while book[SLOT_NUMBERS + slot] >= 0:
        if book[SLOT_HASHES + slot] == hashed:
            return book[SLOT_NUMBERS + slot]
        slot = (slot + 1) & (SLOTS - 1)
    return -1 - hashed


@njit(cache=True, nogil=True)
def read(data: Any, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Read a page. `out` is written from its start with text, and from `now[VALUES]` on with values."""
    _read(borrow(data), np.int64(len(data)), borrow(book), borrow(now), borrow(out))


@njit(cache=True, nogil=True)
def _read(data: Any, end: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    at = _NOTHING
    while at >= 0 and at < end:
        if data[at] != 60 or not begins_markup(data, at, end):
            at = _read_text(data, at, end, book, now, out)
            continue
        byte = data[at + 1]
        if byte >= 65:
            at = _read_start(data, at + 1, end, book, now, out)
        elif byte == 47 and ((data[at + 2] | 32) >= 97 and (data[at + 2] | 32) <= 122):
            at = _read_end(data, at + 2, end, book, now)
        elif byte != 33:
            at = end_of_bogus(data, at + 2, end) + 1
        elif at + 3 < end and data[at + 2] == 45 and data[at + 3] == 45:
            _, at = end_of_comment(data, at + 4, end)
        elif now[DEPTH] > 0 and now[STACK + 6 * (now[DEPTH] - 1) + FOREIGN] > 0 and _is_section(data, at, end):
            at = _read_section(data, at + 9, end, book, now, out)
        else:
            at = end_of_bogus(data, at + 2, end) + 1
    end_link(now)
    pop_to(now, _NOTHING)
    now[CHAIN + 3 * now[SEGMENT] + 1] = now[USED]


@njit(cache=True, nogil=True, forceinline=True)
def _read_text(data: Any, at: int, end: int, book: Any, now: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Read text up to the next markup; give the place after it."""
    if now[HIDDEN] >= 0 or now[FRAMES]:
        return skip_text(data, at, end)
    if now[AREAS] > 1 or now[TABLES] > 0:
        _choose_area(data, at, end, book, now)
    mode = MARKUP | DECODE
    if now[DEPTH] > 0 and now[STACK + 6 * (now[DEPTH] - 1) + FOREIGN] in (SVG, MATH, ANNOTATION):
        mode |= ZEROS
    return write_text(data, at, end, mode, book, now, out)


@njit(cache=True, nogil=True)
def _trace(now: Any, at: int) -> None:  # pragma: no cover - compiled
    """Note where in the text a tag is."""
    count = now[TRACES]
    if count < now[MOST_TRACES]:
        place = now[TRACE_TABLE] + 2 * count
        now[place], now[place + 1] = at, now[USED]
        now[TRACES] = count + 1


@njit(cache=True, nogil=True, forceinline=True)
def _read_end(data: Any, at: int, end: int, book: Any, now: Any) -> int:  # pragma: no cover - compiled
    """Read an end tag from its name on; give the place after it, -1 if it never ends."""
    begin = at
    hashed, at = read_name(data, at, end)
    _, _, place = read_attributes(data, at, end, book, now)
    if place >= 0 and not now[FRAMES]:
        key = find_key(hashed, book)
        flags = book[FLAGS_OF + key] if key >= 0 else _NOTHING
        if flags & _PARTS:
            _trace(now, begin)
        close_tag(now, key, flags)
    return place


@njit(cache=True, nogil=True)
def _read_start(data: Any, at: int, end: int, book: Any, now: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Read a start tag from its name on, and raw text behind it; give the place after it, -1 if it never ends."""
    begin = at
    hashed, at = read_name(data, at, end)
    have, closed, at = read_attributes(data, at, end, book, now)
    key = find_key(hashed, book)
    if at < 0 or (now[FRAMES] and key != _NOFRAMES):
        return at
    flags = book[FLAGS_OF + key] if key >= 0 else _NOTHING
    hide, row = _NOTHING, _NO_ROW
    if flags & _PARTS:
        _trace(now, begin)
    if flags & _SAYS or have & ANYWHERE:
        hide, row = note_element(data, have, key, flags, book, now, out)
    if not open_tag(now, key, flags, hide, closed == 1, row) or not flags & (_NO_FRAMES | _RAW | _ACTS):
        return at
    if flags & _NO_FRAMES:
        now[NO_FRAMES] = 1
    if flags & _RAW:
        at = _read_raw(data, at, end, key, flags | hide, book, now, out)
        if at < end:
            _, at = read_name(data, at + 2, end)
            _, _, at = read_attributes(data, at, end, book, now)
    elif key == _FRAMESET and now[USED] == 0 and not now[NO_FRAMES]:
        now[FRAMES] = 1
    return at


@njit(cache=True, nogil=True)
def _is_section(data: Any, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Tell whether '<![CDATA[' is at `at`."""
    if at + 8 >= end or data[at + 2] != 91 or data[at + 8] != 91:
        return False
    return (
        data[at + 3] == 67 and data[at + 4] == 68 and data[at + 5] == 65 and data[at + 6] == 84 and data[at + 7] == 65
    )


@njit(cache=True, nogil=True)
def _read_section(data: Any, at: int, end: int, book: Any, now: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Read the text of a CDATA section; give the place after it."""
    stop = at
    while stop < end and not (data[stop] == 93 and stop + 2 < end and data[stop + 1] == 93 and data[stop + 2] == 62):
        stop += 1
    if now[HIDDEN] < 0:
        enter_area(now, area_of_top(now))
        write_text(data, at, stop, ZEROS, book, now, out)
    return stop + 3


@njit(cache=True, nogil=True)
def _read_raw(
    data: Any,
    at: int,
    end: int,
    key: int,
    flags: int,
    book: Any,
    now: Any,
    out: Any,
) -> int:  # pragma: no cover - compiled
    """Read the text of an element without markup in it; give the place of its end tag."""
    if key == _PLAINTEXT:
        stop = end
    elif flags & _SCRIPT:
        stop = end_of_script(data, at, end, book, key)
    else:
        stop = end_of_raw(data, at, end, book, key)
    if flags & _SCRIPT and now[NOTED] > 0:
        place = ROW_TABLE + 10 * (now[NOTED] - 1)
        now[place + 2], now[place + 3] = at, stop
        now[NOTED] = 0
    if key == _TITLE and now[TITLED] == 0 and now[HIDDEN] < 0:
        now[TITLED] = 1
        put_title(data, at, stop, book, now, out)
    if not flags & _HIDE and now[HIDDEN] < 0:
        _choose_area(data, at, stop, book, now)
        if flags & _BLOCK:
            now[PENDING] = 2
        write_text(data, at, stop, ZEROS | DECODE if flags & _DECODE else ZEROS, book, now, out)
        if flags & _BLOCK:
            now[PENDING] = 2
    return stop


@njit(cache=True, nogil=True)
def merge(now: Any, text: Any, out: Any, places: Any) -> int:  # pragma: no cover - compiled
    """Copy the segments of `text` in the order of the document; give the length, and in `places` where each byte is."""
    used = 0
    pending = 0
    segment = 0
    while segment >= 0:
        for at in range(now[CHAIN + 3 * segment + 0], max(now[CHAIN + 3 * segment + 0], now[CHAIN + 3 * segment + 1])):
            byte = text[at]
            places[at] = used
            if byte == 32 or byte == 10:
                pending = max(pending, 1 if byte == 32 else 2)
                continue
            if pending and used > 0:
                out[used] = 32 if pending == 1 else 10
                used += 1
            pending = 0
            places[at] = used
            out[used] = byte
            used += 1
        segment = now[CHAIN + 3 * segment + 2]
    places[now[USED]] = used
    return used


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    now, text = make_state(8, 8, 64, 128), np.empty(192, np.uint8)
    read(np.frombuffer(b"<p>x", np.uint8), make_book(), now, text)
    merge(now, text, text, np.empty(192, np.int64))
    gather(now, 0, 2, 1, 1, 1, text, text)
