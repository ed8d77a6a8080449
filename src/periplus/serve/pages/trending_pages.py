"""Trending pages: pages of the index whose visits are increasing, one for each host."""

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from periplus.errors import PeriplusError
from periplus.hashing import fingerprint_text
from periplus.serve.pages.page_links import safe_link
from periplus.serve.protocols import SearcherLike

__all__ = ["TrendingPage", "TrendingPages"]

_MAX_PAGES: Final = 5
_REFRESH_SECONDS: Final = 300.0


class TrendingPage(NamedTuple):
    """One page whose visits are increasing."""

    url: str
    title: str
    host: str
    visits: int
    """In the last day."""


class TrendingPages:
    """The current trending pages, recomputed periodically."""

    def __init__(self, searcher: SearcherLike, trending: Callable[[], Sequence[tuple[str, int]]] | None) -> None:
        self._searcher = searcher
        self._trending = trending
        self._refreshed = -_REFRESH_SECONDS
        self.pages: tuple[TrendingPage, ...] = ()

    def refresh(self) -> None:
        """Recompute the pages if they are old. It may take a while: do not call it in an event loop."""
        if self._trending is None or time.monotonic() - self._refreshed < _REFRESH_SECONDS:
            return
        self._refreshed = time.monotonic()
        try:
            self.pages = self._indexed(self._trending())
        except (PeriplusError, OSError):
            self.pages = ()

    def _indexed(self, trending: Sequence[tuple[str, int]]) -> tuple[TrendingPage, ...]:
        """Return the pages that are in the index, one for each host."""
        pages: dict[str, TrendingPage] = {}
        for url, visits in trending:
            host = url.partition("://")[2].partition("/")[0]
            copy = self._searcher.cached_page(fingerprint_text(url)) if safe_link(url) and host not in pages else None
            if copy is not None:
                pages[host] = TrendingPage(copy.url, copy.title.strip() or host, host, visits)
            if len(pages) == _MAX_PAGES:
                break
        return tuple(pages.values())
