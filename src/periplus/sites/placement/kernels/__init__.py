"""Kernels of placement: distances on the globe, the nearest site of many hosts, and the scores of pages for sites."""

__all__ = ["geography", "page_scores"]
