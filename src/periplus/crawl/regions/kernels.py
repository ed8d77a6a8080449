"""Kernels of novelty: which shingles of a text a sketch does not have, and which names of a title a filter does not."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow, keep
from periplus.accel.simd import SLOTS, scan_to_slot
from periplus.parse.html.kernels.folded_words import MARGIN, hash_folded_words
from periplus.parse.kernels.html_tokenizer import find_byte

__all__ = [
    "SHINGLE",
    "enter_names",
    "enter_shingles",
    "hash_url_words",
    "hash_word",
    "hash_words",
    "list_shingles",
    "make_shingles",
    "observe",
    "observe_page",
    "rehash",
    "warm",
]

SHINGLE = 6
"""Words of a shingle. Shingles do not cross lines; a shorter line is a shingle by itself."""
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ECHO = 8
"""Words of a line that repeats the URL if it has any of its words; of a longer one, half have to be."""
_FULL = 0.75
"""Share of a table's slots from which on shingles are counted but no longer entered."""
_BLOCK = 256
"""Slots of a table that are looked at together when it is entered in another one."""
_BETWEEN, _NEWLINE, _ANY_DIGIT, _TO_LOWER, _ASCII_END = (np.uint8(byte) for byte in (0, 10, 35, 32, 128))
_ZERO, _NINE, _UPPER_A, _UPPER_Z, _A, _Z = (np.uint8(ord(character)) for character in "09AZaz")
_MIN_LETTERS = 3
"""Letters of a name: what has fewer is a number, a mark or a short word."""
_HASHES = 4
"""Bits of a name in a filter."""


def _letters() -> npt.NDArray[np.uint8]:
    table = np.arange(256).astype(np.uint8)
    table[:128] = 0
    table[97:123] = table[65:91] = np.arange(97, 123)
    table[48:58] = 35  # any number is as good as another
    return table


_LETTER = _letters()


@njit(cache=True, nogil=True)
def _mix(value: Any) -> Any:
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_words(data: Any, most: int) -> Any:
    """Return the hashes that `observe` gives to words.

    Parameters: data (uint8 array), words in UTF-8 with one space between them; most, how many there are at most.
    Returns: their hashes (uint64 array).
    """
    hashes = np.empty(most, np.uint64)
    count, begin = 0, 0
    for position in range(len(data) + 1):
        if position == len(data) or data[position] == 32:
            if position > begin and count < most:
                hashes[count] = hash_word(data[begin:position])
                count += 1
            begin = position + 1
    return hashes[:count]


@njit(cache=True, nogil=True)
def hash_url_words(data: Any, most: int) -> Any:
    """Return the hashes that `observe` gives to the words of a URL, each word once whatever its case.

    Parameters: data (uint8 array), the URL in ASCII; most, how many words are kept at most.
    Returns: hashes of the first ones (uint64 array). Two words that differ in their numbers have the same.
    """
    hashes, exact = np.empty(most, np.uint64), np.empty(most, np.uint64)
    count = _hash_url_words(borrow(data), len(data), most, borrow(hashes), borrow(exact))
    keep((hashes, exact))
    return hashes[:count]


@njit(cache=True, nogil=True)
def _hash_url_words(data: Any, size: int, most: int, hashes: Any, exact: Any) -> int:
    count, before = 0, np.uint8(0)
    merged = value = _OFFSET
    for position in range(size + 1):
        letter = _LETTER[data[position]] if position < size else np.uint8(0)
        if letter:
            value = (value ^ np.uint64(data[position] if letter == _ANY_DIGIT else letter)) * _PRIME
            if letter != _ANY_DIGIT or before != _ANY_DIGIT:
                merged = (merged ^ np.uint64(letter)) * _PRIME
        elif before:
            is_new = count < most
            for other in range(count):
                is_new &= exact[other] != value
            if is_new:
                hashes[count], exact[count] = merged, value
                count += 1
            merged = value = _OFFSET
        before = letter
    return count


