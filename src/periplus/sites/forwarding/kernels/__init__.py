"""Bounds of the scores of sites."""
