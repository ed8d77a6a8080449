"""Kernels of HTML pages: blocks of text, and what the names in their tags mean."""

__all__ = ["tag_names", "text_blocks"]
