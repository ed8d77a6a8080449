"""What a workload takes in all, whatever the machines; and how far machines are loaded."""

from typing import Final

from periplus.app.capacity.capacity_records import Workload
from periplus.app.capacity.coefficients import Coefficients

__all__ = [
    "BANDWIDTH_SHARE",
    "BUILD_SHARE",
    "CPU_SHARE",
    "DAY",
    "DISK_SHARE",
    "MEMORY_SHARE",
    "NUMBER_BYTES",
    "build_cpu_seconds",
    "crawl_cores",
    "fetch_rate",
    "sent_bytes",
    "stored_bytes",
]

CPU_SHARE: Final = 0.5
"""Of a core that serves queries or crawls: at more, queues grow."""
BUILD_SHARE: Final = 0.9
"""Of a core that builds."""
MEMORY_SHARE: Final = 0.75
DISK_SHARE: Final = 0.7
BANDWIDTH_SHARE: Final = 0.5
DAY: Final = 86_400.0
NUMBER_BYTES: Final = 8
"""Of a number in a vector of PageRank."""


def fetch_rate(workload: Workload) -> tuple[float, float]:
    """Return pages per second of the first crawl, and of revisits."""
    first = workload.pages / (workload.crawl_days * DAY)
    return first, workload.pages * workload.change_per_day * workload.revisits_per_change / DAY


def stored_bytes(workload: Workload, table: Coefficients) -> float:
    """Return the bytes of the page store for one page."""
    return table["stored_bytes"] * workload.page_bytes / table["stored_html_bytes"]


def build_cpu_seconds(workload: Workload, table: Coefficients) -> dict[str, float]:
    """Return the CPU time, in seconds, of the parts of one build of everything."""
    links = workload.pages * workload.links_per_page
    return {
        "index": workload.pages * workload.words_per_page * table["build_cpu_us_per_word"] / 1e6,
        "graph": links * table["graph_build_cpu"] / table["graph_links"],
        "PageRank": links * table["pagerank_rounds"] * table["pagerank_ns_per_link_round"] / 1e9,
    }


def crawl_cores(workload: Workload, table: Coefficients, rate: float) -> float:
    """Return the cores that fetching, parsing and storing so many pages per second keep busy."""
    return rate * workload.page_bytes / (table["crawl_pages_per_cpu_second"] * table["crawl_page_bytes"])


def sent_bytes(workload: Workload, table: Coefficients) -> float:
    """Return the bytes that fetching one page moves, compressed."""
    return workload.page_bytes * table["html_compressed_bytes"] / table["stored_html_bytes"]
