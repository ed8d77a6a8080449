"""Markup to blocks: one pass over the bytes finds each block of text, how much of it is linked, and its containers.

No tree is built; what the names of tags and classes mean is passed in as tables.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import PinnedArrays, array_1d, borrow, keep, scalar
from periplus.accel.simd import LANES, count_byte, count_visible
from periplus.parse.html.kernels.tag_names import (
    AMBIGUOUS,
    ARTICLE,
    BROAD,
    CONTENT,
    HEADER,
    MAIN,
    NAMED,
    NAMELESS,
    NESTED,
    ONWARD,
    classify_names,
    is_letter,
    is_onward_link,
)
from periplus.parse.html.kernels.tag_tables import SLOT_BITS, TagTables, minimal_tables
from periplus.parse.kernels.html_tables import (
    DOUBLE_QUOTE,
    EQUALS,
    EXCLAMATION,
    GREATER_THAN,
    HYPHEN,
    LESS_THAN,
    QUESTION,
    SINGLE_QUOTE,
    SLASH,
    SPACE,
)
from periplus.parse.kernels.html_tokenizer import find_byte

__all__ = [
    "Blocks",
    "add_to_parents",
    "count_marks",
    "scan_blocks",
    "scan_rows",
    "slot_of",
]

INLINE, CONTAINER, PARAGRAPH, HEADING, ITEM, CELL, CAPTION, BREAK, LINK, RAW = range(10)
"""Effects of a tag. The kind of a block is one of the first seven."""

_LESS, _GREATER = np.uint8(60), np.uint8(62)
_MAX_DEPTH = 256
_MAX_LEVELS_UP = 48
"""Levels of the stack that are searched for the start of an end tag."""
_WIDTH = 7
_BEGIN, _END, _CHARS, _LINKED, _KIND, _INSIDE, _CONTAINER = range(_WIDTH)
"""Columns of the rows, in the order of the fields of `Blocks`."""


class Blocks(NamedTuple):
    """Blocks of text in their order. Offsets are into the markup that was scanned."""

    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    chars: npt.NDArray[np.int32]
    """Visible characters, without white space."""
    linked: npt.NDArray[np.int32]
    """Those of them within links."""
    kind: npt.NDArray[np.int32]
    """CONTAINER for text directly in a division, PARAGRAPH, HEADING, ITEM, CELL or CAPTION."""
    inside: npt.NDArray[np.int32]
    """Bits of regions: NAV, ASIDE and so on."""
    container: npt.NDArray[np.int32]
    """Number of the innermost container; 0 is the page. Containers are numbered as they begin."""
    parent: npt.NDArray[np.int32]
    """By container: the one around it; -1 for the page."""


@njit(cache=True, nogil=True)
def _read_name(data: Any, at: int, size: int) -> Any:
    """Return the first eight letters of a name, packed, and the offset behind the name."""
    packed = np.uint64(0)
    count = 0
    while at < size:
        byte = data[at]
        if not (is_letter(byte) or (byte >= 48 and byte <= 57)):
            break
        if count < 8:
            packed = (packed << np.uint64(8)) | np.uint64(byte | 32)
        count += 1
        at += 1
    return packed, at


@njit(cache=True, nogil=True)
def slot_of(packed: Any, multiplier: Any) -> Any:
    """Return the slot of a name in the hash table of tags.

    Parameters
    ----------
    packed
        First eight letters of the name.
    multiplier
        Multiplier with which no two tags share a slot.

    Returns
    -------
    Index into `TagTables.slots`.
    """
    return np.int64((packed * multiplier) >> np.uint64(64 - SLOT_BITS))


@njit(cache=True, nogil=True)
def _find_tag(tags: Any, slots: Any, multiplier: Any, packed: Any) -> int:
    tag = slots[slot_of(packed, multiplier)]
    return tag if tag >= 0 and tags[tag] == packed else -1


@njit(cache=True, nogil=True)
def _find_tag_end(data: Any, at: int, size: int) -> int:
    """Return the offset behind the '>' of a tag, which does not count within quotes."""
    after_equals = False
    while at < size:
        byte = data[at]
        if byte == GREATER_THAN:
            return at + 1
        if after_equals and (byte == DOUBLE_QUOTE or byte == SINGLE_QUOTE):
            at = find_byte(data, at + 1, size, byte)
            after_equals = False
        else:
            after_equals = byte == EQUALS or (after_equals and byte == SPACE)
        at += 1
    return min(at, size)


@njit(cache=True, nogil=True)
def _count_characters(data: Any, begin: int, end: int) -> int:
    """Return the number of visible characters in a run of text.

    Most scripts of three bytes a character have no spaces, and each character says more: it counts twice.
    """
    count = 0
    while begin + LANES <= end:
        count += count_visible(data, begin)
        begin += LANES
    for at in range(begin, end):
        byte = data[at]
        count += (byte > 32) & ((byte & 0xC0) != 0x80)
        count += (byte >= 0xE3) & (byte <= 0xED)
    return count


@njit(cache=True, nogil=True)
def _skip_comment(data: Any, at: int, size: int) -> int:
    """Return the offset behind a comment."""
    begin = at
    while at < size:
        at = find_byte(data, at, size, _GREATER)
        if at < size and at >= begin + 2 and data[at - 1] == HYPHEN and data[at - 2] == HYPHEN:
            return at + 1
        at += 1
    return size


@njit(cache=True, nogil=True)
def _find_raw_end(data: Any, at: int, size: int, packed: Any) -> int:
    """Return the offset of the end tag of a raw element; -1 if there is none."""
    while at + 2 < size:
        at = find_byte(data, at, size, _LESS)
        if at + 2 >= size:
            break
        if data[at + 1] == SLASH:
            name, after = _read_name(data, at + 2, size)
            if name == packed:
                return at
            at = after
        else:
            at += 1
    return -1


@njit(cache=True, nogil=True)
def count_marks(data: Any) -> int:
    """Return how many '<' there are in `data` (uint8 array): at least as many as tags."""
    return _count_marks(borrow(data), len(data))


@njit(cache=True, nogil=True)
def _count_marks(data: Any, size: int) -> int:
    count, at = 0, 0
    while at + LANES <= size:
        count += count_byte(data, at, _LESS)
        at += LANES
    for rest in range(at, size):
        count += data[rest] == _LESS
    return count


@njit(cache=True, nogil=True)
def _put_row(
    rows: Any, row: int, begin: int, end: int, chars: int, linked: int, kind: int, inside: int, container: int
) -> None:
    """Write a block to its row."""
    entry = _WIDTH * row
    rows[entry + _BEGIN], rows[entry + _END], rows[entry + _CHARS], rows[entry + _LINKED] = begin, end, chars, linked
    rows[entry + _KIND], rows[entry + _INSIDE], rows[entry + _CONTAINER] = kind, inside, container


@njit(cache=True, nogil=True)
def scan_rows(data: Any, tables: Any, max_blocks: int) -> Any:
    """Return the blocks of `scan_blocks` as rows, and the parents of containers.

    Parameters: data (uint8 array), UTF-8 markup; tables (int64 array), addresses of `TagTables`, which say what names
    mean; max_blocks, how many blocks are kept.
    Returns: rows (int64 array of seven columns, as the fields of `Blocks`), and by container the one around it.
    """
    rows = np.empty(_WIDTH * max_blocks, np.int64)
    parent = np.full(max_blocks + 1, -1, np.int32)
    tags, effects, regions = (
        array_1d(tables, 0, np.uint64),
        array_1d(tables, 1, np.int32),
        array_1d(tables, 2, np.int32),
    )
    words, starts = array_1d(tables, 3, np.uint8), array_1d(tables, 4, np.int32)
    word_bits, is_whole = array_1d(tables, 5, np.int32), array_1d(tables, 6, np.uint8)
    first_words, slots = array_1d(tables, 7, np.int32), array_1d(tables, 8, np.int16)
    open_tags, lacks_end = np.zeros(_MAX_DEPTH, np.uint64), np.zeros(len(tags), np.uint8)
    container_of, bits = np.zeros(_MAX_DEPTH, np.int32), np.zeros(_MAX_DEPTH, np.int32)
    tag_pointers = (borrow(tags), borrow(effects), borrow(regions), borrow(slots))
    word_pointers = (borrow(words), borrow(starts), borrow(word_bits), borrow(is_whole), borrow(first_words))
    count, containers = _scan_all(
        borrow(data),
        len(data),
        tag_pointers,
        scalar(tables, 9, np.uint64),
        word_pointers,
        max_blocks,
        (borrow(open_tags), borrow(lacks_end), borrow(container_of), borrow(bits)),
        borrow(rows),
        borrow(parent),
    )
    keep(
        (
            *(tags, effects, regions, slots, words, starts, word_bits, is_whole, first_words),
            *(rows, parent, open_tags, lacks_end, container_of, bits),
        )
    )
    return rows.reshape(-1, _WIDTH)[:count], parent[:containers]


@njit(cache=True, nogil=True)
def _scan_all(
    data: Any,
    size: int,
    tag_pointers: Any,
    multiplier: Any,
    word_pointers: Any,
    max_blocks: int,
    stack: Any,
    rows: Any,
    parent: Any,
) -> Any:
    tags, effects, regions, slots = tag_pointers
    words, starts, word_bits, is_whole, first_words = word_pointers
    open_tags, lacks_end, container_of, bits = stack
    depth, count, containers = 0, 0, 1
    kind, chars, linked, in_link, onward = CONTAINER, 0, 0, False, 0
    at, block = 0, 0
    while at < size and count < max_blocks:
        byte = data[at]
        if byte != LESS_THAN:
            stop = find_byte(data, at, size, _LESS)
            visible = _count_characters(data, at, stop)
            chars += visible
            linked += visible if in_link else 0
            at = stop
            continue
        following = data[at + 1] if at + 1 < size else 0
        if following == EXCLAMATION or following == QUESTION:
            is_comment = at + 3 < size and data[at + 2] == HYPHEN and data[at + 3] == HYPHEN
            at = _skip_comment(data, at + 4, size) if is_comment else _find_tag_end(data, at + 2, size)
            continue
        closing = following == SLASH
        packed, after = _read_name(data, at + (2 if closing else 1), size)
        if packed == 0:
            chars += 1
            at += 1
            continue
        tag = _find_tag(tags, slots, multiplier, packed)
        effect = effects[tag] if tag >= 0 else INLINE
        end = _find_tag_end(data, after, size)
        if effect == LINK:
            in_link = not closing
            if in_link and onward == 0 and is_onward_link(data, after, end):
                onward = ONWARD
        if effect in (INLINE, LINK):
            at = end
            continue
        # Anything else ends a block.
        if chars > 0:
            _put_row(rows, count, block, at, chars, linked, kind, bits[depth] | onward, container_of[depth])
            count += 1
        chars = linked = onward = 0
        if effect == RAW:
            if not closing and not lacks_end[tag]:
                stop = _find_raw_end(data, end, size, packed)
                lacks_end[tag] = stop < 0
                end = _find_tag_end(data, stop + 2, size) if stop >= 0 else end
        elif effect == CONTAINER:
            kind = CONTAINER
            if not closing and depth + 1 < _MAX_DEPTH:
                region = regions[tag]
                if not region & NAMELESS:
                    region |= classify_names(data, after, end, words, starts, word_bits, is_whole, first_words)
                region &= ~NAMELESS
                inherited = bits[depth]
                if region & MAIN:  # What declares itself the content is none of what is around it.
                    inherited &= ~(NAMED | NESTED | AMBIGUOUS)
                if region & BROAD and inherited & BROAD:  # The inner of two is the content.
                    region |= CONTENT
                if region & (NAMED | AMBIGUOUS) and inherited & (NAMED | AMBIGUOUS):
                    region |= NESTED
                if region & HEADER and inherited & (ARTICLE | MAIN):
                    region &= ~HEADER
                depth += 1
                open_tags[depth], bits[depth] = packed, inherited | region
                container_of[depth] = containers
                parent[containers] = container_of[depth - 1]
                containers = min(containers + 1, max_blocks)
            elif closing:
                for outer in range(depth, max(0, depth - _MAX_LEVELS_UP), -1):
                    if open_tags[outer] == packed:
                        depth = outer - 1
                        break
            in_link = False
        elif effect != BREAK:
            kind = CONTAINER if closing else effect
        at = block = end
    if chars > 0 and count < max_blocks:
        _put_row(rows, count, block, at, chars, linked, kind, bits[depth] | onward, container_of[depth])
        count += 1
    return count, containers


@njit(cache=True, nogil=True)
def add_to_parents(parent: Any, good: Any, is_whole: Any) -> Any:
    """Add to each container the amounts of those within it.

    Parameters
    ----------
    parent
        By container: the one around it; -1 for the page.
    good, total
        By container: two amounts, changed in place.

    Returns
    -------
    By container: the number of the last one within it.
    """
    last = np.arange(len(parent))
    for number in range(len(parent) - 1, 0, -1):
        outer = parent[number]
        good[outer] += good[number]
        is_whole[outer] += is_whole[number]
        last[outer] = max(last[outer], last[number])
    return last


def scan_blocks(data: npt.NDArray[np.uint8], tables: PinnedArrays[TagTables]) -> Blocks:
    """Return the blocks of text in UTF-8 markup, in time linear in its length."""
    max_blocks = min(200_000, int(count_marks(data)) + 1)
    rows, parent = scan_rows(data, tables.addresses, max_blocks)
    chars, linked, kind, inside, container = (rows[:, k].astype(np.int32) for k in range(2, 7))
    return Blocks(rows[:, 0].copy(), rows[:, 1].copy(), chars, linked, kind, inside, container, parent)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    scan_blocks(np.frombuffer(b"<p>a</p>", np.uint8), minimal_tables())
    add_to_parents(np.zeros(1, np.int32), np.zeros(1), np.zeros(1))
