"""What can be set. One frozen struct per room; `load` reads them once, from periplus.toml, environment and flags.

Only `periplus.cli` calls `load`; every room is handed its own struct. `table` lists all of it for --help and the docs.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, get_type_hints

import msgspec
from msgspec import Meta

from periplus.settings_loader import Setting, read_settings

__all__ = [
    "CrawlSettings",
    "FetchSettings",
    "FocusSettings",
    "FrontierSettings",
    "GraphSettings",
    "IndexSettings",
    "ParseSettings",
    "RankSettings",
    "SearchSettings",
    "SemanticSettings",
    "ServeSettings",
    "Setting",
    "Settings",
    "StoreSettings",
    "load",
    "table",
]


class _Room(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class FetchSettings(_Room, frozen=True):
    """How one GET is bounded."""

    user_agent: Annotated[
        str,
        Meta(description="Name sent with every request; robots.txt rules are matched on its first word", min_length=1),
    ] = "PeriplusBot/0.1 (+https://periplus.example/bot)"
    connections: Annotated[int, Meta(description="Requests under way at once", ge=1, le=4096)] = 64
    connect_timeout: Annotated[float, Meta(description="Seconds to wait for a connection", gt=0)] = 10.0
    timeout: Annotated[float, Meta(description="Seconds a whole request may take", gt=0)] = 30.0
    slow_seconds: Annotated[
        int, Meta(description="Give up when fewer than 256 bytes/s arrive for this many seconds", ge=1)
    ] = 15
    max_bytes: Annotated[int, Meta(description="Longest body, in bytes, before and after decompression", ge=1024)] = (
        4_194_304
    )
    allow: Annotated[
        tuple[str, ...], Meta(description="Private or loopback ranges that may be fetched, as CIDR, e.g. 127.0.0.0/8")
    ] = ()
    hosts: Annotated[str, Meta(description="File of 'ADDRESS[:PORT] NAME' lines that are asked before DNS")] = ""
    trust: Annotated[
        str, Meta(description="File of certificates (PEM) that are trusted for https instead of the system's")
    ] = ""


class FrontierSettings(_Room, frozen=True):
    """What is fetched next, and how politely."""

    delay: Annotated[float, Meta(description="Seconds between two requests to one host, at least", ge=0)] = 1.0
    delay_factor: Annotated[
        float, Meta(description="Wait this many times the last response time, if that is longer", ge=0)
    ] = 4.0
    max_delay: Annotated[
        float, Meta(description="Never wait longer than this many seconds between two requests to one host", ge=0)
    ] = 60.0
    per_host: Annotated[
        int, Meta(description="Most URLs kept waiting in memory for one host; more of them wait on disk", ge=1)
    ] = 100_000
    per_domain: Annotated[
        int, Meta(description="Hosts of one registered domain that are asked at once; 0 is no limit", ge=0)
    ] = 4
    per_address: Annotated[
        int, Meta(description="Hosts behind one network address that are asked at once; 0 is no limit", ge=0)
    ] = 16
    host_budget: Annotated[
        int,
        Meta(
            description="Requests of the last million after which a host waits behind others; grows with its fame", ge=1
        ),
    ] = 2_000
    memory_mb: Annotated[
        int, Meta(description="Memory for URLs that wait, in MB; beyond it the least promising wait on disk", ge=1)
    ] = 256
    max_failures: Annotated[int, Meta(description="Give a host up after this many failures in a row", ge=1)] = 8
    retries: Annotated[
        int, Meta(description="How often a page that failed for a passing reason is tried again", ge=0)
    ] = 2
    back_off: Annotated[
        float, Meta(description="Seconds to wait after a host's first failure; doubles with each further one", ge=0)
    ] = 2.0


class ParseSettings(_Room, frozen=True):
    """How much of a page is read."""

    max_text: Annotated[int, Meta(description="Most characters of text kept of one page", ge=1000)] = 500_000
    max_links: Annotated[int, Meta(description="Most links taken from one page", ge=1)] = 5_000
    max_depth: Annotated[int, Meta(description="Deepest nesting of elements that is followed", ge=10)] = 512
    max_document_pages: Annotated[
        int, Meta(description="Most pages, slides, sheets or chapters read of one document", ge=1)
    ] = 200
    max_document_seconds: Annotated[float, Meta(description="Longest time spent on one PDF", gt=0)] = 2.0


class StoreSettings(_Room, frozen=True):
    """How pages are kept."""

    compression: Annotated[str, Meta(description="WARC compression: zstd or gzip", pattern="^(zstd|gzip)$")] = "zstd"
    level: Annotated[int, Meta(description="Compression level", ge=1, le=19)] = 1
    rotate_bytes: Annotated[int, Meta(description="Begin a new WARC file after this many bytes", ge=65_536)] = (
        1_073_741_824
    )
    keep_days: Annotated[
        float, Meta(description="Let go of responses older than this, but the newest of a page; 0 keeps them", ge=0)
    ] = 0.0
    keep_bytes: Annotated[
        int, Meta(description="Let go of the oldest responses beyond this many bytes, but the newest of a page", ge=0)
    ] = 0


class CrawlSettings(_Room, frozen=True):
    """How far a crawl goes."""

    pages: Annotated[int, Meta(description="Stop at this many pages in the folder, earlier runs counted", ge=1)] = (
        100_000
    )
    host_pages: Annotated[
        int, Meta(description="Most pages taken from one host, against sites that never end", ge=1)
    ] = 20_000
    shards: Annotated[
        int,
        Meta(
            description="Processes that crawl, each with hosts of its own; 0 is as many as before, at first one",
            ge=0,
            le=64,
        ),
    ] = 0
    depth: Annotated[int, Meta(description="Follow links this many steps from a seed", ge=0)] = 32
    minutes: Annotated[float, Meta(description="Stop after this many minutes; 0 is no limit", ge=0)] = 0.0
    scope: Annotated[
        str, Meta(description="How far links are followed: host, domain or web", pattern="^(host|domain|web)$")
    ] = "domain"
    hosts: Annotated[
        tuple[str, ...], Meta(description="Only these hosts and what is below them; none is no limit")
    ] = ()
    paths: Annotated[tuple[str, ...], Meta(description="Only paths that begin so, e.g. /docs/; none is no limit")] = ()
    include: Annotated[
        tuple[str, ...], Meta(description="Only URLs that one of these patterns fits; * stands for anything")
    ] = ()
    exclude: Annotated[tuple[str, ...], Meta(description="No URL that one of these patterns fits")] = ()
    schemes: Annotated[tuple[str, ...], Meta(description="Kinds of URL that are followed")] = (
        "http",
        "https",
        "ftp",
        "gopher",
    )
    countries: Annotated[tuple[str, ...], Meta(description="Only hosts that end so, e.g. ch,de; none is no limit")] = ()
    block: Annotated[str, Meta(description="File of hosts and domains, one on a line, that are never fetched")] = ""
    max_url: Annotated[int, Meta(description="Longest URL that is followed, in characters", ge=32)] = 1_024
    commit_seconds: Annotated[float, Meta(description="Make pages durable (fsync) this often", gt=0)] = 1.0
    checkpoint_seconds: Annotated[float, Meta(description="Write the frontier's snapshot this often", gt=0)] = 10.0
    sitemaps: Annotated[bool, Meta(description="Read the sitemaps that robots.txt names")] = True
    feeds: Annotated[bool, Meta(description="Read the feeds that pages name")] = True
    forms: Annotated[
        int, Meta(description="Most requests for which forms of one host are filled in; 0 leaves forms alone", ge=0)
    ] = 0
    recrawl: Annotated[
        bool, Meta(description="Look again at stored pages too, those first that are most likely to have changed")
    ] = False
    recrawl_per_day: Annotated[
        int, Meta(description="How many second looks a day are shared out among all stored pages", ge=1)
    ] = 10_000
    probe: Annotated[
        bool, Meta(description="Ask each larger host once for a page that does not exist, to know its soft 404s")
    ] = True
    weights: Annotated[
        str, Meta(description="File of your own weights for URLs, pages and links (TOML, see ranking.md)")
    ] = ""


class FocusSettings(_Room, frozen=True):
    """What a crawl is about, if it keeps to a topic."""

    topic: Annotated[
        str, Meta(description="Words of the topic to keep to; a minus sign gives a topic up that an earlier run had")
    ] = ""
    pages: Annotated[
        tuple[str, ...],
        Meta(description="Examples of the topic: URLs, files of URLs, or files that are such pages themselves"),
    ] = ()
    least: Annotated[
        float, Meta(description="How much a link has to promise, from 0 to 1, not to wait behind others", ge=0, le=1)
    ] = 0.35
    patience: Annotated[
        float, Meta(description="Seconds that a promising host is waited for before others are asked", ge=0)
    ] = 2.0


class IndexSettings(_Room, frozen=True):
    """How segments are built."""

    memory_mb: Annotated[int, Meta(description="Memory a build may take, over all its workers, in MB", ge=64)] = 512
    workers: Annotated[
        int,
        Meta(description="Threads that split pages into words during a build; 0 is one for each core", ge=0, le=256),
    ] = 1
    publish_seconds: Annotated[
        float, Meta(description="A live index makes what it was given searchable this often", gt=0)
    ] = 0.1
    k1: Annotated[float, Meta(description="BM25F: how soon repeated words stop counting", gt=0)] = 1.6
    title_weight: Annotated[float, Meta(description="BM25F weight of the title", ge=0)] = 3.0
    heading_weight: Annotated[float, Meta(description="BM25F weight of headings", ge=0)] = 0.5
    url_weight: Annotated[float, Meta(description="BM25F weight of words in the URL", ge=0)] = 0.5
    anchor_weight: Annotated[float, Meta(description="BM25F weight of the text of links to the page", ge=0)] = 1.0
    emphasis_weight: Annotated[
        float, Meta(description="BM25F weight of emphasised words, on top of their place in the body", ge=0)
    ] = 0.2
    body_weight: Annotated[float, Meta(description="BM25F weight of the body", ge=0)] = 1.0
    body_b: Annotated[float, Meta(description="BM25F: how much a long body is held against a page", ge=0, le=1)] = 0.6
    field_b: Annotated[float, Meta(description="BM25F: the same for all other fields", ge=0, le=1)] = 0.5
    weights: Annotated[str, Meta(description="File of your own weights for URLs and pages (TOML, see ranking.md)")] = ""


class GraphSettings(_Room, frozen=True):
    """How links become ranks."""

    damping: Annotated[float, Meta(description="PageRank: chance to follow a link", gt=0, lt=1)] = 0.85
    tolerance: Annotated[
        float, Meta(description="PageRank: stop when the ranks change by less than this in sum", gt=0)
    ] = 1e-8
    same_host_weight: Annotated[
        float, Meta(description="What a link within one host counts, against 1 for others", ge=0)
    ] = 0.3
    anchor_chars: Annotated[int, Meta(description="Most characters of anchor text kept for one page", ge=0)] = 1_000
    memory_mb: Annotated[
        int, Meta(description="Memory for sorting and ranking links, in MB, beside some 150 bytes a page", ge=1)
    ] = 512
    workers: Annotated[int, Meta(description="Threads that rank; 0 is one for each core", ge=0)] = 0
    trusted: Annotated[
        str,
        Meta(description="File of trusted hosts and URLs, one a line; '' trusts the seeds, or what many hosts link to"),
    ] = ""


class RankSettings(_Room, frozen=True):
    """How candidates are put in order."""

    static_weight: Annotated[float, Meta(description="What the best static rank adds to a score", ge=0)] = 0.5
    all_words_bonus: Annotated[
        float,
        Meta(description="What having all words of a short query adds, as a share of the query's best score", ge=0),
    ] = 0.1
    short_query: Annotated[int, Meta(description="Queries of up to this many words are short", ge=0)] = 5
    rerank: Annotated[
        int, Meta(description="How many candidates the second look takes; 0 is none: the first stage alone", ge=0)
    ] = 100
    weights: Annotated[
        str, Meta(description="File of your own weights for features (TOML, see ranking.md); '' is those shipped")
    ] = ""
    popularity: Annotated[
        str, Meta(description="File of popular hosts, the most popular first: a host, or rank,host, a line")
    ] = ""
    learned: Annotated[bool, Meta(description="Use the learned model of the data folder, if it has one")] = True


class SemanticSettings(_Room, frozen=True):
    """How the meaning of texts takes part in ranking; needs the extra 'semantic' and `periplus embeddings fetch`."""

    on: Annotated[bool, Meta(description="Let meaning take part in ranking where documents have vectors")] = False
    model: Annotated[str, Meta(description="Folder of the converted model; empty is the usual cache folder")] = ""
    languages: Annotated[
        tuple[str, ...], Meta(description="Languages that the model knows; others are ranked without it")
    ] = ("en",)
    words: Annotated[int, Meta(description="Word pieces of a passage", ge=16, le=512)] = 192
    overlap: Annotated[int, Meta(description="Word pieces that a passage shares with the next", ge=0, le=128)] = 16
    passages: Annotated[int, Meta(description="Most passages of one document", ge=1, le=64)] = 2
    candidates: Annotated[int, Meta(description="How many of the best candidates meaning looks at", ge=10)] = 50
    documents: Annotated[int, Meta(description="Most documents that one run embeds; 0 is no limit", ge=0)] = 0
    weight: Annotated[float, Meta(description="What meaning counts beside the words, which count 1", ge=0)] = 1.0
    nearest: Annotated[
        int, Meta(description="How many documents near in meaning join the candidates", ge=0, le=1_000)
    ] = 50
    probe: Annotated[float, Meta(description="Share of the lists of vectors that a search looks into", gt=0, le=1)] = (
        0.1
    )
    lazy: Annotated[
        bool, Meta(description="Embed candidates without vectors while the query waits, and keep the vectors")
    ] = False
    threads: Annotated[int, Meta(description="Passages that are embedded at once, a core for each", ge=1, le=64)] = 1
    skim: Annotated[
        bool,
        Meta(description="Embed half as many pages again a second, by passing over stop words and punctuation early"),
    ] = True

    @property
    def model_folder(self) -> Path:
        """Where the converted model is kept."""
        return Path(self.model) if self.model else cache_folder() / "model"


class SearchSettings(_Room, frozen=True):
    """How answers are made."""

    per_host: Annotated[int, Meta(description="Results of one host among ten; 0 is no limit", ge=0)] = 2
    similar_bits: Annotated[int, Meta(description="Simhash bits in which near-duplicates differ", ge=0, le=16)] = 3
    snippet_chars: Annotated[int, Meta(description="Length of a snippet, in characters", ge=40)] = 165
    max_results: Annotated[int, Meta(description="How far into the results a person can go", ge=10)] = 1_000
    budget_ms: Annotated[float, Meta(description="Milliseconds after which a query gives what it has", gt=0)] = 500.0
    synonym_weight: Annotated[
        float, Meta(description="What a name that links use for another counts, against 1; 0 learns none", ge=0, le=1)
    ] = 0.4
    popular_after: Annotated[
        int,
        Meta(description="Raise a title among completions that so many, 3 or more, ask for on a day; 0 is off", ge=0),
    ] = 0


class ServeSettings(_Room, frozen=True):
    """Where the search page is."""

    host: Annotated[str, Meta(description="Address to listen on", min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(description="Port to listen on", ge=0, le=65_535)] = 8080
    max_waiting: Annotated[int, Meta(description="Requests that may wait; more are refused (429)", ge=1)] = 256
    threads: Annotated[int, Meta(description="Searches that run at once; 0 is one for each core", ge=0, le=256)] = 0
    workers: Annotated[int, Meta(description="Processes that answer; 0 is one for each core", ge=0, le=64)] = 1
    deadline: Annotated[float, Meta(description="Seconds a search may wait for its turn before 503", gt=0)] = 0.5
    names: Annotated[tuple[str, ...], Meta(description="Host names it answers to; on loopback, none is its own")] = ()
    rate: Annotated[float, Meta(description="Requests a second for one address or key; 0 is no limit", ge=0)] = 50.0
    proxied: Annotated[bool, Meta(description="Take a client's address from X-Forwarded-For")] = False
    cache_mb: Annotated[int, Meta(description="Memory of each process for answers to keep, in MB", ge=0)] = 64
    submissions: Annotated[bool, Meta(description="Let anybody hand in sites to crawl, without a key")] = False
    access_log: Annotated[str, Meta(description="File for one JSON line a request; no addresses, no queries")] = ""
    clicks: Annotated[bool, Meta(description="Count which results are opened, so that ranking learns, not by whom")] = (
        False
    )
    weather: Annotated[
        str,
        Meta(description="Weather service in Open-Meteo's form, {latitude} and {longitude} in its URL; '' is none"),
    ] = ""
    places: Annotated[
        str, Meta(description="Service for names of places, {name} and {language} in its URL; '' is none")
    ] = ""


class Settings(_Room, frozen=True):
    """All settings."""

    folder: Annotated[str, Meta(description="Data folder: pages, index and crawl state", min_length=1)] = (
        "periplus-data"
    )
    fetch: FetchSettings = FetchSettings()
    frontier: FrontierSettings = FrontierSettings()
    parse: ParseSettings = ParseSettings()
    store: StoreSettings = StoreSettings()
    crawl: CrawlSettings = CrawlSettings()
    focus: FocusSettings = FocusSettings()
    index: IndexSettings = IndexSettings()
    graph: GraphSettings = GraphSettings()
    rank: RankSettings = RankSettings()
    semantic: SemanticSettings = SemanticSettings()
    search: SearchSettings = SearchSettings()
    serve: ServeSettings = ServeSettings()


def table() -> list[Setting]:
    """List every setting: name with its room ('fetch.timeout'), type, default, help."""
    rows: list[Setting] = []
    for field in msgspec.structs.fields(Settings):
        if isinstance(field.default, _Room):
            room = type(field.default)
            rows.extend(_row(f"{field.name}.", room, inner) for inner in msgspec.structs.fields(room))
        else:
            rows.append(_row("", Settings, field))
    return rows


def _row(prefix: str, room: type, field: msgspec.structs.FieldInfo) -> Setting:
    hint = get_type_hints(room, include_extras=True)[field.name]
    plain, meta = hint.__args__[0], hint.__metadata__[0]
    return Setting(prefix + field.name, getattr(plain, "__name__", str(plain)), field.default, meta.description)


def load(file: Path | None, environment: Mapping[str, str], flags: Iterable[str] = ()) -> Settings:
    """Read settings: `file`, then PERIPLUS_ROOM_NAME of the environment, then 'room.name=value' flags. Last wins."""
    return read_settings(Settings, table(), file, environment, flags)


def cache_folder() -> Path:
    """Give the folder for things that can be made again, by the usual conventions."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "periplus"
