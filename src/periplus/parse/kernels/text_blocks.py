"""Markup to blocks: one pass over the bytes tells where each block of text is, how much of it is linked, and in what.

It knows tags, not documents: no tree is built, and what is read of a name or a class comes in as tables.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.parse.kernels.html_tokenizer import find_byte

__all__ = ["Blocks", "Names", "scan_blocks", "sum_up"]

INLINE, CONTAINER, PARAGRAPH, HEADING, ITEM, CELL, CAPTION, BREAK, LINK, RAW = range(10)
"""What a tag does. The kind of a block is one of the first seven."""
NAV, ASIDE, FOOTER, HEADER, ARTICLE, MAIN, FORM, NAMED, CONTENT, NAMELESS = (1 << bit for bit in range(10))
"""What a block is inside of. NAMED and CONTENT: by the class, identifier or role of an element; NAMELESS elements are
the ones whose names are about the whole page."""

SLOT_BITS = 10
_LESS, _GREATER = np.uint8(60), np.uint8(62)
_DEEPEST = 256
_NEAR = 48
"""How far up the stack the start of an end tag is looked for."""


class Blocks(NamedTuple):
    """Blocks of text in their order. Any reader can fill these in; offsets are into whatever text it has."""

    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    chars: npt.NDArray[np.int32]
    """Characters that are seen, white space left out."""
    linked: npt.NDArray[np.int32]
    """Those of them within links."""
    kind: npt.NDArray[np.int32]
    """CONTAINER for text directly in a division, PARAGRAPH, HEADING, ITEM, CELL or CAPTION."""
    inside: npt.NDArray[np.int32]
    """Bits: NAV, ASIDE and so on."""
    container: npt.NDArray[np.int32]
    """Number of the innermost container; 0 is the page. Containers are numbered as they begin."""
    parent: npt.NDArray[np.int32]
    """By container: the one around it; -1 for the page."""


class Names(NamedTuple):
    """What is known of names: tags by their first eight letters, and telling parts of classes."""

    tags: npt.NDArray[np.uint64]
    """Sorted."""
    does: npt.NDArray[np.int32]
    region: npt.NDArray[np.int32]
    words: npt.NDArray[np.uint8]
    """Telling parts, one after the other, in lower case."""
    starts: npt.NDArray[np.int32]
    bits: npt.NDArray[np.int32]
    whole: npt.NDArray[np.uint8]
    """Whether a part must end where a word ends."""
    firsts: npt.NDArray[np.int32]
    """By byte: the number of the first part that begins with it or a later one; parts are sorted. 257 of them."""
    slots: npt.NDArray[np.int16]
    """By slot: number of the tag, or -1."""
    spread: np.uint64
    """What `slot_of` is told."""


@njit(cache=True, nogil=True)
def _is_letter(byte: int) -> bool:
    return (byte | 32) >= 97 and (byte | 32) <= 122


@njit(cache=True, nogil=True)
def _name(data: Any, place: int, size: int) -> Any:
    """Pack the first eight letters of a name; give them and where the name ends."""
    packed = np.uint64(0)
    count = 0
    while place < size:
        byte = data[place]
        if not (_is_letter(byte) or (byte >= 48 and byte <= 57)):
            break
        if count < 8:
            packed = (packed << np.uint64(8)) | np.uint64(byte | 32)
        count += 1
        place += 1
    return packed, place


@njit(cache=True, nogil=True)
def slot_of(packed: Any, spread: Any) -> Any:
    """Give the slot of a name; `spread` is a number that gives each tag its own."""
    return np.int64((packed * spread) >> np.uint64(64 - SLOT_BITS))


@njit(cache=True, nogil=True)
def _find_tag(tags: Any, slots: Any, spread: Any, packed: Any) -> int:
    tag = slots[slot_of(packed, spread)]
    return tag if tag >= 0 and tags[tag] == packed else -1


@njit(cache=True, nogil=True)
def _tag_end(data: Any, place: int, size: int) -> int:
    """Give the place after a tag's '>', which does not count within quotes."""
    after_equals = False
    while place < size:
        byte = data[place]
        if byte == 62:
            return place + 1
        if after_equals and (byte == 34 or byte == 39):
            place = find_byte(data, place + 1, size, byte)
            after_equals = False
        else:
            after_equals = byte == 61 or (after_equals and byte == 32)
        place += 1
    return min(place, size)


