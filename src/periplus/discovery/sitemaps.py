"""Sitemaps: XML (urlset and index), plain text, gzip of either, and feeds used as sitemaps."""

import itertools
import re
from typing import Final, NamedTuple

from periplus.discovery.dates import parse_timestamp
from periplus.discovery.feeds import FEED_ROOTS, parse_feed
from periplus.discovery.xml_walker import MORE_ENTRIES, bounded_body, walk_elements

__all__ = ["SITEMAP_ROOTS", "Sitemap", "parse_sitemap"]

SITEMAP_ROOTS: Final = frozenset({"urlset", "sitemapindex"})
"""Root elements of sitemaps in XML."""
_MAX_ENTRIES: Final = 50_000
_MAX_URL: Final = 2_048
_URL: Final = re.compile(rb"https?://\S+")
_LINE_STARTS: Final = frozenset({b"", b"\xbf"})
"""What may precede the first URL: nothing, or the last byte of a byte order mark."""


class Sitemap(NamedTuple):
    """What a sitemap lists, as written."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    """Other sitemaps, if this one is an index."""
    problem: str = ""
    """Why not all of it was read; '' if all was."""
    changed: tuple[float, ...] = ()
    """When each page was last changed, in seconds since 1970, 0.0 where that is not stated; () if it never is."""


def parse_sitemap(body: bytes) -> Sitemap:
    """Return what a sitemap of any form lists; of a broken one, what precedes the fault."""
    plain, problem = bounded_body(body)
    start = plain[:512].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return _parse_xml(plain, problem)
    return _parse_text(plain, problem)


def _parse_xml(body: bytes, problem: str) -> Sitemap:
    builder = _SitemapBuilder()
    reason = walk_elements(body, builder.visit)
    pages = builder.all_pages()
    if builder.root in FEED_ROOTS and (feed := parse_feed(body)) is not None:
        pages, reason = feed.dated_links(), feed.problem
    elif builder.root not in {"", *SITEMAP_ROOTS}:
        reason = "neither a sitemap nor a feed"
    changed = tuple(pages.values())
    sitemaps = tuple(builder.sitemaps)[:_MAX_ENTRIES]
    return Sitemap(tuple(pages), sitemaps, problem or reason, changed if any(changed) else ())


class _SitemapBuilder:
    """Collects the pages and sitemaps of an XML sitemap, and the root of any XML."""

    def __init__(self) -> None:
        self.root = ""
        self.pages: dict[str, float] = {}
        self.sitemaps: dict[str, float] = {}
        self._alternates: dict[str, float] = {}
        self._url, self._changed = "", 0.0

    def visit(self, names: list[str], attributes: dict[str, str], text: str) -> bool:
        self.root = names[0]
        if names[0] not in SITEMAP_ROOTS:
            return False
        # Some write the URL directly into <url> or <sitemap>; <image:loc> is nested deeper and is not a page.
        entry = names[-2] if names[-1] == "loc" and len(names) > 1 else names[-1]
        if entry == "sitemap":
            _add_url(self.sitemaps, text)
        elif entry == "url":
            self._visit_page(names[-1], text)
        elif entry == "lastmod" and names[-2:-1] == ["url"]:
            self._changed = parse_timestamp(text)
        elif entry == "link" and names[-2:-1] == ["url"] and attributes.get("rel") == "alternate":
            # The same page in another language, which is mostly listed on its own too.
            _add_url(self._alternates, attributes.get("href", "").strip(), _MAX_ENTRIES)
        return len(self.pages) <= _MAX_ENTRIES and len(self.sitemaps) <= _MAX_ENTRIES

    def all_pages(self) -> dict[str, float]:
        """Return the pages, and as many more in other languages as there is room for."""
        pages = dict(itertools.islice(self.pages.items(), _MAX_ENTRIES))
        more = (url for url in self._alternates if url not in self.pages)
        return {**pages, **dict.fromkeys(itertools.islice(more, _MAX_ENTRIES - len(pages)), 0.0)}

    def _visit_page(self, name: str, text: str) -> None:
        """Add the URL of a page. Its date may precede or follow it, so that it is set at the end of <url>."""
        if _add_url(self.pages, text):
            self._url = text
        if name == "url":
            if self._url and self._changed:
                self.pages[self._url] = self._changed
            self._url, self._changed = "", 0.0


def _parse_text(body: bytes, problem: str) -> Sitemap:
    pages: dict[str, float] = {}
    for match in _URL.finditer(body):
        before = body[match.start() - 1 : match.start()]
        if before.isspace() or before in _LINE_STARTS:
            _add_url(pages, match[0].decode("utf-8", "replace"))
        if len(pages) > _MAX_ENTRIES:
            return Sitemap(tuple(pages)[:_MAX_ENTRIES], (), problem or MORE_ENTRIES)
    return Sitemap(tuple(pages), (), problem or ("" if pages else "no line of it is a URL"))


def _add_url(urls: dict[str, float], text: str, most: int = _MAX_ENTRIES + 1) -> bool:
    if len(text) > _MAX_URL or len(urls) >= most or not text.lower().startswith(("http://", "https://")):
        return False
    urls.setdefault(text, 0.0)
    return True
