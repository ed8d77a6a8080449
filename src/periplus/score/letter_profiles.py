"""Language profiles of the static scorer: letter frequencies and stop words."""

import functools
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.score.kernels import page_features
from periplus.text import LANGUAGES, stop_words

__all__ = ["language_profiles"]

_SCRIPTS: Final = ("greek", "hebrew", "arabic", "devanagari", "thai", "kana", "chinese", "hangul")
_CYRILLIC: Final = 32


@functools.cache
def language_profiles() -> page_features.LanguageProfiles:
    """Return the letter frequencies (letters.txt) and hashed stop words of all languages."""
    by_language: dict[int, npt.NDArray[np.float64]] = {}
    for line in files("periplus.score").joinpath("letters.txt").read_text("utf-8").splitlines():
        code, colon, rest = line.partition(": ")
        if colon and not line.startswith("#"):
            by_language[LANGUAGES.index(code)] = _parse_frequencies(rest.split())
    letters = np.zeros((max(by_language) + 1, page_features.BUCKETS))
    letters[list(by_language)] = list(by_language.values())
    words = [(number, word) for number, code in enumerate(LANGUAGES) for word in stop_words(code)]
    table = np.zeros(1 << (4 * len(words)).bit_length(), np.uint64)
    for number, word in words:
        raw = np.frombuffer(word.encode(), np.uint8)
        _insert(table, int(page_features.hash_word(raw, 0, len(raw), number)))
    has_stop_words = np.zeros(len(LANGUAGES), np.uint8)
    has_stop_words[[number for number, _ in words]] = 1
    expected = (letters * np.log2(np.where(letters > 0, letters, 1.0))).sum(axis=1)
    return page_features.LanguageProfiles(letters, expected, table, has_stop_words)


def _parse_frequencies(parts: list[str]) -> npt.NDArray[np.float64]:
    """Return the frequency of each bucket, given for letters in their order or for scripts by name."""
    frequencies = np.zeros(page_features.BUCKETS)
    if parts[0] in _SCRIPTS:
        amounts = [*parts, "1000"] if len(parts) == 1 else parts
        for name, amount in zip(amounts[::2], amounts[1::2], strict=True):
            frequencies[page_features.LATIN + _CYRILLIC + _SCRIPTS.index(name)] = float(amount)
    else:
        begin = page_features.LATIN if len(parts) == _CYRILLIC else 0
        frequencies[begin : begin + len(parts)] = [float(part) for part in parts]
    frequencies /= frequencies.sum()
    return frequencies


def _insert(table: npt.NDArray[np.uint64], word_hash: int) -> None:
    slot = (word_hash >> 20) & (len(table) - 1)
    while table[slot]:
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = word_hash
