"""Kernels of HTML pages: blocks of text, the main ones among them, what names in tags mean, frames, and words."""

__all__ = ["boilerplate_blocks", "frame_tags", "main_blocks", "tag_names", "text_blocks", "word_survey"]
