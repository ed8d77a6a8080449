"""Serving on a cluster: shard servers and brokers."""
