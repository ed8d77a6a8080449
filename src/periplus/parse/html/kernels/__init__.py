"""Kernels of HTML pages: blocks of text, what the names in their tags mean, and frames."""

__all__ = ["frame_tags", "tag_names", "text_blocks"]
