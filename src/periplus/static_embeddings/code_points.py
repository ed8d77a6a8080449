"""What each code point is to the word pieces of the table, by the database of Unicode.

It is computed when a table is written, and stored with it: it takes a second, and tables would otherwise depend on the
version of Python that reads them.
"""

import unicodedata

import numpy as np
import numpy.typing as npt

from periplus.static_embeddings.kernels.word_pieces import (
    DROPPED,
    EXPANDED,
    OTHER_DIGIT,
    OTHER_LETTER,
    SEPARATOR,
    TABLE_SIZE,
)

__all__ = ["tabulate_code_points"]

_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def tabulate_code_points() -> tuple[npt.NDArray[np.uint8], dict[int, bytes]]:
    """Return the kind of each code point, and the symbols of those that stand for several."""
    kinds = np.zeros(TABLE_SIZE, np.uint8)
    expansions: dict[int, bytes] = {}
    for code in range(TABLE_SIZE):
        symbols = _symbols(chr(code))
        if len(symbols) == 1:
            kinds[code] = symbols[0]
        else:
            kinds[code] = EXPANDED if symbols else DROPPED
            if symbols:
                expansions[code] = symbols
    return kinds, expansions


def _symbols(character: str) -> bytes:
    """Return what a character stands for: decomposed, without marks, in lower case."""
    decomposed = unicodedata.normalize("NFKD", character)
    letters = "".join(letter.lower() for letter in decomposed if unicodedata.category(letter)[0] != "M")
    kinds = bytes(_kind(letter) for letter in letters)
    # Characters that no piece has are as good as one of them: a word with any has no pieces.
    return kinds[:1] if len({*kinds}) == 1 and kinds[0] <= OTHER_DIGIT else kinds


def _kind(letter: str) -> int:
    if letter in _ALPHABET:
        return ord(letter)
    category = unicodedata.category(letter)[0]
    return OTHER_LETTER if category == "L" else OTHER_DIGIT if category == "N" else SEPARATOR
