"""What the static ranker knows of languages: how often their letters occur, and their stop words."""

import functools
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.score.kernels import page_features
from periplus.text import LANGUAGES, stop_words

__all__ = ["tongues"]

_SCRIPTS: Final = ("greek", "hebrew", "arabic", "devanagari", "thai", "kana", "chinese", "hangul")
_CYRILLIC: Final = 32


@functools.cache
def tongues() -> page_features.Tongues:
    """Read the letters of all languages (letters.txt) and hash their stop words."""
    letters = np.zeros((len(LANGUAGES), page_features.BUCKETS))
    for line in files("periplus.score").joinpath("letters.txt").read_text("utf-8").splitlines():
        code, colon, rest = line.partition(": ")
        if colon and not line.startswith("#"):
            letters[LANGUAGES.index(code)] = _shares(rest.split())
    words = [(number, word) for number, code in enumerate(LANGUAGES) for word in stop_words(code)]
    table = np.zeros(1 << (4 * len(words)).bit_length(), np.uint64)
    for number, word in words:
        raw = np.frombuffer(word.encode(), np.uint8)
        _enter(table, int(page_features.hash_word(raw, 0, len(raw), number)))
    has = np.zeros(len(LANGUAGES), np.uint8)
    has[[number for number, _ in words]] = 1
    return page_features.Tongues(letters, table, has)


def _shares(parts: list[str]) -> npt.NDArray[np.float64]:
    """Give the share of each bucket: of letters in their order, or of scripts by name."""
    shares = np.zeros(page_features.BUCKETS)
    if parts[0] in _SCRIPTS:
        amounts = [*parts, "1000"] if len(parts) == 1 else parts
        for name, amount in zip(amounts[::2], amounts[1::2], strict=True):
            shares[page_features.LATIN + _CYRILLIC + _SCRIPTS.index(name)] = float(amount)
    else:
        begin = page_features.LATIN if len(parts) == _CYRILLIC else 0
        shares[begin : begin + len(parts)] = [float(part) for part in parts]
    shares /= shares.sum()
    return shares


def _enter(table: npt.NDArray[np.uint64], mark: int) -> None:
    slot = (mark >> 20) & (len(table) - 1)
    while table[slot]:
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = mark
