"""Trending pages: those with more visits, as reported here, in the last day than in the days before it."""

import time
from collections import Counter
from pathlib import Path
from typing import Final

from periplus.records import VisitReport
from periplus.signals.visit_reports import FOLDER, LogPosition, ReceivedVisit, log_files, read_visit_reports

__all__ = ["read_trending"]

_DAY: Final = 86_400.0
_BASELINE_DAYS: Final = 6
"""Days before the last one that make the baseline."""
_BYTES: Final = 8 << 20
"""Size of the newest reports that are read."""
_MIN_VISITS: Final = 3
"""Pages with fewer visits in the last day are never listed, to protect readers."""


def read_trending(folder: Path, now: float | None = None, most: int = 50) -> list[tuple[str, int]]:
    """Return the URLs whose visits rose most in the last day, each with its number of visits.

    What other sites have sent does not count: their readers are in other regions.
    """
    now = time.time() if now is None else now
    recent, baseline = Counter[str](), Counter[str]()
    for report in _read_newest(folder):
        age = (now - report.when) / _DAY
        if age <= 1:
            recent[report.url] += report.count
        elif age <= 1 + _BASELINE_DAYS:
            baseline[report.url] += report.count
    rises = {url: count / (1 + baseline[url] / _BASELINE_DAYS) for url, count in recent.items() if count >= _MIN_VISITS}
    best = sorted(rises, key=lambda url: (-rises[url], url))[:most]
    return [(url, recent[url]) for url in best]


def _read_newest(folder: Path) -> list[VisitReport]:
    """Return the newest reports, about `_BYTES` of them."""
    files, size, first = log_files(folder / FOLDER), 0, 0
    for number, path in reversed(files):
        size += path.stat().st_size
        first = number
        if size >= _BYTES:
            break
    reports = read_visit_reports(folder, LogPosition(first), 2 * _BYTES)[0] if files else []
    return [report for report in reports if not isinstance(report, ReceivedVisit)]
