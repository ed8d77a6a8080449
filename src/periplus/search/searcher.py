"""The searcher: parse, rank, dress the hits."""

import copy
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from periplus.errors import NothingHere
from periplus.index import Index
from periplus.publish import DeletionList
from periplus.query import QueryPlan, Synonyms, correct_spelling, parse_query, suggest_alternatives
from periplus.rank import Ranker, open_external_signals
from periplus.records import Candidates, Card, Hit, Query, ResultPage
from periplus.search.link_queries import look_up_links
from periplus.search.navigational import explain_home, find_home, put_first
from periplus.search.presentation.cards import Cards, is_named
from periplus.search.presentation.hits import Dresser, Known
from periplus.search.presentation.result_selection import Arranged, arrange, hidden_flags
from periplus.search.presentation.verticals import freshen, known_extras, with_media
from periplus.search.ranking_weights import RankingWeight, list_weights, with_weights
from periplus.search.request_filters import names_site, narrow
from periplus.search.suggester import Suggester
from periplus.search.why_not import INDEXED, PageStatus, why_not
from periplus.settings import Settings
from periplus.signals import PopularQueries
from periplus.text import LANGUAGES
from periplus.url import parse_address

__all__ = ["CachedPage", "IndexParts", "SearchStatistics", "Searcher"]

_STEP: Final = 100
"""Candidates are asked for in steps of this many."""
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


class CachedPage(msgspec.Struct, frozen=True):
    """The kept text of one page."""

    url: str
    when: float
    title: str
    text: str
    language: str = ""


class IndexParts(msgspec.Struct, frozen=True):
    """What an index is made of."""

    generation: int
    documents: int
    segments: tuple[tuple[str, int, int, int], ...]
    """Name, documents, those of them that can be found, and bytes."""
    parts: dict[str, int]
    """Bytes by kind of file."""
    languages: dict[str, int]
    """Pages by language; '' is unknown."""
    hosts: tuple[tuple[str, int], ...]
    """The hosts with most pages, and how many they have."""


