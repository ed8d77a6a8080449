"""Compiled loops: the word pieces of texts, and the vectors of passages."""
