"""Import of proxy logs as visit reports: common, combined and Squid's native format. Clients are not stored."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from periplus.errors import BadFile
from periplus.hashing import fingerprint
from periplus.records import VisitReport
from periplus.signals.visit_reports import SOURCES, ReportCount, append_visit_reports
from periplus.store import read_lines

__all__ = ["import_proxy_logs", "read_proxy_log"]

_COMMON: Final = re.compile(
    rb'(\S+) \S+ [^\[]{0,200}\[([^\]]{1,64})\] "([A-Z]{3,16}) (\S{1,4096})(?: HTTP/[0-9.]+)?" (\d{3}) '
)
_SQUID: Final = re.compile(
    rb"(\d{1,12}\.\d{1,6})\s+-?\d+\s+(\S+)\s+[A-Z_]+/(\d{3})\s+\d+\s+([A-Z_]{3,20})\s+(\S{1,4096})\s+\S+\s+\S+(?:\s+(\S+))?"
)
_PAGE_STATUSES: Final = frozenset((b"200", b"203", b"304"))
_PAGE_TYPES: Final = ("text/", "application/xhtml", "application/pdf", "application/xml")
_BATCH: Final = 20_000
_PROBE_LINES: Final = 1_000
"""A file whose first lines, this many, are in no known format is not a log."""


def import_proxy_logs(folder: Path, paths: Iterable[Path]) -> ReportCount:
    """Queue the visits in logs of proxies as visit reports, in batches."""
    taken = refused = 0
    waiting: dict[tuple[str, int], VisitReport] = {}
    for path in paths:
        for report in read_proxy_log(path):
            key = report.url, report.source
            earlier = waiting.get(key)
            if earlier is not None:
                when = max(earlier.when, report.when)
                report = VisitReport(report.url, earlier.count + 1, when=when, source=report.source)
            waiting[key] = report
            if len(waiting) >= _BATCH:
                counts = append_visit_reports(folder, waiting.values())
                taken, refused, waiting = taken + counts.taken, refused + counts.refused, {}
    counts = append_visit_reports(folder, waiting.values())
    return ReportCount(taken + counts.taken, refused + counts.refused)


def read_proxy_log(path: Path) -> Iterator[VisitReport]:
    """Yield the page visits of a log, one for each line; raise `BadFile` if it is not a proxy log."""
    recognized = 0
    for number, line in enumerate(read_lines(path), 1):
        is_log_line, report = _read_line(line[:8_192])
        recognized += is_log_line
        if report is not None:
            yield report
        if number == _PROBE_LINES and not recognized:
            break
    else:
        if recognized:
            return
    raise BadFile(f"{path} is not a proxy log.", "Supported formats: common, combined, and Squid's native format.")


def _read_line(line: bytes) -> tuple[bool, VisitReport | None]:
    """Return whether a line is in a log format, and its visit report if it is a visit to a page."""
    squid = _SQUID.match(line)
    if squid is not None:
        when, client, status, method, url, kind = squid.groups()
        return True, _make_report(client, url, method, status, float(when), (kind or b"").decode("latin-1"))
    common = _COMMON.match(line)
    if common is not None:
        client, when_text, method, url, status = common.groups()
        return True, _make_report(client, url, method, status, _time(when_text.decode("latin-1")), "")
    return False, None


def _make_report(client: bytes, url: bytes, method: bytes, status: bytes, when: float, kind: str) -> VisitReport | None:
    if method != b"GET" or status not in _PAGE_STATUSES or not url.lower().startswith((b"http://", b"https://")):
        return None
    if kind not in ("", "-") and not kind.lower().startswith(_PAGE_TYPES):
        return None
    # The source only says whether two visits to this URL may be by the same client.
    source = fingerprint(client + b" " + url) % (SOURCES - 1) + 1 if client != b"-" else 0
    return VisitReport(url.decode("utf-8", "replace"), 1, "", when, source)


def _time(text: str) -> float:
    try:
        return datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").timestamp()
    except (ValueError, OverflowError):
        return 0.0
