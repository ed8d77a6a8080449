"""The link graph of all shards: ranks, trust, anchor text, duplicates and mirrors, as of one machine.

In: the page stores of the shards. Out: `graph/` in the folder of each shard, in the format of one machine
(docs/formats/graph.md), so that `build_index` of a shard reads it unchanged. Pages of shards with lower numbers count
as earlier; a page store that is read shard by shard has the same graph.

What an actor calls, one `ShardRanker` for each shard:

    rounds = RoundStore(storage, "7")                             # of one build, under a name that is not used again
    ranker = ShardRanker(folder, 2, (0, 1, 2, 3), settings.graph, rounds)
    status = ranker.advance()                                     # at most one round; never waits for other shards
    ranker.run(stop, pause)                                       # all rounds; waits for other shards
    status.statistics                                             # GraphStatistics once the graph is written
    rounds.remove()                                               # the coordinator, when all shards have ended

A round is one record and its messages in storage; the record is written last. A ranker that was killed is made again
with the same arguments, on any machine that has the shard's folder: it repeats its rounds with what is in storage,
sends nothing twice, and goes on with the round in which it was killed. Other shards wait for it.

    rank_shards({0: folder, 1: other_folder}, settings.graph)     # all shards in this process, without storage

The folder's writer lock (`index build`) belongs to the caller. Layout in storage: docs/formats/graph.md.
"""

from periplus.cluster.ranking.round_store import RoundRecord, RoundStore
from periplus.cluster.ranking.shard_ranker import RankerStatus, ShardRanker, rank_shards

__all__ = ["RankerStatus", "RoundRecord", "RoundStore", "ShardRanker", "rank_shards"]
