"""Rounds of messages between the shards of a graph; a graph on one machine is the case of one shard."""
