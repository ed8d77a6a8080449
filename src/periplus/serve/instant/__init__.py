"""Answers that need no search: arithmetic, units, weather."""
