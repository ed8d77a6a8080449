"""Records up to the page store: addresses, requests, responses, pages, visits."""

import enum
from typing import Final

import msgspec

__all__ = [
    "LIST_KIND",
    "SNIPPET_LIMITS",
    "Address",
    "FetchRecord",
    "FetchRequest",
    "FetchResult",
    "Form",
    "Link",
    "Media",
    "Outcome",
    "Page",
    "PageFlag",
    "VisitReport",
]

LIST_KIND: Final = "application/x-periplus-list"
"""The kind of a `Page` that is a sitemap or a feed: its links are followed, but it is not indexed."""


class Address(msgspec.Struct, frozen=True):
    """A URL in canonical form, split into its parts. Created by `periplus.url.parse_address` only."""

    url: str
    """The canonical form, ASCII, without a fragment."""
    scheme: str
    host: str
    """Lower-case ASCII; an IPv6 address keeps its brackets."""
    port: int
    """The port to connect to, also if the URL does not contain it."""
    path: str
    """Path and query, at least '/'."""
    domain: str
    """The registered domain ('example.co.uk'), or the host where there is none."""
    key: int
    """64-bit fingerprint of `url`."""

    @property
    def origin(self) -> str:
        """Scheme, host and port: the scope of one robots.txt."""
        return f"{self.scheme}://{self.host}:{self.port}"


class FetchRequest(msgspec.Struct, frozen=True):
    """An address to fetch."""

    address: Address
    depth: int = 0
    """Links followed since a seed."""
    rank: float = 0.0
    """Crawl rank; requests with a higher one are sent earlier."""
    attempt: int = 0
    """Number of earlier attempts."""
    hops: int = 0
    """Redirects followed to get here."""


class Outcome(enum.StrEnum):
    """How a fetch ended. Only OK has a body to parse; the others are expected results, and counted."""

    OK = "ok"
    REDIRECT = "redirect"
    NOT_MODIFIED = "not-modified"
    GONE = "gone"  # 404 and 410
    CLIENT_ERROR = "client-error"  # any other 4xx but 429
    BUSY = "busy"  # 429 and 503: to be tried again later
    SERVER_ERROR = "server-error"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too-large"  # and its beginning, if it was received, cannot be read on its own
    BAD_RESPONSE = "bad-response"  # it violates HTTP, or its body cannot be decoded
    WRONG_TYPE = "wrong-type"  # a content type without a parser
    PARSE_FAILED = "parse-failed"  # see `FetchRecord.fault`
    FORBIDDEN_ADDRESS = "forbidden-address"  # private, loopback or metadata, and not allowed; or it needs a contact
    ROBOTS = "robots"  # disallowed by robots.txt, and not requested


class FetchResult(msgspec.Struct, frozen=True):
    """The result of one request."""

    request: FetchRequest
    outcome: Outcome
    when: float
    """Start of the request, in seconds since 1970."""
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case, in the order received."""
    body: bytes = b""
    """Decompressed."""
    elapsed: float = 0.0
    ip: str = ""
    version: str = "HTTP/1.1"
    location: str = ""  # the target of a redirect, as an absolute URL
    error: str = ""  # a message of one line, or ''
    connect: float = 0.0  # seconds until a new connection was open, without the name lookup; 0 for an open one
    raw: bytes = b""  # the body as it was sent, if in a content encoding or of an error; b'' otherwise
    sent: tuple[tuple[str, str], ...] = ()  # the headers of the request, without credentials, if they are to be stored

    def header(self, name: str) -> str:
        """Return the first header with this `name` (lower case), or ''."""
        for key, value in self.headers:
            if key == name:
                return value
        return ""


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One reference from a page, as an absolute URL, with its text."""

    url: str
    text: str = ""
    nofollow: bool = False
    weak: bool = False
    """Whether the page only embeds it (an iframe): followed, but no recommendation."""


