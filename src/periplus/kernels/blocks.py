"""Markup to blocks: one pass over the bytes tells where each block of text is, how much of it is linked, and in what.

It knows tags, not documents: no tree is built, and what is read of a name or a class comes in as tables.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["Blocks", "Names", "scan_blocks", "sum_up"]

INLINE, CONTAINER, PARAGRAPH, HEADING, ITEM, CELL, CAPTION, BREAK, LINK, RAW = range(10)
"""What a tag does. The kind of a block is one of the first seven."""
NAV, ASIDE, FOOTER, HEADER, ARTICLE, MAIN, FORM, NAMED, CONTENT, NAMELESS = (1 << bit for bit in range(10))
"""What a block is inside of. NAMED and CONTENT: by the class, identifier or role of an element; NAMELESS elements are
the ones whose names are about the whole page."""

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


@njit(cache=True, nogil=True)
def _is_letter(byte: int) -> bool:
    return (byte | 32) >= 97 and (byte | 32) <= 122


@njit(cache=True, nogil=True)
def _name(data: Any, place: int) -> Any:
    """Pack the first eight letters of a name; give them and where the name ends."""
    packed = np.uint64(0)
    count = 0
    while place < len(data):
        byte = data[place]
        if not (_is_letter(byte) or (byte >= 48 and byte <= 57)):
            break
        if count < 8:
            packed = (packed << np.uint64(8)) | np.uint64(byte | 32)
        count += 1
        place += 1
    return packed, place


@njit(cache=True, nogil=True)
def _find_tag(tags: Any, packed: Any) -> int:
    low, high = 0, len(tags)
    while low < high:
        middle = (low + high) // 2
        if tags[middle] < packed:
            low = middle + 1
        else:
            high = middle
    return low if low < len(tags) and tags[low] == packed else -1


@njit(cache=True, nogil=True)
def _tag_end(data: Any, place: int) -> int:
    """Give the place after a tag's '>', which does not count within quotes."""
    quote = 0
    after_equals = False
    while place < len(data):
        byte = data[place]
        if quote:
            if byte == quote:
                quote = 0
        elif byte == 62:
            return place + 1
        elif after_equals and (byte == 34 or byte == 39):
            quote = byte
        after_equals = byte == 61 or (after_equals and byte == 32)
        place += 1
    return place


@njit(cache=True, nogil=True)
def _skip_comment(data: Any, place: int) -> int:
    while place + 2 < len(data):
        if data[place] == 45 and data[place + 1] == 45 and data[place + 2] == 62:
            return place + 3
        place += 1
    return len(data)


@njit(cache=True, nogil=True)
def _skip_raw(data: Any, place: int, packed: Any) -> int:
    """Give where the end tag of a raw element begins; -1 when there is none."""
    while place + 2 < len(data):
        if data[place] == 60 and data[place + 1] == 47:
            found, after = _name(data, place + 2)
            if found == packed:
                return place
            place = after
        else:
            place += 1
    return -1


@njit(cache=True, nogil=True)
def _matches(data: Any, place: int, end: int, names: Names, word: int) -> bool:
    begin, stop = names.starts[word], names.starts[word + 1]
    if place + stop - begin > end:
        return False
    for k in range(stop - begin):
        if data[place + k] | 32 != names.words[begin + k] | 32:
            return False
    after = place + stop - begin
    return not names.whole[word] or after >= end or not _is_letter(data[after])


