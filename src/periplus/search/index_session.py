"""An index opened for searching: one generation of it, with what is known beside it."""

from collections import Counter
from collections.abc import Mapping
from copy import copy
from typing import Final

import msgspec
import numpy as np

from periplus.graph import read_synonyms
from periplus.index import Index, read_schema, schema_stamp
from periplus.query import ParsedQuery, QueryPlan, Synonyms, alternative_words
from periplus.rank import Ranker, open_external_signals
from periplus.records import Query
from periplus.result_rules import RuleStore
from periplus.search.link_queries import resolve_links
from periplus.search.presentation.stored_fields import DocumentCache
from periplus.search.presentation.verticals import list_verticals
from periplus.search.ranking_weights import change_weights
from periplus.search.request_filters import add_filters, filter_notes, with_enough, with_rules
from periplus.search.rewriting.unfinished_word import unfinished_word
from periplus.search.suggester import Suggester
from periplus.settings import Settings
from periplus.signals import PopularQueries

__all__ = ["IndexParts", "IndexSession", "SearchStatistics", "common_languages", "merge_parts"]

_MOST_LANGUAGES: Final = 12
_MOST_HOSTS: Final = 12


class SearchStatistics(msgspec.Struct, frozen=True):
    """How much there is to search."""

    documents: int
    hosts: int
    newest: float
    """Unix time of the latest fetch, 0 if there is none."""
    bytes: int
    languages: tuple[str, ...] = ()
    """Languages of at least one page in a hundred, the most frequent first."""
    kinds: frozenset[str] = frozenset()
    """Content types of pages; 'media' and 'news' where some page has them."""


class IndexParts(msgspec.Struct, frozen=True):
    """What an index consists of."""

    generation: int
    documents: int
    segments: tuple[tuple[str, int, int, int], ...]
    """Name, documents, those of them that are not deleted, and bytes."""
    parts: dict[str, int]
    """Bytes by kind of file."""
    languages: dict[str, int]
    """Pages by language; '' is unknown."""
    hosts: tuple[tuple[str, int], ...]
    """The hosts with most pages, and how many they have."""


class IndexSession:
    """One generation of the index, its ranker, synonyms and completions; immutable, so any thread may use it."""

    def __init__(
        self,
        index: Index,
        settings: Settings,
        before: "IndexSession | None" = None,
        popular: PopularQueries | None = None,
        today: float | None = None,
        rules: RuleStore | None = None,
    ) -> None:
        """Open what belongs to an index; what does not change is shared with the session before.

        today: days since 1970, where it is not the day of the clock.
        """
        self.index = index
        self._today = today
        self.signals = open_external_signals(index.folder.parent, settings.rank, today)
        self.ranker = Ranker(index, settings.rank, settings.embeddings, signals=self.signals)
        weight = settings.search.synonym_weight
        self.graph_folder = index.folder.parent / "graph"
        pairs = read_synonyms(self.graph_folder) if weight else ()
        self.synonyms = Synonyms.from_pairs(pairs, weight)
        self.suggester: Suggester = Suggester(index, before.suggester if before else None, popular)
        self.cache: DocumentCache = before.cache if before else DocumentCache()
        self.statistics = _count(index)
        self._fields_stamp = schema_stamp(index.folder)
        self.fields = read_schema(index.folder)
        """The own fields of documents, as they are declared."""
        self._settings = settings
        self._rules: RuleStore = rules or (before._rules if before else RuleStore(index.folder.parent))

    @property
    def fields_changed(self) -> bool:
        """Whether own fields were declared or changed since this was opened."""
        return schema_stamp(self.index.folder) != self._fields_stamp

    def with_weights(self, weights: Mapping[str, float]) -> "IndexSession":
        """Return a session that ranks by other weights; raise `BadInput` for those that cannot be."""
        changed = change_weights(self._settings.rank, weights)
        signals = open_external_signals(self.index.folder.parent, changed.settings, self._today)
        session = copy(self)
        session.ranker = Ranker(
            self.index, changed.settings, self._settings.embeddings, signals=signals, changes=changed.features
        )
        return session

    def plan(self, parsed: ParsedQuery, query: Query) -> QueryPlan:
        """Return the plan of a query that has words: links resolved, filters added, terms weighed, synonyms added."""
        assert parsed.tree is not None
        tree, notes = resolve_links(parsed.tree, self.graph_folder, self.index.manifest.record_count)
        notes = parsed.notes + notes + filter_notes(query)
        filtered = add_filters(tree, query)
        plan = self.ranker.plan(filtered, notes, unfinished_word(query), verbatim=query.verbatim)
        if alternatives := alternative_words(tree):
            plan = plan._replace(alternatives=alternatives)
        plan = with_rules(self.synonyms.expand(self.index, plan, tree), query, self._rules)
        return with_enough(plan, query, self._settings.search.enough)

    def parts(self) -> IndexParts:
        """Return what the index consists of."""
        segments, parts, hosts = [], dict[str, int](), Counter[str]()
        for segment in self.index.segments:
            sizes = segment.sizes()
            counts = np.bincount(segment.column("host")[segment.is_live])
            for number in np.argsort(-counts, kind="stable")[:_MOST_HOSTS].tolist():
                hosts[segment.string("hosts", number)] += int(counts[number])
            segments.append((segment.name, segment.documents, int(segment.is_live.sum()), sum(sizes.values())))
            for name, size in sizes.items():
                part = name.partition(".")[0]
                parts[part] = parts.get(part, 0) + size
        return IndexParts(
            self.index.manifest.generation,
            self.index.documents,
            tuple(segments),
            parts,
            self.index.languages,
            tuple(hosts.most_common(_MOST_HOSTS)),
        )


def merge_parts(parts: Mapping[int, IndexParts]) -> IndexParts:
    """Return what the indexes of several shards consist of, by their numbers."""
    sizes, languages, hosts = dict[str, int](), dict[str, int](), Counter[str]()
    for part in parts.values():
        for counts, own in ((sizes, part.parts), (languages, part.languages)):
            for name, count in own.items():
                counts[name] = counts.get(name, 0) + count
        hosts.update(dict(part.hosts))
    return IndexParts(
        max(part.generation for part in parts.values()),
        sum(part.documents for part in parts.values()),
        tuple((f"{shard}/{row[0]}", *row[1:]) for shard, part in sorted(parts.items()) for row in part.segments),
        sizes,
        languages,
        tuple(hosts.most_common(_MOST_HOSTS)),
    )


def common_languages(counts: Mapping[str, int], documents: int) -> tuple[str, ...]:
    """Return the languages of at least one document in a hundred, the most frequent first."""
    languages = sorted(counts.items(), key=lambda item: -item[1])
    return tuple(code for code, n in languages if code and n * 100 >= documents)[:_MOST_LANGUAGES]


def _count(index: Index) -> SearchStatistics:
    """Return how much there is to search."""
    figures = index.statistics()
    return SearchStatistics(
        figures.documents,
        figures.hosts,
        figures.newest,
        figures.bytes,
        common_languages(figures.languages, figures.documents),
        frozenset(kind for segment in index.segments for kind in segment.strings("kinds")) | list_verticals(index),
    )
