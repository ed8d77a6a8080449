"""What the server counts, in Prometheus' text format: requests, times, refusals, cache. No client, no query."""

import bisect
import contextlib
import time
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from periplus.files import write_atomically

__all__ = ["EDGES", "Figures", "Metrics", "as_text"]

EDGES: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper edges of the histogram, in seconds."""
_SHARE_SECONDS: Final = 1.0
_NAMES: Final = (
    ("cache_hits", "counter", "Answers that were kept ready"),
    ("cache_misses", "counter", "Answers that had to be made"),
    ("cache_refused", "counter", "Answers that were not worth their room"),
    ("cache_evicted", "counter", "Answers that made room for others"),
    ("cache_bytes", "gauge", "Memory of the answers that are kept"),
    ("cache_entries", "gauge", "Answers that are kept"),
    ("waiting", "gauge", "Searches that wait or run"),
    ("documents", "gauge", "Pages in the index"),
    ("refreshes", "counter", "Times that a new commit of the index was opened"),
)


class Figures(msgspec.Struct):
    """Counts of one process, or of all."""

    requests: dict[str, int] = {}
    """By 'route status'."""
    times: list[int] = []
    """Requests by the edge of `EDGES` that they were under; the last are slower than all."""
    seconds: float = 0.0
    values: dict[str, float] = {}

    def plus(self, other: "Figures") -> "Figures":
        """Add the figures of two processes."""
        width = max(len(self.times), len(other.times))
        mine, theirs = (figures.times + [0] * (width - len(figures.times)) for figures in (self, other))
        values = {name: self.values.get(name, 0) + other.values.get(name, 0) for name in self.values | other.values}
        values["documents"] = max(self.values.get("documents", 0), other.values.get("documents", 0))
        return Figures(
            dict(Counter(self.requests) + Counter(other.requests)),
            [a + b for a, b in zip(mine, theirs, strict=True)],
            self.seconds + other.seconds,
            values,
        )


class Metrics:
    """Counts what one process does; shares it with the others through a folder, if there is one."""

    def __init__(self, folder: Path | None = None, number: int = 0) -> None:
        self._requests: Counter[str] = Counter()
        self._times = [0] * (len(EDGES) + 1)
        self._seconds = 0.0
        self.values: dict[str, float] = {}
        self._file = folder / f"worker-{number}.json" if folder else None
        self._shared = 0.0

    def count(self, route: str, status: int, seconds: float) -> None:
        """Take note of one answer."""
        self._requests[f"{route} {status}"] += 1
        self._times[bisect.bisect_left(EDGES, seconds)] += 1
        self._seconds += seconds

    def own(self) -> Figures:
        """Give the figures of this process."""
        return Figures(dict(self._requests), list(self._times), self._seconds, dict(self.values))

    def share(self) -> None:
        """Leave the figures where the other processes find them, at most once a second."""
        if self._file is not None and time.monotonic() - self._shared >= _SHARE_SECONDS:
            self._shared = time.monotonic()
            with contextlib.suppress(Exception):  # figures are not worth a failed request
                write_atomically(self._file, msgspec.json.encode(self.own()))

    def everybody(self) -> Figures:
        """Give the figures of all processes together; those of others may be a second old."""
        found = self.own()
        for path in sorted(self._file.parent.glob("worker-*.json")) if self._file is not None else ():
            if path != self._file:
                with contextlib.suppress(OSError, msgspec.MsgspecError):
                    found = found.plus(msgspec.json.decode(path.read_bytes(), type=Figures))
        return found


def as_text(figures: Figures) -> str:
    """Write figures as Prometheus reads them."""
    lines = ["# HELP periplus_requests_total Answers by route and status.", "# TYPE periplus_requests_total counter"]
    for name, times in sorted(figures.requests.items()):
        route, _, status = name.rpartition(" ")
        lines.append(f'periplus_requests_total{{route="{route}",status="{status}"}} {times}')
    name = "periplus_request_seconds"
    lines += [f"# HELP {name} Time from request to answer.", f"# TYPE {name} histogram"]
    total = 0
    for edge, times in zip((*map(str, EDGES), "+Inf"), figures.times, strict=False):
        total += times
        lines.append(f'{name}_bucket{{le="{edge}"}} {total}')
    lines += [f"{name}_sum {figures.seconds:.6f}", f"{name}_count {total}"]
    for short, kind, meaning in _NAMES:
        full = f"periplus_{short}" + ("_total" if kind == "counter" else "")
        value = figures.values.get(short, 0)
        lines += [f"# HELP {full} {meaning}.", f"# TYPE {full} {kind}", f"{full} {value:.15g}"]
    return "\n".join(lines) + "\n"
