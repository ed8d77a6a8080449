"""How often documents of other sites are results here: a bounded table that forgets."""

import threading
from collections.abc import Iterable
from typing import Final

import msgspec

__all__ = ["DocumentDemand", "ReplicaDemand"]

DEFAULT_DOCUMENTS: Final = 50_000
"""Documents that are counted at a time."""
_HALF: Final = 0.5


class DocumentDemand(msgspec.Struct, frozen=True):
    """A document of another site, and how often it was a result lately."""

    site: str
    key: int
    count: float


class ReplicaDemand:
    """Counts results of other sites (Space-Saving: the least frequent one makes room for a new one).

    A count is never below the truth, and above it by at most the least count of the table. Counts are halved from
    period to period, so that what is no longer asked for is forgotten.
    """

    def __init__(self, most: int = DEFAULT_DOCUMENTS) -> None:
        self._most = max(1, most)
        self._counts: dict[tuple[str, int], float] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, results: Iterable[tuple[str, int]]) -> None:
        """Count the results of one query: site and key of each."""
        with self._lock:
            for document in results:
                if document not in self._counts and len(self._counts) >= self._most:
                    rarest = min(self._counts, key=self._counts.__getitem__)
                    self._counts[document] = self._counts.pop(rarest)
                self._counts[document] = self._counts.get(document, 0.0) + 1.0

    def end_period(self) -> None:
        """Halve all counts; forget those below a half."""
        with self._lock:
            self._counts = {key: count * _HALF for key, count in self._counts.items() if count * _HALF >= _HALF}

    def count(self, site: str, key: int) -> float:
        """Return the count of a document, 0 if it is not in the table."""
        return self._counts.get((site, key), 0.0)

    def most_frequent(self) -> list[DocumentDemand]:
        """Return all documents of the table, the most frequent first."""
        with self._lock:
            items = [DocumentDemand(site, key, count) for (site, key), count in self._counts.items()]
        return sorted(items, key=lambda item: (-item.count, item.site, item.key))
