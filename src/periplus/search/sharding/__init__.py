"""Search over several shards: what a shard answers, and a broker that gives the results of one index.

A shard is the index of one data folder (`IndexShard`). Everything that crosses between a broker and a shard is a record
of `shard_records`, which `encode_record` writes; `SHARD_METHODS` has the methods of a shard with the types of their
request and reply. A broker (`ShardedSearcher`) reaches its shards through a `ShardGroup`, which is plain calls in one
process (`LocalShards`) or messages between machines.

Most queries take one round: `retrieve` on all shards, each of which presents what will probably be shown, too
(`early_results`). What was not guessed takes a second one: `present` on the shards that own it. Planning takes none,
unless a query needs counts that are in postings only (`statistics`): forms of words that are phrases, words that go
together, filters that may be empty. A broker keeps these counts as long as the generations of its shards.
"""
