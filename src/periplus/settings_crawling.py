"""Settings of what happens before the page store: of all hosts, and of single ones."""

import re
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from periplus.errors import SettingsError
from periplus.settings_section import Section

__all__ = [
    "CrawlSettings",
    "FetchSettings",
    "FrontierSettings",
    "HostSettings",
    "ParseSettings",
    "StoreSettings",
    "read_host_settings",
]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
_VALUE: Final = re.compile(r"[\t -~\x80-\U0010ffff]{0,8192}")
_COOKIE: Final = re.compile(r"[!#-+\--:<-\[\]-~]{0,4096}")
_PROXY: Final = re.compile(r"(?:https?|socks5h?)://(?:[^\s/@]+@)?[^\s/@]+")
_KEY: Final = re.compile(r"\*|(?:\*\.)?[^\s/@*\"']{1,253}")
_OWN_HEADERS: Final = frozenset(
    {"accept-encoding", "authorization", "connection", "content-length", "cookie", "host", "proxy-authorization"}
    | {"range", "te", "trailer", "transfer-encoding", "upgrade", "user-agent"}
)
"""Headers that have a setting of their own, or that libcurl has to set."""


class FetchSettings(Section, frozen=True):
    """Limits and addresses of a single request."""

    user_agent: Annotated[
        str,
        Meta(
            description="User-Agent header of every request; rules of robots.txt are matched with its first word",
            min_length=1,
        ),
    ] = "PeriplusBot/0.1"
    contact: Annotated[
        str,
        Meta(
            description="How to reach the operator: a URL or an e-mail address, added to the User-Agent header; "
            "needed to crawl hosts of others",
            pattern=r"^(|https?://[^\s()]+|[^\s()@]+@[^\s()@]+)$",
            max_length=200,
        ),
    ] = ""
    own_hosts: Annotated[
        tuple[str, ...],
        Meta(description="Hosts and domains of the operator, which may be crawled without fetch.contact"),
    ] = ()
    connections: Annotated[int, Meta(description="Number of concurrent requests", ge=1, le=4096)] = 64
    connect_timeout: Annotated[float, Meta(description="Timeout for a connection, in seconds", gt=0)] = 10.0
    timeout: Annotated[float, Meta(description="Timeout for a whole request, in seconds", gt=0)] = 30.0
    slow_seconds: Annotated[
        int, Meta(description="Abort a transfer that is slower than 256 bytes/s for this many seconds", ge=1)
    ] = 15
    max_bytes: Annotated[
        int, Meta(description="Maximum size of a body in bytes, before and after decompression", ge=1024)
    ] = 4_194_304
    allow: Annotated[
        tuple[str, ...], Meta(description="Private or loopback networks that may be fetched, as CIDR, e.g. 127.0.0.0/8")
    ] = ()
    hosts_file: Annotated[
        str, Meta(description="File of 'ADDRESS[:PORT] NAME' lines that take precedence over DNS")
    ] = ""
    ca_file: Annotated[
        str, Meta(description="File of trusted certificates (PEM) for https, instead of the system's")
    ] = ""

    @property
    def agent(self) -> str:
        """The User-Agent header: name, version and contact."""
        return f"{self.user_agent} (+{self.contact})" if self.contact else self.user_agent

    @property
    def has_contact(self) -> bool:
        """Whether the User-Agent header says how to reach the operator."""
        return bool(self.contact) or "://" in self.user_agent or "@" in self.user_agent


