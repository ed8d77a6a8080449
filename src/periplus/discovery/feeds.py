"""Feeds: the links of RSS and Atom entries, and when each was written or changed."""

from typing import Final

from periplus.discovery.dates import moment
from periplus.discovery.xml_walker import bounded_body, walk

__all__ = ["FeedLinks", "read_feed"]

_MOST_LINKS: Final = 10_000
_DATES: Final = frozenset({"pubDate", "date", "published", "updated", "modified"})
_ENTRIES: Final = frozenset({"item", "entry"})


def read_feed(body: bytes) -> tuple[str, ...]:
    """Give the links of the entries of an RSS (any version) or Atom feed, in their order, as they are written."""
    plain, _ = bounded_body(body)
    links = FeedLinks()
    walk(plain, links.visit)
    return links.found()


class FeedLinks:
    """Gathers the links of entries while a feed is walked through."""

    def __init__(self) -> None:
        self._links: dict[str, float] = {}
        self._permanent = ""
        self._own: list[str] = []
        """Links of the entry that is being read."""
        self._when = 0.0

    def visit(self, names: list[str], attributes: dict[str, str], text: str) -> bool:
        """Take note of one element; False when there are enough."""
        name, parent = names[-1], names[-2] if len(names) > 1 else ""
        if name in _ENTRIES:
            self._end_entry(name, attributes)
        elif parent in _ENTRIES and name in _DATES:
            self._when = max(self._when, moment(text))
        elif parent == "item" and name == "link":
            self._add(text)
        elif parent == "item" and name == "guid" and attributes.get("isPermaLink", "true") == "true":
            self._permanent = text
        elif parent == "entry" and name == "link" and attributes.get("rel", "alternate") == "alternate":
            self._add(attributes.get("href", "").strip())
        return len(self._links) < _MOST_LINKS

    def found(self) -> tuple[str, ...]:
        """Give the links so far, each once."""
        return tuple(self._links)

    def dated(self) -> dict[str, float]:
        """Give the links so far, each with the seconds since 1970 at which it was changed, 0.0 if that is unknown."""
        return self._links

    def _end_entry(self, name: str, attributes: dict[str, str]) -> None:
        """Give the entry's date to its links; an item without one falls back on its permanent identifier."""
        fallback = self._permanent or attributes.get("rdf:about", "")
        if name == "item" and not self._own and fallback.startswith(("http://", "https://")):
            self._add(fallback)
        for link in self._own:
            self._links[link] = max(self._links[link], self._when)
        self._permanent, self._own, self._when = "", [], 0.0

    def _add(self, link: str) -> None:
        if link and len(self._links) < _MOST_LINKS:
            self._links.setdefault(link, 0.0)
            self._own.append(link)
