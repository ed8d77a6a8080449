"""The collection that an index or all shards of a cluster have together: what planning asks of it, and builds use."""
