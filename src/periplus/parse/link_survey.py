"""What the links of a page lead to, by their URLs: media, descriptions of services, how many origins.

Most links of a page are on all pages of its site, and to pages: such URLs are remembered.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.parse.media_kinds import media_kind
from periplus.records import Link

__all__ = ["KnownUrls", "LinkSurvey", "count_origins", "survey_links", "urls_of"]

_DESCRIPTION: Final = re.compile(
    r"(?:[/._-](?:openapi|swagger)(?:[._-]?v?\d)?\.(?:json|ya?ml)|/v[23]/api-docs|[?&]wsdl|\.wsdl|/swagger-ui(?:/|\b)|"
    r"/redoc/?|/api-docs/?)(?:[?#].*)?$",
    re.IGNORECASE,
)
_HINTS: Final = ("openapi", "swagger", "api-docs", "wsdl", "redoc")
"""Every URL that the expression matches has one of these."""
_MAX_URLS: Final = 32_768
_MAX_LENGTH: Final = 256


class LinkSurvey(NamedTuple):
    """What a page links to."""

    media: bool
    """Whether a link is to a medium."""
    descriptions: bool
    """Whether a link is to the description of a service, such as OpenAPI."""


_NOTHING: Final = LinkSurvey(False, False)


class KnownUrls:
    """What recent URLs are, within bounds: most are neither media nor descriptions."""

    def __init__(self, max_urls: int = _MAX_URLS) -> None:
        self._max_urls = max_urls
        self._plain: set[str] = set()
        self._special: dict[str, LinkSurvey] = {}

    def __len__(self) -> int:
        return len(self._plain) + len(self._special)

    def survey(self, urls: Sequence[str]) -> LinkSurvey:
        """Return whether any of the URLs is a medium, and whether any is a description."""
        if self._plain.issuperset(urls):
            return _NOTHING
        found = [self._find(url) for url in urls if url not in self._plain]
        return LinkSurvey(any(one.media for one in found), any(one.descriptions for one in found))

    def _find(self, url: str) -> LinkSurvey:
        survey = self._special.get(url)
        if survey is None:
            survey = _look_at(url)
            if len(url) <= _MAX_LENGTH:
                self._remember(url, survey)
        return survey

    def _remember(self, url: str, survey: LinkSurvey) -> None:
        if len(self) >= self._max_urls:
            self._plain.clear()
            self._special.clear()
        if survey == _NOTHING:
            self._plain.add(url)
        else:
            self._special[url] = survey


def _look_at(url: str) -> LinkSurvey:
    """Return what a URL is."""
    lowered = url.lower()
    is_description = any(map(lowered.__contains__, _HINTS)) and _DESCRIPTION.search(url) is not None
    return LinkSurvey(media_kind(url) != "", is_description)


_known: Final = KnownUrls()
_last_urls: tuple[Sequence[Link], list[str]] = ((), [])
_last: tuple[Sequence[Link], LinkSurvey] = ((), _NOTHING)


def urls_of(links: Sequence[Link]) -> list[str]:
    """Return the URLs of the links of a page, which must not be changed; asked again, they are not listed again."""
    global _last_urls
    last = _last_urls
    if last[0] is links:
        return last[1]
    urls = [link.url for link in links]
    if isinstance(links, tuple):  # a list might change
        _last_urls = (links, urls)
    return urls


def survey_links(links: Sequence[Link]) -> LinkSurvey:
    """Return what the links of a page lead to; asked again about the same links, it is not looked up again."""
    global _last
    last = _last
    if last[0] is links:
        return last[1]
    survey = _known.survey(urls_of(links))
    if isinstance(links, tuple):  # a list might change
        _last = (links, survey)
    return survey


def count_origins(links: Sequence[Link]) -> int:
    """Return the number of origins that links lead to."""
    return len({url[: url.find("/", 9)] for url in urls_of(links)})
