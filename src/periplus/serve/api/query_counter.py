"""Queries on their way to the count of what many ask for: a bounded few, for a second, and then nowhere."""

from collections import deque
from typing import Final

from periplus.serve.middleware.reporters import network_of
from periplus.serve.protocols import SearcherLike
from periplus.serve.search_request import LONGEST, parameters

__all__ = ["Queries"]

_MOST: Final = 2_000
"""Queries of one second that are looked at; of a crowd, some will do."""


class Queries:
    """Gathers what was asked and hands it to the searcher, which counts what is public anyway (`search.popular`)."""

    def __init__(self, searcher: SearcherLike) -> None:
        self._searcher = searcher
        self._waiting: deque[tuple[bytes, str]] = deque(maxlen=_MOST)

    def add(self, query_string: bytes, client: str) -> None:
        """Take a request that was answered well. It is read later, so that the answer does not wait."""
        self._waiting.append((query_string, client))

    def count(self) -> None:
        """Have all that waits counted: first pages only, and whoever asks has a network."""
        found = []
        while self._waiting:
            raw, client = self._waiting.popleft()
            given, network = parameters(raw), network_of(client)
            words = given.get("q", "")[:LONGEST]
            first = given.get("page", "1") == "1" and given.get("pageno", "1") == "1" and given.get("start", "0") == "0"
            if network and words and first:
                found.append((words, network))
        self._searcher.record_queries(found)
