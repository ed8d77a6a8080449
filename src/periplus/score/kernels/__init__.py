"""Kernels of query-independent scores: features of pages and URLs, weighted sums."""

__all__ = ["page_features", "weighting"]
