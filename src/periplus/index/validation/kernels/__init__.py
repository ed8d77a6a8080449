"""Kernels that validate a segment: offsets when it is opened, a term when it is first read, all for `index check`."""

__all__ = ["offsets", "postings_check", "term_checks"]
