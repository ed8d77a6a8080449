"""Kernels of query-independent scores: features of pages and URLs, weighted sums."""

__all__ = ["letters", "page_features", "weighting"]
