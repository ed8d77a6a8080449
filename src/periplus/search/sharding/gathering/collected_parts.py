"""Facets and orders by own fields over several shards: each counts and sorts its own matches, the broker merges.

The result is that of one index: counts are summed before the most frequent values are chosen, and documents are sorted
by value, then shard, segment and number.
"""

from collections.abc import Mapping

import numpy as np

from periplus.errors import BadInput
from periplus.query import PlanRecord, QueryBudget, QueryPlan, match_sets
from periplus.records import Query
from periplus.search.index_session import IndexSession
from periplus.search.own_fields.collected_documents import (
    CollectedDocuments,
    SortedDocument,
    count_values,
    make_candidates,
    merge_counts,
    merge_sorted,
    parse_sort,
    select_facets,
    sort_documents,
)
from periplus.search.sharding.candidate_columns import CandidateColumnReader
from periplus.search.sharding.empty_replies import no_candidates
from periplus.search.sharding.merged_columns import MergedColumns, check_columns
from periplus.search.sharding.shard_records import CollectReply, CollectRequest, RetrieveReply
from periplus.settings import FieldSettings

__all__ = ["collect_part", "merge_collected", "request_collection"]

_MAX_SORTED = 10_000
"""Documents that a shard sends at most."""


def request_collection(
    plan: QueryPlan,
    record: PlanRecord,
    query: Query,
    fields: Mapping[str, FieldSettings],
    limit: int,
    budget: QueryBudget,
    seconds: float,
) -> CollectRequest:
    """Return what each shard is asked for; raise `BadInput` for a field that cannot be counted or sorted by."""
    order = parse_sort(query.sort, fields)
    wanted = select_facets(query.facets, fields)
    names = {*wanted, *([order.name] if order is not None else [])}
    rules = tuple(own.source for own in plan.rules.sets) if plan.rules is not None else ()
    needed = {name: fields[name] for name in sorted(names)}
    return CollectRequest(record, query.sort, tuple(wanted), needed, limit, seconds, max(1, budget.work_left), rules)


def collect_part(
    session: IndexSession, plan: QueryPlan, request: CollectRequest, columns: CandidateColumnReader
) -> CollectReply:
    """Return counts of facets over all matches of a shard, and the first of these in the order of a field."""
    budget, index = QueryBudget(request.seconds, request.work), session.index
    order = parse_sort(request.sort, request.fields)
    sets, complete = match_sets(index, plan, budget)
    wanted = select_facets(request.facets, request.fields)
    counts = tuple(count_values(index, sets, name, field) for name, field in wanted.items())
    limit = min(max(0, request.limit), _MAX_SORTED)
    rows = merge_sorted([sort_documents(index, sets, order, limit)], order, limit) if order is not None else []
    found = no_candidates()._replace(
        segments=np.array([row.segment for row in rows], np.int32),
        documents=np.array([row.document for row in rows], np.int32),
        scores=np.zeros(len(rows), np.float32),
        keys=np.array([row.key for row in rows], np.uint64),
        segment_count=len(index.segments),
    )
    return CollectReply(
        RetrieveReply(
            found,
            np.zeros(0, np.uint8),
            columns.read(index, found),
            index.manifest.generation,
            budget.spent,
            tuple(budget.skipped),
        ),
        tuple(row.value for row in rows),
        counts,
        sum(int(np.bitwise_count(own).sum()) for own in sets),
        complete,
    )


def merge_collected(
    replies: Mapping[int, CollectReply], request: CollectRequest, limit: int
) -> tuple[CollectedDocuments, MergedColumns, set[int]]:
    """Return what all shards have collected, the columns of their documents, and the shards that cannot be read."""
    readable = {shard: replies[shard] for shard in sorted(replies) if _is_readable(replies[shard], request)}
    parts, offset = [], 0
    order = parse_sort(request.sort, request.fields)
    for reply in readable.values():
        found = reply.found.retrieved
        columns = (found.segments.tolist(), found.documents.tolist(), found.keys.tolist())
        rows = zip(reply.values, *columns, strict=True)
        parts.append([SortedDocument(value, number + offset, *rest) for value, number, *rest in rows])
        offset += found.segment_count
    facets = tuple(
        merge_counts(name, field, [reply.counts[number] for reply in readable.values()])
        for number, (name, field) in enumerate(select_facets(request.facets, request.fields).items())
    )
    total = sum(reply.total for reply in readable.values())
    candidates = None
    if order is not None:
        chosen = merge_sorted(parts, order, limit)
        candidates = make_candidates(
            np.array([row.segment for row in chosen], np.int32),
            np.array([row.document for row in chosen], np.int32),
            np.array([row.key for row in chosen], np.uint64),
            total,
        )
    exact = all(reply.exact for reply in readable.values())
    merged = MergedColumns({shard: reply.found for shard, reply in readable.items()})
    return CollectedDocuments(facets, candidates, total, exact), merged, set(replies) - set(readable)


def _is_readable(reply: CollectReply, request: CollectRequest) -> bool:
    """Return whether a reply has what was asked for, in types that can be compared."""
    try:
        check_columns(reply.found)
        order = parse_sort(request.sort, request.fields)
    except BadInput:
        return False
    kind = str if order is not None and order.field.type == "keyword" else float
    found = reply.found.retrieved
    return (
        len(reply.values) == len(found.segments) == len(found.documents) == len(found.keys)
        and len(reply.counts) == len(request.facets)
        and all(len(part.counts) == len(part.words) + len(part.values) for part in reply.counts)
        and all(value is None or isinstance(value, kind) for value in reply.values)
    )
