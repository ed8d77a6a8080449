"""Pages that are visited more than they were, of those that can be found here: one of a site, with how often."""

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from periplus.errors import PeriplusError
from periplus.hashing import fingerprint_text
from periplus.serve.pages.page_links import safe_link
from periplus.serve.protocols import SearcherLike

__all__ = ["Trend", "Trending"]

_SHOWN: Final = 5
_SECONDS: Final = 300.0
"""How often it is looked what rises."""


class Trend(NamedTuple):
    """One page that rises."""

    url: str
    title: str
    host: str
    visits: int
    """Of the last day."""


class Trending:
    """Knows what rises; looks again now and then."""

    def __init__(self, searcher: SearcherLike, rising: Callable[[], Sequence[tuple[str, int]]] | None) -> None:
        self._searcher = searcher
        self._rising = rising
        self._looked = -_SECONDS
        self.shown: tuple[Trend, ...] = ()

    def renew(self) -> None:
        """Look what rises, if that was some time ago. It may take a while: not for an event loop."""
        if self._rising is None or time.monotonic() - self._looked < _SECONDS:
            return
        self._looked = time.monotonic()
        try:
            self.shown = self._found(self._rising())
        except (PeriplusError, OSError):
            self.shown = ()

    def _found(self, rising: Sequence[tuple[str, int]]) -> tuple[Trend, ...]:
        """Keep those that are in the index, each site once."""
        found: dict[str, Trend] = {}
        for url, visits in rising:
            host = url.partition("://")[2].partition("/")[0]
            known = self._searcher.cached_page(fingerprint_text(url)) if safe_link(url) and host not in found else None
            if known is not None:
                found[host] = Trend(known.url, known.title.strip() or host, host, visits)
            if len(found) == _SHOWN:
                break
        return tuple(found.values())
