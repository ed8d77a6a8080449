"""Candidates to an order.

In: a prepared query and an index. Out: `Candidates`, best first.
The first stage is BM25F (its weights are baked into the stored impacts; idf comes from the collection at query time)
with static rank and an all-words bonus mixed in, inside the match kernel. The second look measures the best of them
(`FEATURES`, one kernel call) and re-orders them by weights that people can read, or by a model learned from judgements.
Every part of a score has a name: `Ranker.explain`. See docs/ranking.md.

What people thought of results is kept by `write_judgement` and `write_click`, and read by those that learn from it.
"""

from periplus.rank.dynamic import dynamic_weights
from periplus.rank.judgements import (
    Click,
    Judgement,
    read_clicks,
    read_judgements,
    write_click,
    write_judgement,
)
from periplus.rank.model import FEATURES
from periplus.rank.outside import Outside, open_outside
from periplus.rank.ranker import Ranker

__all__ = [
    "FEATURES",
    "Click",
    "Judgement",
    "Outside",
    "Ranker",
    "dynamic_weights",
    "open_outside",
    "read_clicks",
    "read_judgements",
    "write_click",
    "write_judgement",
]
