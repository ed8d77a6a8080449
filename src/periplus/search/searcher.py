"""The searcher: a query planned, then retrieve, rerank and present."""

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from periplus.errors import ExpensiveQuery, NothingHere
from periplus.index import Index
from periplus.publish import DeletionList
from periplus.query import (
    BagOfWords,
    Node,
    ParsedQuery,
    QueryBudget,
    QueryPlan,
    QueryWord,
    correct_spelling,
    describe_plan,
    estimate_cost,
    parse_query,
    suggest_alternatives,
)
from periplus.records import Card, Hit, Query, ResultPage, SearchLimits
from periplus.search.index_session import IndexParts, IndexSession, SearchStatistics
from periplus.search.navigational import SiteName, site_name
from periplus.search.page_status import INDEXED, PageStatus, status_of_record
from periplus.search.present import present
from periplus.search.presentation.cards import CardReader, names_page
from periplus.search.ranking_weights import RankingWeight, change_weights, list_weights
from periplus.search.request_filters import add_filters
from periplus.search.rerank import RerankedCandidates, rerank
from periplus.search.retrieve import retrieve_with_feedback
from periplus.search.rewriting.corrected_query import MIN_RESULTS, find_replacements
from periplus.search.rewriting.filter_notes import explain_filters
from periplus.search.rewriting.query_relaxation import note_unknown_words, relax_query
from periplus.settings import Settings
from periplus.signals import PopularQueries
from periplus.text import LANGUAGES
from periplus.url import parse_address

if TYPE_CHECKING:
    from periplus.parse import TextBlock

__all__ = ["CachedPage", "Searcher"]

_STEP: Final = 100
"""Candidates are retrieved in steps of this many, so that every page of results is cut from the same order."""
_DAY: Final = 86_400
_ROW_WORK: Final = 20_000
"""Work units of each result up to the end of the page: its near-duplicates are looked for."""
_PAIR_WORK: Final = 5_000
"""Work units of each pair of words in reranking."""
_SMALL_INDEX: Final = 50_000
"""Pages below which no query is expensive because of the index alone."""
_EXPLAIN_WORK: Final = 200_000
"""Work units of explaining one score."""


class CachedPage(msgspec.Struct, frozen=True):
    """The stored text of one page."""

    url: str
    when: float
    title: str
    text: str
    language: str = ""


