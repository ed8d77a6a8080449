"""What words were analysed to before: segments of a live index are small, and their words are mostly the same.

Stemming a word takes longer than all else that indexing does with it. Words are found by their hashes and compared, so
that two with the same hash are never taken for each other.
"""

import functools
import threading
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.text.analyzer import WordTable
from periplus.text.kernels import word_table
from periplus.text.language_codes import LANGUAGES
from periplus.text.stopwords import stop_words

__all__ = ["AnalysedWords", "WordMemory", "analyse_words"]

_MAX_WORDS: Final = 1 << 18
"""Words after which a memory begins anew: some 30 MB."""
_MAX_TABLE: Final = 1 << 17
"""Words of a table that is looked up in the memory of the process: larger ones are of builds, which stem words once."""


class AnalysedWords(NamedTuple):
    """Terms of words as UTF-8, one after the other; where each begins; whether each word is a stop word."""

    blob: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    is_stop: npt.NDArray[np.bool_]


class WordMemory:
    """Terms of words. It may be used by several threads."""

    def __init__(self, max_words: int = _MAX_WORDS) -> None:
        self._max_words = max_words
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._words, self._terms = WordTable(), WordTable()
        self._term_of_word, self._is_stop = np.zeros(0, np.int32), np.zeros(0, np.bool_)

    def analyse(self, table: WordTable, start: int = 0) -> AnalysedWords:
        """Return what the words of a table from number `start` on are analysed to."""
        with self._lock:
            if self._words.count > self._max_words:
                self._forget()
            before = self._words.count
            numbers = self._words.add_table(table, start)
            if self._words.count > before:
                self._learn(before)
            blob, starts = table.as_arrays()
            if word_table.count_different(blob, starts[start:], *self._words.as_arrays(), numbers):
                return _analyse_alone(table, start)
            terms, offsets = word_table.gather_words(*self._terms.as_arrays(), self._term_of_word[numbers])
            return AnalysedWords(terms, offsets, self._is_stop[numbers])

    def _learn(self, before: int) -> None:
        """Analyse words that are new."""
        terms, is_stop = _analyse(self._words, before)
        self._term_of_word = np.concatenate((self._term_of_word, self._terms.add_words(terms)))
        self._is_stop = np.concatenate((self._is_stop, is_stop))


def _analyse_alone(table: WordTable, start: int) -> AnalysedWords:
    """Return what words are analysed to, without a memory."""
    terms, is_stop = _analyse(table, start)
    starts = np.zeros(len(terms) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, terms), np.int64, len(terms)), out=starts[1:])
    return AnalysedWords(np.frombuffer(b"".join(terms), np.uint8), starts, is_stop)


def _analyse(table: WordTable, start: int) -> tuple[list[bytes], npt.NDArray[np.bool_]]:
    """Return terms, and whether each word is a stop word."""
    words, codes = table.words(start), table.languages()[start:].tolist()
    stops = {code: _encoded_stop_words(LANGUAGES[code]) for code in set(codes)}
    is_stop = [word in stops[code] for word, code in zip(words, codes, strict=True)]
    return table.terms(start), np.array(is_stop, np.bool_)


@functools.cache
def _encoded_stop_words(language: str) -> frozenset[bytes]:
    return frozenset(word.encode() for word in stop_words(language))


_MEMORY: Final = WordMemory()


def analyse_words(table: WordTable, start: int = 0) -> AnalysedWords:
    """Return what the words of a table are analysed to, by the memory of the process unless there are very many.

    A table of which a part was analysed before is that of a build, too: the other words are new, and seldom again.
    """
    if start or table.count > _MAX_TABLE:
        return _analyse_alone(table, start)
    return _MEMORY.analyse(table, start)
