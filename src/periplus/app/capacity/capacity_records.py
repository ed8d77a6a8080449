"""What a capacity plan is made from, and what it says."""

import msgspec

from periplus.app.capacity.coefficients import Coefficient

__all__ = ["CapacityPlan", "Exchange", "Latency", "Machine", "Pressure", "RolePlan", "Workload"]


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """How large the web is, and what is asked of it. Fields without a measured default are assumptions."""

    pages: float
    queries_per_second: float
    change_per_day: float
    """Pages that change in a day, as a share."""
    page_bytes: float
    """HTML of a page, uncompressed."""
    words_per_page: float
    links_per_page: float
    external_links: float
    """Links that lead to another site, as a share."""
    urls_per_page: float
    """URLs that the frontier knows for each page that was fetched."""
    crawl_days: float
    """Days in which the whole web is to be fetched for the first time."""
    revisits_per_change: float
    """Visits of a page for each of its changes."""
    merges_per_page: float
    """How often merges of segments write a page again."""
    replicas: int


class Machine(msgspec.Struct, frozen=True):
    """One of the machines; all are equal."""

    cores: int
    memory: float
    disk: float
    bandwidth: float
    """Bits per second."""


class RolePlan(msgspec.Struct, frozen=True):
    """What one part of the work takes, over all of its machines."""

    role: str
    machines: int
    cores: float
    """Cores that are busy on average."""
    memory: float
    disk: float
    bandwidth: float
    """Bits per second."""
    hours: float
    """Time for all pages once; 0 for what runs for ever."""
    limited_by: str
    """The resource that decides how many machines there are."""
    notes: tuple[str, ...] = ()


class Exchange(msgspec.Struct, frozen=True):
    """What shards send each other, in bytes over all of them."""

    outlinks: float
    anchors: float
    pagerank_round: float
    pagerank_rounds: int
    dictionary: float
    """Terms with document frequencies, from all shards to each broker."""


class Latency(msgspec.Struct, frozen=True):
    """Modelled latency of a query that waits for no other one, in milliseconds."""

    p50: float
    p99: float
    hedged_p99: float
    broker: float
    """Of this, brokers and network."""
    broker_levels: int
    shard_documents: float


class Pressure(msgspec.Struct, frozen=True):
    """A need of the whole as a multiple of what one machine has: whatever is largest breaks first."""

    resource: str
    ratio: float
    remedy: str


class CapacityPlan(msgspec.Struct, frozen=True):
    """Machines, memory, disk, bandwidth and time, and what they were computed from."""

    workload: Workload
    machine: Machine
    machines: int
    """Crawl, serving and brokers run at the same time, and builds on the machines of the first two. Where one machine
    can hold all of it, there is one for each replica."""
    shards: int
    replicas: int
    """At least as many as asked for."""
    roles: tuple[RolePlan, ...]
    exchange: Exchange
    latency: Latency
    freshness: float
    """Expected share of pages whose stored copy is current."""
    pressures: tuple[Pressure, ...]
    """The largest first."""
    assumptions: tuple[str, ...]
    coefficients: tuple[Coefficient, ...]
