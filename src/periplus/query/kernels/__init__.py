"""Kernels that match a query plan against a segment, block by block."""

__all__ = ["block_bounds", "block_order", "boolean_program", "match", "phrase_match", "plan"]
