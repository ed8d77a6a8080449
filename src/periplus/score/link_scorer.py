"""The crawl ranker: which link to follow first."""

import math
from typing import Final

from periplus.records import Address
from periplus.score.feature_weights import Scorer, read_weights
from periplus.score.url_scorer import UrlRanker

__all__ = ["CRAWL_FEATURES", "LinkRanker"]

CRAWL_FEATURES: Final = ("base", "depth", "url", "source", "fame", "mirror", "chance")
_SOURCE: Final = 0.5
"""The static rank of no page at all."""


class LinkRanker:
    """Ranks links by their URL, how far from a seed they are, and the page that they are on."""

    def __init__(self, file: str = "") -> None:
        self._urls = UrlRanker(file)
        self._scorer = Scorer(read_weights("crawl", file), CRAWL_FEATURES)

    def rank(
        self, place: Address, depth: int, *, links: int = 0, source: float | None = None, mirror: bool = False
    ) -> float:
        """Give the crawl rank; `links` are those to its host from others, `source` the static rank of its page."""
        source = _SOURCE if source is None else source
        chance = (place.key & 0xFFFF) / 0x10000
        url = self._urls.rank(place)
        return round(self._scorer.score((1.0, depth, url, source, math.log2(1 + links), mirror, chance)), 4)
