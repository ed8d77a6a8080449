"""References out of a page: resolved against its base, each once, within bounds."""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice
from typing import Final

from periplus.errors import BadUrl
from periplus.parse.reference_cache import ReferenceCache, folder_of, origin_of
from periplus.parse.text_cleanup import one_line
from periplus.records import Link
from periplus.url import parse_address

__all__ = [
    "MAX_URL_CHARACTERS",
    "LinkCollector",
    "collect_clean",
    "count_within",
    "make_resolver",
    "resolve_all",
    "resolve_url",
]

_MAX_TEXT: Final = 300
_MAX_URL: Final = 4_096
_MAX_CACHED_LENGTH: Final = 256
_PLAIN_STARTS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~-")
"""A reference that begins with one of these means the same on all pages of one folder."""
MAX_URL_CHARACTERS: Final = 16_000_000
"""Of all links of one page: a record of more than 32 MB is not stored."""
_MANY: Final = MAX_URL_CHARACTERS // (2 * _MAX_URL)
_ABSOLUTE_STARTS: Final = ("http://", "https://")
"""And with one of these, on all pages; with a slash, on all pages of one origin."""
_cache: Final = ReferenceCache()


def resolve_url(reference: str, base: str) -> str:
    """Return the canonical absolute URL of `reference`, or '' if it is not a URL that is crawled."""
    if reference == base and len(base) <= _MAX_URL:
        return base  # the canonical URL of most pages is their own
    return _cached_url(_cache.urls(origin_of(base)), reference.partition("#")[0], base)


def make_resolver(base: str) -> Callable[[str], str]:
    """Return `resolve_url` for many references of one page."""
    known = _cache.urls(origin_of(base))

    def resolve(reference: str) -> str:
        url = known.get(reference)  # there is none with a fragment
        return _cached_url(known, reference.partition("#")[0], base) if url is None else url

    return resolve


def resolve_all(references: Sequence[str], base: str) -> list[str]:
    """Return the URL of each reference as `resolve_url` does, '' for one without anything before its fragment.

    Asked again about the same tuple, as a page is about its images, it is not resolved again.
    """
    global _last_resolved
    last, last_base, urls = _last_resolved
    if last is references and last_base == base:
        return urls
    urls = _cached_urls(references, base)
    if isinstance(references, tuple):  # a list might change
        _last_resolved = (references, base, urls)
    return urls


_last_resolved: tuple[Sequence[str], str, list[str]] = ((), "", [])


def _cached_urls(references: Sequence[str], base: str) -> list[str]:
    """Return the URL of each reference, '' for none; most are in the cache, which has none with a fragment."""
    known = _cache.urls(origin_of(base))
    urls = list(map(known.get, references))
    if all(urls):
        return urls  # type: ignore[return-value]  # none of them is None
    absolute = _cache.urls("").get
    for number, url in enumerate(urls):
        if url is None:
            reference = references[number]
            url = absolute(reference)
            if not url:
                bare = reference.partition("#")[0]
                url = known.get(bare) or (_cached_url(known, bare, base) if bare else "")
            urls[number] = url
    return urls  # type: ignore[return-value]


def _resolve(reference: str, base: str) -> str:
    if len(reference) > _MAX_URL:
        return ""
    try:
        return parse_address(reference, base).url
    except BadUrl:
        return ""


def _cached_url(known: dict[str, str], reference: str, base: str) -> str:
    """Return the URL of a reference without its fragment, from the cache if it is there; `known`: of the origin."""
    if reference[:1] == "/":
        urls = known
    elif reference.startswith(_ABSOLUTE_STARTS):
        urls = _cache.urls("")
    else:
        urls = _cache.urls(folder_of(base))
    url = urls.get(reference)
    if url is not None:
        return url
    url = _resolve(reference, base)
    if 0 < len(reference) <= _MAX_CACHED_LENGTH and reference[0] in _PLAIN_STARTS:
        _cache.add(urls, reference, url)
    return url


def count_within(urls: Iterable[str], max_characters: int) -> int:
    """Return how many of the URLs, from the first on, have no more characters than that together."""
    return sum(total <= max_characters for total in accumulate(map(len, urls)))


def collect_clean(references: Sequence[str], texts: Sequence[str], base: str, max_links: int) -> tuple[Link, ...]:
    """Return the links that `LinkCollector` makes of references with texts in one line: of most pages each is a URL."""
    if len(references) <= min(max_links, _MANY):
        urls = resolve_all(references, base)
        if all(urls) and len(set(urls)) == len(urls) and max(map(len, texts), default=0) <= _MAX_TEXT:
            return tuple(map(Link, urls, map(str.rstrip, texts)))
    links = LinkCollector(base, max_links)
    links.add_clean(references, texts)
    return links.collected()


