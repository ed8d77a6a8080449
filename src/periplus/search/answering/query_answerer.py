"""The way of a query to its answer: planned, retrieved, reranked, presented; corrected and relaxed where needed."""

import time
from collections.abc import Sequence
from typing import Final

import msgspec

from periplus.errors import ExpensiveQuery
from periplus.index import CollectionView
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
    extract_fields,
    parse_query,
    suggest_alternatives,
)
from periplus.records import Card, Hit, Query, ResultPage, SearchLimits
from periplus.search.answering.search_backend import SearchBackend
from periplus.search.navigational import SiteName, site_name
from periplus.search.own_fields.own_field_queries import restrict_query
from periplus.search.presentation.cards import may_have_card
from periplus.search.request_filters import add_filters
from periplus.search.rerank import RerankedCandidates, rerank
from periplus.search.rewriting.corrected_query import MIN_RESULTS, find_replacements
from periplus.search.rewriting.filter_notes import explain_filters
from periplus.search.rewriting.query_relaxation import note_unknown_words, relax_query
from periplus.settings import SearchSettings

__all__ = ["QueryAnswerer"]

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


class QueryAnswerer:
    """Answers queries by the stages of a backend."""

    def __init__(self, settings: SearchSettings) -> None:
        self._settings = settings

    def answer(self, backend: SearchBackend | None, query: Query, limits: SearchLimits) -> ResultPage:
        """Return the answer to a query; without a backend, one without results.

        Raise `ExpensiveQuery` if it is estimated to cost more than `limits` allow.
        """
        timer, settings = _StageTimer(), self._settings
        budget = QueryBudget(min(settings.budget_ms / 1000, limits.seconds), settings.max_work * 1_000_000)
        words, own, notes = extract_fields(query.words, backend.fields) if backend else (query.words, None, ())
        parsed = parse_query(words)
        if backend is not None:
            parsed = restrict_query(parsed, query, own, notes, backend.fields)
        if backend is None or parsed.tree is None:
            documents = backend.collection.documents if backend else 0
            return ResultPage(query, (), 0, True, False, timer.elapsed(), documents, parsed.notes)
        plan = backend.plan(parsed, query)
        timer.end_stage("query")
        self._check_cost(backend, plan, query, limits)
        if query.sort or query.facets:
            return self._answer_collected(backend, parsed, plan, query, timer, budget)
        if not query.verbatim and not budget.skips("correction"):
            corrected = self._search_correction(backend, parsed.tree, plan, query, timer, budget)
            if corrected is not None:
                return corrected
        page = self._answer(backend, parsed, plan, query, timer, budget)
        answered = page.hits or page.partial or page.hidden or query.verbatim or query.start
        if answered or not page.corrections or not isinstance(parsed.tree, BagOfWords):
            return page
        return self._answer_correction(backend, page.corrections, query, timer, budget) or page

    def _answer_correction(
        self,
        backend: SearchBackend,
        corrections: tuple[str, ...],
        query: Query,
        timer: _StageTimer,
        budget: QueryBudget,
    ) -> ResultPage | None:
        """Return the answer to the first correction of a query that finds nothing, if a page has all its words."""
        parsed = parse_query(corrections[0])
        if parsed.tree is None or budget.skips("correction"):
            return None
        other = msgspec.structs.replace(query, words=corrections[0], verbatim=True)
        page = self._answer(backend, parsed, backend.plan(parsed, other), other, timer, budget)
        timer.end_stage("correction")
        if all(hit.missing for hit in page.hits):
            return None
        return msgspec.structs.replace(page, query=query, corrections=corrections, showing_for=corrections[0])

    def _answer_collected(
        self,
        backend: SearchBackend,
        parsed: ParsedQuery,
        plan: QueryPlan,
        query: Query,
        timer: _StageTimer,
        budget: QueryBudget,
    ) -> ResultPage:
        """Return an answer that needs all matches: sorted by a field, or with counts of facets."""
        collected = backend.collect(plan, query, self._settings.max_results, budget)
        timer.end_stage("collect")
        if not collected.exact:
            budget.skipped["documents that were not counted"] = None
        if collected.candidates is None:
            page = self._answer(backend, parsed, plan, query, timer, budget)
            return msgspec.structs.replace(page, facets=collected.facets, total=collected.total, exact=collected.exact)
        results = backend.present(plan, collected.candidates, query, budget)
        timer.end_stage("present")
        return ResultPage(
            query,
            results.hits,
            collected.total,
            exact=collected.exact,
            partial=bool(budget.skipped),
            seconds=timer.elapsed(),
            documents=backend.collection.documents,
            notes=self._notes(plan, collected.total, query) + _note_skipped(budget, False),
            timings=timer.timings(),
            generation=backend.generation,
            facets=collected.facets,
            plan=describe_plan(plan),
            work=budget.spent,
        )

    def _search_correction(
        self,
        backend: SearchBackend,
        tree: Node,
        plan: QueryPlan,
        query: Query,
        timer: _StageTimer,
        budget: QueryBudget,
    ) -> ResultPage | None:
        """Return the answer to the correction of a misspelt query, if a page has all its words."""
        corrections = find_replacements(backend.collection, tree, plan.words, query.words)
        parsed = parse_query(corrections[0]) if corrections else None
        if parsed is None or parsed.tree is None:
            return None
        other = msgspec.structs.replace(query, words=corrections[0])
        plan = backend.plan(parsed, other)
        page = first = self._answer(backend, parsed, plan, other, timer, budget)
        if query.start or query.size < MIN_RESULTS:
            first = self._answer(
                backend, parsed, plan, msgspec.structs.replace(other, start=0, size=MIN_RESULTS), timer, budget
            )
        timer.end_stage("correction")
        if all(hit.missing for hit in first.hits[:MIN_RESULTS]):
            return None
        return msgspec.structs.replace(page, query=query, corrections=corrections, showing_for=corrections[0])

    def _answer(
        self,
        backend: SearchBackend,
        parsed: ParsedQuery,
        plan: QueryPlan,
        query: Query,
        timer: _StageTimer,
        budget: QueryBudget,
    ) -> ResultPage:
        """Return the answer to a planned query."""
        plan, candidates = self._find(backend, plan, query, timer, budget, site_name(parsed.tree, query))
        timer.end_stage("rerank")
        typed = plan.words
        if not len(candidates.documents) and not candidates.partial and not query.verbatim:
            plan, candidates = self._relax(backend, parsed, query, plan, candidates, timer, budget)
            timer.end_stage("relax")
        results = backend.present(plan, candidates, query, budget)
        timer.end_stage("present")
        corrections = _other_spellings(
            backend.collection, query, typed, results.hits if plan.words == typed else (), budget
        )
        card = self._card(backend, query, results.hits) if not budget.skips("card") else None
        timer.end_stage("suggest")
        return ResultPage(
            query,
            results.hits,
            candidates.total,
            candidates.exact,
            candidates.partial or bool(budget.skipped),
            timer.elapsed(),
            backend.collection.documents,
            (
                *self._notes(plan, candidates.total, query),
                *_note_skipped(budget, candidates.partial),
                *_note_unsearched(candidates),
            ),
            hidden=results.hidden,
            examined=results.examined,
            timings=timer.timings(),
            corrections=corrections,
            generation=backend.generation,
            card=card,
            plan=describe_plan(plan),
            work=budget.spent,
            unsearched=candidates.unsearched,
        )

    def _check_cost(self, backend: SearchBackend, plan: QueryPlan, query: Query, limits: SearchLimits) -> None:
        """Raise `ExpensiveQuery` if a query is estimated to cost more than allowed."""
        if limits.cost == float("inf"):
            return
        rows = self._last_result(query) * _ROW_WORK + query.explain * query.size * _EXPLAIN_WORK
        documents = backend.collection.documents
        cost = estimate_cost(plan, documents, backend.blocks) + rows + len(plan.words) ** 2 * _PAIR_WORK
        if cost > limits.cost * max(documents, _SMALL_INDEX):
            raise ExpensiveQuery("The query costs too much to run beside others.", "Try a simpler query.")

    def _find(
        self,
        backend: SearchBackend,
        plan: QueryPlan,
        query: Query,
        timer: _StageTimer,
        budget: QueryBudget,
        name: SiteName | None = None,
    ) -> tuple[QueryPlan, RerankedCandidates]:
        """Return a plan, widened by feedback where that is on, and its candidates in their final order.

        name: that of a site which the query may be.
        """
        settings, last, news = self._settings, self._last_result(query), query.having == "news"
        limit = min(settings.max_results, -(-max(last, 1) // _STEP) * _STEP)
        plan, retrieved = backend.retrieve(plan, limit, budget, settings.feedback, site_name=name, dated=news)
        timer.end_stage("retrieve")
        return plan, rerank(
            retrieved, backend.model, limit, (query.today or int(time.time() // _DAY)) if news else None
        )

    def _relax(
        self,
        backend: SearchBackend,
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
            other = backend.plan(ParsedQuery(relaxed.tree, parsed.notes + relaxed.notes), query)
            other, candidates = self._find(backend, other, query, timer, budget)
            if len(candidates.documents):
                return other, candidates
        notes = explain_filters(
            backend.has_pages, add_filters(parsed.tree, query), has_words=len(unknown) < len(plan.words)
        )
        if unknown and not isinstance(parsed.tree, BagOfWords):
            notes = (note_unknown_words(unknown), *notes)
        return plan._replace(notes=plan.notes + notes), nothing

    def _last_result(self, query: Query) -> int:
        """Return the number of the last result that a query asks for."""
        most = self._settings.max_results
        return min(max(0, query.start) + max(0, min(query.size, most)), most)

    def _notes(self, plan: QueryPlan, total: int, query: Query) -> tuple[str, ...]:
        most = self._settings.max_results
        if max(0, query.start) + max(0, min(query.size, most)) > most and total > most:
            return (*plan.notes, f"Only the first {most:,} results are shown.")
        return plan.notes

    def _card(self, backend: SearchBackend, query: Query, hits: Sequence[Hit]) -> Card | None:
        """Return the card of the best result, if the query names it."""
        named = hits and not query.start and may_have_card(query.words, hits[0])
        return backend.card(query, hits[0]) if named else None


def _other_spellings(
    collection: CollectionView, query: Query, words: Sequence[QueryWord], hits: Sequence[Hit], budget: QueryBudget
) -> tuple[str, ...]:
    """Return other spellings of a query, on its first page of results, if there is time; none while it is typed.

    words: those of the plan of the query as typed; hits: its results, none if it was relaxed.
    """
    complete = bool(hits) and not hits[0].missing
    for find in (correct_spelling, suggest_alternatives):
        if query.start or query.as_you_type or budget.skips("spelling"):
            return ()
        if spellings := find(collection, query.words, words, complete):
            return spellings
    return ()


def _note_unsearched(candidates: RerankedCandidates) -> tuple[str, ...]:
    """Return a note where not all pages were searched, because those with the highest static ranks were enough."""
    return (
        ("Only the pages with the highest ranks were searched: enough of them fit.",) if candidates.unsearched else ()
    )


def _note_skipped(budget: QueryBudget, partial: bool) -> tuple[str, ...]:
    """Return a note on what was left out of an answer because its time or its work was used up."""
    parts = [*(("pages that were not reached",) if partial else ()), *budget.skipped]
    return (f"The time for this query ran out. Left out: {', '.join(parts)}.",) if parts else ()