class _StageTimer:
    """Times the stages of one answer."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._stages: list[tuple[str, float]] = []

    def end_stage(self, name: str) -> None:
        """Record that a stage has ended."""
        now = time.perf_counter()
        self._stages.append((name, now - self._last))
        self._last = now

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._start

    def timings(self) -> tuple[tuple[str, float], ...]:
        """Return the seconds of each stage."""
        return tuple(self._stages)


class Searcher:
    """Answers queries over the index of a data folder."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder / "index"
        self._settings = settings
        self._lock = threading.Lock()
        self._session: IndexSession | None = None
        self._cards = CardReader(folder, settings.store)
        self._deleted = DeletionList(folder)
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

        Return whether there was any of them.
        """
        with self._lock:
            try:
                before = self._session
                changed = before is None or before.index.has_newer_generation()
                if before is not None and not changed and not before.signals.stale and not before.ranker.stale:
                    return False
                current = before.index if before else None
                index = Index.open(self._folder, previous=current) if current is None or changed else current
                self._session = IndexSession(index, self._settings, before, self._popular)
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
        return self._search(self._session, query, limits or SearchLimits())

    def weights(self) -> tuple[RankingWeight, ...]:
        """Return the weights of ranking."""
        return list_weights(self._settings.rank)

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Return the answer that other weights would give; raise `BadInput` for weights that cannot be."""
        change_weights(self._settings.rank, weights)
        session = self._session
        return self._search(session.with_weights(weights) if session else None, query, SearchLimits())

    def _search(self, session: IndexSession | None, query: Query, limits: SearchLimits) -> ResultPage:
        timer, settings = _StageTimer(), self._settings.search
        budget = QueryBudget(min(settings.budget_ms / 1000, limits.seconds), settings.max_work * 1_000_000)
        parsed = parse_query(query.words)
        if session is None or parsed.tree is None:
            documents = session.index.documents if session else 0
            return ResultPage(query, (), 0, True, False, timer.elapsed(), documents, parsed.notes)
        plan = session.plan(parsed, query)
        timer.end_stage("query")
        self._check_cost(session.index, plan, query, limits)
        if not query.verbatim and not budget.skips("correction"):
            corrected = self._search_correction(session, parsed.tree, plan, query, timer, budget)
            if corrected is not None:
                return corrected
        return self._answer(session, parsed, plan, query, timer, budget)

    def _search_correction(
        self,
        session: IndexSession,
        tree: Node,
        plan: QueryPlan,
        query: Query,
        timer: _StageTimer,
        budget: QueryBudget,
    ) -> ResultPage | None:
        """Return the answer to the correction of a misspelt query, if a page has all its words."""
        corrections = find_replacements(session.index, tree, plan.words, query.words)
        parsed = parse_query(corrections[0]) if corrections else None
        if parsed is None or parsed.tree is None:
            return None
        other = msgspec.structs.replace(query, words=corrections[0])
        plan = session.plan(parsed, other)
        page = first = self._answer(session, parsed, plan, other, timer, budget)
        if query.start or query.size < MIN_RESULTS:
            first = self._answer(
                session, parsed, plan, msgspec.structs.replace(other, start=0, size=MIN_RESULTS), timer, budget
            )
        timer.end_stage("correction")
        if all(hit.missing for hit in first.hits[:MIN_RESULTS]):
            return None
        return msgspec.structs.replace(page, query=query, corrections=corrections, showing_for=corrections[0])

    def _answer(
        self,
        session: IndexSession,
        parsed: ParsedQuery,
        plan: QueryPlan,
        query: Query,
        timer: _StageTimer,
        budget: QueryBudget,
    ) -> ResultPage:
        """Return the answer to a planned query."""
        plan, candidates = self._find(session, plan, query, timer, budget, site_name(parsed.tree, query))
        timer.end_stage("rerank")
        typed = plan.words
        if not len(candidates.documents) and not candidates.partial and not query.verbatim:
            plan, candidates = self._relax(session, parsed, query, plan, candidates, timer, budget)
            timer.end_stage("relax")
        results = present(session, plan, candidates, query, self._settings.search, budget=budget)
        timer.end_stage("present")
        corrections = _other_spellings(session.index, query, typed, results.hits if plan.words == typed else (), budget)
        card = self._card(query, results.hits) if not budget.skips("card") else None
        timer.end_stage("suggest")
        return ResultPage(
            query,
            results.hits,
            candidates.total,
            candidates.exact,
            candidates.partial or bool(budget.skipped),
            timer.elapsed(),
            session.index.documents,
            self._notes(plan, candidates.total, query) + _note_skipped(budget, candidates.partial),
            hidden=results.hidden,
            examined=results.examined,
            timings=timer.timings(),
            corrections=corrections,
            generation=session.index.manifest.generation,
            card=card,
            plan=describe_plan(plan),
            work=budget.spent,
        )

    def _check_cost(self, index: Index, plan: QueryPlan, query: Query, limits: SearchLimits) -> None:
        """Raise `ExpensiveQuery` if a query is estimated to cost more than allowed."""
        if limits.cost == float("inf"):
            return
        rows = self._last_result(query) * _ROW_WORK + query.explain * query.size * _EXPLAIN_WORK
        cost = estimate_cost(index, plan) + rows + len(plan.words) ** 2 * _PAIR_WORK
        if cost > limits.cost * max(index.documents, _SMALL_INDEX):
            raise ExpensiveQuery("The query costs too much to run beside others.", "Try a simpler query.")

    def _find(
        self,
        session: IndexSession,
        plan: QueryPlan,
        query: Query,
        timer: _StageTimer,
        budget: QueryBudget,
        name: SiteName | None = None,
    ) -> tuple[QueryPlan, RerankedCandidates]:
        """Return a plan, widened by feedback where that is on, and its candidates in their final order.

        name: that of a site which the query may be.
        """
        settings, last, news = self._settings.search, self._last_result(query), query.having == "news"
        limit = min(settings.max_results, -(-max(last, 1) // _STEP) * _STEP)
        plan, retrieved = retrieve_with_feedback(
            session.ranker, plan, limit, budget, settings.feedback, site_name=name, dated=news
        )
        timer.end_stage("retrieve")
        return plan, rerank(retrieved, session.ranker.model, limit, int(time.time() // _DAY) if news else None)

    def _relax(
        self,
        session: IndexSession,
        parsed: ParsedQuery,
        query: Query,
        plan: QueryPlan,
        nothing: RerankedCandidates,
        timer: _StageTimer,
        budget: QueryBudget,
    ) -> tuple[QueryPlan, RerankedCandidates]:
        """Return what a query that matches nothing finds with fewer requirements, or notes why it finds nothing."""
        assert parsed.tree is not None
        unknown = frozenset(word.word for word in plan.words if not word.weight)
        for relaxed in relax_query(parsed.tree, unknown):
            if budget.skips("relax"):
                break
            other = session.plan(ParsedQuery(relaxed.tree, parsed.notes + relaxed.notes), query)
            other, candidates = self._find(session, other, query, timer, budget)
            if len(candidates.documents):
                return other, candidates
        notes = explain_filters(
            session.index, add_filters(parsed.tree, query), has_words=len(unknown) < len(plan.words)
        )
        if unknown and not isinstance(parsed.tree, BagOfWords):
            notes = (note_unknown_words(unknown), *notes)
        return plan._replace(notes=plan.notes + notes), nothing

    def _last_result(self, query: Query) -> int:
        """Return the number of the last result that a query asks for."""
        most = self._settings.search.max_results
        return min(max(0, query.start) + max(0, min(query.size, most)), most)

    def _notes(self, plan: QueryPlan, total: int, query: Query) -> tuple[str, ...]:
        most = self._settings.search.max_results
        if max(0, query.start) + max(0, min(query.size, most)) > most and total > most:
            return (*plan.notes, f"Only the first {most:,} results are shown.")
        return plan.notes

    def _card(self, query: Query, hits: Sequence[Hit]) -> Card | None:
        """Return the card of the best result, if the query names it."""
        named = hits and not query.start and names_page(query.words, hits[0].title)
        return self._cards.card(hits[0].key) if named else None

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
            return PageStatus(address.url, address.key, "deleted")
        return status_of_record(address, self._cards.fetch_record(address.key))

    def cached_page(self, key: int) -> CachedPage | None:
        """Return the stored text of the page with this key, if it is in the index."""
        session = self._session
        for segment in session.index.segments if session and 0 <= key < 1 << 64 else ():
            for document in np.flatnonzero((segment.column("key") == np.uint64(key)) & segment.is_live).tolist():
                return CachedPage(
                    segment.string("url", document),
                    float(segment.column("fetched")[document]),
                    segment.string("title", document),
                    segment.text(document).decode("utf-8", "replace"),
                    LANGUAGES[int(segment.column("language")[document])],
                )
        return None

    def cached_blocks(self, key: int) -> "tuple[TextBlock, ...]":
        """Return headings, paragraphs, lists and tables of a page in the index, if its response is stored and HTML.

        This reads the store, which may take long to open, and parses the page.
        """
        from periplus.search.presentation.cached_copies import read_blocks

        return read_blocks(self._cards, key, self._settings.parse) if self.cached_page(key) is not None else ()


def _other_spellings(
    index: Index, query: Query, words: Sequence[QueryWord], hits: Sequence[Hit], budget: QueryBudget
) -> tuple[str, ...]:
    """Return other spellings of a query, on its first page of results, if there is time; none while it is typed.

    words: those of the plan of the query as typed; hits: its results, none if it was relaxed.
    """
    complete = bool(hits) and not hits[0].missing
    for find in (correct_spelling, suggest_alternatives):
        if query.start or query.as_you_type or budget.skips("spelling"):
            return ()
        if spellings := find(index, query.words, words, complete):
            return spellings
    return ()


def _note_skipped(budget: QueryBudget, partial: bool) -> tuple[str, ...]:
    """Return a note on what was left out of an answer because its time or its work was used up."""
    parts = [*(("pages that were not reached",) if partial else ()), *budget.skipped]
    return (f"The time for this query ran out. Left out: {', '.join(parts)}.",) if parts else ()
