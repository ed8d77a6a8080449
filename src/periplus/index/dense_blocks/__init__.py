"""Blocks with so many postings of a term that their documents are a set of 64 bits, and codes two bits each."""
