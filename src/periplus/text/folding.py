"""The folding table: for each code point, whether it makes words and what it becomes.

Case, compatibility forms and (for alphabets where they are ornament) accents are folded away: 'Čapek' and 'capek' meet.
Scripts where marks are vowels keep them.
"""

import functools
import unicodedata
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.text.kernels import tokenizer

__all__ = ["code_point_kinds", "folding"]

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
_ACCENTS_ARE_ORNAMENT: Final = (
    (0x0000, 0x06FF),
    (0x1E00, 0x1FFF),
    (0xFB00, 0xFDFF),
    (0xFE70, 0xFEFF),
    (0xFF00, 0xFF5E),
)
_AS_THEY_ARE: Final = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x20000, 0x2FFFF))
"""Han and Hangul: pairs of characters, nothing to fold."""
_TO_LOOK_AT: Final = ((0x80, 0x33FF), (0xA000, 0xABFF), (0xF900, 0x107FF), (0x1D400, 0x1D7FF))
_APOSTROPHES: Final = frozenset((0x2019, 0x02BC, 0xFF07))
_SPECIAL: Final = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ı": "i", "þ": "th", "ð": "d"}


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    for low, high in ranges:  # noqa: SIM110 - asked a hundred thousand times at every start: no generator
        if low <= code <= high:
            return True
    return False


def _kind(code: int, character: str) -> int:
    category = unicodedata.category(character)
    if code in _APOSTROPHES:
        return tokenizer.APOSTROPHE
    if _within(code, _UNSPACED):
        return tokenizer.UNSPACED if category[0] in "LNM" else tokenizer.SEPARATOR
    if category in ("Mn", "Me") and (_within(code, _ACCENTS_ARE_ORNAMENT) or 0x0300 <= code <= 0x036F):
        return tokenizer.MARK
    if category == "Cf":
        return tokenizer.MARK  # soft hyphens and joiners are invisible, and part nothing
    return tokenizer.WORD if category[0] in "LNM" else tokenizer.SEPARATOR


def _folded(code: int, character: str) -> str:
    low = character.casefold()
    if not _within(code, _ACCENTS_ARE_ORNAMENT):
        return unicodedata.normalize("NFKC", low)
    bare = "".join(c for c in unicodedata.normalize("NFKD", low) if unicodedata.category(c)[0] != "M")
    # Compatibility forms may open into spaces and signs (a ligature of several words): letters only.
    bare = "".join(_SPECIAL.get(c, c) for c in bare.casefold() if unicodedata.category(c)[0] in "LN")
    return bare or character


@functools.cache
def folding() -> tokenizer.Fold:
    """Make the folding table, once a process."""
    kind = np.zeros(tokenizer.TABLE_SIZE, np.uint8)
    start = np.full(tokenizer.TABLE_SIZE, -1, np.int32)
    blob = bytearray()
    for low, high in _AS_THEY_ARE:
        kind[low : high + 1] = tokenizer.UNSPACED
    for low, high in _TO_LOOK_AT:
        for code in range(low, high + 1):
            character = chr(code)
            kind[code] = what = _kind(code, character)
            if what not in (tokenizer.WORD, tokenizer.UNSPACED):
                continue
            folded = _folded(code, character)
            if folded != character:
                raw = folded.encode("utf-8")[:48]
                start[code] = len(blob)
                blob.append(len(raw))
                blob += raw
    return tokenizer.Fold(kind, start, np.frombuffer(bytes(blob), np.uint8).copy())


def code_point_kinds() -> npt.NDArray[np.uint8]:
    """Say what each code point is: part of a word or not, as splitting has it."""
    return folding().kind
