"""Loads what a replica needs when it is imported: a process that is forked afterwards answers at once."""

import tempfile
from pathlib import Path

from cluster.serving.shard_processes import SETTINGS, build_shards
from periplus.records import Query
from periplus.search import IndexShard, LocalShards, ShardedSearcher

with tempfile.TemporaryDirectory() as _folder:
    _shards = [IndexShard(build_shards(Path(_folder), 1)[0], SETTINGS, 0)]
    ShardedSearcher(LocalShards(_shards), SETTINGS).search(Query('sea "harbour light" -sail'))
