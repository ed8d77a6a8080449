"""Kernels of the link graph: packed adjacency, PageRank rounds, edges between partitions."""

__all__ = ["adjacency", "crossing", "pagerank"]
