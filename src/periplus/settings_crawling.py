"""Settings of what happens before the page store, limits of all processes together, and the cluster."""

from typing import Annotated

from msgspec import Meta

from periplus.settings_section import Section

__all__ = [
    "ClusterSettings",
    "CrawlSettings",
    "FetchSettings",
    "FocusSettings",
    "FrontierSettings",
    "LimitSettings",
    "ParseSettings",
    "StorageSettings",
    "StoreSettings",
]


class FetchSettings(Section, frozen=True):
    """Limits and addresses of a single request."""

    user_agent: Annotated[
        str,
        Meta(
            description="User-Agent header of every request; rules of robots.txt are matched with its first word",
            min_length=1,
        ),
    ] = "PeriplusBot/0.1 (+https://periplus.example/bot)"
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


class FrontierSettings(Section, frozen=True):
    """Scheduling of requests, and politeness."""

    delay: Annotated[float, Meta(description="Minimum delay between two requests to one host, in seconds", ge=0)] = 1.0
    delay_factor: Annotated[
        float, Meta(description="Delay as a multiple of the last response time, if that is longer", ge=0)
    ] = 4.0
    max_delay: Annotated[
        float, Meta(description="Maximum delay between two requests to one host, in seconds", ge=0)
    ] = 60.0
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


class FocusSettings(Section, frozen=True):
    """The topic of a focused crawl."""

    topic: Annotated[
        str, Meta(description="Words that describe the topic; a minus sign drops the topic of an earlier run")
    ] = ""
    pages: Annotated[
        tuple[str, ...],
        Meta(description="Examples of the topic: URLs, files of URLs, or files that are such pages"),
    ] = ()
    least: Annotated[
        float,
        Meta(description="Minimum estimated relevance of a link, 0 to 1; links below it are fetched last", ge=0, le=1),
    ] = 0.35
    patience: Annotated[
        float,
        Meta(description="How long to wait for a host with relevant links before others are fetched, in seconds", ge=0),
    ] = 2.0


class LimitSettings(Section, frozen=True):
    """Memory, disk space and bandwidth of a whole `up`, `crawl` or `serve`, all of its processes together."""

    memory_mb: Annotated[
        int,
        Meta(description="Memory of all processes together, in MB; near it the crawl pauses; 0 is no limit", ge=0),
    ] = 0
    disk_gb: Annotated[
        float,
        Meta(
            description="Size of the data folder, in GB; near it the crawl pauses, search goes on; 0 is no limit", ge=0
        ),
    ] = 0.0
    disk_reserve_mb: Annotated[
        int,
        Meta(description="Space of the file system that is left free, in MB; below it the crawl pauses", ge=0),
    ] = 64
    bandwidth_mbit: Annotated[
        float,
        Meta(description="Bandwidth of all fetches together, in Mbit/s, as received; 0 is no limit", ge=0),
    ] = 0.0


