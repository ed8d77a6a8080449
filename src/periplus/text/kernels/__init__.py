"""Kernels of text analysis: tokens, the table of distinct words, simhashes."""

__all__ = ["simhash", "tokenizer", "word_table"]