class LinkCollector:
    """Collects links; of several to one URL, the first text that is not empty is kept."""

    def __init__(self, base: str, max_links: int) -> None:
        self._base = base
        self._max_links = max_links
        self._tries = 4 * max_links
        self._links: dict[str, str] = {}
        """Texts by URL."""
        self._nofollow: set[str] = set()
        self._weak: set[str] = set()

    def add(self, reference: str | None, text: str = "", nofollow: bool = False) -> str:
        """Add a reference as it is written in the page. Return its URL, '' if it is not a link or there are enough."""
        if not reference or reference[0] == "#" or len(self._links) >= self._max_links or self._tries <= 0:
            return ""
        self._tries -= 1
        url = self._resolve(reference.partition("#")[0])
        if url:
            self._add_url(url, one_line(text, _MAX_TEXT) if text else "", nofollow)
        return url

    def add_clean(self, references: Sequence[str], texts: Sequence[str]) -> None:
        """Add references as `add` does, each with its text, which is in one line already."""
        if len(references) <= self._room() and not self._nofollow:
            self._add_known(references, texts)
            return
        for reference, text in zip(references, texts, strict=True):
            if not reference or reference[0] == "#":
                continue
            if len(self._links) >= self._max_links or self._tries <= 0:
                break
            self._tries -= 1
            url = self._resolve(reference.partition("#")[0])
            if url:
                self._add_url(url, text, False)

    def add_weak(self, reference: str) -> None:
        """Add the URL of a page shown within this one: a weak link unless something else in the page links to it."""
        before = len(self._links)
        self.add(reference)
        if len(self._links) > before:
            self._weak.add(next(reversed(self._links)))

    def add_all(self, references: Sequence[str], texts: Sequence[str], nofollow: Sequence[bool] = ()) -> None:
        """Add references, each with its text, which is in one line already, and whether it is nofollow."""
        if nofollow or self._nofollow or len(references) > self._room():
            self._add_each(references, texts, nofollow or [False] * len(texts))
        else:
            self._add_known(references, texts)

    def _resolve(self, bare: str) -> str:
        return _cached_url(_cache.urls(origin_of(self._base)), bare, self._base)

    def _room(self) -> int:
        """Return how many references can be added without reaching a limit."""
        return min(self._tries, self._max_links - len(self._links))

    def _add_known(self, references: Sequence[str], texts: Sequence[str]) -> None:
        """Add references that are not nofollow; of most pages all are URLs, and have a text."""
        self._tries -= len(references)
        links, urls = self._links, resolve_all(references, self._base)
        if not links and all(urls) and max(map(len, texts), default=0) <= _MAX_TEXT:
            links.update(zip(urls, map(str.rstrip, texts), strict=True))
            if len(links) < len(urls):  # of several texts the first is kept, which becomes the last
                links.update(zip(reversed(urls), map(str.rstrip, reversed(texts)), strict=True))
            if all(links.values()):
                return
            links.clear()
        for url, text in zip(urls, texts, strict=True):
            if url and not links.get(url):
                links[url] = text[:_MAX_TEXT].rstrip()

    def _add_each(self, references: Sequence[str], texts: Sequence[str], nofollow: Sequence[bool]) -> None:
        resolved: dict[str, str] = {}
        settled = set()
        for reference, text, own in zip(references, texts, nofollow, strict=True):
            bare = reference.partition("#")[0]
            if not bare or bare in settled:
                continue
            url = resolved.get(bare)
            if url is None:
                if len(self._links) >= self._max_links or self._tries <= 0:
                    break
                self._tries -= 1
                url = resolved[bare] = self._resolve(bare)
            if url:
                self._add_url(url, text[:_MAX_TEXT].rstrip() if text else "", own)
            if not url or (text and not own):
                settled.add(bare)

    def _add_url(self, url: str, text: str, nofollow: bool) -> None:
        earlier = self._links.get(url)
        if earlier is None:
            self._links[url] = text
            if nofollow:
                self._nofollow.add(url)
            return
        if not earlier:
            self._links[url] = text
        if not nofollow:
            self._nofollow.discard(url)

    def collected(self, nofollow: bool = False) -> tuple[Link, ...]:
        """Return the links in the order in which they were added; `nofollow` marks all of them."""
        links = self._links
        if len(links) > _MANY:
            # A long base makes short references long.
            links = dict(islice(links.items(), count_within(links, MAX_URL_CHARACTERS)))
        if not (nofollow or self._nofollow or self._weak):
            return tuple(map(Link, links, links.values()))
        return tuple(
            [Link(url, text, nofollow or url in self._nofollow, url in self._weak) for url, text in links.items()]
        )
