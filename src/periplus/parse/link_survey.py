"""What the links of a page lead to, by their URLs: media, descriptions of services, how many origins."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.parse.media_kinds import media_kind
from periplus.parse.url_memo import UrlMemo
from periplus.records import Link

__all__ = ["LinkSurvey", "survey_links", "urls_of"]

_DESCRIPTION: Final = re.compile(
    r"(?:[/._-](?:openapi|swagger)(?:[._-]?v?\d)?\.(?:json|ya?ml)|/v[23]/api-docs|[?&]wsdl|\.wsdl|/swagger-ui(?:/|\b)|"
    r"/redoc/?|/api-docs/?)(?:[?#].*)?$",
    re.IGNORECASE,
)
_HINTS: Final = ("openapi", "swagger", "api-docs", "wsdl", "redoc")
"""Every URL that the expression matches has one of these."""


class LinkSurvey(NamedTuple):
    """What a page links to."""

    media: bool
    """Whether a link is to a medium."""
    descriptions: bool
    """Whether a link is to the description of a service, such as OpenAPI."""
    origins: int
    """The number of origins that are linked to."""


_PLAIN, _MEDIUM, _DESCRIBES, _BOTH = "pmdb"
_ONLY_PLAIN: Final = {_PLAIN}


def _look_at(url: str) -> str:
    """Return a letter for what a URL is, and its origin: strings remember their hashes, of which sets are made."""
    lowered = url.lower()
    is_description = any(map(lowered.__contains__, _HINTS)) and _DESCRIPTION.search(url) is not None
    kind = (_BOTH if is_description else _MEDIUM) if media_kind(url) else _DESCRIBES if is_description else _PLAIN
    return kind + url[: url.find("/", 9)]


_memo: Final = UrlMemo(_look_at)
_last_urls: tuple[Sequence[Link], list[str]] = ((), [])
_last: tuple[Sequence[Link], LinkSurvey] = ((), LinkSurvey(False, False, 0))


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
    targets = set(_memo.values(urls_of(links)))
    kinds = {target[0] for target in targets}
    is_plain = kinds == _ONLY_PLAIN
    survey = LinkSurvey(
        not (is_plain or kinds.isdisjoint((_MEDIUM, _BOTH))),
        not (is_plain or kinds.isdisjoint((_DESCRIBES, _BOTH))),
        len(targets) if is_plain else len({target[1:] for target in targets}),
    )
    if isinstance(links, tuple):  # a list might change
        _last = (links, survey)
    return survey
