"""The collection that all shards of a cluster have together, as a broker knows it."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.index import (
    MAX_RARE,
    CollectionDictionary,
    DictionaryAssembler,
    FrequentTerms,
    NameEntry,
    SegmentDictionary,
    SpellingDictionary,
)
from periplus.query import FilterRecord, NamedRecord
from periplus.search.sharding.shard_methods import ShardGroup
from periplus.search.sharding.shard_records import (
    DescribeRequest,
    DictionaryRequest,
    ShardDescription,
    StatisticsAnswer,
    StatisticsQuestion,
)
from periplus.text import LANGUAGES, language_number

__all__ = ["ShardedCollection"]

_LOG: Final = logging.getLogger("periplus.search")
_MAX_CACHED: Final = 1 << 16
"""Counts that are kept; with more, all are forgotten."""
_SECONDS: Final = 10.0
"""Time for a shard to describe itself, or to count."""
_DICTIONARY_SECONDS: Final = 30.0
"""Time for a shard to send a piece of the dictionary of a segment."""


class _SegmentPlace(NamedTuple):
    """A segment of the collection."""

    shard: int
    name: str


class ShardedCollection:
    """The statistics of all shards: a `CollectionView`. Immutable but for what it has counted; threads may share it."""

    def __init__(
        self,
        group: ShardGroup,
        descriptions: Mapping[int, ShardDescription],
        dictionaries: Mapping[_SegmentPlace, SegmentDictionary],
        previous: "ShardedCollection | None" = None,
    ) -> None:
        self._group = group
        self.descriptions = dict(sorted(descriptions.items()))
        """By shard; those that did not answer are missing."""
        self._dictionaries = dict(dictionaries)
        self._segments = [
            _SegmentPlace(shard, segment.name)
            for shard, description in self.descriptions.items()
            for segment in description.segments
        ]
        deleted = [segment.deleted for d in self.descriptions.values() for segment in d.segments]
        parts = [dictionaries[place]._replace(name=f"{place.shard}/{place.name}") for place in self._segments]
        self._dictionary: CollectionDictionary = CollectionDictionary(
            parts, deleted, previous._dictionary if previous else None
        )
        self.fields = {
            name: field for shard in reversed(self.descriptions.values()) for name, field in shard.fields.items()
        }
        """The own fields of documents; where shards differ, as the first declares them."""
        self.documents = sum(description.documents for description in self.descriptions.values())
        self.languages = _sum_languages(self.descriptions.values())
        self.generation = max((description.generation for description in self.descriptions.values()), default=0)
        self.blocks = sum(description.blocks for description in self.descriptions.values())
        self._lock = threading.Lock()
        self._local = threading.local()
        self._counts: dict[Any, Any] = {}
        self._frequencies: dict[bytes, int] = {}

    @classmethod
    def open(cls, group: ShardGroup, previous: "ShardedCollection | None" = None) -> "ShardedCollection":
        """Ask all shards what they have; what `previous` has is not asked for again. If nothing has changed, return it.

        Shards that do not answer are left out of the collection until it is opened again. One that no longer has a
        segment when its dictionary is asked for stays as it was.
        """
        before = previous.descriptions if previous else {}
        requests = {n: DescribeRequest(before[n].state if n in before else 0) for n in range(group.count)}
        replies: dict[int, ShardDescription] = group.call("describe", requests, _SECONDS)
        descriptions: dict[int, ShardDescription] = {}
        dictionaries: dict[_SegmentPlace, SegmentDictionary] = {}
        known = previous._dictionaries if previous else {}
        for shard, reply in replies.items():
            description = before[shard] if reply.is_known and shard in before else reply
            parts = _read_dictionaries(group, shard, description, known)
            if parts is None and shard in before:
                description = before[shard]
                parts = _read_dictionaries(group, shard, description, known)
            if parts is not None:
                descriptions[shard] = description
                dictionaries |= parts
        if previous is not None and previous.is_current(descriptions):
            return previous
        return cls(group, descriptions, dictionaries, previous)

    @property
    def sizes(self) -> dict[str, int]:
        """Memory of its dictionary, by part."""
        return self._dictionary.sizes

    @property
    def spelling(self) -> SpellingDictionary:
        """Words as people write them; empty until it is loaded."""
        return self._dictionary.spelling

    def is_current(self, descriptions: Mapping[int, ShardDescription]) -> bool:
        """Return whether shards still have what this collection was made of."""
        own = {shard: description.state for shard, description in self.descriptions.items()}
        return own == {shard: description.state for shard, description in descriptions.items()}

    def document_frequency(self, term: bytes) -> int:
        """Return how many documents have a term."""
        return self.document_frequencies([term])[0]

    def document_frequencies(self, terms: Sequence[bytes]) -> list[int]:
        """Return how many documents have each term; they never change, and a query asks for some of them repeatedly."""
        known = self._frequencies
        new = [term for term in terms if term not in known]
        if new and len(known) > _MAX_CACHED:
            known, new = {}, list(terms)
            self._frequencies = known  # threads that use the other go on with it
        if new:
            known.update(zip(new, self._dictionary.frequencies(new), strict=True))
        return [known[term] for term in terms]

    def frequent_terms(self, prefix: bytes, most: int) -> FrequentTerms:
        """Return the `most` most frequent terms with a prefix, and how many have it."""
        return self._dictionary.frequent_terms(prefix, most)

    def frequent_numbers(self, low: int, high: int, most: int) -> FrequentTerms:
        """Return the same of terms that are integers from `low` to `high`."""
        return self._dictionary.frequent_numbers(low, high, most)

    def terms_with_character(self, character: bytes) -> dict[bytes, int]:
        """Return the terms that begin or end with a character of a script without spaces, with their frequencies."""
        return self._dictionary.terms_with_character(character)

    def names(self, key: int) -> list[NameEntry]:
        """Return the documents that have the name with a key; their segments are numbered over all shards."""
        return self._dictionary.names(key)

    def known_names(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return of which names, given by their keys, there are documents, deleted or not."""
        return self._dictionary.known_names(keys)

    def locate(self, segment: int) -> tuple[int, str]:
        """Return the shard of a segment, which is numbered over all shards, and its name there."""
        return self._segments[segment]

    def record_named(self, segment: int, document: int, weight: float) -> NamedRecord:
        """Return a document that a query names, as shards know it."""
        shard, name = self._segments[segment]
        return NamedRecord(shard, name, document, weight)

    def count_phrase(self, terms: tuple[bytes, ...], fields: int) -> int:
        """Return in how many documents terms stand one after the other, in one of some fields; of very many, some."""
        if not all(self.document_frequencies(terms)):
            return 0
        return self._count(("phrase", terms, fields), StatisticsQuestion(phrases=((terms, fields),)), _sum_phrases)

    def have_terms(
        self, terms: Sequence[bytes], groups: Sequence[int], languages: Sequence[frozenset[int]]
    ) -> npt.NDArray[np.bool_]:
        """Return of each term whether any document in the languages of its group has it."""
        if all(self._count_pages(numbers) <= MAX_RARE for numbers in languages):
            return self._dictionary.have_terms(terms, groups, languages)
        sets = [tuple(sorted(numbers)) for numbers in languages]
        items = [(term, sets[group]) for term, group in zip(terms, groups, strict=True)]
        frequencies = dict(zip(terms, self.document_frequencies(terms), strict=True))
        asked = [item for item in dict.fromkeys(items) if frequencies[item[0]]]
        new = [item for item in asked if ("language", *item) not in self._counts]
        fresh: dict[Any, Any] = {}
        if new:
            answers = self.ask(StatisticsQuestion(language_terms=tuple(new)))
            fresh = {("language", *item): any(a.language_terms[n] for a in answers) for n, item in enumerate(new)}
            self._keep(fresh, answers)
        return np.array([bool(self._look_up(("language", *item), fresh)) for item in items], np.bool_)

    def _count_pages(self, languages: frozenset[int]) -> int:
        """Return how many documents are in some languages."""
        return sum(self.languages.get(LANGUAGES[number], 0) for number in languages)

    def count_together(self, term: bytes, others: Sequence[bytes]) -> list[int]:
        """Return how many documents have a term together with each of `others`."""
        pairs = [(term, other) for other in others]
        new = [pair for pair in dict.fromkeys(pairs) if ("together", *pair) not in self._counts]
        fresh: dict[Any, Any] = {}
        if new:
            answers = self.ask(StatisticsQuestion(cooccurrences=tuple(new)))
            fresh = {("together", *pair): sum(a.cooccurrences[n] for a in answers) for n, pair in enumerate(new)}
            self._keep(fresh, answers)
        return [int(self._look_up(("together", *pair), fresh) or 0) for pair in pairs]

    def has_pages(self, wanted: FilterRecord) -> bool:
        """Return whether any page of any shard passes a filter."""
        return any(answer.filters[0] for answer in self.ask(StatisticsQuestion(filters=(wanted,))))

    def link_notes(self, targets: tuple[str, ...]) -> tuple[str, ...]:
        """Return notes on links that a query asks for."""
        if not targets:
            return ()
        answers = self.ask(StatisticsQuestion(links=targets))
        return tuple(dict.fromkeys(note for answer in answers for note in answer.links))

    def ask(self, question: StatisticsQuestion) -> list[StatisticsAnswer]:
        """Ask all shards of the collection; those that do not answer are left out, and noted."""
        replies = self._group.call("statistics", dict.fromkeys(self.descriptions, question), _SECONDS)
        missing: set[int] | None = getattr(self._local, "missing", None)
        if missing is not None:
            missing |= set(self.descriptions) - set(replies)
        return [replies[shard] for shard in sorted(replies)]

    def _count(self, key: Any, question: StatisticsQuestion, combine: Callable[[list[StatisticsAnswer]], int]) -> int:
        count = self._counts.get(key)
        if count is None:
            answers = self.ask(question)
            count = combine(answers)
            self._keep({key: count}, answers)
        return int(count)

    @contextlib.contextmanager
    def noting_missing(self) -> Iterator[set[int]]:
        """Within the block, the shards that did not answer a question of this thread are entered in a set."""
        self._local.missing = missing = set[int]()
        try:
            yield missing
        finally:
            self._local.missing = None

    def _look_up(self, key: Any, fresh: Mapping[Any, Any]) -> Any:
        """Return a count, of those just made or of those that are kept."""
        return fresh[key] if key in fresh else self._counts.get(key)

    def _keep(self, counts: Mapping[Any, Any], answers: Sequence[StatisticsAnswer]) -> None:
        """Keep counts, if all shards have answered: others would be too low until the collection changes."""
        if len(answers) < len(self.descriptions):
            return
        with self._lock:
            if len(self._counts) + len(counts) > _MAX_CACHED:
                self._counts = {}
            self._counts.update(counts)