class FrontierSettings(Section, frozen=True):
    """Scheduling of requests, and politeness."""

    delay: Annotated[float, Meta(description="Minimum delay between two requests to one host, in seconds", ge=0)] = 1.0
    delay_factor: Annotated[
        float, Meta(description="Delay as a multiple of the last response time, if that is longer", ge=0)
    ] = 4.0
    max_delay: Annotated[
        float,
        Meta(
            description="Maximum delay between two requests to one host, in seconds, unless the host asks for more; "
            "0 is no delay at all, for hosts of one's own",
            ge=0,
        ),
    ] = 60.0
    max_crawl_delay: Annotated[
        float,
        Meta(description="Park hosts whose robots.txt asks for a Crawl-delay of more than this many seconds", ge=0),
    ] = 900.0
    per_host: Annotated[
        int,
        Meta(description="Maximum number of queued URLs of one host in memory; further ones are queued on disk", ge=1),
    ] = 100_000
    per_domain: Annotated[
        int,
        Meta(
            description="Maximum number of hosts of one registered domain that are fetched at once; 0 is no limit", ge=0
        ),
    ] = 4
    per_address: Annotated[
        int,
        Meta(
            description="Maximum number of hosts behind one network address that are fetched at once; 0 is no limit",
            ge=0,
        ),
    ] = 16
    host_budget: Annotated[
        int,
        Meta(
            description="Requests, of the last million, after which a host yields to others; grows with its reputation",
            ge=1,
        ),
    ] = 2_000
    memory_mb: Annotated[
        int,
        Meta(
            description="Memory for queued URLs, in MB; beyond it those with the lowest priority are queued on disk",
            ge=1,
        ),
    ] = 256
    max_failures: Annotated[int, Meta(description="Give up a host after this many consecutive failures", ge=1)] = 8
    retries: Annotated[int, Meta(description="Number of retries of a page after a temporary failure", ge=0)] = 2
    back_off: Annotated[
        float,
        Meta(
            description="Delay after the first failure of a host, in seconds; doubles with each further failure", ge=0
        ),
    ] = 2.0


class ParseSettings(Section, frozen=True):
    """Limits of parsing."""

    robot: Annotated[
        str,
        Meta(
            description="Name by which rules for robots in pages and headers address the crawler, besides 'periplus'; "
            "none is the name in fetch.user_agent"
        ),
    ] = ""
    max_text: Annotated[int, Meta(description="Maximum number of characters of text stored for one page", ge=1000)] = (
        500_000
    )
    max_links: Annotated[int, Meta(description="Maximum number of links extracted from one page", ge=1)] = 5_000
    max_depth: Annotated[int, Meta(description="Maximum nesting depth of elements", ge=10)] = 512
    max_document_pages: Annotated[
        int, Meta(description="Maximum number of pages, slides, sheets or chapters read from one document", ge=1)
    ] = 200
    max_document_seconds: Annotated[float, Meta(description="Maximum time for parsing one PDF, in seconds", gt=0)] = 2.0
    processes: Annotated[
        int,
        Meta(
            description="Number of processes that parse documents other than ordinary HTML and text; 0 chooses",
            ge=0,
            le=64,
        ),
    ] = 0
    max_memory_mb: Annotated[
        int, Meta(description="Maximum memory that parsing one document may take, in MB", ge=64, le=65_536)
    ] = 512
    max_seconds: Annotated[
        float, Meta(description="Maximum CPU time for parsing one document in such a process, in seconds", gt=0)
    ] = 10.0


class StoreSettings(Section, frozen=True):
    """The page store."""

    compression: Annotated[str, Meta(description="WARC compression: zstd or gzip", pattern="^(zstd|gzip)$")] = "zstd"
    level: Annotated[int, Meta(description="Compression level", ge=1, le=19)] = 1
    rotate_bytes: Annotated[int, Meta(description="Size in bytes at which a new WARC file is begun", ge=65_536)] = (
        1_073_741_824
    )
    keep_days: Annotated[
        float,
        Meta(description="Remove responses older than this many days, except the newest of a page; 0 keeps all", ge=0),
    ] = 0.0
    keep_bytes: Annotated[
        int,
        Meta(
            description="Remove the oldest responses beyond this many bytes, except the newest of a page; 0 keeps all",
            ge=0,
        ),
    ] = 0


