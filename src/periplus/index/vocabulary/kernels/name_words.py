"""Cuts titles and bodies into words as they are written, and stores names as a trie of hashes.

Words are runs of letters, digits and all bytes above 127 except punctuation, hashed without regard to the case of ASCII
letters. Names are stored as a hash table of all their beginnings (a trie whose nodes are hashes), so that the longest
name that begins at a word is found by one lookup for each of its words.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = [
    "MAX_WORDS",
    "SEED",
    "NameTrie",
    "WordSet",
    "WrittenWords",
    "add_titles",
    "allocate_words",
    "fill_word_set",
    "find_slot",
    "hash_names",
    "may_contain",
    "measure_names",
    "split_words",
    "title_ends",
    "trie_step",
]

MAX_WORDS: Final = 8
"""Words of a name; longer titles are not looked for."""
_SEPARATOR: Final = 124
_MAX_GAP: Final = 3
"""Bytes between two words of one name."""
SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_CAPITAL = np.uint64(0x9E3779B97F4A7C15)
_CASED: Final = 0x2000
"""Code points below which letters have a case: Latin, Greek, Cyrillic, Armenian, Georgian."""
_IS_CAPITAL = np.array([chr(point).isupper() for point in range(_CASED)])


class NameTrie(NamedTuple):
    """Names, as a hash table of all their beginnings."""

    slots: npt.NDArray[np.uint64]
    """Hashes of beginnings; 0 is empty. A power of two of them, at least twice as many as beginnings."""
    entry: npt.NDArray[np.int32]
    """The name that ends there, -1 for none."""
    filter: npt.NDArray[np.uint64]
    """A bit for each beginning, by its hash: it fits a cache, so that most lookups end here. A power of two."""


class WordSet(NamedTuple):
    """Words whose documents are counted."""

    slots: npt.NDArray[np.uint64]
    number: npt.NDArray[np.int32]


class WrittenWords(NamedTuple):
    """The words of one text."""

    hash: npt.NDArray[np.uint64]
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    capital: npt.NDArray[np.bool_]
    joined: npt.NDArray[np.uint8]
    """Whether a word may belong to the same name as the one before it: 2 yes, 1 behind a comma or full stop, 0 no."""
    depth: npt.NDArray[np.int8]
    """1 within brackets, 2 within quotation marks."""
    line: npt.NDArray[np.int32]


@njit(cache=True, nogil=True, forceinline=True)
def _is_letter(byte: int) -> bool:  # pragma: no cover - compiled
    return byte >= 128 or 97 <= byte <= 122 or 65 <= byte <= 90 or 48 <= byte <= 57


@njit(cache=True, nogil=True, forceinline=True)
def _mark_size(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the bytes of a sign of the general, the CJK or the full-width punctuation, or 0.

    They are U+2000 to U+206F, U+3000 to U+303F less the letters U+3005 to U+3007, and U+FF00 to U+FF0F.
    """
    if at + 2 < end and data[at] >= 0xE2:
        second, third = data[at + 1], data[at + 2]
        if data[at] == 0xE2 and (second == 0x80 or second == 0x81):
            return 3
        if data[at] == 0xE3 and second == 0x80 and not 0x85 <= third <= 0x87:
            return 3
        if data[at] == 0xEF and second == 0xBC and third < 0x90:
            return 3
    if data[at] == 0xC2 and at + 1 < end and data[at + 1] < 0xBF:
        return 2
    return 0


