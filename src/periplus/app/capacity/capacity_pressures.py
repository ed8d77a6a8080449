"""What breaks first: the needs of the whole as multiples of what one machine has."""

from typing import Final

from periplus.app.capacity.capacity_records import Exchange, Machine, Pressure, Workload
from periplus.app.capacity.coefficients import Coefficients
from periplus.app.capacity.workload_costs import (
    BANDWIDTH_SHARE,
    BUILD_SHARE,
    CPU_SHARE,
    DAY,
    DISK_SHARE,
    MEMORY_SHARE,
    NUMBER_BYTES,
    build_cpu_seconds,
    crawl_cores,
    fetch_rate,
    sent_bytes,
    stored_bytes,
)

__all__ = ["list_pressures"]

_VECTORS: Final = 3
"""Numbers of PageRank for each known page: old and new rank, and what leaves it."""
_QUERY_SECONDS: Final = 0.1
"""Longest time that one query may keep one core busy."""
_ROUND_SECONDS: Final = 60.0
_REMEDIES: Final = {
    "disk for pages": "object storage; more crawl shards",
    "memory for the index": "more index shards; a second tier for pages that are rarely found",
    "disk for the index": "more index shards",
    "memory for known URLs": "more crawl shards; the set of known URLs on disk",
    "memory for PageRank": "vectors partitioned by owner",
    "cores for crawling": "more crawl shards, or a longer first crawl",
    "bandwidth for crawling": "more crawl shards, or a longer first crawl",
    "cores for queries": "more replicas; caches of results at brokers",
    "a query within 0.1 s of one core": "more index shards",
    "a build within a day": "builds on all shards at once; segments of changed pages only",
    "a PageRank round within a minute": "more shards share the exchange",
}


def list_pressures(
    workload: Workload, machine: Machine, table: Coefficients, exchange: Exchange
) -> tuple[Pressure, ...]:
    """Return the needs of the whole as multiples of one machine, the largest first."""
    rate = max(fetch_rate(workload))
    words = workload.pages * workload.words_per_page
    urls = workload.pages * workload.urls_per_page
    cores, memory = machine.cores * CPU_SHARE, machine.memory * MEMORY_SHARE
    disk, bandwidth = machine.disk * DISK_SHARE, machine.bandwidth * BANDWIDTH_SHARE
    one_query = table["retrieve_fixed_us"] / 1e6 + table["retrieve_us_per_million_documents"] * workload.pages / 1e12
    needs = {
        "disk for pages": workload.pages * stored_bytes(workload, table) / disk,
        "memory for the index": words * table["hot_bytes_per_word"] / memory,
        "disk for the index": words * table["index_bytes_per_word"] / disk,
        "memory for known URLs": urls * table["seen_bytes_per_url"] / memory,
        "memory for PageRank": urls * _VECTORS * NUMBER_BYTES / memory,
        "cores for crawling": crawl_cores(workload, table, rate) / cores,
        "bandwidth for crawling": rate * sent_bytes(workload, table) * 8 / bandwidth,
        "cores for queries": workload.queries_per_second * one_query / cores,
        "a query within 0.1 s of one core": one_query / _QUERY_SECONDS,
        "a build within a day": sum(build_cpu_seconds(workload, table).values()) / (machine.cores * BUILD_SHARE * DAY),
        "a PageRank round within a minute": exchange.pagerank_round * 8 / (bandwidth * _ROUND_SECONDS),
    }
    pressures = [Pressure(name, ratio, _REMEDIES[name]) for name, ratio in needs.items()]
    return tuple(sorted(pressures, key=lambda pressure: -pressure.ratio))
