"""Skip entries: where the blocks of a term are, every 16 or 32 of them, so that a search need not pass over all.

A segment has them packed in its file (`kernels.pack_rows`), and as a table in memory while it is open.
"""
