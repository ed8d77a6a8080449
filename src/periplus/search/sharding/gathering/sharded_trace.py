"""One document followed through a query over shards: its owner says whether it matches, the broker where it was lost.

The query runs as any other does, through a backend that keeps what the stages return. What only the index knows is
asked of all shards in one message: whether they have the document, and which plans it passes, with what score.
"""

import math
from collections.abc import Callable, Hashable, Sequence

import msgspec
import numpy as np

from periplus.query import ParsedQuery, QueryBudget, QueryPlan
from periplus.records import Query, ResultPage
from periplus.search.answering.document_trace import DocumentTrace, describe_parts, query_parts
from periplus.search.navigational import SiteName
from periplus.search.presentation.presented_results import PresentedResults
from periplus.search.presentation.result_selection import Selection, excluded_flags
from periplus.search.rerank import RerankedCandidates
from periplus.search.retrieve import RetrievedCandidates
from periplus.search.sharding import shard_records as records
from periplus.search.sharding.candidate_columns import CandidateRows
from periplus.search.sharding.gathering.traced_plans import TraceReply, TraceRequest
from periplus.search.sharding.sharded_backend import ShardedBackend

__all__ = ["TracingBackend", "trace_over_shards"]


class TracingBackend(ShardedBackend):
    """Runs the stages of a query on all shards, and keeps what the last of them returned."""

    plan_used: QueryPlan | None = None
    retrieved: RetrievedCandidates | None = None
    candidates: RerankedCandidates | None = None
    selection: Selection | None = None
    rows: CandidateRows | None = None

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

    def plan_early(self, query: Query) -> records.EarlyPresentation | None:
        """Return nothing: all results are wanted, and few of them would be guessed."""
        return None

    def present(
        self, plan: QueryPlan, candidates: RerankedCandidates, query: Query, budget: QueryBudget
    ) -> PresentedResults:
        """Return the page of results, and keep the candidates that they were selected from."""
        self.candidates = candidates
        return super().present(plan, candidates, query, budget)

    def _select(
        self,
        candidates: RerankedCandidates,
        rows: CandidateRows,
        host: Callable[[int], Hashable],
        query: Query,
        budget: QueryBudget,
    ) -> Selection:
        self.rows, self.selection = rows, super()._select(candidates, rows, host, query, budget)
        return self.selection

    def ask_owner(self, plans: Sequence[QueryPlan], key: int, seconds: float) -> TraceReply:
        """Return which plans the document with a key passes, by the shard that has it; a wrong reply counts as none."""
        encoded = tuple(self.encode_plan(plan) for plan in plans)
        rules = plans[0].rules if plans else None
        sources = tuple(own.source for own in rules.sets) if rules is not None else ()
        replies = self._call("trace", TraceRequest(key, encoded, sources), seconds)
        wanted = (reply for reply in replies.values() if reply.indexed and len(reply.scores) == len(plans))
        return next(wanted, TraceReply())


def trace_over_shards(
    backend: TracingBackend, page: ResultPage, query: Query, key: int, seconds: float
) -> DocumentTrace:
    """Return what became of a document in a query that the backend has answered.

    page: the answer; query: the one that was answered, from the first result to the last.
    """
    first = [backend.plan_used] if backend.plan_used is not None else []
    required, barred = query_parts(msgspec.structs.replace(query, words=page.showing_for or query.words))
    plain = Query(query.words, verbatim=query.verbatim)
    parts = [backend.plan(ParsedQuery(part, ()), plain)._replace(rules=None) for part in (*required, *barred)]
    reply = backend.ask_owner([*first, *parts], key, seconds)
    trace = DocumentTrace(reply.indexed, results=len(page.hits), showing_for=page.showing_for)
    if not reply.indexed or backend.retrieved is None or backend.candidates is None:
        return trace
    trace = _first_stage(backend.retrieved, _follow(backend, trace, page, query, key), key, reply.scores[0])
    if trace.matched or trace.reranked:
        return trace
    passed = [not math.isnan(score) for score in reply.scores[len(first) :]]
    failed = [part for part, passes in zip(required, passed, strict=False) if not passes]
    excluding = [part for part, passes in zip(barred, passed[len(required) :], strict=False) if passes]
    return describe_parts(trace, failed, excluding)


def _follow(backend: TracingBackend, trace: DocumentTrace, page: ResultPage, query: Query, key: int) -> DocumentTrace:
    """Add what became of a document after the first stage."""
    candidates, selection, columns = backend.candidates, backend.selection, backend.rows
    assert candidates is not None
    assert selection is not None
    assert columns is not None
    trace = msgspec.structs.replace(trace, candidates=len(candidates.documents))
    rows = np.flatnonzero(candidates.keys == np.uint64(key)).tolist()
    if not rows:
        return trace
    row = rows[0]
    original = next((shown for shown, others in selection.similar.items() if row in others), -1)
    other = int(candidates.keys[original]) if original >= 0 else 0
    rank = selection.rows.index(row) + 1 if row in selection.rows else 0
    hidden = bool(int(columns["flags"][row]) & excluded_flags(query.safe))
    return msgspec.structs.replace(
        trace,
        rank=rank,
        score=float(candidates.scores[row]),
        reranked=row + 1,
        hidden=hidden,
        folded_into=next((hit.url for hit in page.hits if hit.key == other), "") if original >= 0 else "",
        crowded=not rank and not hidden and original < 0,
    )


def _first_stage(retrieved: RetrievedCandidates, trace: DocumentTrace, key: int, score: float) -> DocumentTrace:
    """Add the place of a document in the first stage, or the score by which it missed it; score: NaN for no match."""
    rows = np.flatnonzero(retrieved.keys == np.uint64(key)).tolist()
    if rows:
        own = float(retrieved.scores[rows[0]])
        return msgspec.structs.replace(trace, matched=True, first_rank=rows[0] + 1, first_score=own)
    if math.isnan(score):
        return trace
    needed = float(retrieved.scores[-1]) if len(retrieved.scores) else 0.0
    return msgspec.structs.replace(trace, matched=True, first_score=score, needed=needed)
