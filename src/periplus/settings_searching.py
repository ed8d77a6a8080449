"""Settings of what happens after the page store: index, links, ranking, results, the server, other sites."""

from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from periplus.settings_section import Section, cache_folder

__all__ = [
    "EmbeddingSettings",
    "GraphSettings",
    "IndexSettings",
    "RankSettings",
    "SearchSettings",
    "ServeSettings",
    "SiteSettings",
]


class IndexSettings(Section, frozen=True):
    """Building of segments, and term weights."""

    memory_mb: Annotated[int, Meta(description="Memory for a build, over all workers, in MB", ge=64)] = 512
    workers: Annotated[
        int,
        Meta(description="Number of threads that analyze pages in a build; 0 is one per core", ge=0, le=256),
    ] = 1
    publish_seconds: Annotated[
        float, Meta(description="Interval after which a live index makes new pages searchable, in seconds", gt=0)
    ] = 0.1
    k1: Annotated[float, Meta(description="BM25F k1: the higher, the more repeated words count", gt=0)] = 2.2
    title_weight: Annotated[float, Meta(description="BM25F weight of the title", ge=0)] = 4.4
    heading_weight: Annotated[float, Meta(description="BM25F weight of headings", ge=0)] = 0.5
    url_weight: Annotated[float, Meta(description="BM25F weight of words in the URL", ge=0)] = 3.1
    anchor_weight: Annotated[float, Meta(description="BM25F weight of the text of links to the page", ge=0)] = 1.0
    emphasis_weight: Annotated[
        float, Meta(description="BM25F weight of emphasized words, in addition to the body", ge=0)
    ] = 0.2
    body_weight: Annotated[float, Meta(description="BM25F weight of the body: the main content of a page", ge=0)] = 1.0
    boilerplate_weight: Annotated[
        float, Meta(description="BM25F weight of navigation, footers and repeated blocks of a site", ge=0)
    ] = 0.05
    body_b: Annotated[
        float, Meta(description="BM25F b of the body: the higher, the more length is penalized", ge=0, le=1)
    ] = 0.51
    field_b: Annotated[float, Meta(description="BM25F b of all other fields", ge=0, le=1)] = 0.61
    field_length_exponent: Annotated[
        float,
        Meta(
            description="How far the weights of title and URL follow the length of bodies relative to theirs: 0 is not "
            "at all, 1 in proportion",
            ge=0,
            le=2,
        ),
    ] = 0.69
    k1_length_exponent: Annotated[
        float,
        Meta(description="How far k1 follows the mean length of bodies: 0 is not at all, 1 in proportion", ge=0, le=2),
    ] = 0.58
    thin_page_weight: Annotated[
        float,
        Meta(description="Share of its weights that a page without a body has; all from 10 words on", gt=0, le=1),
    ] = 0.45
    weights: Annotated[str, Meta(description="File of custom weights for URLs and pages (TOML, see ranking.md)")] = ""


class GraphSettings(Section, frozen=True):
    """Link analysis."""

    damping: Annotated[
        float, Meta(description="PageRank damping factor: probability of following a link", gt=0, lt=1)
    ] = 0.85
    tolerance: Annotated[float, Meta(description="PageRank stops when the sum of all changes is below this", gt=0)] = (
        1e-12
    )
    same_host_weight: Annotated[
        float, Meta(description="Weight of a link within one host; other links have 1", ge=0)
    ] = 0.3
    anchor_chars: Annotated[
        int, Meta(description="Maximum number of characters of anchor text stored for one page", ge=0)
    ] = 1_000
    memory_mb: Annotated[
        int,
        Meta(description="Memory for sorting and ranking links, in MB, in addition to about 150 bytes per page", ge=1),
    ] = 512
    workers: Annotated[int, Meta(description="Number of threads for ranking; 0 is one per core", ge=0)] = 0
    trusted: Annotated[
        str,
        Meta(description="File of trusted hosts and URLs, one per line; none trusts the seeds or much linked hosts"),
    ] = ""