@njit(cache=True, nogil=True)
def hash_word(data: Any) -> Any:
    """Return the hash that `observe` gives a word.

    Parameters: data (uint8 array), the letters of one word in UTF-8.
    Returns: its hash (uint64).
    """
    value = _OFFSET
    before = np.uint8(0)
    for byte in data:
        letter = _LETTER[byte]
        if letter and not (letter == 35 and before == 35):
            value = (value ^ np.uint64(letter)) * _PRIME
        before = letter
    return value


@njit(cache=True, nogil=True)
def _fold(data: Any, size: int, out: Any) -> None:
    """Write what each byte of a text counts as: ASCII letters in lower case, '#' for digits, 0 between words."""
    for at in range(size):  # Without branches, so that many bytes are folded at a time.
        byte = data[at]
        is_digit = (byte >= _ZERO) & (byte <= _NINE)
        is_upper = (byte >= _UPPER_A) & (byte <= _UPPER_Z)
        is_kept = ((byte >= _A) & (byte <= _Z)) | (byte >= _ASCII_END)
        out[at] = byte | _TO_LOWER if is_upper else (_ANY_DIGIT if is_digit else (byte if is_kept else _BETWEEN))


@njit(cache=True, nogil=True, forceinline=True)
def _find_slot(table: Any, slots: int, shingle: Any) -> int:
    """Return the slot of a shingle, or the free one for it."""
    slot = np.int64(shingle * _PRIME >> np.uint64(17)) & (slots - 1)
    if slot <= slots - SLOTS:  # How many others precede it cannot be predicted: no branch for each.
        step = scan_to_slot(table, slot, shingle)
        slot += step
        if step < SLOTS:
            return slot
    slot &= slots - 1
    while table[slot] != 0 and table[slot] != shingle:
        slot = (slot + 1) & (slots - 1)
    return slot


@njit(cache=True, nogil=True)
def _append_shingles(words: Any, first: int, count: int, shingles: Any, used: int) -> int:
    """Write the shingles of a line, which has `count` words from the `first` on, behind those that are there."""
    size = min(count, SHINGLE)
    found = count - size + 1
    # Without branches between them, so that several are made at a time.
    for begin in range(found):
        shingles[used + begin] = np.uint64(size)
    for number in range(size):
        for begin in range(found):
            shingles[used + begin] = _mix(shingles[used + begin] ^ words[first + begin + number])
    return used + found


@njit(cache=True, nogil=True)
def _enter(shingles: Any, count: int, limit: Any, table: Any, slots: int, counts: Any, read: Any) -> None:
    """Enter shingles, which are lost; `read` has room for as many."""
    # Slots are read before any is judged: many of these reads wait for memory, and so they wait together.
    mask = np.uint64(slots - 1)
    for number in range(count):
        read[number] = table[(shingles[number] * _PRIME >> np.uint64(17)) & mask]
    # Which shingles are known cannot be predicted: the others are listed without a branch for each.
    sampled, others = 0, 0
    for number in range(count):
        shingle = shingles[number]
        is_sampled = (shingle < limit) & (shingle != 0)
        sampled += is_sampled
        shingles[others] = shingle
        others += is_sampled & (read[number] != shingle)
    new, entries, room = 0, counts[2], _FULL * slots
    for number in range(others):
        shingle = shingles[number]
        slot = _find_slot(table, slots, shingle)
        is_new = table[slot] == 0
        new += is_new
        if entries < room:
            table[slot] = shingle
            entries += is_new
    counts[0] += sampled
    counts[1] += new
    counts[2] = entries


@njit(cache=True, nogil=True)
def enter_shingles(shingles: Any, limit: Any, table: Any, counts: Any) -> None:
    """Count shingles and those that are new, and enter the new ones in a table.

    Parameters: shingles (uint64 array), from `make_shingles`, which are lost; the others as for `observe`.
    """
    read = np.empty(len(shingles), np.uint64)
    _enter(borrow(shingles), len(shingles), limit, borrow(table), len(table), borrow(counts), borrow(read))
    keep((read,))


