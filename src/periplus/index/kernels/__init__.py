"""Kernels of the inverted index: inversion, postings, positions, the term dictionary, merging."""

__all__ = [
    "forward_index",
    "inversion",
    "positions",
    "postings_format",
    "postings_merge",
    "postings_reader",
    "postings_scan",
    "repeated_lines",
    "string_table",
    "term_dictionary",
    "term_lookup",
    "term_packing",
    "topk_heap",
]
