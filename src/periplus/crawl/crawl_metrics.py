"""The statistics of a crawl in the text format of Prometheus, for a collector that reads files."""

from collections.abc import Mapping
from typing import Final

from periplus.crawl.crawl_statistics import CrawlStatistics

__all__ = ["as_metrics"]

_FIGURES: Final = (
    ("pages", "counter", "Pages stored, without duplicates"),
    ("fetched", "counter", "Finished requests"),
    ("copies", "counter", "Pages with the content of a stored page"),
    ("bytes", "counter", "Bytes of bodies fetched"),
    ("rate", "gauge", "Pages per second over the last seconds"),
    ("waiting", "gauge", "URLs in the queue"),
    ("busy", "gauge", "Requests in flight"),
    ("hosts", "gauge", "Hosts known"),
    ("seen", "gauge", "URLs ever seen"),
    ("given_up", "gauge", "Suspended hosts"),
    ("seconds", "gauge", "Seconds since the start of this run"),
)


def as_metrics(statistics: CrawlStatistics | Mapping[int, CrawlStatistics]) -> str:
    """Return the statistics of a crawl, or of each of its shards, as metrics."""
    by_label = (
        {f'shard="{number}"': part for number, part in statistics.items()}
        if isinstance(statistics, Mapping)
        else {"": statistics}
    )
    lines: list[str] = []
    for name, kind, meaning in _FIGURES:
        full = f"periplus_crawl_{name}" + ("_total" if kind == "counter" else "")
        lines += [f"# HELP {full} {meaning}.", f"# TYPE {full} {kind}"]
        lines += [f"{full}{_labels(label)} {getattr(part, name):.15g}" for label, part in by_label.items()]
    full = "periplus_crawl_paused_by_limit"
    lines += [f"# HELP {full} Whether a limit of disk space or memory pauses the crawl.", f"# TYPE {full} gauge"]
    lines += [f"{full}{_labels(label)} {int(bool(part.paused))}" for label, part in by_label.items()]
    full = "periplus_crawl_failures_total"
    lines += [f"# HELP {full} Requests without a page, by outcome.", f"# TYPE {full} counter"]
    for label, part in by_label.items():
        for outcome, times in sorted(part.errors.items()):
            labels = _labels(label, f'outcome="{outcome}"')
            lines.append(f"{full}{labels} {times}")
    full = "periplus_crawl_cuts"
    lines += [
        f"# HELP {full} What limits leave out, by kind and setting.",
        f"# TYPE {full} gauge",
    ]
    for label, part in by_label.items():
        for cut in part.cuts:
            labels = _labels(label, f'kind="{cut.kind}"', f'setting="{cut.setting}"', f'limit="{cut.limit:.15g}"')
            lines.append(f"{full}{labels} {cut.count}")
    return "\n".join(lines) + "\n"


def _labels(*labels: str) -> str:
    joined = ",".join(label for label in labels if label)
    return f"{{{joined}}}" if joined else ""
