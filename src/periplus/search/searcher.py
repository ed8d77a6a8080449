"""The searcher: a query planned, then retrieve, rerank and present."""

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from periplus.errors import NothingHere
from periplus.index import Index
from periplus.publish import DeletionList
from periplus.records import FetchRecord, Query, ResultPage, SearchLimits
from periplus.result_rules import RuleStore
from periplus.search.answering.document_trace import DocumentTrace, trace_document
from periplus.search.answering.index_backend import IndexBackend
from periplus.search.answering.passage_finder import find_page_passages
from periplus.search.answering.query_answerer import QueryAnswerer
from periplus.search.index_session import IndexParts, IndexSession, SearchStatistics
from periplus.search.own_fields.collected_documents import find_documents
from periplus.search.page_status import DELETED, INDEXED, PageStatus, status_of_record
from periplus.search.pinning.pinned_searchers import PinnedSearchers, as_answered, as_asked
from periplus.search.presentation.cards import CardReader
from periplus.search.presentation.page_passages import Passage
from periplus.search.presentation.stored_fields import NOARCHIVE_NOTE, cached_text
from periplus.search.ranking_weights import RankingWeight, change_weights, list_weights
from periplus.settings import Settings
from periplus.signals import PopularQueries
from periplus.text import LANGUAGES
from periplus.url import parse_address

if TYPE_CHECKING:
    from periplus.parse import TextBlock

__all__ = ["CachedPage", "Searcher"]

_TRACE_MS: Final = 10_000.0
"""Time for a query that is traced."""


class CachedPage(msgspec.Struct, frozen=True):
    """The stored text of one page."""

    url: str
    when: float
    title: str
    text: str
    language: str = ""