class CrawlSettings(Section, frozen=True):
    """Limits and scope of a crawl."""

    pages: Annotated[
        int, Meta(description="Stop when the data folder has this many pages, earlier runs included", ge=1)
    ] = 100_000
    host_pages: Annotated[int, Meta(description="Maximum number of pages of one host", ge=1)] = 20_000
    bytes: Annotated[
        int,
        Meta(
            description="Stop when all bodies together have this many bytes, earlier runs included; 0 is no limit", ge=0
        ),
    ] = 0
    host_bytes: Annotated[
        int, Meta(description="Maximum size of all bodies of one host, in bytes; 0 is no limit", ge=0)
    ] = 0
    host_requests_per_day: Annotated[
        int, Meta(description="Maximum number of requests to one host in a day (UTC); 0 is no limit", ge=0)
    ] = 0
    shards: Annotated[
        int,
        Meta(
            description="Number of crawl processes, each with hosts of its own; 0 is as many as before, at first one",
            ge=0,
            le=64,
        ),
    ] = 0
    depth: Annotated[int, Meta(description="Maximum number of links between a seed and a page", ge=0)] = 32
    minutes: Annotated[float, Meta(description="Stop after this many minutes; 0 is no limit", ge=0)] = 0.0
    scope: Annotated[
        str,
        Meta(
            description="Which links are followed: within the seeds' host, their domain, or the web",
            pattern="^(host|domain|web)$",
        ),
    ] = "domain"
    hosts: Annotated[tuple[str, ...], Meta(description="Only these hosts and their subdomains; none is no limit")] = ()
    paths: Annotated[
        tuple[str, ...], Meta(description="Only paths that begin with one of these, e.g. /docs/; none is no limit")
    ] = ()
    include: Annotated[
        tuple[str, ...], Meta(description="Only URLs that match one of these patterns; * matches anything")
    ] = ()
    exclude: Annotated[tuple[str, ...], Meta(description="No URLs that match one of these patterns")] = ()
    schemes: Annotated[tuple[str, ...], Meta(description="URL schemes that are followed")] = (
        "http",
        "https",
        "ftp",
        "gopher",
    )
    countries: Annotated[
        tuple[str, ...], Meta(description="Only hosts of these top-level domains, e.g. ch,de; none is no limit")
    ] = ()
    blocklist: Annotated[str, Meta(description="File of hosts and domains, one per line, that are never fetched")] = ""
    log_mb: Annotated[
        int, Meta(description="Maximum size of the crawl log with its older part, in MB; 0 writes none", ge=0)
    ] = 100
    max_url: Annotated[int, Meta(description="Maximum length of a URL, in characters", ge=32)] = 1_024
    commit_seconds: Annotated[
        float, Meta(description="Interval between commits (fsync) of the page store, in seconds", gt=0)
    ] = 1.0
    checkpoint_seconds: Annotated[
        float, Meta(description="Interval between snapshots of the frontier, in seconds", gt=0)
    ] = 10.0
    sitemaps: Annotated[bool, Meta(description="Read the sitemaps named in robots.txt")] = True
    feeds: Annotated[bool, Meta(description="Read the feeds that pages link to")] = True
    forms: Annotated[
        int, Meta(description="Maximum number of requests that fill in forms, for one host; 0 ignores forms", ge=0)
    ] = 0
    release: Annotated[
        tuple[str, ...],
        Meta(
            description="Fetch what is held back: a region that 'periplus crawl --held' lists, a host, or '*' for all"
        ),
    ] = ()
    recrawl: Annotated[bool, Meta(description="Revisit stored pages too, those most likely to have changed first")] = (
        False
    )
    recrawl_per_day: Annotated[
        int, Meta(description="Number of revisits per day, shared among all stored pages", ge=1)
    ] = 10_000
    probe: Annotated[
        bool, Meta(description="Request one page that does not exist from each larger host, to recognize its soft 404s")
    ] = True
    weights: Annotated[
        str, Meta(description="File of custom weights for URLs, pages and links (TOML, see ranking.md)")
    ] = ""


