"""Kernels that present results: token spans, clean text, snippets."""

__all__ = ["clean_text", "snippets", "token_spans"]
