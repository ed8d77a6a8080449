"""Which plans a document of a shard passes: the part of a trace that the shard answers."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from periplus.query import PlanRecord, QueryPlan, find_candidates, restrict_plan
from periplus.result_rules import ActiveRules, RuleText
from periplus.search.index_session import IndexSession

__all__ = ["TraceReply", "TraceRequest", "match_plans"]


class TraceRequest(NamedTuple):
    """Asks which plans the document with a key passes; the first is that of a query, others are parts of it."""

    key: int
    plans: tuple[PlanRecord, ...]
    rules: tuple[RuleText, ...] = ()
    """The rules of the first plan."""


class TraceReply(NamedTuple):
    """Whether the shard has the document, and the score that each plan gives it: NaN where it does not match."""

    indexed: bool = False
    scores: tuple[float, ...] = ()


def match_plans(
    session: IndexSession,
    key: int,
    plans: Sequence[PlanRecord],
    restore: Callable[[PlanRecord], QueryPlan],
    rules: ActiveRules | None,
) -> TraceReply:
    """Return whether an index has a document, and the score that each plan gives it, NaN where it does not match.

    rules: those of the first plan, which is that of the query.
    """
    wanted = np.uint64(key)
    if not any(((part.column("key") == wanted) & part.is_live).any() for part in session.index.segments):
        return TraceReply()
    scores = []
    for number, record in enumerate(plans):
        plan = restore(record)._replace(rules=None if number else rules)
        found = find_candidates(session.index, restrict_plan(plan, key), 1)
        scores.append(float(found.scores[0]) if len(found.documents) else math.nan)
    return TraceReply(True, tuple(scores))
