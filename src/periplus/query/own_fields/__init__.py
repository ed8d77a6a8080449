"""Queries by own fields of documents: filters, and all documents that match."""
