"""Validates a segment before kernels walk it: its files when it is opened, a term when it is first looked up."""
