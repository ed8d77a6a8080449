"""Kernels of the link graph: packed adjacency, PageRank rounds, links between parts of the graph."""

__all__ = ["adjacency", "cross_part_links", "pagerank"]
