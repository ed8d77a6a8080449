"""The tokenizer: UTF-8 bytes to word ids; it splits, folds and looks words up in one pass.

A word is a run of letters and digits. Some symbols that are written to a word are tokens of their own: '#', '+' and
'++' behind it ('C#', 'Disney+', 'C++17'), and a dot before it ('.net', '~/.bashrc'). Scripts that do not separate words
by spaces (Han, kana, Hangul, Thai and similar) yield overlapping pairs of characters. Folding (case, accents,
compatibility forms) comes from a table over code points. Words are truncated to MAX_WORD bytes.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.text.kernels.symbols import NON_JOINER, is_leading_dot, max_tokens, parts_words, symbol_length
from periplus.text.kernels.word_slots import WordSlots, fill_slot, find_slot

__all__ = [
    "ANALYSIS",
    "APOSTROPHE",
    "MARK",
    "MAX_WORD",
    "MODIFIER",
    "SEPARATOR",
    "TABLE_SIZE",
    "UNSPACED",
    "WORD",
    "FoldTable",
    "split",
]

ANALYSIS = 1
"""The number of these rules. By those of number 0, an apostrophe between letters was part of a word, and so were
modifier letters; symbols were no tokens."""
SEPARATOR, WORD, UNSPACED, MARK, APOSTROPHE, MODIFIER = 0, 1, 2, 3, 4, 5
"""Classes of code points. An apostrophe separates words; a modifier letter (the okina of Hawaiian, ayin and hamza in
transcriptions) is left out of them, as a mark is."""
MAX_WORD = 64
"""Maximum length of a word, in bytes after folding."""
TABLE_SIZE = 0x30000
"""Code points from here on are separators."""

_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class FoldTable(NamedTuple):
    """The folding table: class and folded form of each code point."""

    kind: npt.NDArray[np.uint8]
    """SEPARATOR, WORD, UNSPACED, MARK, APOSTROPHE or MODIFIER, by code point."""
    start: npt.NDArray[np.int32]
    """Offset in `blob` of its folded form (a length byte, then UTF-8), or -1 if it is not folded."""
    blob: npt.NDArray[np.uint8]


def _lower_table() -> npt.NDArray[np.uint8]:
    table = np.zeros(256, np.uint8)
    for byte in b"abcdefghijklmnopqrstuvwxyz0123456789":
        table[byte] = byte
    for byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        table[byte] = byte + 32
    return table


_LOWER = _lower_table()
"""For each byte, the letter or digit in lower case; 0 for all other bytes."""
_DOT = 46


@njit(cache=True, nogil=True)
def _code_point(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Decode the code point at `at`; return it and its length. Invalid bytes are 0 (a separator)."""
    first = int(data[at])
    if first < 0xE0:
        if first >= 0xC2 and at + 1 < end:
            return ((first & 0x1F) << 6) | (int(data[at + 1]) & 0x3F), 2
        return 0, 1
    if first < 0xF0:
        if at + 2 < end:
            return ((first & 0x0F) << 12) | ((int(data[at + 1]) & 0x3F) << 6) | (int(data[at + 2]) & 0x3F), 3
        return 0, 1
    if first < 0xF5 and at + 3 < end:
        high = ((first & 0x07) << 18) | ((int(data[at + 1]) & 0x3F) << 12)
        return high | ((int(data[at + 2]) & 0x3F) << 6) | (int(data[at + 3]) & 0x3F), 4
    return 0, 1


@njit(cache=True, nogil=True, forceinline=True)
def _mix(hashed: Any, language: int) -> Any:  # pragma: no cover - compiled
    """Mix the language into a hash: the same word of another language is another word."""
    hashed = (hashed ^ np.uint64(language + 1)) * _SPREAD
    return hashed ^ (hashed >> np.uint64(29))


@njit(cache=True, nogil=True)
def _find_or_add(
    hashed: Any, word: Any, length: int, language: int, words: WordSlots, count: int
) -> int:  # pragma: no cover - compiled
    """Return the id of a word by its hash; `count` (the next free id) means that it is new and was added.

    Two words are considered equal if all 64 bits of their hashes agree.
    """
    hashed = _mix(hashed, language)
    number, slot = find_slot(words, hashed)
    if number >= 0:
        return number
    fill_slot(words, slot, hashed, count)
    words.hashes[count] = hashed
    words.languages[count] = language
    start = words.starts[count]
    for i in range(length):
        words.blob[start + i] = word[i]
    words.starts[count + 1] = start + length
    return count


