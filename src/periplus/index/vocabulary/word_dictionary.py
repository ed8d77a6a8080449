"""The words of a whole index, as people write them: how frequent, what else may be meant, what stands beside what.

Made of the vocabularies of all segments, in the background because an index answers without it. A book that is not
loaded yet, or of segments that have no words, knows nothing and says so.
"""

import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.segment import Segment
from periplus.index.vocabulary.kernels import spelling_candidates
from periplus.index.vocabulary.kernels import surface_forms as kernel
from periplus.index.vocabulary.surface_forms import join_pairs, join_words, read_words
from periplus.index.vocabulary.words_file import read_counted
from periplus.text.kernels import word_table

__all__ = ["Meant", "WordBook"]

_MOST_WORDS: Final = 1 << 20
_STALE: Final = 0.05
"""A share of new documents from which on the book is made again."""
_LONG: Final = 5
"""Words of at least so many letters may have two slips."""
_CANDIDATES: Final = 16
_SLIP_WEIGHT: Final = 11.0
"""What an ordinary slip costs, against the logarithm of a word's documents."""


class Meant(NamedTuple):
    """A word that may have been meant."""

    word: str
    documents: int
    cost: int
    """Of the slips, in hundredths of an ordinary one."""
    score: float


class _Book(NamedTuple):
    names: frozenset[str]
    words: kernel.Vocabulary
    sounds: spelling_candidates.SoundIndex
    pair_key: npt.NDArray[np.uint32]
    pair_count: npt.NDArray[np.int32]
    documents: int
    sampled: int


class WordBook:
    """All words of an index. `load` makes it; until then it knows none."""

    def __init__(self, segments: Sequence[Segment], before: "WordBook | None" = None) -> None:
        self._segments = segments
        self._book: _Book | None = before._book if before else None
        self._lock = threading.Lock()

    @property
    def stale(self) -> bool:
        """Whether there is much that the book does not know."""
        known = self._book.names if self._book else frozenset()
        new = sum(segment.documents for segment in self._segments if segment.name not in known)
        return new > _STALE * sum(segment.documents for segment in self._segments)

    def load(self) -> None:
        """Read all vocabularies, unless nearly all is known already."""
        with self._lock:
            if self.stale:
                self._book = _gather(self._segments)

    @property
    def size(self) -> int:
        """How many words it knows."""
        return len(self._book.words.count) if self._book else 0

    @property
    def sampled(self) -> int:
        """How many documents pairs were counted in."""
        return self._book.sampled if self._book else 0

    @property
    def documents(self) -> int:
        """How many documents words were counted in."""
        return self._book.documents if self._book else 0

    def frequencies(self, words: Sequence[str]) -> list[int]:
        """Give the documents that have each folded word; 0 also for words that are too rare to be kept."""
        if not self._book or not words:
            return [0] * len(words)
        start = np.zeros(len(words) + 1, np.int64)
        letters = [_letters(word) for word in words]
        np.cumsum([len(word) for word in letters], out=start[1:])
        found = spelling_candidates.look_up_frequencies(self._book.words, _letters("".join(words)), start)
        return [int(count) for count in found]

    def meant(self, word: str) -> list[Meant]:
        """Give the words that may have been meant by a folded word, best first."""
        book, typed = self._book, _letters(word)
        if not book or not len(book.words.count) or not kernel.MIN_LETTERS < len(typed) <= kernel.MAX_LETTERS:
            return []
        found = spelling_candidates.CandidateList(
            np.zeros(_CANDIDATES, np.int32), np.zeros(_CANDIDATES, np.int32), np.zeros(_CANDIDATES, np.float32)
        )
        slips = 2 if len(typed) >= _LONG else 1
        number = spelling_candidates.find_candidates(book.words, book.sounds, typed, slips, _SLIP_WEIGHT, found)
        rows = zip(found.word[:number].tolist(), found.cost.tolist(), found.score.tolist(), strict=False)
        return [
            Meant(self._spell(word), int(book.words.count[word]), cost, score) for word, cost, score in rows if cost
        ]

    def _spell(self, number: int) -> str:
        assert self._book
        words = self._book.words
        raw = words.letters[words.start[number] : words.start[number + 1]].tobytes()
        return str(raw, "utf-16-le", "replace")

    def beside(self, first: Sequence[str], second: Sequence[str]) -> list[int]:
        """Say in how many of the sampled documents each of `first` is followed by its partner in `second`."""
        if not self._book or not first:
            return [0] * len(first)
        raw = [word.encode("utf-8", "replace") for word in (*first, *second)]
        start = np.zeros(len(raw) + 1, np.int64)
        np.cumsum([len(word) for word in raw], out=start[1:])
        hashes = word_table.hash_words(np.frombuffer(b"".join(raw), np.uint8), start)
        middle = len(first)
        counts = kernel.look_up_pairs(self._book.pair_key, self._book.pair_count, hashes[:middle], hashes[middle:])
        return [int(count) for count in counts]


def _letters(word: str) -> npt.NDArray[np.uint16]:
    return np.frombuffer(word.encode("utf-16-le", "replace"), np.uint16)


def _gather(segments: Sequence[Segment]) -> _Book:
    counted = [read_counted(segment.files["words"]) for segment in segments if "words" in segment.files]
    words = join_words([read_words(part.words, part.number) for part in counted], _MOST_WORDS)
    keys, counts = join_pairs([part.pair_key for part in counted], [part.pair_count for part in counted])
    return _Book(
        frozenset(segment.name for segment in segments),
        words,
        spelling_candidates.build_sound_index(words),
        keys,
        counts,
        sum(segment.documents for segment in segments),
        sum(part.sampled for part in counted),
    )
