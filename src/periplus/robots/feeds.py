"""Feeds: the links of RSS and Atom entries."""

from typing import Final

from periplus.robots.xmlwalk import bounded_body, walk

__all__ = ["FeedLinks", "read_feed"]

_MOST_LINKS: Final = 10_000


def read_feed(body: bytes) -> tuple[str, ...]:
    """Give the links of the entries of an RSS (any version) or Atom feed, in their order, as they are written."""
    plain, _ = bounded_body(body)
    links = FeedLinks()
    walk(plain, links.visit)
    return links.found()


class FeedLinks:
    """Gathers the links of entries while a feed is walked through."""

    def __init__(self) -> None:
        self._links: dict[str, None] = {}
        self._permanent = ""
        self._has_link = False

    def visit(self, names: list[str], attributes: dict[str, str], text: str) -> bool:
        """Take note of one element; False when there are enough."""
        name, parent = names[-1], names[-2] if len(names) > 1 else ""
        if name == "item":
            self._end_item(attributes)
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

    def _end_item(self, attributes: dict[str, str]) -> None:
        """Fall back on the permanent identifier of an item without a link."""
        if not self._has_link:
            fallback = self._permanent or attributes.get("rdf:about", "")
            if fallback.startswith(("http://", "https://")):
                self._links[fallback] = None
        self._permanent, self._has_link = "", False

    def _add(self, link: str) -> None:
        if link:
            self._links[link] = None
            self._has_link = True
