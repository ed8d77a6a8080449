"""The spelling dictionary of an index: its words as people write them, their frequencies, similar words, pairs.

It merges the vocabularies of all segments, and is loaded in the background, because queries work without it. One that
is not loaded yet, or of segments without vocabularies, is empty.
"""

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from periplus.index.segment import Segment
from periplus.index.vocabulary.kernels import spelling_candidates
from periplus.index.vocabulary.kernels import surface_forms as kernel
from periplus.index.vocabulary.surface_forms import (
    VocabularyStatistics,
    join_vocabularies,
    merge_pairs,
    read_vocabulary,
)
from periplus.index.vocabulary.words_file import read_statistics
from periplus.text import terms_of
from periplus.text.kernels import word_table

__all__ = ["SpellingCandidate", "SpellingDictionary", "VocabularySource", "WrittenCandidates"]

_MAX_WORDS: Final = 1 << 20
_STALE_SHARE: Final = 0.05
"""The share of new documents above which the dictionary is loaded again."""
_REST: Final = 20
"""How many times as long as loading took is waited until it is loaded again: while documents arrive, it is stale again
with nearly every generation."""
_TWO_EDITS_LETTERS: Final = 5
"""Words of at least this many letters may have two edits."""
_MAX_CANDIDATES: Final = 16
_MAX_CACHED: Final = 1 << 12
"""Words whose candidates are kept; a full table begins anew. So are their names, and the frequencies of words."""
_EDIT_WEIGHT: Final = 11.0
"""The score of an edit of cost 100, against the logarithm of a word's document frequency."""


class SpellingCandidate(NamedTuple):
    """A word that may have been intended by another."""

    word: str
    documents: int
    cost: int
    """Of the edits: 100 for an ordinary one."""
    score: float


class WrittenCandidates(NamedTuple):
    """The words that may have been intended by another, as names of documents are compared with them."""

    candidates: list[SpellingCandidate]
    written: list[bytes]
    """Each as UTF-8."""
    stems: list[bytes]
    """Each as a term of one language."""


class VocabularySource(Protocol):
    """Something that has words: a segment, or the dictionary of one."""

    @property
    def name(self) -> str:
        """Its name, unique in the collection."""
        ...

    @property
    def documents(self) -> int:
        """How many documents it has."""
        ...


class _StoredVocabulary(VocabularySource, Protocol):
    """The dictionary of a segment."""

    def vocabulary(self) -> VocabularyStatistics:
        """Return its words and pairs."""
        ...


class _Vocabularies(NamedTuple):
    segments: frozenset[str]
    words: kernel.Vocabulary
    sounds: spelling_candidates.SoundIndex
    pair_key: npt.NDArray[np.uint32]
    pair_count: npt.NDArray[np.int32]
    documents: int
    sampled: int
    candidates: dict[str, list[SpellingCandidate]]
    """Those of words that were asked for: names, corrections and alternatives of one query ask for the same."""
    written: dict[tuple[str, str], WrittenCandidates]
    """The same by word and language, as they are written."""
    frequencies: dict[str, int]
    """Of words that were asked for."""
    due: float
    """When it may be loaded again, by the monotonic clock."""