class RankSettings(Section, frozen=True):
    """Ranking."""

    static_weight: Annotated[float, Meta(description="Weight of the static rank, relative to the text score", ge=0)] = (
        0.5
    )
    all_words_bonus: Annotated[
        float,
        Meta(description="Bonus for containing all words of a short query, as a fraction of the best score", ge=0),
    ] = 0.1
    short_query: Annotated[int, Meta(description="Maximum number of words of a short query", ge=0)] = 5
    rerank: Annotated[
        int, Meta(description="Number of candidates that are reranked; 0 uses the first stage alone", ge=0)
    ] = 100
    weights: Annotated[
        str, Meta(description="File of custom weights of features (TOML, see ranking.md); none uses the built-in ones")
    ] = ""
    popularity: Annotated[
        str, Meta(description="File of popular hosts, most popular first: lines of a host, or rank,host")
    ] = ""
    learned: Annotated[bool, Meta(description="Use the learned model of the data folder, if there is one")] = True


_MULTILINGUAL: Final = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")
"""Languages that the multilingual model was trained on."""


class EmbeddingSettings(Section, frozen=True):
    """Ranking by embeddings: by the static model always, by an encoder with the extra 'semantic'."""

    semantic: Annotated[
        str,
        Meta(
            description="auto: the static model, and the encoder where it has vectors; static: that alone; off: none",
            pattern="^(auto|static|off)$",
        ),
    ] = "auto"
    budget_minutes: Annotated[
        float,
        Meta(description="Time, from each start, after which `periplus up` stops embedding; 0 is no limit", ge=0),
    ] = 60.0
    enabled: Annotated[
        bool, Meta(description="If `semantic` is auto: use the encoder from the start, embed without a limit of time")
    ] = False
    encoder: Annotated[
        str,
        Meta(
            description="The model: granite-small, granite (slower), multilingual, or minilm, that of earlier versions",
            pattern="^(granite-small|granite|multilingual|minilm)$",
        ),
    ] = "granite-small"
    model: Annotated[str, Meta(description="Folder of the converted model; none is the cache folder")] = ""
    languages: Annotated[
        tuple[str, ...],
        Meta(description="Languages that are ranked with the model; none are all that it supports"),
    ] = ()
    passage_tokens: Annotated[int, Meta(description="Length of a passage, in tokens of the model", ge=16, le=512)] = 192
    overlap: Annotated[int, Meta(description="Number of tokens that consecutive passages share", ge=0, le=128)] = 16
    passages: Annotated[int, Meta(description="Maximum number of passages of one document", ge=1, le=64)] = 2
    candidates: Annotated[int, Meta(description="Number of best candidates that are scored by embeddings", ge=10)] = 50
    documents: Annotated[
        int, Meta(description="Maximum number of documents embedded in one run; 0 is no limit", ge=0)
    ] = 0
    weight: Annotated[
        float, Meta(description="Weight of the similarity of embeddings, relative to 1 for the text score", ge=0)
    ] = 1.0
    nearest: Annotated[
        int, Meta(description="Number of nearest documents that are added to the candidates", ge=0, le=1_000)
    ] = 50
    probe: Annotated[float, Meta(description="Fraction of the lists of vectors that a search examines", gt=0, le=1)] = (
        0.1
    )
    on_demand: Annotated[
        bool, Meta(description="Embed candidates without vectors during the query, and store the vectors")
    ] = False
    threads: Annotated[
        int, Meta(description="Number of passages that are embedded at once, one core each", ge=1, le=64)
    ] = 1
    early_exit: Annotated[
        bool,
        Meta(description="Skip layers of the model for stop words and punctuation, which is faster and less exact"),
    ] = False

    @property
    def supported_languages(self) -> tuple[str, ...]:
        """Languages of pages and queries that are ranked with the model."""
        return self.languages or (_MULTILINGUAL if self.encoder == "multilingual" else ("en",))

    @property
    def model_folder(self) -> Path:
        """Where the converted model is kept."""
        if self.model:
            return Path(self.model)
        return cache_folder() / ("model" if self.encoder == "minilm" else f"model-{self.encoder}")


