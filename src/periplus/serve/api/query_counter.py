"""Queries on their way to the counts of popular queries: a bounded number, held for a second."""

from collections import deque
from typing import Final

from periplus.serve.middleware.reporter_hashes import network_of
from periplus.serve.protocols import SearcherLike
from periplus.serve.search_request import MAX_QUERY_LENGTH, parse_parameters

__all__ = ["QueryCounter"]

_MAX_QUERIES: Final = 2_000
"""Queries of one second that are counted; under load, a sample is enough."""


class QueryCounter:
    """Collects answered queries and passes them to the searcher, which counts those that are public anyway."""

    def __init__(self, searcher: SearcherLike) -> None:
        self._searcher = searcher
        self._queue: deque[tuple[bytes, str]] = deque(maxlen=_MAX_QUERIES)

    def add(self, query_string: bytes, client: str) -> None:
        """Add an answered request. It is parsed later, so that the response is not delayed."""
        self._queue.append((query_string, client))

    def flush(self) -> None:
        """Pass the collected queries on: those for first pages, from clients with a valid address."""
        queries = []
        while self._queue:
            query_string, client = self._queue.popleft()
            parameters, network = parse_parameters(query_string), network_of(client)
            words = parameters.get("q", "")[:MAX_QUERY_LENGTH]
            first_page = all(
                parameters.get(name, first) == first for name, first in (("page", "1"), ("pageno", "1"), ("start", "0"))
            )
            if network and words and first_page:
                queries.append((words, network))
        self._searcher.record_queries(queries)
