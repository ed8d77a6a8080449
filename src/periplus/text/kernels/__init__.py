"""Kernels of text analysis: tokens, the table of distinct words, simhashes."""

__all__ = ["simhash", "symbols", "token_writer", "tokenizer", "word_bytes", "word_slots", "word_table"]