class _Clock:
    """Times the stages of one answer."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._stages: list[tuple[str, float]] = []

    def passed(self, stage: str) -> None:
        """Take note that a stage has ended."""
        now = time.perf_counter()
        self._stages.append((stage, now - self._last))
        self._last = now

    def whole(self) -> float:
        """Give the seconds since it began."""
        return time.perf_counter() - self._began

    def timings(self) -> tuple[tuple[str, float], ...]:
        """Give the seconds of each stage."""
        return tuple(self._stages)


class _Open:
    """One generation of the index and what belongs to it."""

    def __init__(
        self, index: Index, settings: Settings, before: "_Open | None", popular: PopularQueries | None
    ) -> None:
        self.index = index
        self.signals = open_external_signals(index.folder.parent, settings.rank)
        self.ranker = Ranker(index, settings.rank, settings.semantic, signals=self.signals)
        self.synonyms = Synonyms.open(index.folder.parent / "graph", settings.search.synonym_weight)
        earlier = before.suggester if before else None
        self.suggester: Suggester = Suggester(index, earlier, popular)
        figures = index.statistics()
        known = sorted(figures.languages.items(), key=lambda item: -item[1])
        self.statistics = SearchStatistics(
            figures.documents,
            figures.hosts,
            figures.newest,
            figures.bytes,
            tuple(code for code, n in known if code and n * 100 >= figures.documents)[:_MOST_LANGUAGES],
            frozenset(kind for segment in index.segments for kind in segment.strings("kinds")) | known_extras(index),
        )


class Searcher:
    """Answers queries over the index of a data folder."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder / "index"
        self._settings = settings
        self._lock = threading.Lock()
        self._open: _Open | None = None
        self._known = Known()
        self._cards = Cards(folder, settings.store)
        self._deleted = DeletionList(folder)
        after = settings.search.popular_after
        self._popular = PopularQueries(folder / "popular", after) if after else None
        self.refresh()

    @classmethod
    def open(cls, folder: Path, settings: Settings, *, may_be_empty: bool = False) -> "Searcher":
        """Open the index of a data folder; without one, raise `NothingHere` unless it may be empty."""
        searcher = cls(folder, settings)
        if searcher._open is None and not may_be_empty:
            Index.open(searcher._folder)
        return searcher

    def refresh(self) -> bool:
        """Open the newest generation of the index if it is another, or what is known beside it; say whether it was."""
        with self._lock:
            try:
                before = self._open
                changed = before is None or before.index.changed()
                if before is not None and not changed and not before.signals.stale:
                    return False
                known = before.index if before else None
                index = Index.open(self._folder, before=known) if known is None or changed else known
                self._open = _Open(index, self._settings, before, self._popular)
            except NothingHere:
                return False
            return True

    def statistics(self) -> SearchStatistics:
        """Say how much there is to search."""
        opened = self._open
        return opened.statistics if opened else SearchStatistics(0, 0, 0.0, 0)

    def search(self, query: Query) -> ResultPage:
        """Answer a query. Any words will do; nothing found is an answer too."""
        return self._search(self._open, query)

    def weights(self) -> tuple[RankingWeight, ...]:
        """List the weights of ranking."""
        return list_weights(self._settings.rank)

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Answer a query as other weights would have it; raise `BadInput` for weights that cannot be."""
        changed = with_weights(self._settings.rank, weights)
        opened = copy.copy(self._open)
        if opened is not None:
            signals = open_external_signals(self._folder.parent, changed.settings)
            semantic = self._settings.semantic
            opened.ranker = Ranker(opened.index, changed.settings, semantic, signals=signals, changes=changed.features)
        return self._search(opened, query)

    def _search(self, opened: _Open | None, query: Query) -> ResultPage:
        clock = _Clock()
        parsed = parse_query(query.words)
        if opened is None or parsed.tree is None:
            documents = opened.index.documents if opened else 0
            return ResultPage(query, (), 0, True, False, clock.whole(), documents, parsed.notes)
        most = self._settings.search.max_results
        start, size = max(0, query.start), max(0, min(query.size, most))
        end = min(start + size, most)
        tree, about_links = look_up_links(parsed.tree, self._folder.parent / "graph", opened.index.manifest.visits)
        prepared = opened.ranker.plan(narrow(tree, query), parsed.notes + about_links)
        prepared = opened.synonyms.widen(opened.index, prepared, tree)
        clock.passed("query")
        # Whole steps, so that every page of results is cut from the same order.
        reach = min(most, -(-max(end, 1) // _STEP) * _STEP)
        found = opened.ranker.rank(prepared, reach, self._settings.search.budget_ms / 1000)
        clock.passed("rank")
        found = freshen(found, opened.index, query)
        home = find_home(opened.index, parsed.tree, query)
        first = put_first(opened.index, found, home) if home else None
        found = found if first is None else first
        dresser = Dresser(opened.index, prepared, found, self._known)
        arranged = self._arrange(dresser, query, end)
        clock.passed("arrange")
        hits = self._hits(opened, prepared, found, dresser, arranged, query)
        if home and first is not None and query.explain and hits and not query.start:
            hits[0] = explain_home(hits[0], home)
        clock.passed("snippets")
        notes = prepared.notes
        if start + size > most and found.total > most:
            notes += (f"Only the first {most:,} results are shown.",)
        return ResultPage(
            query,
            tuple(hits),
            found.total,
            found.exact,
            found.partial,
            clock.whole(),
            opened.index.documents,
            notes,
            hidden=arranged.hidden,
            looked=arranged.looked,
            timings=clock.timings(),
            corrections=_corrections(opened.index, query, prepared, hits),
            generation=opened.index.manifest.generation,
            card=self._card(query, hits),
        )

    def _card(self, query: Query, hits: list[Hit]) -> Card | None:
        """Give the card of the best result, if the query names it."""
        named = hits and not query.start and is_named(query.words, hits[0].title)
        return self._cards.card(hits[0].key) if named else None

    def _arrange(self, dresser: Dresser, query: Query, wanted: int) -> Arranged:
        settings = self._settings.search
        folded = query.folded and settings.similar_bits
        per_host = settings.per_host if query.folded and not names_site(query) else 0
        bits = settings.similar_bits if folded else -1
        return arrange(dresser.flags(), dresser.look(), wanted, hidden_flags(query.safe), per_host, bits)

    def _hits(
        self, opened: _Open, prepared: QueryPlan, found: Candidates, dresser: Dresser, arranged: Arranged, query: Query
    ) -> list[Hit]:
        """Dress the results that are asked for."""
        rows = arranged.rows[max(0, query.start) :]
        reasons: list[tuple[tuple[str, float], ...]] = [()] * len(rows)
        if query.explain:
            places = [(int(found.segments[row]), int(found.documents[row])) for row in rows]
            reasons = [opened.ranker.explain(prepared, *place) for place in places]
        hits = dresser.hits(rows, arranged, self._settings.search.snippet_chars, reasons)
        return with_media(hits, rows, found, opened.index) if query.having == "media" else hits

    def suggest(self, words: str, size: int = 8) -> tuple[tuple[str, float], ...]:
        """Complete what somebody types, from titles and hosts of the index; each with how fitting it is, up to 1."""
        opened = self._open
        return opened.suggester.suggest(words, size) if opened else ()

    def record_queries(self, queries: Sequence[tuple[str, str]]) -> None:
        """Take note of queries, each with who asked: completions that many ask for are raised (see `popular`)."""
        opened = self._open
        if opened is not None:
            opened.suggester.record_queries(queries, time.time())

    def index_parts(self) -> IndexParts | None:
        """Say what the index is made of, for those who look after it."""
        opened = self._open
        if opened is None:
            return None
        index = opened.index
        segments, parts, hosts = [], dict[str, int](), Counter[str]()
        for segment in index.segments:
            sizes = segment.sizes()
            counts = np.bincount(segment.column("host")[segment.alive])
            for number in np.argsort(-counts, kind="stable")[:_MOST_HOSTS].tolist():
                hosts[segment.string("hosts", number)] += int(counts[number])
            segments.append((segment.name, segment.documents, int(segment.alive.sum()), sum(sizes.values())))
            for name, size in sizes.items():
                part = name.partition(".")[0]
                parts[part] = parts.get(part, 0) + size
        most = tuple(hosts.most_common(_MOST_HOSTS))
        return IndexParts(index.manifest.generation, index.documents, tuple(segments), parts, index.languages, most)

    def page_status(self, url: str) -> PageStatus:
        """Say whether a URL can be found, and if not, why; raise `BadUrl` for what is no URL."""
        place = parse_address(url)
        copy = self.cached_page(place.key)
        if copy is not None:
            return PageStatus(place.url, place.key, INDEXED, "", copy.when)
        if self._deleted.contains(place.key):
            return PageStatus(place.url, place.key, "deleted")
        return why_not(place, self._cards.visit(place.key))

    def cached_page(self, key: int) -> CachedPage | None:
        """Give the kept text of the page with this key, if it is in the index."""
        opened = self._open
        for segment in opened.index.segments if opened and 0 <= key < 1 << 64 else ():
            for document in np.flatnonzero((segment.column("key") == np.uint64(key)) & segment.alive).tolist():
                return CachedPage(
                    segment.string("url", document),
                    float(segment.column("fetched")[document]),
                    segment.string("title", document),
                    segment.text(document).decode("utf-8", "replace"),
                    LANGUAGES[int(segment.column("language")[document])],
                )
        return None


def _corrections(index: Index, query: Query, prepared: QueryPlan, hits: list[Hit]) -> tuple[str, ...]:
    """Give other ways to write a query, with its first results."""
    if query.start:
        return ()
    complete = bool(hits) and not hits[0].missing
    given = query.words, prepared.words, complete
    return correct_spelling(index, *given) or suggest_alternatives(index, *given)
