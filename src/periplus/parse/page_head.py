"""The metadata of a page: <meta>, <link>, <base>, the headers, and the date in JSON-LD."""

import re
from typing import Final

from periplus.parse.link_collector import resolve_url
from periplus.parse.robots_directives import RobotsDirectives
from periplus.parse.text_cleanup import language_code, one_line, parse_iso_date
from periplus.records import FetchResult

__all__ = ["PageHead"]

_FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml"})
_DATE_NAMES: Final = """
article:published_time og:published_time article.published datepublished date dc.date dc.date.issued dc.date.created
dcterms.date dcterms.created dcterms.issued pubdate publishdate publish-date publication_date parsely-pub-date
sailthru.date citation_publication_date citation_date citation_online_date
"""
_DATES: Final = frozenset(_DATE_NAMES.split())
_REFRESH: Final = re.compile(r"\s*+[\d.]*+\s*+[;,]?\s*+(?:url\s*+=\s*+)?+[\"']?+([^\"']+)", re.IGNORECASE)
_JSON_DATE: Final = re.compile(r'"datePublished"\s*:\s*"([^"]{8,40})"')
_CANONICAL: Final = re.compile(
    r"<([^<>]{1,2000})>\s{0,4};[^,<>]{0,200}\brel\s{0,2}=\s{0,2}\"?canonical\b", re.IGNORECASE
)
_HEADERS: Final = frozenset({"x-robots-tag", "link", "content-language"})
_MAX_DESCRIPTION: Final = 500
_MAX_FEEDS: Final = 16
_MAX_ALTERNATES: Final = 64
_PAGE_TYPES: Final = frozenset({"", "text/html", "application/xhtml+xml"})
_FOLLOWED_RELATIONS: Final = frozenset({"alternate", "next", "prev"})


class PageHead:
    """The metadata of a page, collected from its headers and the elements of its head."""

    def __init__(self, result: FetchResult, base: str, robot: str = "") -> None:
        self.base = base
        self.description = ""
        self.canonical = ""
        self.published = ""
        self.refresh = ""
        self.feeds: dict[str, None] = {}
        self.alternates: list[str] = []
        """Versions of the page for other languages or screens, and its neighbours in a series."""
        self.language = ""
        self.robots = RobotsDirectives(robot)
        for name, value in result.headers:
            if name not in _HEADERS:
                continue
            if name == "x-robots-tag":
                self.robots.apply(value)
            elif name == "content-language":
                self.language = language_code(result.header(name))
            elif name == "link" and (match := _CANONICAL.search(value[:4_096])):
                self.canonical = resolve_url(match[1].strip(), base)

    @property
    def noindex(self) -> bool:
        """Whether the page asks not to be indexed."""
        return self.robots.noindex

    @property
    def nofollow(self) -> bool:
        """Whether the page asks not to follow its links."""
        return self.robots.nofollow

    def set_base(self, reference: str) -> None:
        """Set the base to the reference of <base>."""
        self.base = resolve_url(reference, self.base) or self.base

    def set_language(self, tag: str) -> None:
        """Set the language to that of <html>, which takes precedence over the header's."""
        self.language = language_code(tag) or self.language

    def add_meta(self, name: str, content: str, pragma: str) -> None:
        """Add a <meta>: its name in lower case, content and http-equiv."""
        if name == "description" or (name == "og:description" and not self.description):
            self.description = one_line(content, _MAX_DESCRIPTION)
        elif name == "robots" or name in self.robots.names:
            self.robots.apply(content)
        elif name in _DATES:
            self.published = self.published or parse_iso_date(content)
        elif pragma and pragma.lower() == "refresh":
            match = _REFRESH.match(content[:2_048])
            self.refresh = match[1].strip() if match else ""
        elif pragma and pragma.lower() == "content-language":
            self.language = self.language or language_code(content)

    def add_link(self, relation: str, target: str, media_type: str) -> None:
        """Add a <link>: its rel, href and type."""
        relations = relation.lower().split()
        if "canonical" in relations and not self.canonical:
            self.canonical = resolve_url(target, self.base)
        elif not _FOLLOWED_RELATIONS.isdisjoint(relations):
            self._add_alternate(target, media_type.strip().lower(), "stylesheet" in relations)

    def _add_alternate(self, target: str, media_type: str, is_style: bool) -> None:
        """Add a feed, or another version of the page."""
        if media_type in _FEED_TYPES:
            feed = resolve_url(target, self.base)
            if feed and len(self.feeds) < _MAX_FEEDS:
                self.feeds[feed] = None
        elif media_type in _PAGE_TYPES and not is_style and len(self.alternates) < _MAX_ALTERNATES:
            self.alternates.append(target)

    def add_json_ld(self, text: str) -> None:
        """Add the date of a JSON-LD script."""
        match = _JSON_DATE.search(text[:100_000])
        if match:
            self.published = self.published or parse_iso_date(match[1])
