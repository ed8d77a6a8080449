"""What passes between rooms. These records are the whole vocabulary; rooms share nothing else.

Address   a URL in canonical form, taken apart once
Due       an address whose turn it is
Fetched   what one GET brought back
Link      one reference from a page, with its text
Media     one image, sound or film of a page, with the words around it
Page      what was read out of the bytes
Form      one form of a page that a crawl may fill in
Flag      what a careful reader of a page would warn of
Visit     one fetch and all that came of it: the line the crawl log keeps, and the index reads
Sighting  a visit that somebody else made, and told us of
Query     what a person asked
Candidates  documents that match, best first, as arrays
Hit       one result as a person sees it
Card      what the best result states about itself, when the query names it
ResultPage  all of the answer
"""

import enum
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

__all__ = [
    "LIST_KIND",
    "Address",
    "Candidates",
    "Card",
    "FetchRecord",
    "FetchRequest",
    "FetchResult",
    "Form",
    "Hit",
    "Link",
    "Media",
    "Outcome",
    "Page",
    "PageFlag",
    "Query",
    "ResultPage",
    "VisitReport",
]


LIST_KIND: Final = "application/x-periplus-list"
"""The kind of a `Page` that is a sitemap or a feed: links to follow, nothing to read or to rank."""


class Address(msgspec.Struct, frozen=True):
    """A URL in canonical form, taken apart once. Made by `periplus.url.address` only."""

    url: str
    """The canonical form, ASCII, without a fragment."""
    scheme: str
    host: str
    """Lower-case ASCII; an IPv6 address keeps its brackets."""
    port: int
    """The port that is connected to, also when the URL leaves it out."""
    path: str
    """Path and query, at least '/'."""
    domain: str
    """The registered domain ('example.co.uk'), or the host where there is none."""
    key: int
    """64-bit fingerprint of `url`."""

    @property
    def origin(self) -> str:
        """Scheme, host and port: what one robots.txt speaks for."""
        return f"{self.scheme}://{self.host}:{self.port}"


class FetchRequest(msgspec.Struct, frozen=True):
    """An address whose turn it is."""

    address: Address
    depth: int = 0
    """Links followed since a seed."""
    rank: float = 0.0
    """Crawl rank; higher is sooner."""
    attempt: int = 0
    """How often it was tried before."""
    hops: int = 0
    """Redirects followed to get here."""


class Outcome(enum.StrEnum):
    """How a fetch ended. Only OK has a body worth reading; the rest are ordinary, and counted."""

    OK = "ok"
    REDIRECT = "redirect"
    NOT_MODIFIED = "not-modified"
    GONE = "gone"
    """404 and 410."""
    CLIENT_ERROR = "client-error"
    """Any other 4xx but 429."""
    BUSY = "busy"
    """429 and 503: come back later."""
    SERVER_ERROR = "server-error"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too-large"
    BAD_RESPONSE = "bad-response"
    """The server broke HTTP, or the encoding of the body."""
    WRONG_TYPE = "wrong-type"
    """A content type that no reader takes."""
    FORBIDDEN_ADDRESS = "forbidden-address"
    """The name leads to a private, loopback or metadata address that the operator did not allow."""
    ROBOTS = "robots"
    """robots.txt says no: never requested."""


class FetchResult(msgspec.Struct, frozen=True):
    """What one GET brought back."""

    request: FetchRequest
    outcome: Outcome
    when: float
    """Seconds since 1970 at which the request began."""
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case, in the order received."""
    body: bytes = b""
    """Decompressed."""
    elapsed: float = 0.0
    ip: str = ""
    version: str = "HTTP/1.1"
    location: str = ""
    """Where a redirect leads, made absolute."""
    error: str = ""
    """One line for people, when there is something to say."""

    def header(self, name: str) -> str:
        """Give the first header called `name` (lower case), or ''."""
        for key, value in self.headers:
            if key == name:
                return value
        return ""


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One reference from a page, made absolute, with its text."""

    url: str
    text: str = ""
    nofollow: bool = False
    weak: bool = False
    """Whether the page only shows it within itself (an iframe): followed, but no word of praise."""


