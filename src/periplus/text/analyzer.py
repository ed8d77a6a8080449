"""The analyzer: texts to word ids, by a growing table of distinct words; each word is stemmed once."""

import itertools
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.text.folding import folding
from periplus.text.kernels import symbols, word_slots, word_table
from periplus.text.kernels import tokenizer as kernel
from periplus.text.language_codes import LANGUAGES, language_number
from periplus.text.stemmer import has_stemmer, stem_all

__all__ = ["Tokens", "WordTable", "split_text", "terms_of", "token_spans"]

_NO_SPANS: Final = np.zeros((0, 2), np.int32)
_PLAIN: Final = re.compile(rf"[A-Za-z0-9]{{1,{kernel.MAX_WORD}}}(?: [A-Za-z0-9]{{1,{kernel.MAX_WORD}}})*")
"""A text that needs no tokenizer."""


class Tokens(NamedTuple):
    """Texts as word ids."""

    words: npt.NDArray[np.int32]
    """The word id of each token, text after text."""
    lengths: npt.NDArray[np.int32]
    """Number of tokens of each text."""


class WordTable:
    """All distinct words seen so far, each with its language; the id of a word is its position."""

    def __init__(self, capacity: int = 1 << 12) -> None:
        self.count = 0
        self._table = self._allocate(capacity, capacity * 16)

    @staticmethod
    def _allocate(words: int, size: int) -> word_slots.WordSlots:
        """Return an empty table for `words` words of `size` bytes in all."""
        slots = 1 << (2 * words - 1).bit_length()
        return word_slots.WordSlots(
            np.zeros(slots, np.uint64),
            np.zeros(words, np.uint64),
            np.zeros(words + 1, np.int64),
            np.zeros(words, np.uint8),
            np.zeros(size, np.uint8),
        )

    def _grow(self, longest: int) -> None:
        """Double the table, or grow it further if one text needs more."""
        old = self._table
        # Kernels that are not compiled return numbers of NumPy, which have no `bit_length`.
        least = int(max(2 * len(old.hashes), self.count + longest))
        words = 1 << (least - 1).bit_length()  # Slots are a power of two: with fewer words, more would stay free.
        size = max(2 * len(old.blob), int(old.starts[self.count]) + 4 * longest + kernel.MAX_WORD)
        new = self._allocate(words, size)
        new.hashes[: self.count] = old.hashes[: self.count]
        new.starts[: self.count + 1] = old.starts[: self.count + 1]
        new.languages[: self.count] = old.languages[: self.count]
        used = int(old.starts[self.count])
        new.blob[:used] = old.blob[:used]
        word_slots.rehash(new, self.count)
        self._table = new

    def split(self, data: bytes, bounds: npt.NDArray[np.int64], languages: npt.NDArray[np.uint8]) -> Tokens:
        """Tokenize the texts that `bounds` delimits in UTF-8 `data`; add new words to the table."""
        texts = len(bounds) - 1
        raw = np.frombuffer(data, np.uint8)
        tokens = np.empty(symbols.max_tokens(len(data)) + 3 * texts, np.int32)
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
        """Return the words from id `start` on, as UTF-8."""
        starts = self._table.starts[start : self.count + 1]
        blob = self._table.blob[starts[0] : starts[-1]].tobytes()
        return [blob[a:b] for a, b in itertools.pairwise((starts - starts[0]).tolist())]

    def as_arrays(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Return all words, as one UTF-8 blob, and the offset of each; the last offset is the end."""
        starts = self._table.starts[: self.count + 1]
        blob = self._table.blob[: int(starts[-1])]
        blob.flags.writeable = False
        return blob, starts

    def add_words(self, words: Sequence[bytes]) -> npt.NDArray[np.int32]:
        """Add words without a language; return the id of each."""
        starts = np.zeros(len(words) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=starts[1:])
        blob = np.frombuffer(b"".join(words), np.uint8)
        return self.add_packed(blob, starts)

    def add_table(self, other: "WordTable", start: int = 0) -> npt.NDArray[np.int32]:
        """Add the words of another table from id `start` on; return the id of each."""
        blob, starts = other.as_arrays()
        hashes = other._table.hashes[start : other.count]
        return self._add(blob, starts[start:], hashes, other.languages()[start:])

    def add_packed(self, blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Add words without a language, as one blob and the offset of each; return the id of each."""
        return self._add(blob, starts, word_table.hash_words(blob, starts), np.zeros(len(starts) - 1, np.uint8))

    def _add(
        self,
        blob: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        hashes: npt.NDArray[np.uint64],
        languages: npt.NDArray[np.uint8],
    ) -> npt.NDArray[np.int32]:
        table, size = self._table, int(starts[-1] - starts[0])  # The blob may have other words, before these.
        if self.count + len(hashes) >= len(table.hashes) or table.starts[self.count] + size > len(table.blob):
            self._grow(max(len(hashes) + 1, -(-size // 4)))
        numbers = np.empty(len(hashes), np.int32)
        self.count = word_table.add_words(blob, starts, hashes, languages, self._table, self.count, numbers)
        return numbers

    def complete(self) -> None:
        """Free what only adding words needs, half of the table; none can be added afterwards."""
        self._table = self._table._replace(slots=np.zeros(0, np.uint64), hashes=np.zeros(0, np.uint64))

    def select_words(self, numbers: npt.NDArray[np.signedinteger[Any]]) -> list[memoryview]:
        """Return the words with the ids `numbers`, as UTF-8."""
        blob, starts = self.as_arrays()
        raw, spans = blob.data, zip(starts[numbers].tolist(), starts[numbers + 1].tolist(), strict=True)
        return [raw[a:b] for a, b in spans]

    def languages(self) -> npt.NDArray[np.uint8]:
        """Return the language number of each word."""
        return self._table.languages[: self.count]

    def terms(self, start: int = 0) -> list[bytes]:
        """Return the term (stem) of each word from id `start` on."""
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


def _split_one(data: bytes) -> tuple[word_slots.WordSlots, int, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Tokenize one text with a table of its own; return the table, its size, word ids and byte spans."""
    capacity = int(symbols.max_tokens(len(data))) + 8
    table = WordTable._allocate(capacity + 1, 3 * len(data) + 4 * kernel.MAX_WORD)
    tokens, lengths, spans = np.empty(capacity, np.int32), np.zeros(1, np.int32), np.empty((capacity, 2), np.int32)
    bounds, languages = np.array([0, len(data)], np.int64), np.zeros(1, np.uint8)
    _, count, used = kernel.split(
        np.frombuffer(data, np.uint8), bounds, languages, 0, folding(), table, 0, tokens, 0, lengths, spans
    )
    return table, count, tokens[:used], spans[:used]


def split_text(text: str) -> list[str]:
    """Return the folded words of one text."""
    if _PLAIN.fullmatch(text):
        return text.lower().split(" ")
    table, count, tokens, _ = _split_one(text.encode("utf-8", "replace"))
    blob, starts = table.blob.tobytes(), table.starts[: count + 1].tolist()
    words = [blob[starts[i] : starts[i + 1]].decode("utf-8", "replace") for i in range(count)]
    return [words[i] for i in tokens.tolist()]


def token_spans(data: bytes) -> npt.NDArray[np.int32]:
    """Return begin and end, in bytes, of each token of a UTF-8 text; row n is the token at position n."""
    return _split_one(data)[3]


def terms_of(words: Sequence[str], language: str) -> list[bytes]:
    """Return the terms of folded words of one language."""
    code = LANGUAGES[language_number(language)]
    stems = zip(words, stem_all(words, code), strict=True)
    return [(stemmed or word).encode("utf-8", "replace") for word, stemmed in stems]