def _read_dictionaries(
    group: ShardGroup,
    shard: int,
    description: ShardDescription,
    known: Mapping[_SegmentPlace, SegmentDictionary],
) -> dict[_SegmentPlace, SegmentDictionary] | None:
    """Return the dictionaries of the segments of a shard, asked for where they are not known; None if one is gone."""
    parts: dict[_SegmentPlace, SegmentDictionary] = {}
    for segment in description.segments:
        place = _SegmentPlace(shard, segment.name)
        part = known.get(place) or _read_dictionary(group, place)
        if part is None or part.documents != segment.documents:
            return None
        parts[place] = part
    return parts


def _read_dictionary(group: ShardGroup, place: _SegmentPlace) -> SegmentDictionary | None:
    """Ask for a dictionary, piece by piece; return None if the shard does not have it, or sends something else."""
    assembler = DictionaryAssembler()
    while not assembler.is_complete:
        request = {place.shard: DictionaryRequest(place.name, assembler.received)}
        piece = group.call("dictionary", request, _DICTIONARY_SECONDS).get(place.shard)
        if piece is None:
            return None
        try:
            assembler.add(piece)
        except CorruptFile as error:
            _LOG.warning("%s", error)
            return None
    return assembler.dictionary()


def _sum_phrases(answers: list[StatisticsAnswer]) -> int:
    return sum(answer.phrases[0] for answer in answers)


def _sum_languages(descriptions: Iterable[ShardDescription]) -> dict[str, int]:
    """Return documents by language, in the order in which an index has them."""
    counts: dict[str, int] = {}
    for description in descriptions:
        for code, count in description.languages.items():
            counts[code] = counts.get(code, 0) + count
    return dict(sorted(counts.items(), key=lambda item: language_number(item[0])))
