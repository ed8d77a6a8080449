"""A crawl's figures in Prometheus' text format, for a collector that reads files."""

from typing import Final

from periplus.crawl.statistics import CrawlStatistics

__all__ = ["as_metrics"]

_FIGURES: Final = (
    ("pages", "counter", "Pages stored, copies not counted"),
    ("fetched", "counter", "Requests that ended"),
    ("copies", "counter", "Pages whose very content was stored already"),
    ("bytes", "counter", "Bytes of bodies fetched"),
    ("rate", "gauge", "Pages a second over the last seconds"),
    ("waiting", "gauge", "URLs that wait"),
    ("busy", "gauge", "Requests under way"),
    ("hosts", "gauge", "Hosts known"),
    ("seen", "gauge", "URLs ever seen"),
    ("given_up", "gauge", "Hosts left alone for now"),
    ("seconds", "gauge", "Seconds since this run began"),
)


def as_metrics(found: CrawlStatistics) -> str:
    """Write the figures of a crawl, one on a line."""
    lines: list[str] = []
    for name, kind, meaning in _FIGURES:
        full = f"periplus_crawl_{name}" + ("_total" if kind == "counter" else "")
        lines += [f"# HELP {full} {meaning}.", f"# TYPE {full} {kind}", f"{full} {getattr(found, name):g}"]
    full = "periplus_crawl_failures_total"
    lines += [f"# HELP {full} Requests that brought no page, by outcome.", f"# TYPE {full} counter"]
    lines += [f'{full}{{outcome="{outcome}"}} {times}' for outcome, times in sorted(found.errors.items())]
    return "\n".join(lines) + "\n"