class ClusterSettings(Section, frozen=True):
    """The cluster: shards, replicas, the resources of its processes and their messages."""

    address: Annotated[
        str,
        Meta(
            description="Address of a running Ray cluster, e.g. 10.0.0.1:6379 or auto; none starts one on this machine"
        ),
    ] = ""
    nodes: Annotated[
        int, Meta(description="Number of Ray nodes on this machine, where cluster.address is not set", ge=1, le=64)
    ] = 3
    name: Annotated[
        str,
        Meta(
            description="Name of the cluster; several may run in one Ray cluster", pattern="^[a-z0-9][a-z0-9-]{0,62}$"
        ),
    ] = "periplus"
    shards: Annotated[
        int, Meta(description="Number of shards of a new cluster; see periplus cluster resize", ge=1, le=4096)
    ] = 4
    replicas: Annotated[
        int, Meta(description="Number of replicas of each shard that answer queries, on different nodes", ge=1, le=16)
    ] = 2
    brokers: Annotated[
        int, Meta(description="Number of brokers: each serves the search page and the API", ge=1, le=256)
    ] = 1
    key_file: Annotated[
        str,
        Meta(
            description="File with the key that signs all messages, the same on every node; none is cluster.key in the "
            "data folder"
        ),
    ] = ""
    node_folder: Annotated[
        str,
        Meta(
            description="Folder on every node for the files of its shards, which can be restored from storage; none is "
            "the data folder"
        ),
    ] = ""
    bind: Annotated[
        str,
        Meta(description="Address that shards, replicas and mailboxes listen on; none is that of the node in Ray"),
    ] = ""
    first_port: Annotated[
        int, Meta(description="First port of shards, replicas and mailboxes; 0 is any free port", ge=0, le=65_535)
    ] = 0
    ports: Annotated[int, Meta(description="Number of ports from cluster.first_port on", ge=1, le=65_535)] = 1_000
    crawl_cpus: Annotated[float, Meta(description="CPU cores that Ray reserves for a crawl shard", ge=0)] = 1.0
    build_cpus: Annotated[float, Meta(description="CPU cores that Ray reserves for the build of a shard", ge=0)] = 1.0
    replica_cpus: Annotated[float, Meta(description="CPU cores that Ray reserves for a replica", ge=0)] = 1.0
    broker_cpus: Annotated[float, Meta(description="CPU cores that Ray reserves for a broker", ge=0)] = 1.0
    crawl_memory_mb: Annotated[int, Meta(description="Memory that Ray reserves for a crawl shard, in MB", ge=0)] = 0
    build_memory_mb: Annotated[
        int, Meta(description="Memory that Ray reserves for the build of a shard, in MB", ge=0)
    ] = 0
    replica_memory_mb: Annotated[int, Meta(description="Memory that Ray reserves for a replica, in MB", ge=0)] = 0
    deadline: Annotated[
        float,
        Meta(
            description="Time in which shards answer a query, in seconds; an answer without the late ones names them",
            gt=0,
        ),
    ] = 0.4
    hedge_quantile: Annotated[
        float,
        Meta(
            description="A query is sent to a second replica of a shard when the first takes longer than this quantile "
            "of its recent response times; 1 is never",
            gt=0,
            le=1,
        ),
    ] = 0.95
    hedge_share: Annotated[
        float, Meta(description="Maximum share of requests that are sent to a second replica", ge=0, le=1)
    ] = 0.1
    connections: Annotated[
        int, Meta(description="Number of connections of a broker to each replica", ge=1, le=1024)
    ] = 8
    max_message_mb: Annotated[
        int, Meta(description="Maximum size of a message between processes, in MB", ge=1, le=1024)
    ] = 64
    replay_seconds: Annotated[
        float,
        Meta(
            description="Age, in seconds, above which a signed message is refused; clocks may differ by as much", gt=0
        ),
    ] = 60.0
    heartbeat_seconds: Annotated[
        float,
        Meta(description="Interval in which the coordinator looks at nodes, shards and replicas, in seconds", gt=0),
    ] = 2.0


class StorageSettings(Section, frozen=True):
    """The storage of a cluster: a shared disk or an object store."""

    url: Annotated[
        str,
        Meta(
            description="Storage of a cluster: file:///FOLDER on a disk that all nodes share, or s3://BUCKET/PREFIX; "
            "none is the folder 'storage' in the data folder"
        ),
    ] = ""
    endpoint: Annotated[
        str,
        Meta(
            description="Address of an object store other than that of AWS, e.g. http://10.0.0.5:9000; keys are read "
            "from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        ),
    ] = ""
    region: Annotated[str, Meta(description="Region of the bucket", min_length=1)] = "us-east-1"
    timeout: Annotated[float, Meta(description="Timeout of one request to the storage, in seconds", gt=0)] = 30.0
    retry_seconds: Annotated[
        float,
        Meta(description="Time in which a failed request to the storage is repeated, in seconds; 0 is never", ge=0),
    ] = 120.0
    upload_seconds: Annotated[
        float,
        Meta(description="Interval in which a shard that runs is uploaded to the storage, in seconds", gt=0),
    ] = 30.0