class Searcher:
    """Answers queries over the index of a data folder."""

    def __init__(self, folder: Path, settings: Settings, today: float | None = None) -> None:
        """Open the index of a data folder; today: days since 1970, where it is that of a snapshot, not of the clock."""
        self._folder = folder / "index"
        self._today = today
        self._pins = PinnedSearchers(folder, settings, _open_pinned)
        self._settings = settings
        self._lock = threading.Lock()
        self._session: IndexSession | None = None
        self._cards = CardReader(folder, settings.store)
        self._answerer = QueryAnswerer(settings.search)
        self._deleted = DeletionList(folder)
        self._rules = RuleStore(folder, others=folder.parents[1] if today is not None else None)
        self._server_rules = self._rules.server_ids()
        after = settings.search.popular_after
        self._popular = PopularQueries(folder / "popular", after) if after else None
        self.refresh()

    @classmethod
    def open(cls, folder: Path, settings: Settings, *, may_be_empty: bool = False) -> "Searcher":
        """Return a searcher of a data folder; without an index, raise `NothingHere` unless it may be empty."""
        searcher = cls(folder, settings)
        if searcher._session is None and not may_be_empty:
            Index.open(searcher._folder)
        return searcher

    def refresh(self) -> bool:
        """Open the newest generation of the index, newer external signals, or its first vectors of the encoder.

        Return whether there was any of them, the rules for everybody have changed, or snapshots were made or removed.
        """
        with self._lock:
            rules, self._server_rules = self._server_rules, self._rules.server_ids()
            pins_changed = self._pins.changed()
            return self._open_newest() or pins_changed or rules != self._server_rules

    def _open_newest(self) -> bool:
        try:
            before = self._session
            changed = before is None or before.index.has_newer_generation()
            stale = before is None or before.signals.stale or before.ranker.stale or before.fields_changed
            if not changed and not stale:
                return False
            current = before.index if before else None
            index = Index.open(self._folder, previous=current) if current is None or changed else current
            self._session = IndexSession(index, self._settings, before, self._popular, self._today, self._rules)
        except NothingHere:
            return False
        return True

    def statistics(self) -> SearchStatistics:
        """Return how much there is to search."""
        session = self._session
        return session.statistics if session else SearchStatistics(0, 0, 0.0, 0)

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Return the answer to a query. Any words are a query; no results is an answer too.

        Raise `ExpensiveQuery` if it is estimated to cost more than `limits` allow.
        """
        if query.snapshot:
            snapshot, pinned = self._pins.find(query)
            return as_answered(snapshot, query, pinned.search(as_asked(snapshot, query)))
        return self._answerer.answer(self._backend(self._session), query, limits or SearchLimits())

    def passages(
        self, query: Query, tokens: int, limits: SearchLimits | None = None
    ) -> tuple[ResultPage, tuple[Passage, ...]]:
        """Return the passages of the best results that say most about a query, within a budget of tokens."""
        if query.snapshot:
            snapshot, pinned = self._pins.find(query)
            page, passages = pinned.passages(as_asked(snapshot, query), tokens)
            return as_answered(snapshot, query, page), passages
        session, limits = self._session, limits or SearchLimits()
        end = time.monotonic() + min(limits.seconds, self._settings.search.budget_ms / 1000)
        page = self._answerer.answer(self._backend(session), query, limits)
        if session is None:
            return page, ()
        return page, find_page_passages(session, self._cards, page, tokens, self._settings.parse, end)

    def trace(self, query: Query, key: int) -> tuple[ResultPage, DocumentTrace]:
        """Return the answer to a query with all its results, and what became in it of the page with a key.

        The time for a query does not limit it, only its work.
        """
        if query.snapshot:
            snapshot, pinned = self._pins.find(query)
            return pinned.trace(as_asked(snapshot, query), key)
        session = self._session
        if session is None:
            return self._answerer.answer(None, query, SearchLimits()), DocumentTrace(False)
        settings = msgspec.structs.replace(self._settings.search, budget_ms=_TRACE_MS)
        return trace_document(session, settings, self._cards, query, key)

    def weights(self) -> tuple[RankingWeight, ...]:
        """Return the weights of ranking."""
        return list_weights(self._settings.rank)

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Return the answer that other weights would give; raise `BadInput` for weights that cannot be."""
        change_weights(self._settings.rank, weights)
        session = self._session
        changed = session.with_weights(weights) if session else None
        return self._answerer.answer(self._backend(changed), query, SearchLimits())

    def _backend(self, session: IndexSession | None) -> IndexBackend | None:
        return IndexBackend(session, self._settings.search, self._cards) if session else None

    def suggest(self, words: str, size: int = 8) -> tuple[tuple[str, float], ...]:
        """Return completions of what somebody types, from titles and hosts of the index; each with a weight up to 1."""
        session = self._session
        return session.suggester.suggest(words, size) if session else ()

    def record_queries(self, queries: Sequence[tuple[str, str]]) -> None:
        """Count queries, each with its visitor: completions that many visitors ask for are promoted."""
        session = self._session
        if session is not None:
            session.suggester.record_queries(queries, time.time())

    def index_parts(self) -> IndexParts | None:
        """Return what the index consists of; None without one."""
        session = self._session
        return session.parts() if session else None

    def page_status(self, url: str) -> PageStatus:
        """Return whether a URL can be found, and if not, why; raise `BadUrl` for what is not a URL."""
        address = parse_address(url)
        page = self.cached_page(address.key)
        if page is not None:
            return PageStatus(address.url, address.key, INDEXED, "", page.when)
        if self._deleted.contains(address.key):
            return PageStatus(address.url, address.key, DELETED)
        return status_of_record(address, self._cards.fetch_record(address.key))

    def fetch_record(self, key: int) -> FetchRecord | None:
        """Return the newest record of a page in the store, whatever its outcome; this may wait for the store."""
        return self._cards.latest_record(key)

    def documents_matching(self, expression: str) -> list[tuple[int, str]]:
        """Return key and URL of the documents that were sent and that a filter selects; '*' selects all of them.

        Raise `BadInput` for an expression that is none.
        """
        session = self._session
        return find_documents(session.index, session.fields, expression) if session is not None else []

    def cached_page(self, key: int) -> CachedPage | None:
        """Return the stored text of the page with this key, if it is in the index."""
        session = self._session
        for segment in session.index.segments if session and 0 <= key < 1 << 64 else ():
            for document in np.flatnonzero((segment.column("key") == np.uint64(key)) & segment.is_live).tolist():
                return CachedPage(
                    segment.string("url", document),
                    float(segment.column("fetched")[document]),
                    segment.string("title", document),
                    cached_text(segment, document),
                    LANGUAGES[int(segment.column("language")[document])],
                )
        return None

    def cached_blocks(self, key: int) -> "tuple[TextBlock, ...]":
        """Return headings, paragraphs, lists and tables of a page in the index, if its response is stored and HTML.

        This reads the store, which may take long to open, and parses the page.
        """
        from periplus.search.presentation.cached_copies import read_blocks

        page = self.cached_page(key)
        hidden = page is None or page.text == NOARCHIVE_NOTE
        return () if hidden else read_blocks(self._cards, key, self._settings.parse)

    def ready(self) -> None:
        """Wait until everything that answers depend on is loaded."""
        if self._session is not None:
            self._session.suggester.ready()


def _open_pinned(folder: Path, settings: Settings, today: int) -> Searcher:
    """Return the searcher of a snapshot, with all that its answers depend on."""
    searcher = Searcher(folder, settings, float(today))
    if searcher._session is None:
        Index.open(folder / "index")  # raises what is wrong with it
    searcher.ready()
    return searcher
