"""Words as numbers: a growing table of different words, filled by a kernel, stemmed once each."""

import itertools
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.text.folding import folding
from periplus.text.kernels import tokenizer as kernel
from periplus.text.kernels import word_table
from periplus.text.language_id import LANGUAGES, language_number
from periplus.text.stemmer import has_stemmer, stem_all

__all__ = ["Tokens", "WordTable", "split_text", "terms_of", "token_spans"]

_NO_SPANS: Final = np.zeros((0, 2), np.int32)


class Tokens(NamedTuple):
    """Texts as word numbers."""

    words: npt.NDArray[np.int32]
    """The word number of each token, text after text."""
    lengths: npt.NDArray[np.int32]
    """How many tokens each text has."""


class WordTable:
    """All different words met so far, each with its language."""

    def __init__(self, capacity: int = 1 << 12) -> None:
        self.count = 0
        self._table = self._room(capacity, capacity * 16)

    @staticmethod
    def _room(words: int, size: int) -> kernel.Words:
        slots = 1 << (2 * words - 1).bit_length()
        return kernel.Words(
            np.zeros(2 * slots, np.uint64),
            np.zeros(words, np.uint64),
            np.zeros(words + 1, np.int64),
            np.zeros(words, np.uint8),
            np.zeros(size, np.uint8),
        )

    def _grow(self, longest: int) -> None:
        """Double the table, or more if one text needs it."""
        old = self._table
        words = max(2 * len(old.hashes), self.count + longest)
        size = max(2 * len(old.blob), int(old.starts[self.count]) + 4 * longest + kernel.MAX_WORD)
        new = self._room(words, size)
        new.hashes[: self.count] = old.hashes[: self.count]
        new.starts[: self.count + 1] = old.starts[: self.count + 1]
        new.languages[: self.count] = old.languages[: self.count]
        used = int(old.starts[self.count])
        new.blob[:used] = old.blob[:used]
        kernel.rehash(new, self.count)
        self._table = new

    def split(self, data: bytes, bounds: npt.NDArray[np.int64], languages: npt.NDArray[np.uint8]) -> Tokens:
        """Split the texts that `bounds` cuts out of UTF-8 `data`, entering new words into the table."""
        texts = len(bounds) - 1
        raw = np.frombuffer(data, np.uint8)
        tokens = np.empty(len(data) // 2 + 2 * texts + 2, np.int32)
        lengths = np.zeros(texts, np.int32)
        done, used = 0, 0
        while done < texts:
            before = done
            done, self.count, used = kernel.split(
                raw, bounds, languages, done, folding(), self._table, self.count, tokens, used, lengths, _NO_SPANS
            )
            if done < texts:
                longest = int(bounds[done + 1] - bounds[done])
                self._grow(longest + 1024 if done == before else max(longest, 1024))
        return Tokens(tokens[:used], lengths)

    def words(self, start: int = 0) -> list[bytes]:
        """Give the words from number `start` on, as UTF-8."""
        starts = self._table.starts[start : self.count + 1]
        blob = self._table.blob[starts[0] : starts[-1]].tobytes()
        return [blob[a:b] for a, b in itertools.pairwise((starts - starts[0]).tolist())]

    def laid(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Give all words, as UTF-8, one after the other, and where each begins; the last is where they end."""
        starts = self._table.starts[: self.count + 1]
        blob = self._table.blob[: int(starts[-1])]
        blob.flags.writeable = False
        return blob, starts

    def enter(self, words: Sequence[bytes]) -> npt.NDArray[np.int32]:
        """Enter words as they are, without a language; give the number of each."""
        starts = np.zeros(len(words) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=starts[1:])
        blob = np.frombuffer(b"".join(words), np.uint8)
        return self._enter(blob, starts, word_table.hash_words(blob, starts), np.zeros(len(words), np.uint8))

    def absorb(self, other: "WordTable") -> npt.NDArray[np.int32]:
        """Enter the words of another table; give the number of each."""
        return self._enter(*other.laid(), other._table.hashes[: other.count], other.languages())

    def _enter(
        self,
        blob: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        hashes: npt.NDArray[np.uint64],
        languages: npt.NDArray[np.uint8],
    ) -> npt.NDArray[np.int32]:
        table = self._table
        if self.count + len(hashes) >= len(table.hashes) or table.starts[self.count] + len(blob) > len(table.blob):
            self._grow(max(len(hashes) + 1, -(-len(blob) // 4)))
        numbers = np.empty(len(hashes), np.int32)
        self.count = word_table.enter(blob, starts, hashes, languages, self._table, self.count, numbers)
        return numbers

    def some(self, numbers: npt.NDArray[np.signedinteger[Any]]) -> list[memoryview]:
        """Give some words, as UTF-8."""
        blob, starts = self.laid()
        raw, spans = blob.data, zip(starts[numbers].tolist(), starts[numbers + 1].tolist(), strict=True)
        return [raw[a:b] for a, b in spans]

    def languages(self) -> npt.NDArray[np.uint8]:
        """Give the language number of each word."""
        return self._table.languages[: self.count]

    def terms(self, start: int = 0) -> list[bytes]:
        """Give the term (stem) of each word from number `start` on."""
        words = self.words(start)
        languages = self._table.languages[start : self.count]
        terms = list(words)
        for number in np.unique(languages):
            if not has_stemmer(LANGUAGES[number]):
                continue
            rows = np.flatnonzero(languages == number).tolist()
            stems = stem_all([words[row].decode("utf-8", "replace") for row in rows], LANGUAGES[number])
            for row, stemmed in zip(rows, stems, strict=True):
                terms[row] = stemmed.encode("utf-8") or words[row]
        return terms


def _split_one(data: bytes) -> tuple[kernel.Words, int, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Split one text with a table of its own; give table, words in it, word numbers and byte spans."""
    room = len(data) // 2 + 4
    table = WordTable._room(room + 1, 3 * len(data) + 4 * kernel.MAX_WORD)
    tokens, lengths, spans = np.empty(room, np.int32), np.zeros(1, np.int32), np.empty((room, 2), np.int32)
    bounds, languages = np.array([0, len(data)], np.int64), np.zeros(1, np.uint8)
    _, count, used = kernel.split(
        np.frombuffer(data, np.uint8), bounds, languages, 0, folding(), table, 0, tokens, 0, lengths, spans
    )
    return table, count, tokens[:used], spans[:used]


def split_text(text: str) -> list[str]:
    """Split one text into its folded words."""
    if text.isascii() and text.isalnum():
        return [text[: kernel.MAX_WORD].lower()]
    table, count, tokens, _ = _split_one(text.encode("utf-8", "replace"))
    blob, starts = table.blob.tobytes(), table.starts[: count + 1].tolist()
    words = [blob[starts[i] : starts[i + 1]].decode("utf-8", "replace") for i in range(count)]
    return [words[i] for i in tokens.tolist()]


def token_spans(data: bytes) -> npt.NDArray[np.int32]:
    """Give the byte begin and end of each token of a UTF-8 text: token n is what positions call n."""
    return _split_one(data)[3]


def terms_of(words: Sequence[str], language: str) -> list[bytes]:
    """Stem folded words of one language into terms."""
    code = LANGUAGES[language_number(language)]
    return [stemmed.encode("utf-8") for stemmed in stem_all(words, code)]
