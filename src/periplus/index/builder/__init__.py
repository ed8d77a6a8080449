"""Builds segments from fetch records, in bounded memory.

In: fetch records and document signals. Out: segment folders, and a manifest that lists them.
"""
