"""The crawl scorer: which link to follow first."""

import math
from typing import Final

from periplus.records import Address
from periplus.score.feature_weights import LinearScorer, read_weights
from periplus.score.url_scorer import UrlScorer

__all__ = ["CRAWL_FEATURES", "LinkScorer"]

CRAWL_FEATURES: Final = ("base", "depth", "url", "source", "fame", "mirror", "chance")
_DEFAULT_SOURCE_SCORE: Final = 0.5
"""The static rank that is assumed where a link is on no page."""


class LinkScorer:
    """Scores links by their URL, their distance from a seed and the page that contains them."""

    def __init__(self, file: str = "") -> None:
        self._urls = UrlScorer(file)
        self._scorer = LinearScorer(read_weights("crawl", file), CRAWL_FEATURES)

    def score(
        self, address: Address, depth: int, *, links: int = 0, source: float | None = None, mirror: bool = False
    ) -> float:
        """Return the score of a link; `links` counts the links to its host, `source` is the static rank of its page."""
        source = _DEFAULT_SOURCE_SCORE if source is None else source
        chance = (address.key & 0xFFFF) / 0x10000
        url = self._urls.score(address)
        return round(self._scorer.score((1.0, depth, url, source, math.log2(1 + links), mirror, chance)), 4)