@njit(cache=True, nogil=True)
def _skip_comment(data: Any, place: int, size: int) -> int:
    begin = place
    while place < size:
        place = find_byte(data, place, size, _GREATER)
        if place < size and place >= begin + 2 and data[place - 1] == 45 and data[place - 2] == 45:
            return place + 1
        place += 1
    return size


@njit(cache=True, nogil=True)
def _skip_raw(data: Any, place: int, size: int, packed: Any) -> int:
    """Give where the end tag of a raw element begins; -1 when there is none."""
    while place + 2 < size:
        place = find_byte(data, place, size, _LESS)
        if place + 2 >= size:
            break
        if data[place + 1] == 47:
            found, after = _name(data, place + 2, size)
            if found == packed:
                return place
            place = after
        else:
            place += 1
    return -1


@njit(cache=True, nogil=True)
def _matches(data: Any, place: int, end: int, words: Any, starts: Any, word: int, whole: int) -> bool:
    begin, stop = starts[word], starts[word + 1]
    if place + stop - begin > end:
        return False
    for k in range(stop - begin):
        if data[place + k] | 32 != words[begin + k] | 32:
            return False
    after = place + stop - begin
    return whole == 0 or after >= end or not _is_letter(data[after])


@njit(cache=True, nogil=True)
def _told_by_name(data: Any, begin: int, end: int, words: Any, starts: Any, told: Any, whole: Any, firsts: Any) -> int:
    """Read class, id and role for words that tell what an element is for."""
    bits = 0
    place = begin
    end = min(end, begin + 600)
    while place + 4 < end:
        byte = data[place] | 32
        fresh = data[place - 1] == 32 or data[place - 1] == 10 or data[place - 1] == 9
        long = fresh and place + 6 < end and data[place + 5] == 61 and byte == 99 and data[place + 1] | 32 == 108
        short = fresh and data[place + 2] == 61 and byte == 105 and data[place + 1] | 32 == 100
        role = fresh and data[place + 4] == 61 and byte == 114 and data[place + 1] | 32 == 111
        if not (long or short or role):
            place += 1
            continue
        place += 6 if long else (3 if short else 5)
        quote = data[place] if place < end and (data[place] == 34 or data[place] == 39) else 32
        place += 1 if quote != 32 else 0
        fresh = True
        while place < end and data[place] != quote and data[place] != 62:
            if fresh:
                letter = np.int64(data[place] | 32)
                for word in range(firsts[letter], firsts[letter + 1]):
                    if _matches(data, place, end, words, starts, word, whole[word]):
                        bits |= told[word]
            fresh = not _is_letter(data[place])
            place += 1
    return bits


@njit(cache=True, nogil=True)
def _put(
    rows: Any, row: int, begin: int, end: int, chars: int, linked: int, kind: int, inside: int, container: int
) -> None:
    place = 7 * row
    rows[place], rows[place + 1], rows[place + 2], rows[place + 3] = begin, end, chars, linked
    rows[place + 4], rows[place + 5], rows[place + 6] = kind, inside, container


@njit(cache=True, nogil=True)
def _scan(data: Any, names: Names, most: int) -> Any:
    rows = np.empty(7 * most, np.int64)
    parent = np.full(most + 1, -1, np.int32)
    opened, no_end = np.zeros(_DEEPEST, np.uint64), np.zeros(len(names.tags), np.uint8)
    numbers, bits = np.zeros(_DEEPEST, np.int32), np.zeros(_DEEPEST, np.int32)
    lent = (borrow(names.tags), borrow(names.does), borrow(names.region), borrow(names.slots))
    telling = (
        borrow(names.words),
        borrow(names.starts),
        borrow(names.bits),
        borrow(names.whole),
        borrow(names.firsts),
    )
    count, containers = _scan_all(
        borrow(data),
        len(data),
        lent,
        names.spread,
        telling,
        most,
        (borrow(opened), borrow(no_end), borrow(numbers), borrow(bits)),
        borrow(rows),
        borrow(parent),
    )
    return rows.reshape(-1, 7)[:count], parent[:containers]


