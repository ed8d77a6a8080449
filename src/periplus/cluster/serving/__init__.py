"""Serving on a cluster: replicas that serve shards, and brokers that ask one replica of each.

- `shard_server` is the process of a replica: generations of an index (`open_generations`, `served_shard`) behind the
  framed messages of `wire`, and the pages that were published since (`publication_log`, `replica_publications`).
- `broker` is the searcher of a cluster, with the methods that `periplus.serve` calls. It reaches its shards through a
  `replica_group`; `fan_out` and `replica_choice` decide without I/O who is asked, who else, and who is missing.
- `serving_table` says which replicas there are and which generation they serve; `generation_switch` replaces an index.
"""
