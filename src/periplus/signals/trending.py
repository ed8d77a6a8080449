"""Which pages were visited more of late than before: counts of reported visits, and nothing about who made them."""

import time
from collections import Counter
from pathlib import Path
from typing import Final

from periplus.records import VisitReport
from periplus.signals.visit_reports import FOLDER, LogPosition, log_files, read_visit_reports

__all__ = ["read_trending"]

_DAY: Final = 86_400.0
_BEFORE: Final = 6
"""Days before the last one that it is compared with."""
_BYTES: Final = 8 << 20
"""The newest reports that are looked at."""
_FEWEST: Final = 3
"""Fewer visits than this in a day are nobody's business."""


def read_trending(folder: Path, now: float | None = None, most: int = 50) -> list[tuple[str, int]]:
    """Give the URLs whose visits of the last day rose most, each with how many they were."""
    now = time.time() if now is None else now
    late, early = Counter[str](), Counter[str]()
    for sighting in _newest(folder):
        age = (now - sighting.when) / _DAY
        if age <= 1:
            late[sighting.url] += sighting.count
        elif age <= 1 + _BEFORE:
            early[sighting.url] += sighting.count
    rises = {url: count / (1 + early[url] / _BEFORE) for url, count in late.items() if count >= _FEWEST}
    best = sorted(rises, key=lambda url: (-rises[url], url))[:most]
    return [(url, late[url]) for url in best]


def _newest(folder: Path) -> list[VisitReport]:
    """Give the newest reports, within bounds."""
    files, size, first = log_files(folder / FOLDER), 0, 0
    for number, path in reversed(files):
        size += path.stat().st_size
        first = number
        if size >= _BYTES:
            break
    return read_visit_reports(folder, LogPosition(first), 2 * _BYTES)[0] if files else []
