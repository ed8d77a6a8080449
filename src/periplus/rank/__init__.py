"""Candidates to an order.

In: a prepared query and an index. Out: `Candidates`, best first.
The first stage is BM25F (its weights are baked into the stored impacts; idf comes from the collection at query time)
with static rank and an all-words bonus mixed in, inside the match kernel. The second look re-orders the best of them.

What people thought of results is kept by `write_judgement` and `write_click`, and read by those that learn from it.
"""

from periplus.rank.judgements import (
    Click,
    Judgement,
    read_clicks,
    read_judgements,
    write_click,
    write_judgement,
)
from periplus.rank.ranker import Ranker

__all__ = [
    "Click",
    "Judgement",
    "Ranker",
    "read_clicks",
    "read_judgements",
    "write_click",
    "write_judgement",
]
