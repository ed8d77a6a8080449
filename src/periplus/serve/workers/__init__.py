"""Threads and processes that do the work of a server, and how their progress is watched."""