@njit(cache=True, nogil=True)
def _scan_all(
    data: Any,
    size: int,
    lent: Any,
    spread: Any,
    telling: Any,
    most: int,
    desk: Any,
    rows: Any,
    parent: Any,
) -> Any:
    tags, does_of, region_of, slots = lent
    words, starts, told, whole, firsts = telling
    opened, no_end, numbers, bits = desk
    depth, count, containers = 0, 0, 1
    kind, chars, linked, in_link = CONTAINER, 0, 0, False
    place, block = 0, 0
    while place < size and count < most:
        byte = data[place]
        if byte != 60:
            if byte > 32 and (byte & 0xC0) != 0x80:
                # Most writing of three bytes a character has no spaces, and says more with each.
                weight = 2 if byte >= 0xE3 and byte <= 0xED else 1
                chars += weight
                linked += weight if in_link else 0
            place += 1
            continue
        following = data[place + 1] if place + 1 < size else 0
        if following == 33 or following == 63:
            is_comment = place + 3 < size and data[place + 2] == 45 and data[place + 3] == 45
            place = _skip_comment(data, place + 4, size) if is_comment else _tag_end(data, place + 2, size)
            continue
        closing = following == 47
        packed, after = _name(data, place + (2 if closing else 1), size)
        if packed == 0:
            chars += 1
            place += 1
            continue
        tag = _find_tag(tags, slots, spread, packed)
        does = does_of[tag] if tag >= 0 else INLINE
        end = _tag_end(data, after, size)
        if does == LINK:
            in_link = not closing
        if does in (INLINE, LINK):
            place = end
            continue
        # Anything else ends a block.
        if chars > 0:
            _put(rows, count, block, place, chars, linked, kind, bits[depth], numbers[depth])
            count += 1
        chars = linked = 0
        if does == RAW:
            if not closing and not no_end[tag]:
                stop = _skip_raw(data, end, size, packed)
                no_end[tag] = stop < 0
                end = _tag_end(data, stop + 2, size) if stop >= 0 else end
        elif does == CONTAINER:
            kind = CONTAINER
            if not closing and depth + 1 < _DEEPEST:
                region = region_of[tag]
                if not region & NAMELESS:
                    region |= _told_by_name(data, after, end, words, starts, told, whole, firsts)
                region &= ~NAMELESS
                inherited = bits[depth]
                if region & HEADER and inherited & (ARTICLE | MAIN):
                    region &= ~HEADER
                depth += 1
                opened[depth], bits[depth] = packed, inherited | region
                numbers[depth] = containers
                parent[containers] = numbers[depth - 1]
                containers = min(containers + 1, most)
            elif closing:
                for up in range(depth, max(0, depth - _NEAR), -1):
                    if opened[up] == packed:
                        depth = up - 1
                        break
            in_link = False
        elif does != BREAK:
            kind = CONTAINER if closing else does
        place = block = end
    if chars > 0 and count < most:
        _put(rows, count, block, place, chars, linked, kind, bits[depth], numbers[depth])
        count += 1
    return count, containers


@njit(cache=True, nogil=True)
def sum_up(parent: Any, held: Any, whole: Any) -> Any:
    """Add to each container what those within it hold; give the last one within each."""
    last = np.arange(len(parent))
    for number in range(len(parent) - 1, 0, -1):
        up = parent[number]
        held[up] += held[number]
        whole[up] += whole[number]
        last[up] = max(last[up], last[number])
    return last


def scan_blocks(data: npt.NDArray[np.uint8], names: Names) -> Blocks:
    """Find the blocks of text in UTF-8 markup, in time linear in its length."""
    most = min(200_000, int(np.count_nonzero(data == 60)) + 1)
    rows, parent = _scan(data, names, most)
    chars, linked, kind, inside, container = (rows[:, k].astype(np.int32) for k in range(2, 7))
    return Blocks(rows[:, 0].copy(), rows[:, 1].copy(), chars, linked, kind, inside, container, parent)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    one, word = np.zeros(1, np.int32), np.frombuffer(b"a", np.uint8)
    firsts, slots = np.zeros(257, np.int32), np.zeros(1 << SLOT_BITS, np.int16)
    names = Names(
        np.zeros(1, np.uint64),
        one,
        one,
        word,
        np.zeros(2, np.int32),
        one,
        np.zeros(1, np.uint8),
        firsts,
        slots,
        np.uint64(1),
    )
    scan_blocks(np.frombuffer(b"<p>a</p>", np.uint8), names)
    sum_up(one, np.zeros(1), np.zeros(1))
