"""Postings of terms that few documents have: gaps between documents as Rice codes, one bit after the other."""
