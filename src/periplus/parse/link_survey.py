"""What the links of a page lead to, by their URLs: media, descriptions of services, how many origins."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.parse.media_kinds import media_kind
from periplus.parse.url_memo import UrlMemo
from periplus.records import Link

__all__ = ["LinkSurvey", "survey_links"]

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


class _Target(NamedTuple):
    is_media: bool
    is_description: bool
    origin: str


def _look_at(url: str) -> _Target:
    lowered = url.lower()
    is_description = any(word in lowered for word in _HINTS) and _DESCRIPTION.search(url) is not None
    return _Target(bool(media_kind(url)), is_description, url[: url.find("/", 9)])


_memo: Final = UrlMemo(_look_at)
_last: tuple[Sequence[Link], LinkSurvey] = ((), LinkSurvey(False, False, 0))


def survey_links(links: Sequence[Link]) -> LinkSurvey:
    """Return what the links of a page lead to; asked again about the same links, it is not looked up again."""
    global _last
    last = _last
    if last[0] is links:
        return last[1]
    targets = set(_memo.values([link.url for link in links]))
    survey = LinkSurvey(
        any(target.is_media for target in targets),
        any(target.is_description for target in targets),
        len({target.origin for target in targets}),
    )
    if isinstance(links, tuple):  # a list might change
        _last = (links, survey)
    return survey
