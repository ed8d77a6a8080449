"""Which pages a feed of their site has named, and when it says they were published: those are news."""

from typing import Final

from periplus.fingerprint import fingerprint_text
from periplus.index.fields import Document
from periplus.records import LIST_KIND, Visit

__all__ = ["Feeds"]

_MOST: Final = 500_000
"""Entries that are remembered; the oldest are forgotten first."""
_MOST_ANNOUNCED: Final = 8
"""Feeds of one page."""
_DAY: Final = 86_400


class Feeds:
    """Learns from visits as they come, and marks documents. Feeds come before most of what they name."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._announced: dict[int, None] = {}
        self._days: dict[int, int] = {}

    def learn(self, visit: Visit) -> None:
        """Remember which feeds a page announces, or what a feed names. A sitemap is a list too, but of no news."""
        page = visit.page
        if page is None:
            return
        if page.kind != LIST_KIND:
            for url in page.feeds[:_MOST_ANNOUNCED]:
                self._announced.setdefault(fingerprint_text(url))
            _forget(self._announced, self._most)
        elif page.title or visit.key in self._announced:
            for link, when in zip(page.links, page.changed, strict=False):
                if when > 0:
                    self._days[fingerprint_text(_untracked(link.url))] = int(when // _DAY)
            _forget(self._days, self._most)

    def mark(self, document: Document) -> Document:
        """Give a document as news, with its day, if a feed has named it."""
        day = self._days.get(document.key)
        return document if day is None else document._replace(news=True, day=day)


def _untracked(url: str) -> str:
    """Leave out of a link what feeds add to count their readers."""
    base, mark, query = url.partition("?")
    if not mark:
        return url
    kept = "&".join(part for part in query.split("&") if not part.startswith("utm_"))
    return f"{base}?{kept}" if kept else base


def _forget(table: dict[int, int] | dict[int, None], most: int) -> None:
    while len(table) > most:
        del table[next(iter(table))]
