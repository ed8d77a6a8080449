"""Kernels that present results: selection, token spans, clean text, snippets; and that read what shards send."""

__all__ = ["candidate_merge", "clean_text", "feature_rows", "selection", "snippets", "token_spans"]
