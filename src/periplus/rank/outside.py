"""What is known of pages from outside them: which hosts people visit, and what they clicked for which words."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from periplus.errors import BadFile
from periplus.files import disk_errors

__all__ = ["Outside", "read_popularity"]

_MOST_HOSTS: Final = 2_000_000


class Outside:
    """Popularity of hosts and clicks of queries; by default nothing is known."""

    def __init__(
        self,
        popular: Mapping[str, float] | None = None,
        clicks: Mapping[int, dict[int, float]] | None = None,
        today: float | None = None,
    ) -> None:
        self.popular = popular or {}
        self._clicks = clicks or {}
        self.today = time.time() / 86_400 if today is None else today
        """Days since 1970."""

    def popularity(self, host: str) -> float:
        """Give the popularity, 0 to 1, of a host or the nearest domain above it that is listed."""
        while host:
            found = self.popular.get(host)
            if found is not None:
                return found
            host = host.partition(".")[2]
        return 0.0

    def clicks_of(self, query: int) -> dict[int, float]:
        """Give by page key how much people clicked it for the words with this title key, 0 to 1."""
        return self._clicks.get(query, {})


def read_popularity(path: Path) -> dict[str, float]:
    """Read a list of hosts, the most popular first: a host a line, or 'rank,host' as top lists have it.

    The first counts 1, the last nearly 0, on a logarithmic scale: from the first to the tenth is as far as from there
    to the hundredth.
    """
    hosts: dict[str, int] = {}
    with disk_errors(path), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            host = line[:300].decode("utf-8", "replace").strip().rpartition(",")[2].strip().lower()
            if len(line) > 300 or any(c.isspace() or c == "/" for c in host):
                raise BadFile(f"{path} line {number} is not a host.", "A line is a host, or rank,host.")
            if host and len(hosts) < _MOST_HOSTS:
                hosts.setdefault(host.removeprefix("www."), len(hosts) + 1)
    ranks = np.fromiter(hosts.values(), np.float64, len(hosts))
    scores = 1.0 - np.log(ranks) / np.log(len(hosts) + 1.0)
    return dict(zip(hosts, scores.tolist(), strict=True))
