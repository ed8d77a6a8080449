"""Answers by own fields of documents: filters of a request, facets, orders."""
