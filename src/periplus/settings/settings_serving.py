"""Settings of the server and of a site of a federation."""

from typing import Annotated

from msgspec import Meta

from periplus.settings_section import Section

__all__ = ["ServeSettings", "SiteSettings"]


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
    upload_mb: Annotated[
        int, Meta(description="Maximum size of a file that is published by the form, in MB", ge=1, le=1_000)
    ] = 16
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
    documents_mb: Annotated[
        int, Meta(description="Maximum size of one upload of documents, decompressed, in MB", ge=1, le=1 << 20)
    ] = 4_096
    open_collections: Annotated[
        int,
        Meta(
            description="Maximum number of collections that a server process keeps open; others are opened again",
            ge=1,
            le=10_000,
        ),
    ] = 64
    cors_origins: Annotated[
        tuple[str, ...],
        Meta(
            description="Origins of web pages whose scripts may use the API, e.g. https://shop.example; * is any. "
            "Cookies are never accepted from them"
        ),
    ] = ()
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
