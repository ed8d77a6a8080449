"""Verification, repair and export of an index."""
