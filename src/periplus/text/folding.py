"""The folding table: for each code point, its class for the tokenizer and its folded form.

Case and compatibility forms are folded, and so are accents in alphabets where they do not change the letter: 'Čapek'
and 'capek' are the same word. Scripts whose marks are vowels keep them.
"""

import functools
import unicodedata
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.text.kernels import tokenizer

__all__ = ["OTHER_FORM", "ascii_forms", "code_point_kinds", "folding"]

OTHER_FORM: Final = 255
"""A code point that is something else than a separator, nothing, or one letter or digit of ASCII."""
_DROPPED_FORM: Final = 1
_NON_JOINER: Final = 0x200C
_ASCII_LETTERS: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"

_UNSPACED: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),
    (0x3041, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7A3),  # Hangul
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x2FFFF),
)
_ACCENTS_FOLD: Final = (
    (0x0000, 0x06FF),
    (0x1E00, 0x1FFF),
    (0xFB00, 0xFDFF),
    (0xFE70, 0xFEFF),
    (0xFF00, 0xFF5E),
)
_NOT_FOLDED: Final = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x20000, 0x2FFFF))
"""Han and Hangul: tokens are pairs of characters, nothing is folded."""
_FOLDED_RANGES: Final = ((0x80, 0x33FF), (0xA000, 0xABFF), (0xF900, 0x107FF), (0x1D400, 0x1D7FF))
_APOSTROPHES: Final = frozenset((0x2019, 0x02BC, 0xFF07))
_MODIFIERS: Final = frozenset((0x02BB, 0x02BD, 0x02BE, 0x02BF))
"""The okina, and ayin and hamza in transcriptions: letters that most people leave out ('Hawaii', 'Quran')."""
_SPECIAL: Final = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ı": "i", "þ": "th", "ð": "d"}


def _in_ranges(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    for low, high in ranges:  # noqa: SIM110 - called a hundred thousand times at every start: no generator
        if low <= code <= high:
            return True
    return False


def _kind(code: int, character: str) -> int:
    category = unicodedata.category(character)
    if code in _APOSTROPHES:
        return tokenizer.APOSTROPHE
    if code in _MODIFIERS:
        return tokenizer.MODIFIER
    if _in_ranges(code, _UNSPACED):
        return tokenizer.UNSPACED if category[0] in "LNM" else tokenizer.SEPARATOR
    if category in ("Mn", "Me") and (_in_ranges(code, _ACCENTS_FOLD) or 0x0300 <= code <= 0x036F):
        return tokenizer.MARK
    if category == "Cf":
        return tokenizer.MARK  # soft hyphens and joiners are invisible and do not separate
    return tokenizer.WORD if category[0] in "LNM" else tokenizer.SEPARATOR


def _fold_character(code: int, character: str) -> str:
    low = character.casefold()
    if not _in_ranges(code, _ACCENTS_FOLD):
        return unicodedata.normalize("NFKC", low)
    letters = "".join(c for c in unicodedata.normalize("NFKD", low) if unicodedata.category(c)[0] != "M")
    # Compatibility forms may expand to spaces and symbols (a ligature of several words): keep letters only.
    letters = "".join(_SPECIAL.get(c, c) for c in letters.casefold() if unicodedata.category(c)[0] in "LN")
    return letters or character


@functools.cache
def folding() -> tokenizer.FoldTable:
    """Return the folding table, built once per process."""
    kind = np.zeros(tokenizer.TABLE_SIZE, np.uint8)
    start = np.full(tokenizer.TABLE_SIZE, -1, np.int32)
    blob = bytearray()
    for low, high in _NOT_FOLDED:
        kind[low : high + 1] = tokenizer.UNSPACED
    for low, high in _FOLDED_RANGES:
        for code in range(low, high + 1):
            character = chr(code)
            kind[code] = code_class = _kind(code, character)
            if code_class not in (tokenizer.WORD, tokenizer.UNSPACED):
                continue
            folded = _fold_character(code, character)
            if folded != character:
                raw = folded.encode("utf-8")[:48]
                start[code] = len(blob)
                blob.append(len(raw))
                blob += raw
    return tokenizer.FoldTable(kind, start, np.frombuffer(bytes(blob), np.uint8).copy())


def code_point_kinds() -> npt.NDArray[np.uint8]:
    """Return the tokenizer class of each code point."""
    return folding().kind


@functools.cache
def ascii_forms() -> npt.NDArray[np.uint8]:
    """Return what splitting makes of each code point: a letter or digit of ASCII, 0 where it separates words, 1 where
    it is left out, `OTHER_FORM` for all else. Symbols that are tokens of their own separate words."""
    kind, start, blob = folding()
    forms = np.full(len(kind), OTHER_FORM, np.uint8)
    forms[(kind == tokenizer.SEPARATOR) | (kind == tokenizer.APOSTROPHE)] = 0
    forms[kind == tokenizer.MARK] = _DROPPED_FORM
    folded = np.flatnonzero((kind == tokenizer.WORD) & (start >= 0))
    at = start[folded]
    is_ascii = (blob[at] == 1) & np.isin(blob[at + 1], np.frombuffer(_ASCII_LETTERS, np.uint8))
    forms[folded[is_ascii]] = blob[at + 1][is_ascii]
    forms[_NON_JOINER] = OTHER_FORM  # It separates the words of some scripts.
    for code in range(128):
        forms[code] = ord(chr(code).lower()) if chr(code).isalnum() else 0
    forms.flags.writeable = False
    return forms