class SearchSettings(Section, frozen=True):
    """Result pages."""

    per_host: Annotated[
        int, Meta(description="Maximum number of results of one host among ten; 0 is no limit", ge=0)
    ] = 2
    near_duplicate_bits: Annotated[
        int, Meta(description="Maximum number of different simhash bits of near-duplicates", ge=0, le=16)
    ] = 3
    snippet_chars: Annotated[int, Meta(description="Length of a snippet, in characters", ge=40)] = 165
    max_results: Annotated[int, Meta(description="Maximum number of results that can be paged through", ge=10)] = 1_000
    budget_ms: Annotated[
        float, Meta(description="Time after which a query returns what it has, in milliseconds", gt=0)
    ] = 500.0
    max_work: Annotated[
        int,
        Meta(description="Maximum number of postings and positions that a query decodes, in millions", ge=1),
    ] = 200
    synonym_weight: Annotated[
        float, Meta(description="Weight of synonyms learned from links, relative to 1; 0 disables them", ge=0, le=1)
    ] = 0.4
    feedback: Annotated[
        str,
        Meta(
            description="Widen queries by words of their best results, by a second matching: off, auto (where it is "
            "predicted to help) or always",
            pattern="^(off|auto|always)$",
        ),
    ] = "off"
    popular_after: Annotated[
        int,
        Meta(
            description="Promote a completion that this many people, at least 3, searched for on a day; 0 is off", ge=0
        ),
    ] = 0


class ServeSettings(Section, frozen=True):
    """The HTTP server."""

    host: Annotated[str, Meta(description="Address to listen on", min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(description="Port to listen on", ge=0, le=65_535)] = 8080
    max_waiting: Annotated[
        int, Meta(description="Maximum number of waiting requests; further ones are refused (429)", ge=1)
    ] = 256
    threads: Annotated[int, Meta(description="Number of concurrent searches; 0 is one per core", ge=0, le=256)] = 0
    workers: Annotated[int, Meta(description="Number of server processes; 0 is one per core", ge=0, le=64)] = 1
    watchdog_seconds: Annotated[
        float,
        Meta(
            description="Time after which a server process (with serve.workers) that makes no progress is replaced, in "
            "seconds; 0 is never",
            ge=0,
        ),
    ] = 20.0
    deadline: Annotated[
        float,
        Meta(
            description="Time for a search, in seconds: it waits for a thread no longer than this, returns what it has "
            "after it, and is refused (503) before twice as much",
            gt=0,
        ),
    ] = 0.5
    max_connections: Annotated[
        int,
        Meta(
            description="Maximum number of connections, for each process, as far as the limit of open files allows; "
            "when there are nearly as many, idle ones are closed",
            ge=8,
        ),
    ] = 8_192
    connections_per_address: Annotated[
        int,
        Meta(
            description="Maximum number of connections from one address, for each process; 0 is no limit. Proxies "
            "(serve.behind_proxy) and the machine itself have none",
            ge=0,
        ),
    ] = 256
    header_seconds: Annotated[
        float,
        Meta(
            description="Time for the headers of a request, in seconds, from the connection or the last response on",
            gt=0,
        ),
    ] = 10.0
    write_seconds: Annotated[
        float,
        Meta(description="Time after which a client that reads less than 1 kB a second is disconnected", gt=0),
    ] = 30.0
    body_seconds: Annotated[
        float,
        Meta(description="Time for a request body, in seconds; one that comes slowly is refused (408) earlier", gt=0),
    ] = 30.0
    expensive_query: Annotated[
        float,
        Meta(
            description="Estimated work units per page of the index above which a query runs in the threads for "
            "expensive queries",
            gt=0,
        ),
    ] = 40.0
    expensive_process: Annotated[
        bool,
        Meta(
            description="Run expensive queries, unless embeddings are used, in a process of their own, which is "
            "started for the first of them and takes the memory of another searcher"
        ),
    ] = True
    slow_query_ms: Annotated[
        float, Meta(description="Time above which a query is logged with its plan, in milliseconds; 0 is never", ge=0)
    ] = 250.0
    slow_query_words: Annotated[bool, Meta(description="Log the words of slow queries too, not only their plan")] = (
        False
    )
    host_names: Annotated[
        tuple[str, ...], Meta(description="Host names that the server accepts; on loopback, none means its own")
    ] = ()
    rate: Annotated[
        float, Meta(description="Maximum number of requests per second from one address or key; 0 is no limit", ge=0)
    ] = 50.0
    behind_proxy: Annotated[bool, Meta(description="Read the client's address from X-Forwarded-For")] = False
    trusted_proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Addresses or networks of proxies: X-Forwarded-For is read from these alone, and the client is "
            "its last address that is none of them; without, that of any proxy is read"
        ),
    ] = ()
    cache_mb: Annotated[int, Meta(description="Memory for cached responses, for each process, in MB", ge=0)] = 64
    submissions: Annotated[bool, Meta(description="Accept submissions of sites to crawl without a key")] = False
    access_log: Annotated[
        str, Meta(description="File for one JSON line per request, without addresses and queries")
    ] = ""
    clicks: Annotated[
        bool, Meta(description="Record which results are opened, but not by whom, so that ranking can learn")
    ] = False
    weather: Annotated[
        str,
        Meta(description="Weather service like Open-Meteo, {latitude} and {longitude} in its URL; none disables it"),
    ] = ""
    geocoder: Annotated[
        str, Meta(description="Geocoding service, {name} and {language} in its URL; none disables it")
    ] = ""