class SpellingDictionary:
    """All words of an index; empty until `load`."""

    def __init__(self, segments: Sequence[VocabularySource], previous: "SpellingDictionary | None" = None) -> None:
        self._segments = segments
        self._loaded: _Vocabularies | None = previous._loaded if previous else None
        self._lock = threading.Lock()

    @property
    def stale(self) -> bool:
        """Whether many documents are in segments that were not loaded."""
        names = self._loaded.segments if self._loaded else frozenset()
        new = sum(segment.documents for segment in self._segments if segment.name not in names)
        return new > _STALE_SHARE * sum(segment.documents for segment in self._segments)

    @property
    def rest_seconds(self) -> float:
        """How long to wait before it is loaded again, so that loading takes a small share of the time only."""
        return max(0.0, self._loaded.due - time.monotonic()) if self._loaded else 0.0

    def load(self) -> None:
        """Read the vocabularies of all segments, unless nearly all are loaded already."""
        with self._lock:
            if self.stale:
                self._loaded = _load(self._segments)

    @property
    def size(self) -> int:
        """How many words it has."""
        return len(self._loaded.words.count) if self._loaded else 0

    @property
    def sampled(self) -> int:
        """In how many documents pairs were counted."""
        return self._loaded.sampled if self._loaded else 0

    @property
    def documents(self) -> int:
        """In how many documents words were counted."""
        return self._loaded.documents if self._loaded else 0

    def document_frequencies(self, words: Sequence[str]) -> list[int]:
        """Return how many documents have each folded word; 0 also for words that are too rare to be stored."""
        loaded = self._loaded
        if not loaded or not words:
            return [0] * len(words)
        known = [loaded.frequencies.get(word, -1) for word in words]
        if -1 not in known:
            return known
        letters = [word.encode("utf-16-le", "replace") for word in words]
        start = np.array([*accumulate((len(word) // 2 for word in letters), initial=0)], np.int64)
        joined = np.frombuffer(b"".join(letters), np.uint16)
        frequencies: list[int] = spelling_candidates.look_up_frequencies(loaded.words, joined, start).tolist()
        if len(words) <= _MAX_CACHED:
            if len(loaded.frequencies) + len(words) > _MAX_CACHED:
                loaded.frequencies.clear()
            loaded.frequencies.update(zip(words, frequencies, strict=True))
        return frequencies

    def find_candidates(self, word: str) -> list[SpellingCandidate]:
        """Return the words that may have been intended by a folded word, best first."""
        loaded = self._loaded
        if not loaded or not len(loaded.words.count):
            return []
        candidates = loaded.candidates.get(word)
        if candidates is None:
            if len(loaded.candidates) >= _MAX_CACHED:
                loaded.candidates.clear()
            candidates = loaded.candidates[word] = self._find_candidates(loaded, word)
        return candidates.copy()

    def find_written(self, word: str, language: str) -> WrittenCandidates:
        """Return the words that may have been intended by a folded word, best first, with their stems in a language."""
        loaded = self._loaded
        written = loaded.written.get((word, language)) if loaded else None
        if written is None:
            candidates = self.find_candidates(word)
            words = [candidate.word for candidate in candidates]
            letters = [other.encode("utf-8", "replace") for other in words]
            written = WrittenCandidates(candidates, letters, terms_of(words, language))
            if loaded:
                if len(loaded.written) >= _MAX_CACHED:
                    loaded.written.clear()
                loaded.written[word, language] = written
        return written

    def _find_candidates(self, loaded: _Vocabularies, word: str) -> list[SpellingCandidate]:
        typed = _letters(word)
        if not kernel.MIN_LETTERS < len(typed) <= kernel.MAX_LETTERS:
            return []
        candidates = spelling_candidates.CandidateList(
            np.zeros(_MAX_CANDIDATES, np.int32),
            np.zeros(_MAX_CANDIDATES, np.int32),
            np.zeros(_MAX_CANDIDATES, np.float32),
        )
        max_edits = 2 if len(typed) >= _TWO_EDITS_LETTERS else 1
        number = spelling_candidates.find_candidates(
            loaded.words, loaded.sounds, typed, max_edits, _EDIT_WEIGHT, candidates
        )
        rows = zip(candidates.word[:number].tolist(), candidates.cost.tolist(), candidates.score.tolist(), strict=False)
        return [
            SpellingCandidate(self._spell(word), int(loaded.words.count[word]), cost, score)
            for word, cost, score in rows
            if cost
        ]

    def complete(self, prefix: str, most: int) -> list[str]:
        """Return the `most` most frequent words that begin with a folded prefix and are longer."""
        if not self._loaded or not prefix:
            return []
        numbers = range(len(self._loaded.words.count))
        first = bisect_right(numbers, _code_units(prefix), key=self._sort_key)
        last = bisect_left(numbers, _code_units(prefix) + b"\xff\xff\xff", key=self._sort_key)
        counts = self._loaded.words.count[first:last].astype(np.int64)
        keys = np.arange(len(counts)) - counts * _MAX_WORDS  # Unique: the more frequent first, then by the alphabet.
        best = np.partition(keys, most)[:most] if most < len(keys) else keys
        return [self._spell(first + int(key % _MAX_WORDS)) for key in np.sort(best)]

    def _sort_key(self, number: int) -> bytes:
        return _code_units(self._spell(number))

    def _spell(self, number: int) -> str:
        assert self._loaded
        words = self._loaded.words
        raw = words.letters[words.start[number] : words.start[number + 1]].tobytes()
        return str(raw, "utf-16-le", "replace")

    def count_pairs(self, first: Sequence[str], second: Sequence[str]) -> list[int]:
        """Return in how many of the sampled documents each of `first` is followed by its counterpart in `second`."""
        if not self._loaded or not first:
            return [0] * len(first)
        raw = [word.encode("utf-8", "replace") for word in (*first, *second)]
        start = np.zeros(len(raw) + 1, np.int64)
        np.cumsum([len(word) for word in raw], out=start[1:])
        hashes = word_table.hash_words(np.frombuffer(b"".join(raw), np.uint8), start)
        middle = len(first)
        counts = kernel.look_up_pairs(self._loaded.pair_key, self._loaded.pair_count, hashes[:middle], hashes[middle:])
        return [int(count) for count in counts]


def _code_units(word: str) -> bytes:
    """Return a word as bytes that compare as its UTF-16 code units do."""
    return word.encode("utf-16-be", "replace")


def _letters(word: str) -> npt.NDArray[np.uint16]:
    return np.frombuffer(word.encode("utf-16-le", "replace"), np.uint16)


def _load(segments: Sequence[VocabularySource]) -> _Vocabularies:
    began = time.monotonic()
    statistics = [part for segment in segments if (part := _read(segment)) is not None]
    words = join_vocabularies([read_vocabulary(part.words, part.number) for part in statistics], _MAX_WORDS)
    keys, counts = merge_pairs([part.pair_key for part in statistics], [part.pair_count for part in statistics])
    sounds = spelling_candidates.build_sound_index(words)
    now = time.monotonic()
    return _Vocabularies(
        frozenset(segment.name for segment in segments),
        words,
        sounds,
        keys,
        counts,
        sum(segment.documents for segment in segments),
        sum(part.sampled for part in statistics),
        {},
        {},
        {},
        now + _REST * (now - began),
    )


def _read(source: VocabularySource) -> VocabularyStatistics | None:
    """Return the words of a segment or of the dictionary of one; None without any."""
    if isinstance(source, Segment):
        return read_statistics(source.files["words"]) if "words" in source.files else None
    own = cast("_StoredVocabulary", source).vocabulary()
    return own if own.number else None
