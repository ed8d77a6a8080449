"""The candidates of no shard, and of a shard that has none."""

import numpy as np

from periplus.rank import FEATURES
from periplus.search.retrieve import RetrievedCandidates
from periplus.search.sharding.candidate_columns import CANDIDATE
from periplus.search.sharding.shard_records import RetrieveReply

__all__ = ["empty_reply", "no_candidates"]


def empty_reply(segments: int, generation: int) -> RetrieveReply:
    """Return the reply of a shard of so many segments that was not asked, because it cannot have any candidates."""
    nothing = no_candidates()._replace(best_score=0.0, partial=False, segment_count=segments)
    none = np.zeros(0, np.uint8)
    return RetrieveReply(nothing, none, none.reshape(0, CANDIDATE.itemsize), generation, 0, ())


def no_candidates() -> RetrievedCandidates:
    """Return the candidates of no shard."""
    none, floats = np.zeros(0, np.int32), np.zeros(0, np.float32)
    keys, rows = np.zeros(0, np.uint64), np.zeros((0, len(FEATURES)))
    return RetrievedCandidates(none, none, floats, keys, rows, 1.0, 0, False, True, 0, none, floats, None, None, None)
