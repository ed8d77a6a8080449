"""Stores names as a trie of hashes.

Names are stored as a hash table of all their beginnings (a trie whose nodes are hashes), so that the longest name that
begins at a word is found by one lookup for each of its words. Beginnings of one word are in the table of `word_rows`.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.index.vocabulary.kernels.word_rows import (
    ENTRY,
    WordRows,
    add_following,
    add_word,
    get_number,
    make_rows,
    set_number,
)
from periplus.index.vocabulary.kernels.written_words import (
    MARGIN,
    UNLIMITED,
    WrittenWords,
    allocate_words,
    borrow_words,
    longest_text,
    split_words,
)

__all__ = [
    "MAX_WORDS",
    "SEED",
    "NameTrie",
    "add_titles",
    "find_slot",
    "first_slot",
    "hash_names",
    "may_contain",
    "measure_names",
    "title_ends",
    "trie_masks",
    "trie_step",
]

MAX_WORDS: Final = 8
"""Words of a name; longer titles are not looked for."""
_SEPARATOR: Final = 124
SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_CAPITAL = np.uint64(0x9E3779B97F4A7C15)


class NameTrie(NamedTuple):
    """Names, as a hash table of their beginnings of two words and more."""

    slots: npt.NDArray[np.uint64]
    """Hashes of beginnings; 0 is empty. A power of two of them, at least twice as many as beginnings."""
    entry: npt.NDArray[np.int32]
    """The name that ends there, -1 for none."""
    filter: npt.NDArray[np.uint64]
    """A bit for each beginning, by its hash: it fits a cache, so that most lookups end here. A power of two."""


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
def find_slot(slots: Any, mask: Any, key: Any) -> int:  # pragma: no cover - compiled
    """Return the slot of a key, or the empty one in which it belongs; mask: the number of slots less one."""
    slot = np.uint64(first_slot(mask, key))
    while slots[np.int64(slot)] != 0 and slots[np.int64(slot)] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@njit(cache=True, nogil=True, forceinline=True)
def first_slot(mask: Any, key: Any) -> int:  # pragma: no cover - compiled
    """Return the slot where a key is looked for first."""
    return np.int64(((key * _CAPITAL) >> np.uint64(36)) & mask)


@njit(cache=True, nogil=True, forceinline=True)
def may_contain(filters: Any, mask: Any, node: Any) -> bool:  # pragma: no cover - compiled
    """Return whether a trie may have a node; it does not where this is false. mask: the bits of its filter less one."""
    bit = (node >> np.uint64(36)) & mask
    return (filters[np.int64(bit >> np.uint64(6))] >> (bit & np.uint64(63))) & np.uint64(1) != 0


@njit(cache=True, nogil=True, forceinline=True)
def trie_masks(trie: NameTrie) -> Any:  # pragma: no cover - compiled
    """Return the number of slots, and of bits of the filter, less one each."""
    return np.uint64(len(trie.slots) - 1), np.uint64(64 * len(trie.filter) - 1)


@njit(cache=True, nogil=True)
def measure_names(
    blob: npt.NDArray[np.uint8], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> Any:  # pragma: no cover - compiled
    """Return how many words each name has (0: too many), and the hashes of its first and its last word.

    Parameters
        blob, begin, end: the names
    """
    sizes, edges = np.zeros(len(begin), np.int32), np.zeros((len(begin), 2), np.uint64)
    text = np.empty(longest_text(begin, end, UNLIMITED) + MARGIN, np.uint8)
    _measure(blob, begin, end, text, allocate_words(MAX_WORDS + 1), sizes, edges)
    return sizes, edges


@njit(cache=True, nogil=True)
def _measure(
    blob: Any, begin: Any, end: Any, text: Any, room: WrittenWords, sizes: Any, edges: Any
) -> None:  # pragma: no cover - compiled
    data, folded, words = borrow(blob), borrow(text), borrow_words(room)
    for name in range(len(begin)):
        size = split_words(data, begin[name], end[name], folded, words, MAX_WORDS + 1)
        if 0 < size <= MAX_WORDS:
            sizes[name] = size
            edges[name, 0], edges[name, 1] = words.hash[0], words.hash[size - 1]


@njit(cache=True, nogil=True)
def add_titles(
    blob: npt.NDArray[np.uint8],
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    trie: NameTrie,
    first_words: WordRows,
) -> Any:  # pragma: no cover - compiled
    """Add names to a trie and to a table of words that have room for them.

    Parameters
        blob, begin, end: the names
        trie: empty, filled in
        first_words: filled in
    Returns
        the number of each name (-1: it has no words, or too many), and how many distinct names there are
    """
    numbers = np.full(len(begin), -1, np.int32)
    text = np.empty(longest_text(begin, end, UNLIMITED) + MARGIN, np.uint8)
    return numbers, _add(blob, begin, end, text, allocate_words(MAX_WORDS + 1), trie, first_words, numbers)


@njit(cache=True, nogil=True)
def _add(
    blob: Any,
    begin: Any,
    end: Any,
    text: Any,
    room: WrittenWords,
    trie: NameTrie,
    first_words: WordRows,
    numbers: Any,
) -> int:  # pragma: no cover - compiled
    """Do what `add_titles` does; what is borrowed here is an argument, and so it lives."""
    count = 0
    data, folded, words = borrow(blob), borrow(text), borrow_words(room)
    mask, filter_mask = trie_masks(trie)
    for name in range(len(begin)):
        size = split_words(data, begin[name], end[name], folded, words, MAX_WORDS + 1)
        if size == 0 or size > MAX_WORDS:
            continue
        row = add_word(first_words, words.hash[0])
        if size == 1:
            if get_number(first_words.rows, row, ENTRY) < 0:
                set_number(first_words.rows, row, ENTRY, count)
                count += 1
            numbers[name] = get_number(first_words.rows, row, ENTRY)
            continue
        add_following(first_words.rows, row, words.hash[1], words.capital[1])
        node, slot = trie_step(SEED, words.hash[0], words.capital[0], True), 0
        for word in range(1, size):
            node = trie_step(node, words.hash[word], words.capital[word], False)
            slot = find_slot(trie.slots, mask, node)
            trie.slots[slot] = node
            bit = (node >> np.uint64(36)) & filter_mask
            trie.filter[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        if trie.entry[slot] < 0:
            trie.entry[slot] = count
            count += 1
        numbers[name] = trie.entry[slot]
    return count


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
        add_titles(blob, start[:-1], start[1:], trie, make_rows(1))
        hash_names(blob, start, none, np.ones(1, np.int32), none)