class Media(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One image, sound, video or text track of a page, with the text that describes it."""

    url: str
    kind: str
    """'image', 'audio', 'video' or 'track'."""
    text: str = ""
    """Alternative text, caption, title or surrounding text."""


class Form(msgspec.Struct, frozen=True, array_like=True):
    """One form of a page that a crawl may submit: by GET, with at most one text field."""

    action: str
    """The URL of the submission, absolute."""
    text: str = ""
    """Name of the text field; '' if there is none."""
    fixed: tuple[tuple[str, str], ...] = ()
    """Fields with a fixed value."""
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Fields with their possible values."""


class PageFlag(enum.IntFlag):
    """Warnings about a page, and what it asks for. Numbers and limits are stored on disk: none may be changed."""

    ADULT = 1
    STUFFED = 2
    """Keyword stuffing."""
    HIDDEN = 4
    """Text that is invisible to readers."""
    LINK_FARM = 8
    PAYWALL = 16
    SCRIPT_ONLY = 32
    """No text without scripts."""
    UNTRUSTED = 64
    """On a host with many inlinks, but hardly any from trusted hosts: probably link spam."""
    NOARCHIVE = 128  # the page asks not to be shown from the cache
    SNIPPET_LIMIT = 0xF00  # how much may be quoted: 0 is no limit, n is SNIPPET_LIMITS[n - 1] characters


SNIPPET_LIMITS: Final = (0, 20, 40, 60, 80, 100, 120, 140, 160, 200, 240, 300, 400, 500, 700)


class Page(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What was parsed from the body of a response."""

    url: str
    title: str = ""
    headings: tuple[str, ...] = ()
    emphasis: tuple[str, ...] = ()
    text: str = ""
    """The visible text, with newlines between blocks."""
    links: tuple[Link, ...] = ()
    canonical: str = ""
    """The canonical URL that the page declares, if it is another one."""
    description: str = ""
    language: str = ""
    """The language tag that the page declares: evidence of its language, which is identified when it is indexed."""
    charset: str = ""
    kind: str = "text/html"
    noindex: bool = False
    nofollow: bool = False
    published: str = ""
    """ISO date, if the page states one."""
    feeds: tuple[str, ...] = ()
    images: tuple[Link, ...] = ()
    """URL and alternative text."""
    author: str = ""
    main: tuple[int, ...] = ()
    """The main content: start and end offset of each of its ranges in `text`, alternating."""
    preview: str = ""
    """The first sentences of the main content."""
    facts: tuple[tuple[str, str], ...] = ()
    """Keys and values from OpenGraph, JSON-LD, microdata, infobox tables and document properties."""
    media: tuple[Media, ...] = ()
    service: str = ""
    """'openapi', 'swagger', 'wsdl', 'api-reference', 'portal' (links to one of these), or ''."""
    flags: int = 0
    reasons: tuple[str, ...] = ()
    """A combination of `PageFlag`, and an explanation of one line for each."""
    changed: tuple[float, ...] = ()
    """Of a list: when the page of each link last changed, in seconds since 1970; 0.0 if it is not stated."""
    forms: tuple[Form, ...] = ()
    """Forms to submit, if the crawl does so."""
    own_fields: str = ""
    """Of a document that an application has sent: a JSON object of its other fields; '' for all others."""
    own_text: str = ""
    """Of such a document: the text of those fields that are searched."""
    popularity: float = 0.0  # how popular such a document is, from 0 to 1


class FetchRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One fetch with its outcome and its page: what is stored, replayed by recovery, and indexed."""

    url: str
    key: int
    outcome: Outcome
    when: float
    status: int = 0
    depth: int = 0
    location: str = ""
    elapsed: float = 0.0
    content: int = 0
    """Fingerprint of the body."""
    etag: str = ""
    modified: str = ""
    page: Page | None = None
    duplicate_of: str = msgspec.field(default="", name="copy_of")
    """The URL of a page with identical content."""
    bytes: int = 0
    warc: str = ""
    warc_offset: int = 0
    """Name of the WARC file with the response, '' if it is not stored; and where it is."""
    hops: int = 0
    """Redirects followed to get here."""
    retry_after: float = 0.0  # seconds to wait, as requested by the host
    revisit: bool = msgspec.field(default=False, name="again")
    """Whether the page was stored before."""
    simhash: int = 0
    """Of the main content; 0 if it is too short to compare."""
    near_duplicate_of: str = msgspec.field(default="", name="near_copy_of")
    """The URL of a page with nearly the same content."""
    fault: str = ""  # why there is no page, or not all of a list
    forwarded: bool = False  # whether another shard has fetched it, to which its host belonged then
    truncated: bool = False  # whether the body was longer than is read: the page is its beginning


class VisitReport(msgspec.Struct, frozen=True, array_like=True):
    """A visit that was reported by a browser, a proxy or an access network."""

    url: str
    count: int = 1
    digest: str = ""
    """An identifier of the content, which is compared only with earlier ones of the same URL."""
    when: float = 0.0
    """Seconds since 1970; 0 means now."""
    source: int = 0
    """1 to 63: a pseudonym of the reporter that is valid for this URL only; 0 if unknown."""
