"""Settings of a focused crawl, of whole processes, of the cluster and of its storage."""

from typing import Annotated

from msgspec import Meta

from periplus.settings_section import Section

__all__ = ["ClusterSettings", "FocusSettings", "LimitSettings", "StorageSettings"]


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
