"""Workloads and machines as commands describe them: texts with units, and defaults."""

from typing import Final

from periplus.app.capacity.capacity_records import Machine, Workload
from periplus.app.capacity.coefficients import load_coefficients
from periplus.app.capacity.quantities import parse_bandwidth, parse_bytes, parse_count, parse_share
from periplus.errors import BadInput

__all__ = ["DEFAULT_MACHINE", "describe_machine", "describe_workload", "make_workload"]

DEFAULT_MACHINE: Final = Machine(16, 64e9, 4e12, 10e9)
WORDS_PER_PAGE: Final = 500.0
EXTERNAL_LINKS: Final = 0.2
URLS_PER_PAGE: Final = 4.0
CRAWL_DAYS: Final = 30.0
REPLICAS: Final = 2
_MERGES: Final = 3.0


def make_workload(
    *,
    pages: float,
    queries_per_second: float,
    change_per_day: float,
    page_bytes: float = 0.0,
    words_per_page: float = WORDS_PER_PAGE,
    links_per_page: float = 0.0,
    external_links: float = EXTERNAL_LINKS,
    urls_per_page: float = URLS_PER_PAGE,
    crawl_days: float = CRAWL_DAYS,
    revisits_per_change: float = 1.0,
    merges_per_page: float = _MERGES,
    replicas: int = REPLICAS,
) -> Workload:
    """Return a workload; pages have the size of those of the crawl benchmark, and the links of a real crawl."""
    table = load_coefficients()
    return Workload(
        pages=pages,
        queries_per_second=queries_per_second,
        change_per_day=change_per_day,
        page_bytes=page_bytes or table["crawl_page_bytes"],
        words_per_page=words_per_page,
        links_per_page=links_per_page or round(table["web_links"] / table["web_pages"], 1),
        external_links=external_links,
        urls_per_page=urls_per_page,
        crawl_days=crawl_days,
        revisits_per_change=revisits_per_change,
        merges_per_page=merges_per_page,
        replicas=replicas,
    )


def describe_workload(texts: dict[str, str], replicas: int = REPLICAS) -> Workload:
    """Return the workload that texts describe, by the names of its fields; raise `BadInput` for what is none."""
    if not 1 <= replicas <= 100:
        raise BadInput(f"Replicas must be from 1 to 100, not {replicas}.")
    numbers: dict[str, float] = {}
    for name, text in texts.items():
        label = name.replace("_", " ").capitalize()
        if name in ("change_per_day", "external_links"):
            numbers[name] = parse_share(text, label, most=1.0 if name == "external_links" else 100.0)
        elif name == "page_bytes":
            numbers[name] = parse_bytes(text, "Page size", least=100, most=1e9)
        else:
            least, most = _RANGES[name]
            numbers[name] = parse_count(text, label, least, most)
    return make_workload(
        **{name: numbers.pop(name) for name in ("pages", "queries_per_second", "change_per_day")},
        replicas=replicas,
        **numbers,
    )


_RANGES: Final = {
    "pages": (1.0, 1e13),
    "queries_per_second": (0.001, 1e7),
    "words_per_page": (1.0, 1e6),
    "links_per_page": (0.1, 1e4),
    "urls_per_page": (1.0, 1e3),
    "crawl_days": (0.01, 3650.0),
    "revisits_per_change": (0.01, 100.0),
}


def describe_machine(cores: int, memory: str, disk: str, bandwidth: str) -> Machine:
    """Return the machine that texts describe; raise `BadInput` for what is none."""
    if not 1 <= cores <= 4096:
        raise BadInput(f"Cores must be from 1 to 4096, not {cores}.")
    return Machine(
        cores,
        parse_bytes(memory, "Memory", least=1e8),
        parse_bytes(disk, "Disk", least=1e9),
        parse_bandwidth(bandwidth, "Bandwidth"),
    )