@njit(cache=True, nogil=True)
def _told_by_name(data: Any, begin: int, end: int, names: Names) -> int:
    """Read class, id and role for words that tell what an element is for."""
    bits = 0
    place = begin
    end = min(end, begin + 600)
    while place + 4 < end:
        byte = data[place] | 32
        starts = data[place - 1] == 32 or data[place - 1] == 10 or data[place - 1] == 9
        long = starts and place + 6 < end and data[place + 5] == 61 and byte == 99 and data[place + 1] | 32 == 108
        short = starts and data[place + 2] == 61 and byte == 105 and data[place + 1] | 32 == 100
        role = starts and data[place + 4] == 61 and byte == 114 and data[place + 1] | 32 == 111
        if not (long or short or role):
            place += 1
            continue
        place += 6 if long else (3 if short else 5)
        quote = data[place] if place < end and (data[place] == 34 or data[place] == 39) else 32
        place += 1 if quote != 32 else 0
        fresh = True
        while place < end and data[place] != quote and data[place] != 62:
            if fresh:
                for word in range(len(names.bits)):
                    if data[place] | 32 == names.words[names.starts[word]] and _matches(data, place, end, names, word):
                        bits |= names.bits[word]
            fresh = not _is_letter(data[place])
            place += 1
    return bits


@njit(cache=True, nogil=True)
def _scan(data: Any, names: Names, most: int, no_end: Any) -> Any:
    rows = np.empty((most, 7), np.int64)
    parent = np.full(most + 1, -1, np.int32)
    opened = np.zeros(_DEEPEST, np.uint64)
    numbers = np.zeros(_DEEPEST, np.int32)
    bits = np.zeros(_DEEPEST, np.int32)
    depth, count, containers = 0, 0, 1
    kind, chars, linked, in_link = CONTAINER, 0, 0, False
    place, block = 0, 0
    while place < len(data) and count < most:
        byte = data[place]
        if byte != 60:
            if byte > 32 and (byte & 0xC0) != 0x80:
                # Most writing of three bytes a character has no spaces, and says more with each.
                weight = 2 if byte >= 0xE3 and byte <= 0xED else 1
                chars += weight
                linked += weight if in_link else 0
            place += 1
            continue
        following = data[place + 1] if place + 1 < len(data) else 0
        if following == 33 or following == 63:
            is_comment = place + 3 < len(data) and data[place + 2] == 45 and data[place + 3] == 45
            place = _skip_comment(data, place + 4) if is_comment else _tag_end(data, place + 2)
            continue
        closing = following == 47
        packed, after = _name(data, place + (2 if closing else 1))
        if packed == 0:
            chars += 1
            place += 1
            continue
        tag = _find_tag(names.tags, packed)
        does = names.does[tag] if tag >= 0 else INLINE
        end = _tag_end(data, after)
        if does == LINK:
            in_link = not closing
        if does in (INLINE, LINK):
            place = end
            continue
        # Anything else ends a block.
        if chars > 0:
            rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = block, place, chars, linked
            rows[count, 4] = kind
            rows[count, 5] = bits[depth]
            rows[count, 6] = numbers[depth]
            count += 1
        chars = linked = 0
        if does == RAW:
            if not closing and not no_end[tag]:
                stop = _skip_raw(data, end, packed)
                no_end[tag] = stop < 0
                end = _tag_end(data, stop + 2) if stop >= 0 else end
        elif does == CONTAINER:
            kind = CONTAINER
            if not closing and depth + 1 < _DEEPEST:
                region = names.region[tag]
                if not region & NAMELESS:
                    region |= _told_by_name(data, after, end, names)
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
        rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = block, place, chars, linked
        rows[count, 4], rows[count, 5], rows[count, 6] = kind, bits[depth], numbers[depth]
        count += 1
    return rows[:count], parent[:containers]


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
    rows, parent = _scan(data, names, most, np.zeros(len(names.tags), np.uint8))
    chars, linked, kind, inside, container = (rows[:, k].astype(np.int32) for k in range(2, 7))
    return Blocks(rows[:, 0].copy(), rows[:, 1].copy(), chars, linked, kind, inside, container, parent)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    one, word = np.zeros(1, np.int32), np.frombuffer(b"a", np.uint8)
    names = Names(np.zeros(1, np.uint64), one, one, word, np.zeros(2, np.int32), one, np.zeros(1, np.uint8))
    scan_blocks(np.frombuffer(b"<p>a</p>", np.uint8), names)
    sum_up(one, np.zeros(1), np.zeros(1))