class HostSettings(Section, frozen=True):
    """Settings of single hosts: `[host."example.org"]`, `[host."*.example.org"]` (its subdomains), `[host."*"]` (all).

    The most specific section of a host counts, as a whole. Credentials are sent to the host of the section only.
    """

    delay: Annotated[
        float, Meta(description="Minimum delay between two requests, in seconds; -1 is frontier.delay", ge=-1)
    ] = -1.0
    pages: Annotated[int, Meta(description="Maximum number of pages; 0 is crawl.host_pages", ge=0)] = 0
    bytes: Annotated[int, Meta(description="Maximum size of all bodies, in bytes; 0 is crawl.host_bytes", ge=0)] = 0
    per_day: Annotated[
        int, Meta(description="Maximum number of requests a day (UTC); 0 is crawl.host_requests_per_day", ge=0)
    ] = 0
    scope: Annotated[
        str,
        Meta(
            description="always: in scope, whatever the seeds; never: not fetched; none: as crawl.scope",
            pattern="^(|always|never)$",
        ),
    ] = ""
    paths: Annotated[tuple[str, ...], Meta(description="Only paths that begin with one of these")] = ()
    include: Annotated[tuple[str, ...], Meta(description="Only URLs that match one of these patterns")] = ()
    exclude: Annotated[tuple[str, ...], Meta(description="No URLs that match one of these patterns")] = ()
    headers: Annotated[dict[str, str], Meta(description="Further request headers, e.g. { X-Team = 'search' }")] = (
        msgspec.field(default_factory=dict)
    )
    cookies: Annotated[dict[str, str], Meta(description="Cookies, e.g. { session = '4711' }")] = msgspec.field(
        default_factory=dict
    )
    user: Annotated[str, Meta(description="User name of basic authentication")] = ""
    password: Annotated[str, Meta(description="Password of basic authentication")] = ""
    password_file: Annotated[
        str, Meta(description="File whose first line is the password, instead of host.password")
    ] = ""
    over_http: Annotated[
        bool, Meta(description="Send headers, cookies and password over plain http too, where others can read them")
    ] = False
    proxy: Annotated[
        str, Meta(description="Proxy, e.g. http://proxy.example:3128 or socks5h://[USER:PASSWORD@]127.0.0.1:1080")
    ] = ""

    @property
    def has_credentials(self) -> bool:
        """Whether anything is sent that others must not see."""
        return bool(self.headers or self.cookies or self.user)

    def __repr__(self) -> str:
        """Return the names of the fields that are set, but no values: some are secret."""
        names = [name for name in self.__struct_fields__ if getattr(self, name) not in (-1.0, 0, "", (), {}, False)]
        return f"HostSettings({', '.join(names)})"


def read_host_settings(tables: Any, source: str) -> dict[str, HostSettings]:
    """Return the settings of hosts from the `host` table of a settings file; errors never show values."""
    hint = 'Write [host."example.org"] with settings of docs/settings.md.'
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise SettingsError(f"'host' {source} is not a table of hosts.", hint)
    return {key: _read_host(key, table, f'[host."{key[:80]}"] {source}') for key, table in tables.items()}


def _read_host(key: str, table: dict[str, Any], where: str) -> HostSettings:
    if not _KEY.fullmatch(key):
        raise SettingsError(f"{where}: this is not the name of a host.", "Write a host, '*.example.org' or '*'.")
    unknown = [name for name in table if name not in HostSettings.__struct_fields__]
    if unknown:
        names = ", ".join(HostSettings.__struct_fields__)
        raise SettingsError(f"{where}: unknown setting '{unknown[0][:80]}'.", f"There are: {names}.")
    try:
        settings = msgspec.convert(table, HostSettings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where} has a wrong value: {error}.", "See docs/settings.md.") from None
    fault = _fault_of(key, settings)
    if fault:
        raise SettingsError(f"{where}: {fault}")
    return settings


def _fault_of(key: str, settings: HostSettings) -> str:
    """Return what is wrong with the settings of a host, '' if nothing is."""
    if key == "*" and (settings.cookies or settings.user or settings.headers):
        return "headers, cookies and passwords are sent to named hosts only."
    for name, value in settings.headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            return f"'{name[:40]}' is not a header of one line."
        if name.lower() in _OWN_HEADERS:
            return f"the header '{name}' cannot be set here."
    for name, value in settings.cookies.items():
        if not _TOKEN.fullmatch(name) or not _COOKIE.fullmatch(value):
            return f"'{name[:40]}' is not a cookie (no blanks, commas, quotes, semicolons or backslashes)."
    if (settings.password or settings.password_file) and not settings.user:
        return "a password needs a user."
    if settings.password and settings.password_file:
        return "give password or password_file, not both."
    if ":" in settings.user or not _VALUE.fullmatch(settings.user + settings.password):
        return "user or password contains a character that basic authentication cannot send."
    if settings.proxy and not _PROXY.fullmatch(settings.proxy):
        return "proxy is not a URL of scheme http, https, socks5 or socks5h."
    return ""
