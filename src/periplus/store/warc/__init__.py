"""WARC records, read and written."""
