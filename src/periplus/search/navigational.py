"""Queries that name a site: its home page comes first.

'example.com', 'www example', 'example com' and the name or title of a site are looked up among the names that segments
know (docs/formats/segment.md). A query that is a whole host name means that site, whatever else matches. A name or
title alone may be ordinary words too: then the home page comes first only if by links it ranks no lower than the best
result (half as high, for a name of several words), so that calling a site 'cheap flights' does not make it the answer.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from periplus.hashing import fingerprint
from periplus.index import Index, Segment, squeeze_site_name
from periplus.query import BagOfWords, Node
from periplus.records import Hit, PageFlag, Query
from periplus.result_rules import ActiveRules

if TYPE_CHECKING:
    from periplus.search.rerank import RerankedCandidates

__all__ = [
    "HOME_PAGE_BONUS",
    "HomePage",
    "SiteName",
    "explain_home_page",
    "find_home_page",
    "home_page_order",
    "is_first_result",
    "site_name",
]

HOME_PAGE_BONUS: Final = 1.0
"""What a home page scores above the best other result."""
_MOST_WORDS: Final = 6
_PREFIXES: Final = frozenset(("http", "https", "www"))
_DECEPTIVE: Final = int(PageFlag.STUFFED | PageFlag.HIDDEN | PageFlag.LINK_FARM | PageFlag.UNTRUSTED)
_SEVERAL_WORDS_SHARE: Final = 0.5
"""Share of the best result's static rank that the home page needs where its name has several words."""


class SiteName(NamedTuple):
    """The words of a query, written as one, where they may be the name of a site."""

    name: str
    words: int


class HomePage(NamedTuple):
    """The home page of a site that a query names."""

    segment: int
    document: int
    key: int
    host: str
    is_host_name: bool
    """Whether the query is the whole name of the host."""
    static: float
    words: int
    """Words of the query."""


def site_name(tree: Node | None, query: Query) -> SiteName | None:
    """Return the name of a site that a query may be; None if it asks for anything but a few words."""
    narrowed = query.language or query.site or query.days or query.kinds or query.having
    if not isinstance(tree, BagOfWords) or len(tree.words) > _MOST_WORDS or narrowed:
        return None
    words = tree.words
    while words and words[0] in _PREFIXES:
        words = words[1:]
    name = "".join(words)
    return SiteName(name, len(words)) if name else None


def find_home_page(index: Index, site: SiteName, rules: ActiveRules | None = None) -> HomePage | None:
    """Return the home page of the site that has a name, the best known if several have it; none that rules block."""
    key = np.uint64(fingerprint(site.name.encode("utf-8", "replace")))
    pages = [page for number, segment in enumerate(index.segments) for page in _pages_of(segment, number, key, site)]
    if rules is not None:
        pages = [page for page in pages if _is_allowed(rules, index.segments[page.segment], page.document)]
    return max(pages, key=home_page_order, default=None)


def _is_allowed(rules: ActiveRules, segment: Segment, document: int) -> bool:
    return bool(rules.are_allowed(segment, np.array([document], np.int32))[0])


def home_page_order(page: HomePage) -> tuple[bool, float, str]:
    """Return what decides between home pages of the same name, the higher the better."""
    return page.is_host_name, page.static, page.host


def _pages_of(segment: Segment, number: int, key: np.uint64, site: SiteName) -> list[HomePage]:
    """Return the home pages of a segment that are known by a name and not deleted."""
    words = segment.files.get("words")
    if words is None:
        return []
    keys, documents = words["site_key"], words["site_document"]
    at = int(keys.searchsorted(key))
    pages = []
    while at < len(keys) and keys[at] == key:
        document = int(documents[at])
        host = segment.string("hosts", int(segment.column("host")[document]))
        is_host_name = squeeze_site_name(host.removeprefix("www.")) == site.name
        deceptive = int(segment.column("flags")[document]) & _DECEPTIVE
        if segment.is_live[document] and (is_host_name or not deceptive):
            url, static = int(segment.column("key")[document]), float(segment.column("static")[document])
            pages.append(HomePage(number, document, url, host, is_host_name, static, site.words))
        at += 1
    return pages


def is_first_result(home: HomePage, candidates: "RerankedCandidates", best_static: float) -> bool:
    """Return whether a home page comes before all candidates; best_static: the static rank of the best of them."""
    if home.is_host_name:
        return True
    present = (candidates.segments == home.segment) & (candidates.documents == home.document)
    needed = best_static * (_SEVERAL_WORDS_SHARE if home.words > 1 else 1.0)
    return bool(present.any()) and home.static >= needed


def explain_home_page(hit: Hit, home: HomePage) -> Hit:
    """Return a hit with the reason why its home page is the first result."""
    return msgspec.structs.replace(hit, reasons=(*hit.reasons, (f"home page of {home.host}", HOME_PAGE_BONUS)))
