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
from periplus.accel.pointers import borrow
from periplus.text.kernels.symbols import NON_JOINER, is_leading_dot, max_tokens, parts_words, symbol_length
from periplus.text.kernels.token_writer import (
    MAX_WAITING,
    MAX_WORD,
    TokenRows,
    WaitingWords,
    add_symbol,
    add_token,
    add_waiting,
    gather_words,
)
from periplus.text.kernels.word_bytes import MARGIN, fold_bytes
from periplus.text.kernels.word_slots import WordSlots

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
TABLE_SIZE = 0x30000
"""Code points from here on are separators."""
_DOT, _ASCII_END = 46, 128


class FoldTable(NamedTuple):
    """The folding table: class and folded form of each code point."""

    kind: npt.NDArray[np.uint8]
    """SEPARATOR, WORD, UNSPACED, MARK, APOSTROPHE or MODIFIER, by code point."""
    start: npt.NDArray[np.int32]
    """Offset in `blob` of its folded form (a length byte, then UTF-8), or -1 if it is not folded."""
    blob: npt.NDArray[np.uint8]


class SplitRoom(NamedTuple):
    """Memory for splitting texts."""

    text: npt.NDArray[np.uint8]
    """Of the longest text, folded."""
    word: npt.NDArray[np.uint8]
    pair: npt.NDArray[np.uint8]
    hash: npt.NDArray[np.uint64]
    begin: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]


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
    longest = np.int64(0)
    for text in range(first, len(bounds) - 1):
        longest = max(longest, bounds[text + 1] - bounds[text])
    room = SplitRoom(
        np.empty(longest + MARGIN, np.uint8),
        np.empty(MAX_WORD + MARGIN, np.uint8),
        np.empty(MAX_WORD + MARGIN, np.uint8),
        np.empty(MAX_WAITING, np.uint64),
        np.empty(MAX_WAITING, np.int64),
        np.empty(MAX_WAITING, np.int64),
    )
    return _split(data, bounds, languages, first, fold, words, count, tokens, used, lengths, spans.reshape(-1), room)


@njit(cache=True, nogil=True)
def _split(
    raw: Any,
    bounds: Any,
    languages: Any,
    first: int,
    fold_table: FoldTable,
    table: WordSlots,
    count: int,
    tokens: Any,
    used: int,
    lengths: Any,
    spans: Any,
    room: SplitRoom,
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Do what `split` does; what is borrowed here is an argument, and so it lives."""
    data, folded, word, pair = borrow(raw), borrow(room.text), borrow(room.word), borrow(room.pair)
    waiting = WaitingWords(borrow(room.hash), borrow(room.begin), borrow(room.size))
    fold = FoldTable(borrow(fold_table.kind), borrow(fold_table.start), borrow(fold_table.blob))
    words = WordSlots(
        borrow(table.slots), borrow(table.hashes), borrow(table.starts), borrow(table.languages), borrow(table.blob)
    )
    out = TokenRows(borrow(tokens), borrow(spans), len(spans) > 0)
    mask = np.uint64(len(table.slots) - 1)
    for text in range(first, len(bounds) - 1):
        begin, end = bounds[text], bounds[text + 1]
        if count + (end - begin) // 2 + 8 >= len(table.hashes) or used + max_tokens(end - begin) > len(tokens):
            return text, count, used
        if words.starts[count] + 3 * (end - begin) + MAX_WORD > len(table.blob):
            return text, count, used
        fold_bytes(data, begin, end - begin, folded)
        language = languages[text]
        before = used
        size = 0
        opened = begin
        previous = 0  # bytes of the last unspaced character, in `pair`
        opened_pair = begin
        run = 0  # unspaced characters in a row
        at = begin
        while at <= end:
            kind = SEPARATOR
            step = 1
            code = 0
            if at < end:
                if run == 0 and size == 0 and folded[at - begin] < _ASCII_END:
                    at, several, length, is_other = gather_words(data, folded, begin, at, end, waiting)
                    count = add_waiting(waiting, several, folded, language, words, mask, count, out, used)
                    used += several
                    if length > 0:
                        count = add_symbol(data, at, length, begin, word, language, words, mask, count, out, used)
                        used += 1
                        at += length
                    if not is_other:
                        continue
                letter = folded[at - begin]
                if letter and letter < _ASCII_END and run == 0:  # letters and digits of a longer word
                    if size == 0:
                        opened = at
                    while letter and letter < _ASCII_END:
                        if size < MAX_WORD:
                            word[size] = letter
                            size += 1
                        at += 1
                        letter = folded[at - begin]
                    continue
                byte = np.int64(letter)
                if letter and letter < _ASCII_END:
                    kind = WORD
                elif letter:
                    code, step = _code_point(data, at, end)
                    if code < TABLE_SIZE:
                        kind = np.int64(fold.kind[code])
                    if code == NON_JOINER and parts_words(data, at + step, end):
                        kind = SEPARATOR
            if kind in (MARK, MODIFIER):
                at += step
                continue
            if kind != UNSPACED and run > 0:
                if run == 1:  # a single character is a word of its own
                    span = (opened_pair - begin, at - begin)
                    count = add_token(pair, previous, span, language, words, mask, count, out, used)
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
                else:
                    folded_at = fold.start[code]
                    extra = step if folded_at < 0 else np.int64(fold.blob[folded_at])
                    if size + extra <= MAX_WORD:
                        for i in range(extra):
                            word[size + i] = data[at + i] if folded_at < 0 else fold.blob[folded_at + 1 + i]
                        size += extra
                at += step
                continue
            if size > 0:
                span = (opened - begin, at - begin)
                count = add_token(word, size, span, language, words, mask, count, out, used)
                used += 1
                size = 0
                length = symbol_length(data, at, end)
                if length > 0:
                    count = add_symbol(data, at, length, begin, word, language, words, mask, count, out, used)
                    used += 1
                    at += length
                    continue
            elif at < end and data[at] == _DOT and is_leading_dot(data, at, begin, end):
                count = add_symbol(data, at, 1, begin, word, language, words, mask, count, out, used)
                used += 1
            if kind == UNSPACED:
                folded_at = fold.start[code]
                extra = step if folded_at < 0 else np.int64(fold.blob[folded_at])
                if previous + extra > MAX_WORD:
                    extra = 0
                for i in range(extra):
                    pair[previous + i] = data[at + i] if folded_at < 0 else fold.blob[folded_at + 1 + i]
                if run > 0:
                    span = (opened_pair - begin, at + step - begin)
                    count = add_token(pair, previous + extra, span, language, words, mask, count, out, used)
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
