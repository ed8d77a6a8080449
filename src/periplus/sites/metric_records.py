"""Records of what sites do, from which `periplus evaluate sites` computes the metrics of COAST, section 5.

A running site appends them to its metric log (`metric_log`); simulations yield the same records. Pages are named by the
key of their URL (`Address.key`) and queries by a number that the site chooses: neither URLs nor words are recorded.

    written by                          record
    the site, when it starts            SiteLocation
    the crawl, for each page            PageFetch; ForwardedLinks for each batch of the URL sink; UrlDiscovery
    the page sink, for each page        PagePlacement
    search, for each query              QueryAnswer
    clicks and visit reports            PageAccess
    a revisit                           DocumentState
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from periplus.typed_decoding import json_decoder

__all__ = [
    "DocumentState",
    "ForwardedLinks",
    "MetricRecord",
    "PageAccess",
    "PageFetch",
    "PagePlacement",
    "QueryAnswer",
    "SiteLocation",
    "UrlDiscovery",
    "decode_metric",
    "encode_metric",
]

_MAX_SITES: Final = 256
_MAX_RESULTS: Final = 100
_SiteName = Annotated[str, Meta(min_length=1, max_length=64)]
_SiteNames = Annotated[tuple[_SiteName, ...], Meta(max_length=_MAX_SITES)]
_Key = Annotated[int, Meta(ge=0)]
"""Of 64 bits; a schema of msgspec cannot state numbers above 2**63."""
_Count = Annotated[int, Meta(ge=0, le=1 << 40)]
_Seconds = Annotated[float, Meta(ge=0.0, le=1e6)]
_Time = Annotated[float, Meta(ge=0.0, le=1e11)]
"""Seconds since 1970."""
_Latitude = Annotated[float, Meta(ge=-90.0, le=90.0)]
_Longitude = Annotated[float, Meta(ge=-180.0, le=180.0)]


class SiteLocation(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="site"):
    """Where a site is."""

    when: _Time
    site: _SiteName
    latitude: _Latitude
    longitude: _Longitude


class PageFetch(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="fetch"):
    """A page that the crawler of a site has fetched (section 5.1.1)."""

    when: _Time
    site: _SiteName
    page: _Key
    size: _Count = 0
    """Bytes that were transferred."""
    seconds: _Seconds = 0.0
    """Time that the transfer took; 0 if it was not measured."""
    latitude: _Latitude | None = None
    longitude: _Longitude | None = None
    """Where the host of the page is, if that is known."""


class ForwardedLinks(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="links"):
    """Links that the crawler of one site sent to that of another (section 5.1.1)."""

    when: _Time
    site: _SiteName
    target: _SiteName
    links: _Count


class UrlDiscovery(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="discovery"):
    """The first time that the crawl, or a person, came across a URL (section 5.1.2)."""

    when: _Time
    site: _SiteName
    page: _Key
    source: Literal["crawl", "people"]


class PagePlacement(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="placement"):
    """The master indexer that was chosen for a page (section 5.2.2)."""

    when: _Time
    site: _SiteName
    """The crawler that chose."""
    page: _Key
    master: _SiteName
    ordinal: Annotated[int, Meta(ge=1, le=_MAX_SITES)] = 1
    """The rank of the master by score; above 1 if better ones could not be reached."""
    ranking: _SiteNames = ()
    """All sites, best first; () if there was no evidence, and the choice was made by distance or hash."""


class PageAccess(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="access"):
    """Accesses to a page by the people of a site: clicks on results, or reported visits (section 5.2.2)."""

    when: _Time
    site: _SiteName
    page: _Key
    count: _Count = 1
    rank: Annotated[int, Meta(ge=0, le=1_000)] = 0
    """The position of a clicked result, from 1 on; 0 for visits."""
    query: _Key = 0
    """The number of the query, `QueryAnswer.query`; 0 for visits."""


class QueryAnswer(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="query"):
    """How a site answered a query (sections 5.2.3 to 5.2.5)."""

    when: _Time
    site: _SiteName
    query: _Key
    seconds: _Seconds
    """Time from request to answer, as the site saw it."""
    asked: _SiteNames = ()
    """The sites that the query was forwarded to; () if it was answered locally."""
    improved: bool | None = False
    """Whether the answer differs from the local one; None where that is not known."""
    sites: Annotated[int, Meta(ge=1, le=_MAX_SITES)] = 1
    """The number of sites at that time."""
    results: Annotated[tuple[_Key, ...], Meta(max_length=_MAX_RESULTS)] = ()
    """The pages of the answer, best first."""


class DocumentState(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="document"):
    """What a site knows of a document in its index (section 5.3.1)."""

    when: _Time
    site: _SiteName
    page: _Key
    passive: bool = False
    """Whether it was discovered by people, not by the crawl."""
    stale: bool = False
    """Whether the page was found changed since it was indexed."""


MetricRecord = (
    SiteLocation | PageFetch | ForwardedLinks | UrlDiscovery | PagePlacement | PageAccess | QueryAnswer | DocumentState
)

_DECODER: Final[msgspec.json.Decoder[MetricRecord]] = json_decoder(MetricRecord)  # type: ignore[arg-type]
_ENCODER: Final = msgspec.json.Encoder()


def encode_metric(record: MetricRecord) -> bytes:
    """Return a record as a JSON object."""
    return _ENCODER.encode(record)


def decode_metric(line: bytes) -> MetricRecord | None:
    """Return the record of a line; None if it is not one, or if a value is out of bounds."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
