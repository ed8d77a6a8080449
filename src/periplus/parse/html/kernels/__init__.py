"""Kernels of HTML pages: blocks of text, the main ones among them, what names in tags mean, and frames."""

__all__ = ["boilerplate_blocks", "frame_tags", "main_blocks", "tag_names", "text_blocks"]
