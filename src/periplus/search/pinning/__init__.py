"""Snapshots: a generation of the index with all that its answers depend on, kept for as long as it is wanted."""