@njit(cache=True, nogil=True)
def _hash(word: Any, length: int) -> Any:  # pragma: no cover - compiled
    hashed = _SEED
    for i in range(length):
        hashed = (hashed ^ np.uint64(word[i])) * _PRIME
    return hashed


@njit(cache=True, nogil=True)
def _add_symbol(
    data: Any,
    at: int,
    length: int,
    begin: int,
    language: int,
    words: WordSlots,
    count: int,
    tokens: Any,
    used: int,
    spans: Any,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write the token of a symbol; return the number of words in the table and the number of tokens written."""
    symbol = data[at : at + length]
    number = _find_or_add(_hash(symbol, length), symbol, length, language, words, count)
    tokens[used] = number
    if len(spans) > 0:
        spans[used, 0], spans[used, 1] = at - begin, at + length - begin
    return count + (number == count), used + 1


@njit(cache=True, nogil=True)
def split(
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    languages: npt.NDArray[np.uint8],
    first: int,
    fold: FoldTable,
    words: WordSlots,
    count: int,
    tokens: npt.NDArray[np.int32],
    used: int,
    lengths: npt.NDArray[np.int32],
    spans: npt.NDArray[np.int32],
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Tokenize texts `first`, `first`+1, ... of `data`.

    Parameters
    ----------
    data, bounds: the texts in UTF-8, and the offset of each; one offset more than texts.
    languages: the language number of each text.
    fold: the folding table.
    words, count: the table of words, and how many it has; new words are added.
    tokens, used: the word ids written so far, appended to from `used` on.
    lengths: number of tokens of each text, filled in.
    spans: begin and end, in bytes, of each token within its text; filled in if it has rows.

    Returns
    -------
    The next text, the number of words in the table, and the number of tokens written. The kernel stops before a text
    for which `words` or `tokens` may be too small; the caller grows them and calls again.
    """
    word = np.empty(MAX_WORD, np.uint8)
    pair = np.empty(MAX_WORD, np.uint8)
    has_spans = len(spans) > 0
    for text in range(first, len(bounds) - 1):
        begin, end = bounds[text], bounds[text + 1]
        if count + (end - begin) // 2 + 8 >= len(words.hashes) or used + max_tokens(end - begin) > len(tokens):
            return text, count, used
        if words.starts[count] + 3 * (end - begin) + MAX_WORD > len(words.blob):
            return text, count, used
        language = languages[text]
        before = used
        size = 0
        opened = begin
        previous = 0  # bytes of the last unspaced character, in `pair`
        opened_pair = begin
        run = 0  # unspaced characters in a row
        at = begin
        hashed = _SEED
        while at <= end:
            kind = SEPARATOR
            step = 1
            code = 0
            if at < end:
                letter = _LOWER[data[at]]
                if letter and run == 0 and size == 0:  # the usual word: ASCII letters and digits, then other ASCII
                    opened = at
                    while letter:
                        hashed = (hashed ^ np.uint64(letter)) * _PRIME
                        at += 1
                        letter = _LOWER[data[at]] if at < end else np.uint8(0)
                    if at - opened <= MAX_WORD and (at >= end or data[at] < 0x80):
                        number, _ = find_slot(words, _mix(hashed, language))
                        if number < 0:
                            for i in range(at - opened):
                                word[i] = _LOWER[data[opened + i]]
                            number = np.int64(_find_or_add(hashed, word, at - opened, language, words, count))
                            count += 1
                        tokens[used] = number
                        if has_spans:
                            spans[used, 0], spans[used, 1] = opened - begin, at - begin
                        used += 1
                        length = symbol_length(data, at, end)
                        if length > 0:
                            count, used = _add_symbol(
                                data, at, length, begin, language, words, count, tokens, used, spans
                            )
                            at += length
                        else:
                            at += 1
                        hashed = _SEED
                        continue
                    at = opened
                    hashed = _SEED
                    letter = _LOWER[data[at]]
                if letter and run == 0:  # a run of them inside a longer word
                    if size == 0:
                        opened = at
                    while letter:
                        if size < MAX_WORD:
                            word[size] = letter
                            size += 1
                            hashed = (hashed ^ np.uint64(letter)) * _PRIME
                        at += 1
                        letter = _LOWER[data[at]] if at < end else np.uint8(0)
                    continue
                byte = int(data[at])
                if letter:
                    kind = WORD
                    byte = int(letter)
                elif byte >= 0x80:
                    code, step = _code_point(data, at, end)
                    if code < TABLE_SIZE:
                        kind = fold.kind[code]
                    if code == NON_JOINER and parts_words(data, at + step, end):
                        kind = SEPARATOR
            if kind in (MARK, MODIFIER):
                at += step
                continue
            if kind != UNSPACED and run > 0:
                if run == 1:  # a single character is a word of its own
                    number = _find_or_add(_hash(pair, previous), pair, previous, language, words, count)
                    count += number == count
                    tokens[used] = number
                    if has_spans:
                        spans[used, 0], spans[used, 1] = opened_pair - begin, at - begin
                    used += 1
                run = 0
                previous = 0
            if kind == WORD:
                if size == 0:
                    opened = at
                if step == 1:
                    if size < MAX_WORD:
                        word[size] = byte
                        size += 1
                        hashed = (hashed ^ np.uint64(byte)) * _PRIME
                else:
                    folded_at = fold.start[code]
                    extra = step if folded_at < 0 else int(fold.blob[folded_at])
                    if size + extra <= MAX_WORD:
                        for i in range(extra):
                            word[size + i] = data[at + i] if folded_at < 0 else fold.blob[folded_at + 1 + i]
                            hashed = (hashed ^ np.uint64(word[size + i])) * _PRIME
                        size += extra
                at += step
                continue
            if size > 0:
                number, _ = find_slot(words, _mix(hashed, language))
                if number < 0:
                    number = np.int64(_find_or_add(hashed, word, size, language, words, count))
                    count += 1
                tokens[used] = number
                if has_spans:
                    spans[used, 0], spans[used, 1] = opened - begin, at - begin
                used += 1
                size = 0
                hashed = _SEED
                length = symbol_length(data, at, end)
                if length > 0:
                    count, used = _add_symbol(data, at, length, begin, language, words, count, tokens, used, spans)
                    at += length
                    continue
            elif at < end and data[at] == _DOT and is_leading_dot(data, at, begin, end):
                count, used = _add_symbol(data, at, 1, begin, language, words, count, tokens, used, spans)
            if kind == UNSPACED:
                folded_at = fold.start[code]
                extra = step if folded_at < 0 else int(fold.blob[folded_at])
                if previous + extra > MAX_WORD:
                    extra = 0
                for i in range(extra):
                    pair[previous + i] = data[at + i] if folded_at < 0 else fold.blob[folded_at + 1 + i]
                if run > 0:
                    number = _find_or_add(_hash(pair, previous + extra), pair, previous + extra, language, words, count)
                    count += number == count
                    tokens[used] = number
                    if has_spans:
                        spans[used, 0], spans[used, 1] = opened_pair - begin, at + step - begin
                    used += 1
                    for i in range(extra):
                        pair[i] = pair[previous + i]
                previous = extra
                opened_pair = at
                run += 1
            at += step
        lengths[text] = used - before
    return len(bounds) - 1, count, used


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    fold = FoldTable(np.zeros(TABLE_SIZE, np.uint8), np.full(TABLE_SIZE, -1, np.int32), np.zeros(1, np.uint8))
    words = WordSlots(
        np.zeros(64, np.uint64),
        np.zeros(32, np.uint64),
        np.zeros(33, np.int64),
        np.zeros(32, np.uint8),
        np.zeros(1024, np.uint8),
    )
    data = np.frombuffer(b"a word's worth of C++ and .net", np.uint8)
    bounds = np.array([0, len(data)], np.int64)
    tokens = np.zeros(64, np.int32)
    split(
        data,
        bounds,
        np.zeros(1, np.uint8),
        0,
        fold,
        words,
        0,
        tokens,
        0,
        np.zeros(1, np.int32),
        np.zeros((64, 2), np.int32),
    )