class SiteSettings(Section, frozen=True):
    """A site among others: where it is, how it is reached, and how much it exchanges."""

    place: Annotated[tuple[float, ...], Meta(description="Latitude and longitude of this site, e.g. 47.4,8.5")] = ()
    languages: Annotated[
        tuple[str, ...], Meta(description="Languages that people read here, e.g. de,fr; none is any")
    ] = ()
    address: Annotated[
        str,
        Meta(
            description="Host and port where other sites reach this one, e.g. search.example.org:7422; none: this site "
            "connects to the others"
        ),
    ] = ""
    listen: Annotated[
        str, Meta(description="Address that the NATS server listens on for other sites; none is all addresses")
    ] = ""
    nats_url: Annotated[
        str,
        Meta(description="URL of a NATS server with JetStream that runs already; none starts one of this site's own"),
    ] = ""
    heartbeat_seconds: Annotated[
        float, Meta(description="Interval between two announcements of a site, in seconds", gt=0)
    ] = 2.0
    liveness_seconds: Annotated[
        float,
        Meta(description="Time without a message of a site after which it is no longer asked, in seconds", gt=0),
    ] = 8.0
    batch_seconds: Annotated[
        float, Meta(description="Longest time that items wait for a batch to fill, in seconds", gt=0)
    ] = 2.0
    batch_kb: Annotated[int, Meta(description="Size of a batch before compression, in kB", ge=1, le=16_384)] = 512
    max_batch_mb: Annotated[
        int, Meta(description="Maximum size of a batch that is accepted, decompressed, in MB", ge=1, le=64)
    ] = 32
    outbox_mb: Annotated[
        int,
        Meta(description="Size of the batches that wait for one site, in MB; above it the oldest are dropped", ge=1),
    ] = 1_024
    stream_mb: Annotated[
        int, Meta(description="Size of the batches of one site that wait to be applied, in MB", ge=1)
    ] = 1_024
    threshold_share: Annotated[
        float,
        Meta(description="Share of changed thresholds and statistics above which they are sent at once", gt=0, le=1),
    ] = 0.1
    threshold_seconds: Annotated[
        float, Meta(description="Longest time before changed thresholds are sent, in seconds", gt=0)
    ] = 600.0
    accept_seeds: Annotated[
        bool,
        Meta(description="Whether seeds of other sites widen the scope of the crawl; else URLs beyond are ignored"),
    ] = True
    slack: Annotated[
        float,
        Meta(description="How much a bound must exceed the last local result for a site to be asked; 0 is exact", ge=0),
    ] = 0.0
    deadline: Annotated[float, Meta(description="Time in which other sites answer a query, in seconds", gt=0)] = 0.6
    replica_share: Annotated[
        float,
        Meta(description="Size of replicated pages as a share of the pages that this site is the master of", ge=0),
    ] = 0.1
    geoip_file: Annotated[
        str, Meta(description="GeoIP database (.mmdb) by which hosts are placed on the map; none places by hash")
    ] = ""
