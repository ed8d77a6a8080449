"""What a page says about itself: <meta>, <link>, <base>, the headers, and JSON-LD for its date."""

import re
from typing import Final

from periplus.parse.link_collector import resolve_url
from periplus.parse.text_cleanup import language_code, one_line, parse_iso_date
from periplus.records import FetchResult

__all__ = ["PageHead"]

_FEEDS: Final = frozenset({"application/rss+xml", "application/atom+xml"})
_DATED: Final = """
article:published_time og:published_time article.published datepublished date dc.date dc.date.issued dc.date.created
dcterms.date dcterms.created dcterms.issued pubdate publishdate publish-date publication_date parsely-pub-date
sailthru.date citation_publication_date citation_date citation_online_date
"""
_DATES: Final = frozenset(_DATED.split())
_REFRESH: Final = re.compile(r"\s*+[\d.]*+\s*+[;,]?\s*+(?:url\s*+=\s*+)?+[\"']?+([^\"']+)", re.IGNORECASE)
_JSON_DATE: Final = re.compile(r'"datePublished"\s*:\s*"([^"]{8,40})"')
_CANONICAL: Final = re.compile(
    r"<([^<>]{1,2000})>\s{0,4};[^,<>]{0,200}\brel\s{0,2}=\s{0,2}\"?canonical\b", re.IGNORECASE
)
_OURSELVES: Final = "periplus"
_WITH_VALUE: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Rules that have a colon of their own."""
_LONGEST_DESCRIPTION: Final = 500
_MOST_FEEDS: Final = 16
_MOST_ALTERNATES: Final = 64
_PAGES: Final = frozenset({"", "text/html", "application/xhtml+xml"})
_FOLLOWED: Final = frozenset({"alternate", "next", "prev"})


class PageHead:
    """Gathers what <meta> and <link> say. References are absolute once they are kept."""

    def __init__(self, fetched: FetchResult, base: str) -> None:
        self.base = base
        self.description = ""
        self.canonical = ""
        self.published = ""
        self.refresh = ""
        self.feeds: dict[str, None] = {}
        self.alternates: list[str] = []
        """The same page in other languages or for other screens, and its neighbours in a series."""
        self.language = language_code(fetched.header("content-language"))
        self.noindex = self.nofollow = False
        for name, value in fetched.headers:
            if name == "x-robots-tag":
                self._obey(value)
            elif name == "link" and (found := _CANONICAL.search(value[:4_096])):
                self.canonical = resolve_url(found[1].strip(), base)

    def set_base(self, reference: str) -> None:
        """Take the address of <base>."""
        self.base = resolve_url(reference, self.base) or self.base

    def set_language(self, tag: str) -> None:
        """Take the language of <html>, which goes before the header's."""
        self.language = language_code(tag) or self.language

    def meta(self, name: str, content: str, pragma: str) -> None:
        """Take one <meta>: its name in small letters, content and http-equiv."""
        if name == "description" or (name == "og:description" and not self.description):
            self.description = one_line(content, _LONGEST_DESCRIPTION)
        elif name in {"robots", _OURSELVES}:
            self._obey(content)
        elif name in _DATES:
            self.published = self.published or parse_iso_date(content)
        elif pragma and pragma.lower() == "refresh":
            found = _REFRESH.match(content[:2_048])
            self.refresh = found[1].strip() if found else ""
        elif pragma and pragma.lower() == "content-language":
            self.language = self.language or language_code(content)

    def link(self, relation: str, target: str, kind: str) -> None:
        """Take one <link>: its rel, href and type."""
        relations = relation.lower().split()
        if "canonical" in relations and not self.canonical:
            self.canonical = resolve_url(target, self.base)
        elif not _FOLLOWED.isdisjoint(relations):
            self._alternate(target, kind.strip().lower(), "stylesheet" in relations)

    def _alternate(self, target: str, kind: str, is_style: bool) -> None:
        """Take a feed, or another form of the page."""
        if kind in _FEEDS:
            feed = resolve_url(target, self.base)
            if feed and len(self.feeds) < _MOST_FEEDS:
                self.feeds[feed] = None
        elif kind in _PAGES and not is_style and len(self.alternates) < _MOST_ALTERNATES:
            self.alternates.append(target)

    def script(self, text: str) -> None:
        """Take one JSON-LD script; only its date is read."""
        found = _JSON_DATE.search(text[:100_000])
        if found:
            self.published = self.published or parse_iso_date(found[1])

    def _obey(self, words: str) -> None:
        """Note 'noindex, nofollow' and the like; rules for one other robot ('otherbot: noindex') are not for us."""
        words = words[:1_000].lower()
        robot, colon, rest = words.partition(":")
        if colon and "," not in robot and robot.strip() not in _WITH_VALUE:
            if robot.strip() != _OURSELVES:
                return
            words = rest
        given = {word.strip() for word in words.split(",")}
        self.noindex = self.noindex or not given.isdisjoint({"noindex", "none"})
        self.nofollow = self.nofollow or not given.isdisjoint({"nofollow", "none"})
