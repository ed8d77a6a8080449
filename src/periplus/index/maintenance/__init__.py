"""Checking, repairing and exporting an index."""