class Media(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One image, sound, film or text track that a page shows, with the words that tell what is in it."""

    url: str
    kind: str
    """'image', 'audio', 'video' or 'track'."""
    text: str = ""
    """Alternative text, caption, title, or what stands beside it."""


class Form(msgspec.Struct, frozen=True, array_like=True):
    """One form of a page that may be filled in by a crawl: sent by GET, with one text at most."""

    action: str
    """Where it is sent, made absolute."""
    text: str = ""
    """Name of the field to write something in; '' when there is none."""
    fixed: tuple[tuple[str, str], ...] = ()
    """Fields that are sent as they are."""
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Fields with the values that may be chosen."""


class PageFlag(enum.IntFlag):
    """What a careful reader would warn of. The numbers are written to disk: never change one, only add."""

    ADULT = 1
    STUFFED = 2
    """The same words over and over, for search engines."""
    HIDDEN = 4
    """Text that people do not see."""
    LINK_FARM = 8
    PAYWALL = 16
    SCRIPT_ONLY = 32
    """Nothing to read without running scripts."""
    UNTRUSTED = 64
    """Of a host that many link to, and hardly any that is trusted: links were made to lift it."""


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was read out of the bytes."""

    url: str
    title: str = ""
    headings: tuple[str, ...] = ()
    emphasis: tuple[str, ...] = ()
    text: str = ""
    """The visible text, blocks parted by newlines."""
    links: tuple[Link, ...] = ()
    canonical: str = ""
    """The address the page gives for itself, if another."""
    description: str = ""
    language: str = ""
    """Two letters: as declared by the page, or as detected when it declares none."""
    charset: str = ""
    kind: str = "text/html"
    noindex: bool = False
    nofollow: bool = False
    published: str = ""
    """ISO date, when the page gives one."""
    feeds: tuple[str, ...] = ()
    images: tuple[Link, ...] = ()
    """Address and alternative text."""
    author: str = ""
    main: tuple[int, ...] = ()
    """The main content: begin and end of each stretch of `text` that belongs to it, one after the other."""
    preview: str = ""
    """The first sentences of the main content."""
    facts: tuple[tuple[str, str], ...] = ()
    """Keys and values that the page states: OpenGraph, JSON-LD, microdata, infobox tables, document properties."""
    media: tuple[Media, ...] = ()
    service: str = ""
    """'openapi', 'swagger', 'wsdl', 'api-reference', 'portal' (links to one of them), or ''."""
    flags: int = 0
    """Of `PageFlag`."""
    reasons: tuple[str, ...] = ()
    """One line for each flag, for people."""
    changed: tuple[float, ...] = ()
    """Of a list: when each link's page was changed last, in seconds since 1970, 0.0 where it does not say."""
    forms: tuple[Form, ...] = ()
    """Forms to fill in, when that was asked for."""


class FetchRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One fetch and all that came of it: what the crawl log keeps, what recovery replays, what the index reads."""

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
    """The URL that already has this very content."""
    bytes: int = 0
    """Length of the body."""
    warc: str = ""
    """Name of the WARC file that keeps the response, '' when it is not kept."""
    warc_offset: int = 0
    hops: int = 0
    """Redirects followed to get here."""
    retry_after: float = 0.0
    """Seconds the host asked to be left alone."""
    revisit: bool = msgspec.field(default=False, name="again")
    """Whether the page was stored before, and this was another look at it."""
    simhash: int = 0
    """Of the main content; 0 when it says too little to compare."""
    near_duplicate_of: str = msgspec.field(default="", name="near_copy_of")
    """The URL of a page that said nearly the same before."""


class VisitReport(msgspec.Struct, frozen=True, array_like=True):
    """A visit that somebody else made: a browser, a proxy, a feed of an access network."""

    url: str
    count: int = 1
    """How often it was visited."""
    digest: str = ""
    """Whatever names the content they saw; only compared with what the same URL had before."""
    when: float = 0.0
    """Seconds since 1970; 0 is now."""
    source: int = 0
    """1 to 63: what stands for who reported this URL, another for every URL; 0 is not known. Says no more than whether
    two reports of one URL may be by the same."""


class Query(msgspec.Struct, frozen=True):
    """What a person asked."""

    words: str
    start: int = 0
    """How many results to pass over."""
    size: int = 10
    explain: bool = False
    language: str = ""
    """Only pages in this language, by its two letters."""
    site: str = ""
    """Only pages of this host and its subdomains."""
    days: int = 0
    """Only pages dated within this many days; 0 is any time."""
    kinds: tuple[str, ...] = ()
    """Only pages of these content types."""
    having: str = ""
    """Only pages that have 'media' or are 'news'."""
    safe: int = 0
    """1 leaves out adult pages, 2 also those that deceive."""
    folded: bool = True
    """Whether near-duplicates and many results of one host are folded."""


class Candidates(NamedTuple):
    """Documents that match, best first."""

    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    """Numbers within their segment."""
    scores: npt.NDArray[np.float32]
    total: int
    exact: bool
    """Whether `total` was counted or estimated."""
    partial: bool
    """Whether the time budget ran out."""


class Hit(msgspec.Struct, frozen=True):
    """One result as a person sees it."""

    url: str
    title: str
    snippet: tuple[tuple[str, bool], ...]
    """Pieces of text, each with whether it is to be marked."""
    breadcrumbs: tuple[str, ...]
    """Host, then readable path parts."""
    score: float
    key: int
    """64-bit fingerprint of the URL; names the cached copy."""
    language: str = ""
    fetched: float = 0.0
    kind: str = ""
    missing: tuple[str, ...] = ()
    """Words of the query that this page does not have."""
    reasons: tuple[tuple[str, float], ...] = ()
    """What the score is made of, when asked to explain."""
    day: int = 0
    """Days since 1970 on which it was published, or fetched if it does not say; 0 when not known."""
    flags: int = 0
    """Of `PageFlag`."""
    similar: tuple[str, ...] = ()
    """URLs of results that say nearly the same, and were folded into this one."""
    links: tuple[tuple[str, str], ...] = ()
    """Other results of the same site, title and URL, when this one is its home page."""
    media: tuple[Media, ...] = ()
    """What it shows, when media are asked for."""


class Card(msgspec.Struct, frozen=True):
    """What one page states about the thing that was asked for."""

    title: str
    url: str
    text: str
    facts: tuple[tuple[str, str], ...]


class ResultPage(msgspec.Struct, frozen=True):
    """All of the answer to one query."""

    query: Query
    hits: tuple[Hit, ...]
    total: int
    exact: bool
    partial: bool
    seconds: float
    documents: int
    """How many documents were searched."""
    notes: tuple[str, ...] = ()
    """What a person should know: words left out, operators not understood."""
    hidden: int = 0
    """Results that safe search left out, among those examined."""
    examined: int = 0
    """How many results were examined for that."""
    timings: tuple[tuple[str, float], ...] = ()
    """Seconds by stage."""
    corrections: tuple[str, ...] = ()
    """What may have been meant by words that are not found, or hardly."""
    generation: int = 0
    """Which commit of the index answered."""
    card: Card | None = None
