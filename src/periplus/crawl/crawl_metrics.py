"""A crawl's figures in Prometheus' text format, for a collector that reads files."""

from collections.abc import Mapping
from typing import Final

from periplus.crawl.crawl_statistics import CrawlStatistics

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


def as_metrics(found: CrawlStatistics | Mapping[int, CrawlStatistics]) -> str:
    """Write the figures of a crawl, or those of each of its shards, one on a line."""
    each = {f'shard="{number}"': one for number, one in found.items()} if isinstance(found, Mapping) else {"": found}
    lines: list[str] = []
    for name, kind, meaning in _FIGURES:
        full = f"periplus_crawl_{name}" + ("_total" if kind == "counter" else "")
        lines += [f"# HELP {full} {meaning}.", f"# TYPE {full} {kind}"]
        lines += [f"{full}{_labels(shard)} {getattr(one, name):.15g}" for shard, one in each.items()]
    full = "periplus_crawl_failures_total"
    lines += [f"# HELP {full} Requests that brought no page, by outcome.", f"# TYPE {full} counter"]
    for shard, one in each.items():
        for outcome, times in sorted(one.errors.items()):
            labels = _labels(shard, f'outcome="{outcome}"')
            lines.append(f"{full}{labels} {times}")
    return "\n".join(lines) + "\n"


def _labels(*labels: str) -> str:
    given = ",".join(label for label in labels if label)
    return f"{{{given}}}" if given else ""
