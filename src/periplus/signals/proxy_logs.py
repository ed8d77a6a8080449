"""Logs of proxies as reports of visits: common and combined log format, and Squid's own. Who visited is not kept."""

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
_SEEN: Final = frozenset((b"200", b"203", b"304"))
_PAGES: Final = ("text/", "application/xhtml", "application/pdf", "application/xml")
_BATCH: Final = 20_000
_LOOKED_AT: Final = 1_000
"""A file of which so many first lines mean nothing is no log."""


def import_proxy_logs(folder: Path, paths: Iterable[Path]) -> ReportCount:
    """Queue the visits that proxies have written down; each batch is one report."""
    taken = refused = 0
    waiting: dict[tuple[str, int], VisitReport] = {}
    for path in paths:
        for sighting in read_proxy_log(path):
            place = sighting.url, sighting.source
            known = waiting.get(place)
            if known is not None:
                when = max(known.when, sighting.when)
                sighting = VisitReport(sighting.url, known.count + 1, when=when, source=sighting.source)
            waiting[place] = sighting
            if len(waiting) >= _BATCH:
                done = append_visit_reports(folder, waiting.values())
                taken, refused, waiting = taken + done.taken, refused + done.refused, {}
    done = append_visit_reports(folder, waiting.values())
    return ReportCount(taken + done.taken, refused + done.refused)


def read_proxy_log(path: Path) -> Iterator[VisitReport]:
    """Give the pages that a log says were got, one for each line; raise `BadFile` when it is no such log."""
    understood = 0
    for number, line in enumerate(read_lines(path), 1):
        known, sighting = _read_line(line[:8_192])
        understood += known
        if sighting is not None:
            yield sighting
        if number == _LOOKED_AT and not understood:
            break
    else:
        if understood:
            return
    raise BadFile(f"{path} is no proxy log.", "Common, combined and Squid's native format are read.")


def _read_line(line: bytes) -> tuple[bool, VisitReport | None]:
    """Tell whether a line is one of a log, and give the visit in it, if it is one to a page."""
    squid = _SQUID.match(line)
    if squid is not None:
        when, client, status, method, url, kind = squid.groups()
        return True, _sighting(client, url, method, status, float(when), (kind or b"").decode("latin-1"))
    common = _COMMON.match(line)
    if common is not None:
        client, moment, method, url, status = common.groups()
        return True, _sighting(client, url, method, status, _time(moment.decode("latin-1")), "")
    return False, None


def _sighting(client: bytes, url: bytes, method: bytes, status: bytes, when: float, kind: str) -> VisitReport | None:
    if method != b"GET" or status not in _SEEN or not url.lower().startswith((b"http://", b"https://")):
        return None
    if kind not in ("", "-") and not kind.lower().startswith(_PAGES):
        return None
    # Of who it was no more is kept than whether two visits of this URL may be by the same.
    source = fingerprint(client + b" " + url) % (SOURCES - 1) + 1 if client != b"-" else 0
    return VisitReport(url.decode("utf-8", "replace"), 1, "", when, source)


def _time(text: str) -> float:
    try:
        return datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").timestamp()
    except (ValueError, OverflowError):
        return 0.0
