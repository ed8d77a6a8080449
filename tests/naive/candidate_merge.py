"""Candidates of several shards as one list: the plain version of `search/kernels/candidate_merge.py`."""

import math
from typing import NamedTuple


class Candidate(NamedTuple):
    """A candidate as one shard knows it."""

    segment: int
    document: int
    score: float
    name: float | None
    """The feature of named candidates; None where no features are measured."""


def merge(shards: list[tuple[int, list[Candidate]]]) -> list[tuple[int, int, int]]:
    """Return shard, segment and document of all candidates in order; shards: segments and candidates of each.

    Segments are numbered on from shard to shard. Named candidates come first, then the best score.
    """
    rows, offset = [], 0
    for shard, (segments, candidates) in enumerate(shards):
        rows += [(shard, one._replace(segment=one.segment + offset)) for one in candidates]
        offset += segments
    rows.sort(
        key=lambda row: (
            not (row[1].name or 0) > 0,
            math.isnan(row[1].score),
            0.0 if math.isnan(row[1].score) else -row[1].score,
            row[1].segment,
            row[1].document,
        )
    )
    return [(shard, one.segment, one.document) for shard, one in rows]
