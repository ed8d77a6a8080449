"""Metrics of the initial placement of documents: precision and ordinals (COAST, section 5.2.2.2)."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["PlacementQuality", "judge_placements", "popularity_ordinal"]


class PlacementQuality(NamedTuple):
    """How well documents were placed."""

    documents: int
    """Placed documents that somebody accessed; the others cannot be judged."""
    precision: float
    """P: the share of documents that were placed where they are most popular; 0 for no document."""
    ordinals: tuple[int, ...]
    """How many documents were placed at the site where they are most popular, second most popular, ..."""

    @property
    def mean_ordinal(self) -> float:
        """The mean of the ordinals; 0 for no document."""
        ranked = sum(rank * count for rank, count in enumerate(self.ordinals, 1))
        return ranked / self.documents if self.documents else 0.0


def popularity_ordinal(site: str, popularity: Mapping[str, float]) -> int:
    """Return the rank of a site among those where a document is popular (section 5.2.2.2); equals share the best."""
    own = popularity.get(site, 0.0)
    return 1 + sum(count > own for count in popularity.values())


def judge_placements(
    masters: Mapping[int, str], popularity: Mapping[int, Mapping[str, float]], sites: int
) -> PlacementQuality:
    """Return P and the distribution of ordinals (section 5.2.2.2).

    masters: the site of each document; popularity: accesses of each document, by site; sites: their number.
    """
    counts: Counter[int] = Counter()
    for document, master in masters.items():
        accesses = popularity.get(document)
        if accesses and max(accesses.values()) > 0:
            counts[popularity_ordinal(master, accesses)] += 1
    total = sum(counts.values())
    ordinals = tuple(counts[rank] for rank in range(1, max([sites, *counts]) + 1))
    return PlacementQuality(total, counts[1] / total if total else 0.0, ordinals)
