"""Kernels of reranking: feature rows of candidates, and boosted trees over them."""

__all__ = ["features", "trees"]
