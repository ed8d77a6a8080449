"""Sitemaps: XML (urlset and index), plain text, gzip of either, and feeds used as sitemaps."""

import re
from typing import Final, NamedTuple

from periplus.discovery.dates import moment
from periplus.discovery.feeds import FeedLinks
from periplus.discovery.xml_walker import bounded_body, walk

__all__ = ["Sitemap", "read_sitemap"]

_MOST_ENTRIES: Final = 50_000
_LONGEST_URL: Final = 2_048
_ADDRESS: Final = re.compile(rb"https?://\S+")
_LINE_STARTS: Final = frozenset({b"", b"\xbf"})
"""The start of the file, and the last byte of a byte order mark."""
_ROOTS: Final = frozenset({"urlset", "sitemapindex"})
_FEED_ROOTS: Final = frozenset({"rss", "feed", "RDF"})


class Sitemap(NamedTuple):
    """What a sitemap lists, as it is written there."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    """Other sitemaps, when this one is an index."""
    problem: str = ""
    """Why not all of it could be read; '' when all was."""
    changed: tuple[float, ...] = ()
    """When each page was changed last, in seconds since 1970, 0.0 where it does not say; () when none says."""


def read_sitemap(body: bytes) -> Sitemap:
    """Read a sitemap of any form; what comes before a fault is kept."""
    plain, problem = bounded_body(body)
    start = plain[:512].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return _read_xml(plain, problem)
    return _read_text(plain, problem)


def _read_xml(body: bytes, problem: str) -> Sitemap:
    entries = _Entries()
    ended = walk(body, entries.visit)
    if entries.strange:
        ended = "neither a sitemap nor a feed"
    pages = entries.pages or entries.feed.dated()
    changed = tuple(pages.values())
    return Sitemap(tuple(pages), tuple(entries.sitemaps), problem or ended, changed if any(changed) else ())


class _Entries:
    def __init__(self) -> None:
        self.pages: dict[str, float] = {}
        self.sitemaps: dict[str, float] = {}
        self.feed = FeedLinks()
        self.strange = False
        self._place, self._changed = "", 0.0

    def visit(self, names: list[str], attributes: dict[str, str], text: str) -> bool:
        if names[0] in _FEED_ROOTS:
            return self.feed.visit(names, attributes, text)
        if names[0] not in _ROOTS:
            self.strange = True
            return False
        # Some write the address right into <url> or <sitemap>; <image:loc> stands deeper and is no page.
        entry = names[-2] if names[-1] == "loc" and len(names) > 1 else names[-1]
        if entry == "sitemap":
            _add(self.sitemaps, text)
        elif entry == "url":
            self._visit_page(names[-1], text)
        elif entry == "lastmod" and names[-2:-1] == ["url"]:
            self._changed = moment(text)
        elif entry == "link" and names[-2:-1] == ["url"] and attributes.get("rel") == "alternate":
            # The same page in another language.
            _add(self.pages, attributes.get("href", "").strip())
        return len(self.pages) + len(self.sitemaps) < _MOST_ENTRIES

    def _visit_page(self, name: str, text: str) -> None:
        """Take the address of a page; its date may stand before or after it, and is known when <url> ends."""
        if _add(self.pages, text):
            self._place = text
        if name == "url":
            if self._place and self._changed:
                self.pages[self._place] = self._changed
            self._place, self._changed = "", 0.0


def _read_text(body: bytes, problem: str) -> Sitemap:
    pages: dict[str, float] = {}
    for found in _ADDRESS.finditer(body):
        before = body[found.start() - 1 : found.start()]
        if before.isspace() or before in _LINE_STARTS:
            _add(pages, found[0].decode("utf-8", "replace"))
        if len(pages) >= _MOST_ENTRIES:
            return Sitemap(tuple(pages), (), problem or "more entries than we take")
    return Sitemap(tuple(pages), (), problem or ("" if pages else "no line of it is an address"))


def _add(found: dict[str, float], text: str) -> bool:
    if len(text) > _LONGEST_URL or not text.lower().startswith(("http://", "https://")):
        return False
    found.setdefault(text, 0.0)
    return True
