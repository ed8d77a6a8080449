"""One document followed through the stages of a query: where it is lost, and by how much.

The query runs as any other does, through a backend that keeps what the stages return; nothing is computed a second
way. Whether a document that is not among the candidates matches, and with what score, is asked of the same plan,
restricted to this document.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from periplus.query import (
    And,
    AndNot,
    BagOfWords,
    MatchAll,
    Near,
    Node,
    NumberRange,
    ParsedQuery,
    Phrase,
    Prefix,
    QueryBudget,
    QueryPlan,
    Vertical,
    Word,
    find_candidates,
    parse_query,
    query_text,
    restrict_plan,
)
from periplus.records import Query, ResultPage, SearchLimits
from periplus.search.answering.index_backend import IndexBackend
from periplus.search.answering.query_answerer import QueryAnswerer
from periplus.search.answering.search_backend import NamedFilter
from periplus.search.index_session import IndexSession
from periplus.search.link_queries import resolve_links
from periplus.search.navigational import SiteName
from periplus.search.present import present, select_page
from periplus.search.presentation.cards import CardReader
from periplus.search.presentation.hits import HitBuilder
from periplus.search.presentation.presented_results import PresentedResults
from periplus.search.presentation.result_selection import Selection, excluded_flags
from periplus.search.request_filters import add_filters
from periplus.search.rerank import RerankedCandidates
from periplus.search.retrieve import RetrievedCandidates
from periplus.search.rewriting.filter_notes import name_filter
from periplus.settings import SearchSettings

__all__ = ["DocumentTrace", "describe_parts", "query_parts", "trace_document", "traced_query"]

_MOST_PARTS: Final = 50
"""Parts of a query that are tried one by one."""


class DocumentTrace(msgspec.Struct, frozen=True):
    """What became of one document in a query."""

    indexed: bool
    rank: int = 0
    """Its place among the results, from 1; 0 if it has none."""
    results: int = 0
    """How many results there are, up to `search.max_results`."""
    score: float = 0.0
    """After reranking, if it came so far."""
    reranked: int = 0
    """Its place after reranking, before any page is folded or left out."""
    candidates: int = 0
    """Candidates that were reranked or could be shown."""
    matched: bool = False
    first_rank: int = 0
    """Its place in the first stage, from 1; 0 if it was not among the candidates."""
    first_score: float = 0.0
    needed: float = 0.0
    """The first-stage score of the last candidate, where it was not among them."""
    hidden: bool = False
    """Whether safe search left it out."""
    folded_into: str = ""
    """The result of which it is a near-duplicate."""
    crowded: bool = False
    """Whether it is behind the end because of other results of its host."""
    missing: tuple[str, ...] = ()
    """Words and phrases that it does not have, as far as they kept it out."""
    filters: tuple[str, ...] = ()
    """Filters that it does not pass."""
    barred: tuple[str, ...] = ()
    """Parts of the query that exclude it."""
    showing_for: str = ""
    """The corrected query that was searched instead."""


class _TracingBackend(IndexBackend):
    """Runs the stages of a query, and keeps what the last of them returned."""

    def __init__(self, session: IndexSession, settings: SearchSettings, cards: CardReader) -> None:
        super().__init__(session, settings, cards)
        self._own = (session, settings)
        self.plan_used: QueryPlan | None = None
        self.retrieved: RetrievedCandidates | None = None
        self.candidates: RerankedCandidates | None = None
        self.builder: HitBuilder | None = None
        self.selection: Selection | None = None

    def retrieve(
        self,
        plan: QueryPlan,
        limit: int,
        budget: QueryBudget,
        feedback: str,
        *,
        site_name: SiteName | None = None,
        dated: bool = False,
    ) -> tuple[QueryPlan, RetrievedCandidates]:
        """Return the plan and its best candidates, and keep both."""
        plan, retrieved = super().retrieve(plan, limit, budget, feedback, site_name=site_name, dated=dated)
        self.plan_used, self.retrieved = plan, retrieved
        return plan, retrieved

    def present(
        self, plan: QueryPlan, candidates: RerankedCandidates, query: Query, budget: QueryBudget
    ) -> PresentedResults:
        """Return the page of results, and keep which candidates were selected for it."""
        session, settings = self._own
        self.builder = HitBuilder(session.index, plan, candidates, session.cache)
        self.selection = select_page(self.builder.flags(), self.builder.fields(), query, settings, budget)
        self.candidates = candidates
        return present(session, plan, candidates, query, settings, self.selection, budget)


def traced_query(query: Query, most: int) -> Query:
    """Return a query for all of its results: those of all pages, the best first, whatever it is sorted by.

    most: how many results there are.
    """
    every = query.every_word or bool(query.sort)
    return msgspec.structs.replace(
        query, start=0, size=most, explain=False, enough=0, sort="", facets=(), every_word=every
    )


def trace_document(
    session: IndexSession, settings: SearchSettings, cards: CardReader, query: Query, key: int
) -> tuple[ResultPage, DocumentTrace]:
    """Return the answer to a query with all its results, and what became of the document with a key."""
    wide = traced_query(query, settings.max_results)
    backend = _TracingBackend(session, settings, cards)
    page = QueryAnswerer(settings).answer(backend, wide, SearchLimits())
    place = _find(session, key)
    trace = DocumentTrace(place is not None, results=len(page.hits), showing_for=page.showing_for)
    if place is None or backend.retrieved is None or backend.candidates is None:
        return page, trace
    trace = _follow(backend, trace, place, wide)
    trace = _first_stage(session, backend, trace, place, key)
    if not trace.matched and not trace.reranked:
        words = page.showing_for or query.words
        trace = _try_parts(session, trace, msgspec.structs.replace(wide, words=words), key)
    return page, trace


def _find(session: IndexSession, key: int) -> tuple[int, int] | None:
    """Return segment and number of the live document with a key."""
    for number, segment in enumerate(session.index.segments):
        for document in np.flatnonzero((segment.column("key") == np.uint64(key)) & segment.is_live).tolist():
            return number, int(document)
    return None


def _follow(backend: _TracingBackend, trace: DocumentTrace, place: tuple[int, int], query: Query) -> DocumentTrace:
    """Add what became of a document after the first stage."""
    candidates, selection, builder = backend.candidates, backend.selection, backend.builder
    assert candidates is not None
    assert selection is not None
    assert builder is not None
    rows = np.flatnonzero((candidates.segments == place[0]) & (candidates.documents == place[1])).tolist()
    trace = msgspec.structs.replace(trace, candidates=len(candidates.documents))
    if not rows:
        return trace
    row, rank = rows[0], 0
    original = next((first for first, others in selection.similar.items() if row in others), -1)
    if row in selection.rows:
        rank = selection.rows.index(row) + 1
    hidden = bool(int(builder.flags()[row]) & excluded_flags(query.safe))
    return msgspec.structs.replace(
        trace,
        rank=rank,
        score=float(candidates.scores[row]),
        reranked=row + 1,
        hidden=hidden,
        folded_into=builder.titles([original])[0][1] if original >= 0 else "",
        crowded=not rank and not hidden and original < 0,
    )


def _first_stage(
    session: IndexSession, backend: _TracingBackend, trace: DocumentTrace, place: tuple[int, int], key: int
) -> DocumentTrace:
    """Add the place of a document in the first stage, or the score by which it missed it."""
    retrieved, plan = backend.retrieved, backend.plan_used
    assert retrieved is not None
    assert plan is not None
    rows = np.flatnonzero((retrieved.segments == place[0]) & (retrieved.documents == place[1])).tolist()
    if rows:
        score = float(retrieved.scores[rows[0]])
        return msgspec.structs.replace(trace, matched=True, first_rank=rows[0] + 1, first_score=score)
    alone = find_candidates(session.index, restrict_plan(plan, key), 1)
    if not len(alone.documents):
        return trace
    needed = float(retrieved.scores[-1]) if len(retrieved.scores) else 0.0
    return msgspec.structs.replace(trace, matched=True, first_score=float(alone.scores[0]), needed=needed)


def _try_parts(session: IndexSession, trace: DocumentTrace, query: Query, key: int) -> DocumentTrace:
    """Add which parts of a query a document does not pass, each tried alone."""
    required, barred = query_parts(query)

    def passes(part: Node) -> bool:
        resolved, _ = resolve_links(part, session.graph_folder, session.index.manifest.record_count)
        plan = session.plan(ParsedQuery(resolved, ()), Query(query.words, verbatim=query.verbatim))
        return bool(len(find_candidates(session.index, restrict_plan(plan, key), 1).documents))

    failed = [part for part in required if not passes(part)]
    return describe_parts(trace, failed, [part for part in barred if passes(part)])


def query_parts(query: Query) -> tuple[list[Node], list[Node]]:
    """Return the parts of a query, with its filters, that a page must pass, and those that it must not."""
    tree = parse_query(query.words).tree
    parts = list(_parts(add_filters(tree, query))) if tree is not None else []
    required = [part for part, wanted in parts if wanted]
    return required[:_MOST_PARTS], [part for part, wanted in parts if not wanted][:_MOST_PARTS]


def describe_parts(trace: DocumentTrace, failed: Sequence[Node], excluding: Sequence[Node]) -> DocumentTrace:
    """Add parts of a query that a document does not pass, and those that exclude it."""
    return msgspec.structs.replace(
        trace,
        missing=tuple(_describe(part) for part in failed if not isinstance(part, _FILTERS)),
        filters=tuple(_describe(part) for part in failed if isinstance(part, _FILTERS)),
        barred=tuple(_describe(part) for part in excluding),
    )


_FILTERS: Final = NamedFilter | Vertical


def _parts(node: Node, depth: int = 0) -> Iterator[tuple[Node, bool]]:
    """Yield the parts that a page must pass, and with False those that it must not."""
    if isinstance(node, And) and depth < _MOST_PARTS:
        for part in node.parts:
            yield from _parts(part, depth + 1)
    elif isinstance(node, AndNot) and depth < _MOST_PARTS:
        yield from _parts(node.part, depth + 1)
        yield node.barred, False
    elif isinstance(node, BagOfWords):
        yield from ((Word(word), True) for word in node.words)
    elif not isinstance(node, MatchAll):
        yield node, True


def _describe(part: Node) -> str:
    """Return a part of a query as it is typed."""
    if isinstance(part, NamedFilter):
        return name_filter(part)
    if isinstance(part, Vertical):
        return f"tab:{part.what}"
    if isinstance(part, Prefix):
        return f"{part.beginning}*"
    if isinstance(part, NumberRange):
        return f"{part.low}..{part.high}"
    if isinstance(part, Phrase):
        return f'"{query_text(part)}"'
    return " NEAR ".join(part.words) if isinstance(part, Near) else query_text(part)
