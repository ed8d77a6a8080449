"""Settings of what happens before the page store, for all hosts."""

from typing import Annotated

from msgspec import Meta

from periplus.settings_section import Section

__all__ = ["CrawlSettings", "FetchSettings", "FrontierSettings", "ParseSettings", "RenderSettings", "StoreSettings"]


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
        int,
        Meta(
            description="Maximum size of a body in bytes, before and after decompression; of a longer page the "
            "beginning is kept",
            ge=1024,
        ),
    ] = 4_194_304
    max_list_bytes: Annotated[
        int, Meta(description="Maximum size of a sitemap or feed in bytes, after decompression", ge=1024)
    ] = 52_428_800
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
    max_links: Annotated[
        int,
        Meta(
            description="Number of links of one page that are followed in turn; further ones come behind all other "
            "URLs of their host",
            ge=1,
        ),
    ] = 5_000
    max_deferred_links: Annotated[
        int, Meta(description="Maximum number of such further links of one page; more are left out", ge=0)
    ] = 50_000
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

    @property
    def all_links(self) -> int:
        """Links that are extracted from one page."""
        return self.max_links + self.max_deferred_links


class StoreSettings(Section, frozen=True):
    """The page store."""

    warc: Annotated[
        str,
        Meta(
            description="How WARC files are compressed: zstd, or gzip for tools that read nothing else",
            pattern="^(zstd|gzip)$",
        ),
    ] = "zstd"
    level: Annotated[int, Meta(description="Compression level", ge=1, le=19)] = 1
    dictionary_kb: Annotated[
        int,
        Meta(
            description="Size of the dictionary that zstd trains on the first responses and keeps in each later WARC "
            "file, in kB; 0 uses none",
            ge=0,
            le=1_024,
        ),
    ] = 0
    requests: Annotated[bool, Meta(description="Store a WARC record of each request too, without credentials")] = False
    errors: Annotated[bool, Meta(description="Store the responses of redirects and errors too")] = False
    cdxj: Annotated[
        bool, Meta(description="Write index.cdxj, by which replay tools find responses, whenever a crawl ends")
    ] = False
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


class RenderSettings(Section, frozen=True):
    """Pages rendered in Chromium, of hosts with `render` set."""

    chromium: Annotated[str, Meta(description="Path of Chromium; none looks for it")] = ""
    pages: Annotated[int, Meta(description="Maximum number of pages open at the same time", ge=1, le=64)] = 2
    seconds: Annotated[
        float, Meta(description="Time for a page to load what it shows, delays between requests included", gt=0)
    ] = 30.0
    requests: Annotated[
        int, Meta(description="Maximum number of scripts and data that one page may load", ge=0, le=10_000)
    ] = 64
    memory_mb: Annotated[
        int, Meta(description="Memory of Chromium beyond which it is ended, in MB", ge=256, le=1_048_576)
    ] = 2_048


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
    thumbnails: Annotated[
        int,
        Meta(
            description="Maximum number of images that are fetched after a crawl to make thumbnails and icons of them; "
            "0 makes none",
            ge=0,
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
        tuple[str, ...],
        Meta(
            description="Only URLs that match one of these patterns: * matches anything, and 're:' begins a regular "
            "expression"
        ),
    ] = ()
    exclude: Annotated[tuple[str, ...], Meta(description="No URLs that match one of these patterns")] = ()
    profanity: Annotated[
        tuple[str, ...],
        Meta(
            description="Word lists, one word or phrase a line, or 'builtin': URLs with such a word are not fetched, "
            "and pages with it in the title, or several times in the text, not indexed"
        ),
    ] = ()
    profanity_count: Annotated[
        int, Meta(description="How many words of crawl.profanity the text of a page has to contain", ge=1)
    ] = 3
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
    hooks: Annotated[
        tuple[str, ...],
        Meta(description="Python objects, as 'module:object', whose on_page and on_link are called (crawling.md)"),
    ] = ()
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
    lists_per_host: Annotated[int, Meta(description="Maximum number of sitemaps and feeds read of one host", ge=1)] = (
        100
    )
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
