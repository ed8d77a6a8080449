"""Candidates to an order.

In: a prepared query and an index. Out: `Candidates`, best first.
The first stage is BM25F (its weights are baked into the stored impacts; idf comes from the collection at query time)
with static rank and an all-words bonus mixed in, inside the match kernel. The second look re-orders the best of them.
"""

from periplus.rank.ranker import Ranker

__all__ = ["Ranker"]