@njit(cache=True, nogil=True)
def make_shingles(data: Any, size: int, own_words: Any, shingles: Any) -> Any:
    """Write the shingles of a text, line by line, but for lines that repeat the URL of their page.

    Parameters: data (uint8 array), the text in UTF-8; size, its length; own_words (uint64 array), hashes of the words
    of the URL; shingles (uint64 array), receives them, `size // 2 + 2` at most.
    Returns: how many there are, and a fingerprint of all of them in any order (uint64).
    """
    words, edges = np.empty(size // 2 + 2, np.uint64), np.empty(size + 4, np.int64)
    text = np.empty(size + MARGIN, np.uint8)
    text[size:] = _BETWEEN
    # Borrowed, as arrays passed to a function have their references counted, which takes as long as a shingle.
    _fold(borrow(data), size, borrow(text))
    found = hash_folded_words(borrow(text), size, _ANY_DIGIT, borrow(edges), borrow(words))
    count = _make_shingles(borrow(data), size, own_words, borrow(words), borrow(edges), found, borrow(shingles))
    mark = np.uint64(0)
    for number in range(count):
        mark += shingles[number]
    keep((text, words, edges))
    return count, mark


@njit(cache=True, nogil=True)
def _make_shingles(data: Any, size: int, own_words: Any, words: Any, edges: Any, found: int, shingles: Any) -> int:
    used, first, begin = 0, 0, 0
    while begin <= size and first < found:
        end = find_byte(data, begin, size, _NEWLINE)
        last = first
        while last < found and edges[2 * last] < end:
            last += 1
        count, own = last - first, 0
        for other in own_words:
            for word in range(first, last):
                own += words[word] == other
        if count and not (own and (count <= _ECHO or 2 * own >= count)):
            used = _append_shingles(words, first, count, shingles, used)
        first, begin = last, end + 1
    return used


@njit(cache=True, nogil=True)
def observe(data: Any, own_words: Any, limit: Any, table: Any, counts: Any) -> Any:
    """Count the shingles of a text and those that are new, and enter the new ones in a table.

    Digits are all alike, and lines that repeat the page's own URL do not count: that they differ is not news.

    Parameters: data (uint8 array), the text in UTF-8; own_words (uint64 array), hashes of the words of the URL;
    limit (uint64), shingles with a hash below it are sampled; table (uint64 array), a hash table of a power of two
    slots, 0 where free; counts (int64 array of 3), added to: sampled shingles, new ones, entries of the table.
    Returns: a fingerprint of all shingles in any order (uint64).
    """
    shingles = np.empty(len(data) // 2 + 2, np.uint64)
    count, mark = make_shingles(data, len(data), own_words, shingles)
    enter_shingles(shingles[:count], limit, table, counts)
    return mark


@njit(cache=True, nogil=True)
def observe_page(url: Any, most: int, data: Any, limit: Any, table: Any, counts: Any) -> Any:
    """Observe the text of a page as `observe` does.

    Parameters: url (uint8 array), in ASCII; most, how many of its words are compared; the others as for `observe`.
    Returns: a fingerprint of all shingles in any order (uint64).
    """
    return observe(data, hash_url_words(url, most), limit, table, counts)


@njit(cache=True, nogil=True)
def rehash(shingles: Any, limit: Any, table: Any, counts: Any) -> None:
    """Enter shingles in a table that is empty; those of a table go to another one as they are, without a copy.

    Parameters: shingles (uint64 array), 0 for none; limit (uint64), those below it are entered; table and counts as for
    `observe`; only `counts[2]` changes: it becomes the number of entries.
    """
    block = np.empty(_BLOCK, np.uint64)
    _rehash(borrow(shingles), len(shingles), limit, borrow(table), len(table), borrow(counts), borrow(block))
    keep((block,))


@njit(cache=True, nogil=True)
def _rehash(shingles: Any, size: int, limit: Any, table: Any, slots: int, counts: Any, block: Any) -> None:
    entries, mask, room = 0, np.uint64(slots - 1), _FULL * slots
    for begin in range(0, size, _BLOCK):
        # Which slots are free cannot be predicted: what they have is collected without a branch for each.
        count = 0
        for number in range(begin, min(begin + _BLOCK, size)):
            shingle = shingles[number]
            block[count] = shingle
            count += (shingle != 0) & (shingle < limit)
        for number in range(count):
            if entries >= room:
                break
            shingle = block[number]
            slot = (shingle * _PRIME >> np.uint64(17)) & mask
            while table[slot] != 0 and table[slot] != shingle:
                slot = (slot + np.uint64(1)) & mask
            entries += table[slot] == 0
            table[slot] = shingle
    counts[2] = entries


@njit(cache=True, nogil=True)
def list_shingles(table: Any, shingles: Any) -> None:
    """List the shingles of a table in its order.

    Parameters: table (uint64 array), 0 where free; shingles (uint64 array), receives them, as many as it has room for.
    """
    count = 0
    for shingle in table:
        if shingle != 0 and count < len(shingles):
            shingles[count] = shingle
            count += 1


@njit(cache=True, nogil=True)
def _enter_name(name: Any, words: Any) -> Any:
    """Set the bits of a name in a filter; return whether one of them was not set."""
    new = False
    mask = np.uint64(len(words) * 64 - 1)
    step = (name >> np.uint64(32)) | np.uint64(1)
    bit = name
    for _ in range(_HASHES):
        word, flag = (bit & mask) >> np.uint64(6), np.uint64(1) << (bit & np.uint64(63))
        new |= words[word] & flag == 0
        words[word] |= flag
        bit += step
    return new


@njit(cache=True, nogil=True)
def _has_name(name: Any, words: Any) -> Any:
    """Return whether all bits of a name are set in a filter."""
    mask = np.uint64(len(words) * 64 - 1)
    step = (name >> np.uint64(32)) | np.uint64(1)
    bit = name
    for _ in range(_HASHES):
        if words[(bit & mask) >> np.uint64(6)] & (np.uint64(1) << (bit & np.uint64(63))) == 0:
            return False
        bit += step
    return True


@njit(cache=True, nogil=True)
def enter_names(title: Any, site: Any, newer: Any, older: Any) -> Any:
    """Enter the names of a title in a filter.

    A name is what stands between spaces and has three letters; ASCII in any case is the same, and punctuation but for
    the underscore does not count. Letters beyond ASCII are counted as bytes.

    Parameters: title (uint8 array), in UTF-8; site (uint64), a hash of the site, whose names these are; newer, older
    (uint64 arrays of a power of two words), the filters that are asked; names are entered in the newer one.
    Returns: how many of the names neither has, and how many were entered.
    """
    new, entered = 0, 0
    value, letters = site ^ _OFFSET, 0
    for position in range(len(title) + 1):
        byte = title[position] if position < len(title) else np.uint8(32)
        if byte <= 32:
            name = _mix(value)
            if letters >= _MIN_LETTERS and _enter_name(name, newer):
                entered += 1
                new += not _has_name(name, older)
            value, letters = site ^ _OFFSET, 0
            continue
        if 65 <= byte <= 90:
            byte += np.uint8(32)
        is_letter = 97 <= byte <= 122 or byte >= 128
        letters += is_letter
        if is_letter or 48 <= byte <= 57 or byte == 95:
            value = (value ^ np.uint64(byte)) * _PRIME
    return new, entered


def warm() -> None:
    """Call every kernel once with the types that the crawl uses."""
    data = np.frombuffer(b"The tides of the harbour\nin 2024", np.uint8)
    own = hash_words(data[:3], 1)
    hash_url_words(data[:3], 1)
    table, counts, limit = np.zeros(64, np.uint64), np.zeros(3, np.int64), np.uint64(2**64 - 1)
    observe(data, own, limit, table, counts)
    observe_page(data[:3], 1, data, limit, table, counts)
    enter_shingles(np.zeros(1, np.uint64), limit, table, counts)
    rehash(table, limit, np.zeros(64, np.uint64), counts)
    list_shingles(table, np.zeros(1, np.uint64))
    words = np.zeros(2, np.uint64)
    enter_names(data, np.uint64(1), words, words)
