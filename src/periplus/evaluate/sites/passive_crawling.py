"""Metrics of passive crawling: URLs that people discover only, or first, and by how much (COAST, section 5.1.2.3)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["DiscoverySets", "affected_queries", "average_metric", "compare_discoveries"]


class DiscoverySets(NamedTuple):
    """The sets of URLs by who discovered them when (figure 20)."""

    people_only: frozenset[int]
    """PO: discovered by people, never by the crawl."""
    people_first: frozenset[int]
    """PF: discovered by people before the crawl."""
    crawl_first: frozenset[int]
    """AF: discovered by the crawl before people, or at the same time."""
    crawl_only: frozenset[int]
    """AO: discovered by the crawl, never by people."""
    leads: tuple[float, ...]
    """Seconds by which people were earlier, for each URL of PF, ascending."""

    @property
    def total(self) -> int:
        """The number of URLs."""
        return sum(map(len, (self.people_only, self.people_first, self.crawl_first, self.crawl_only)))

    @property
    def only_share(self) -> float:
        """The share of URLs that only people discovered."""
        return len(self.people_only) / self.total if self.total else 0.0

    @property
    def first_share(self) -> float:
        """The share of URLs that people discovered earlier than the crawl."""
        return len(self.people_first) / self.total if self.total else 0.0

    @property
    def median_lead(self) -> float:
        """The median of the leads, in seconds; 0 if there are none."""
        return float(np.median(self.leads)) if self.leads else 0.0


def compare_discoveries(crawl: Mapping[int, float], people: Mapping[int, float]) -> DiscoverySets:
    """Return the sets of URLs by the times of their first discovery, by the crawl and by people (section 5.1.2.3)."""
    both = crawl.keys() & people.keys()
    first = frozenset(url for url in both if people[url] < crawl[url])
    return DiscoverySets(
        frozenset(people.keys() - crawl.keys()),
        first,
        frozenset(both - first),
        frozenset(crawl.keys() - people.keys()),
        tuple(sorted(crawl[url] - people[url] for url in first)),
    )


def average_metric(urls: Iterable[int], metric: Mapping[int, float]) -> float:
    """Return AvgM (section 5.1.2.3): the mean of a metric of URLs, such as their in-links; 0 for no URL."""
    values = [metric.get(url, 0.0) for url in urls]
    return float(np.mean(values)) if values else 0.0


def affected_queries(results: Iterable[Sequence[int]], people_first: frozenset[int], k: int = 10) -> tuple[int, int]:
    """Return the number of queries whose first k results have a URL of PF (section 5.1.2.3), and of all queries."""
    affected = total = 0
    for pages in results:
        total += 1
        affected += not people_first.isdisjoint(pages[:k])
    return affected, total