@njit(cache=True, nogil=True, forceinline=True)
def _is_capital(data: Any, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether a word begins with a capital; digits and letters without case are none."""
    byte = np.int64(data[at])
    if byte < 128:
        return 65 <= byte <= 90
    if byte < 0xE0 and at + 1 < end:
        return _IS_CAPITAL[(byte & 0x1F) << 6 | (np.int64(data[at + 1]) & 0x3F)]
    if byte == 0xE1 and at + 2 < end:
        return _IS_CAPITAL[0x1000 | (np.int64(data[at + 1]) & 0x3F) << 6 | (np.int64(data[at + 2]) & 0x3F)]
    return False


@njit(cache=True, nogil=True)
def split_words(data: Any, begin: int, end: int, words: WrittenWords) -> int:  # pragma: no cover - compiled
    """Cut a text into words; return how many there are."""
    count, at, line = 0, begin, 0
    inside, quoted, gap, breaks, comma = 0, False, 0, True, False
    while at < end and count < len(words.hash):
        byte = data[at]
        size = _mark_size(data, at, end) if byte >= 128 else 0
        if size == 0 and _is_letter(byte):
            first, hashed = at, SEED
            while at < end and _is_letter(data[at]) and not (data[at] >= 128 and _mark_size(data, at, end)):
                lower = data[at] + 32 if 65 <= data[at] <= 90 else data[at]
                hashed = (hashed ^ np.uint64(lower)) * _PRIME
                at += 1
            words.hash[count] = hashed | np.uint64(1)
            words.begin[count], words.end[count] = first, at
            words.capital[count] = _is_capital(data, first, at)
            words.joined[count] = 0 if breaks or gap > _MAX_GAP else 1 if comma else 2
            words.depth[count] = 1 if inside > 0 else 2 if quoted else 0
            words.line[count] = line
            count += 1
            gap, breaks, comma = 0, False, False
            continue
        is_wide = size == 3 and byte == 0xEF
        if byte == 40 or (is_wide and data[at + 2] == 0x88):
            inside, breaks = inside + 1, True
        elif byte == 41 or (is_wide and data[at + 2] == 0x89):
            inside, breaks = max(0, inside - 1), True
        elif byte == 34:
            quoted, breaks = not quoted, True
        elif byte == 10:
            line, inside, quoted, breaks = line + 1, 0, False, True
        elif byte == 44 or (byte == 46 and gap == 0 and count > 0 and at - words.begin[count - 1] > 1):
            comma = True  # Or a full stop, unless it is that of an initial.
        elif byte == 59 or byte == 58 or size == 3:
            # Signs of the general punctuation are dashes and quotation marks; the apostrophe (U+2019) joins.
            is_general = size == 3 and byte == 0xE2 and data[at + 1] == 0x80
            breaks = breaks or not (is_general and data[at + 2] == 0x99)
            if is_general and (data[at + 2] == 0x9C or data[at + 2] == 0x9D):
                quoted = data[at + 2] == 0x9C
        gap += 1
        at += max(1, size)
    return count


@njit(cache=True, nogil=True)
def title_ends(blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]) -> Any:  # pragma: no cover - compiled
    """Return where the name in each title ends: before what stands in brackets at its end, or behind a separator.

    Parameters
        blob, start: the titles, and where each begins
    Returns
        for each title where its name ends, and where the words in brackets begin (its end if there are none)
    """
    ends, inner = start[1:].copy(), start[1:].copy()
    for title in range(len(start) - 1):
        begin, end = start[title], start[title + 1]
        at = begin + 1
        while at + 2 < end:
            sign = blob[at + 1]
            if blob[at] == 32 and (sign == 124 or (sign == 45 and blob[at + 2] == 32) or sign == 0xE2):
                separates = sign != 0xE2 or (at + 4 < end and blob[at + 2] == 0x80 and blob[at + 4] == 32)
                if separates:
                    end = at
            at += 1
        ends[title] = end
        if end - begin > 3 and blob[end - 1] == 41:
            at = end - 2
            while at > begin and blob[at] != 40:
                at -= 1
            if at > begin + 1 and blob[at - 1] == 32:
                ends[title] = at - 1
                inner[title] = at + 1 if end == start[title + 1] else inner[title]
    return ends, inner


@njit(cache=True, nogil=True, forceinline=True)
def trie_step(node: Any, hashed: Any, capital: bool, is_first: bool) -> Any:  # pragma: no cover - compiled
    """Return the node of a name one word longer; only its first word may differ in case."""
    mixed = (node ^ hashed) * _PRIME
    if capital and not is_first:
        mixed ^= _CAPITAL
    mixed ^= mixed >> np.uint64(29)
    return (mixed * _CAPITAL) | np.uint64(1)


@njit(cache=True, nogil=True, forceinline=True)
def find_slot(slots: Any, key: Any) -> int:  # pragma: no cover - compiled
    """Return the slot of a key, or the empty one in which it belongs."""
    # Hashes of short words differ in few bits: without mixing, they would be side by side.
    mask = np.uint64(len(slots) - 1)
    slot = ((key * _CAPITAL) >> np.uint64(36)) & mask
    while slots[slot] != 0 and slots[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@njit(cache=True, nogil=True, forceinline=True)
def may_contain(trie: NameTrie, node: Any) -> bool:  # pragma: no cover - compiled
    """Return whether a trie may have a node; it does not where this is false."""
    bit = (node >> np.uint64(36)) & np.uint64(64 * len(trie.filter) - 1)
    return (trie.filter[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def allocate_words(size: int) -> WrittenWords:  # pragma: no cover - compiled
    """Return room for the words of a text."""
    return WrittenWords(
        np.empty(size, np.uint64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.bool_),
        np.empty(size, np.uint8),
        np.empty(size, np.int8),
        np.empty(size, np.int32),
    )


@njit(cache=True, nogil=True)
def measure_names(
    blob: npt.NDArray[np.uint8], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> Any:  # pragma: no cover - compiled
    """Return how many words each name has (0: too many), and the hashes of its first and its last word.

    Parameters
        blob, begin, end: the names
    """
    sizes, edges = np.zeros(len(begin), np.int32), np.zeros((len(begin), 2), np.uint64)
    words = allocate_words(MAX_WORDS + 1)
    for name in range(len(begin)):
        size = split_words(blob, begin[name], end[name], words)
        if 0 < size <= MAX_WORDS:
            sizes[name] = size
            edges[name, 0], edges[name, 1] = words.hash[0], words.hash[size - 1]
    return sizes, edges


@njit(cache=True, nogil=True)
def add_titles(
    blob: npt.NDArray[np.uint8],
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    trie: NameTrie,
) -> Any:  # pragma: no cover - compiled
    """Add names to a trie that has room for them.

    Parameters
        blob, begin, end: the names
        trie: empty, filled in
    Returns
        the number of each name (-1: it has no words, or too many), and how many distinct names there are
    """
    count = 0
    numbers = np.full(len(begin), -1, np.int32)
    words = allocate_words(MAX_WORDS + 1)
    for name in range(len(begin)):
        size = split_words(blob, begin[name], end[name], words)
        if size == 0 or size > MAX_WORDS:
            continue
        node, slot = SEED, 0
        for word in range(size):
            node = trie_step(node, words.hash[word], words.capital[word], word == 0)
            slot = find_slot(trie.slots, node)
            trie.slots[slot] = node
            bit = (node >> np.uint64(36)) & np.uint64(64 * len(trie.filter) - 1)
            trie.filter[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        if trie.entry[slot] < 0:
            trie.entry[slot] = count
            count += 1
        numbers[name] = trie.entry[slot]
    return numbers, count


@njit(cache=True, nogil=True)
def fill_word_set(hashes: npt.NDArray[np.uint64], known: WordSet) -> None:  # pragma: no cover - compiled
    """Add distinct hashes to an empty set, each with its place as number."""
    for number in range(len(hashes)):
        slot = find_slot(known.slots, hashes[number])
        known.slots[slot], known.number[slot] = hashes[number], number


@njit(cache=True, nogil=True)
def hash_names(
    blob: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.int32],
    lengths: npt.NDArray[np.int32],
    skipped: npt.NDArray[np.int32],
) -> npt.NDArray[np.uint64]:  # pragma: no cover - compiled
    """Return the name key of texts: the hash of the letters of their words, written as one; 0 without words.

    Numbers stay apart: 9/11 is not 911.

    Parameters
        blob, start: words, and where each begins
        tokens, lengths: the texts, as numbers of words, and how many each has
        skipped: first words of each text that are left out
    """
    keys = np.zeros(len(lengths), np.uint64)
    at = 0
    for text in range(len(lengths)):
        hashed, used, digit = SEED, False, False
        for token in range(at + skipped[text], at + lengths[text]):
            begin, end = start[tokens[token]], start[tokens[token] + 1]
            if digit and begin < end and 48 <= blob[begin] <= 57:
                hashed = (hashed ^ np.uint64(_SEPARATOR)) * _PRIME
            for letter in range(begin, end):
                digit = 48 <= blob[letter] <= 57
                if blob[letter] != 39:
                    hashed = (hashed ^ np.uint64(blob[letter])) * _PRIME
                    used = True
        at += lengths[text]
        keys[text] = hashed | np.uint64(1) if used else np.uint64(0)
    return keys


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    trie = NameTrie(np.zeros(64, np.uint64), np.full(64, -1, np.int32), np.zeros(4, np.uint64))
    none, start = np.zeros(1, np.int32), np.array([0, 2], np.int64)
    read_only = np.frombuffer(b"ab", np.uint8)
    for blob in (read_only, read_only.copy()):
        title_ends(blob, start)
        measure_names(blob, start[:-1], start[1:])
        add_titles(blob, start[:-1], start[1:], trie)
        hash_names(blob, start, none, np.ones(1, np.int32), none)
    fill_word_set(np.ones(1, np.uint64), WordSet(np.zeros(64, np.uint64), np.zeros(64, np.int32)))
