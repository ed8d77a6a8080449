"""Kernels of text analysis: tokens, the table of distinct words, simhashes."""

__all__ = ["simhash", "symbols", "tokenizer", "word_slots", "word_table"]
