"""Writes tokens: finds the ids of words in the table, or adds them; reads usual words, and looks up many at once."""

from typing import Any, Final, NamedTuple

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import prefetch_bytes
from periplus.text.kernels.symbols import is_leading_dot, symbol_length
from periplus.text.kernels.word_bytes import hash_bytes, run_size
from periplus.text.kernels.word_slots import WordSlots, fill_slot, find_slot_of, first_number

__all__ = [
    "MAX_WAITING",
    "MAX_WORD",
    "TokenRows",
    "WaitingWords",
    "add_symbol",
    "add_token",
    "add_waiting",
    "gather_words",
]

MAX_WORD: Final = 64
"""Maximum length of a word, in bytes after folding."""
MAX_WAITING: Final = 64
"""Words that are looked up together: the processor waits for several slots at once."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_DOT = 46
_ENTRY: Final = 8
"""Bytes of a slot, and of a hash."""


class TokenRows(NamedTuple):
    """Where tokens are written, borrowed."""

    numbers: Any
    spans: Any
    """Begin and end of each token, one after the other."""
    has_spans: bool


class WaitingWords(NamedTuple):
    """Words of a text that are looked up together, borrowed."""

    hash: Any
    begin: Any
    size: Any


@njit(cache=True, nogil=True, forceinline=True)
def _mix(hashed: Any, language: int) -> Any:  # pragma: no cover - compiled
    """Mix the language into a hash: the same word of another language is another word."""
    hashed = (hashed ^ np.uint64(language + 1)) * _SPREAD
    return hashed ^ (hashed >> np.uint64(29))


@njit(cache=True, nogil=True, forceinline=True)
def _find_or_add(
    hashed: Any, text: Any, at: int, size: int, language: int, words: WordSlots, mask: Any, count: int
) -> int:  # pragma: no cover - compiled
    """Return the id of a word by its mixed hash; `count` (the next free id) means that it is new and was added.

    Two words are considered equal if all 64 bits of their hashes agree.
    """
    number, slot = find_slot_of(words.slots, words.hashes, mask, hashed)
    if number < 0:
        number = np.int64(count)
        fill_slot(words, slot, hashed, number)
        words.hashes[count], words.languages[count] = hashed, language
        start = words.starts[count]
        for i in range(size):
            words.blob[start + i] = text[at + i]
        words.starts[count + 1] = start + size
    return number


@njit(cache=True, nogil=True)
def add_token(
    word: Any,
    size: int,
    span: tuple[int, int],
    language: int,
    words: WordSlots,
    mask: Any,
    count: int,
    out: TokenRows,
    used: int,
) -> int:  # pragma: no cover - compiled
    """Write the token of a word, given its bytes, folded; return the number of words in the table."""
    hashed, _ = hash_bytes(word, 0, size)
    number = _find_or_add(_mix(hashed, language), word, 0, size, language, words, mask, count)
    out.numbers[used] = number
    if out.has_spans:
        out.spans[2 * used], out.spans[2 * used + 1] = span
    return count + (number == count)


@njit(cache=True, nogil=True)
def add_symbol(
    data: Any,
    at: int,
    length: int,
    begin: int,
    word: Any,
    language: int,
    words: WordSlots,
    mask: Any,
    count: int,
    out: TokenRows,
    used: int,
) -> int:  # pragma: no cover - compiled
    """Write the token of a symbol; return the number of words in the table. `word` is room for it."""
    for i in range(length):
        word[i] = data[at + i]
    return add_token(word, length, (at - begin, at + length - begin), language, words, mask, count, out, used)


@njit(cache=True, nogil=True)
def add_waiting(
    waiting: WaitingWords,
    several: int,
    text: Any,
    language: int,
    words: WordSlots,
    mask: Any,
    count: int,
    out: TokenRows,
    used: int,
) -> int:  # pragma: no cover - compiled
    """Write the tokens of several words of a folded text; return the number of words in the table.

    Slots are asked for first, then the hashes that they refer to: most of them are there when they are needed.
    """
    for i in range(several):
        hashed = _mix(waiting.hash[i], language)
        waiting.hash[i] = hashed
        prefetch_bytes(words.slots, _ENTRY * np.int64(hashed & mask))
    for i in range(several):
        prefetch_bytes(words.hashes, _ENTRY * first_number(words.slots, mask, waiting.hash[i]))
    for i in range(several):
        begin, size = waiting.begin[i], waiting.size[i]
        number = _find_or_add(waiting.hash[i], text, begin, size, language, words, mask, count)
        count += number == count
        out.numbers[used + i] = number
    if out.has_spans:
        for i in range(several):
            begin = waiting.begin[i]
            out.spans[2 * (used + i)], out.spans[2 * (used + i) + 1] = begin, begin + waiting.size[i]
    return count


@njit(cache=True, nogil=True)
def gather_words(
    data: Any, text: Any, begin: int, at: int, end: int, waiting: WaitingWords
) -> tuple[int, int, int, bool]:  # pragma: no cover - compiled
    """Read usual words, of ASCII letters and digits, up to what is none.

    Parameters
        data, text: UTF-8, and the text folded
        begin, at, end: where the text is in `data`, and where to go on in it
        waiting: receives the words; offsets are those in the text
    Returns
        where to go on, how many words there are, the bytes of the symbol there, and whether what is there is something
        else than a usual word: other letters, a long word, a dot before a word
    """
    several = 0
    while at < end and several < MAX_WAITING:
        first = at - begin
        if text[first] == 0:
            if data[at] == _DOT and is_leading_dot(data, at, begin, end):
                return at, several, 0, True
            at += 1
            continue
        size = run_size(text, first)
        hashed, is_high = hash_bytes(text, first, size)
        if is_high or size > MAX_WORD:
            return at, several, 0, True
        waiting.hash[several], waiting.begin[several], waiting.size[several] = hashed, first, size
        several += 1
        at += size
        length = symbol_length(data, at, end)
        if length > 0:
            return at, several, length, False
        at += 1
    return at, several, 0, False
