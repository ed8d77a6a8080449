"""Metrics of the server in the text format of Prometheus: requests, latency, refusals, cache. No client, no query."""

import bisect
import contextlib
import time
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from periplus.files import write_atomically
from periplus.serve.actions import HealthReport
from periplus.typed_decoding import parse_json

__all__ = ["BUCKETS", "Metrics", "MetricsSnapshot", "health_text", "prometheus_text"]

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the buckets of the latency histogram, in seconds."""
_SHARE_SECONDS: Final = 1.0
_VALUES: Final = (
    ("cache_hits", "counter", "Responses sent from the cache"),
    ("cache_misses", "counter", "Responses that were not in the cache"),
    ("cache_refused", "counter", "Responses not admitted to the cache"),
    ("cache_evicted", "counter", "Responses evicted from the cache"),
    ("cache_bytes", "gauge", "Memory of the cached responses"),
    ("cache_entries", "gauge", "Cached responses"),
    ("waiting", "gauge", "Searches that are queued or running"),
    ("documents", "gauge", "Pages in the index"),
    ("refreshes", "counter", "New commits of the index that were opened"),
    ("stuck_threads", "counter", "Search threads that were stuck and replaced"),
    ("worker_restarts", "counter", "Server processes that ended and were replaced"),
    ("stuck_workers", "counter", "Server processes that made no progress and were replaced"),
    ("slow_bodies", "counter", "Request bodies that came too slowly"),
    ("connections", "gauge", "Open connections"),
    ("connections_closed_slow", "counter", "Connections closed since the client did not read"),
    ("connections_closed_excess", "counter", "Connections closed since their address had too many"),
    ("connections_closed_idle", "counter", "Idle connections closed to make room"),
)


class MetricsSnapshot(msgspec.Struct):
    """The metrics of one process, or of all together."""

    requests: dict[str, int] = {}
    """By 'label status'."""
    times: list[int] = []
    """Requests by bucket of `BUCKETS`; the last element counts those slower than all."""
    seconds: float = 0.0
    values: dict[str, float] = {}

    def merge(self, other: "MetricsSnapshot") -> "MetricsSnapshot":
        """Return the sum of the metrics of two processes."""
        width = max(len(self.times), len(other.times))
        mine, theirs = (snapshot.times + [0] * (width - len(snapshot.times)) for snapshot in (self, other))
        values = {name: self.values.get(name, 0) + other.values.get(name, 0) for name in self.values | other.values}
        values["documents"] = max(self.values.get("documents", 0), other.values.get("documents", 0))
        return MetricsSnapshot(
            dict(Counter(self.requests) + Counter(other.requests)),
            [a + b for a, b in zip(mine, theirs, strict=True)],
            self.seconds + other.seconds,
            values,
        )


class Metrics:
    """The metrics of one process, shared with other processes through a folder if there is one."""

    def __init__(self, folder: Path | None = None, number: int = 0) -> None:
        self._requests: Counter[str] = Counter()
        self._times = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self.values: dict[str, float] = {}
        self._file = folder / f"worker-{number}.json" if folder else None
        self._shared = -_SHARE_SECONDS

    def count(self, label: str, status: int, seconds: float) -> None:
        """Count one response."""
        self._requests[f"{label} {status}"] += 1
        self._times[bisect.bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds

    def snapshot(self) -> MetricsSnapshot:
        """Return the metrics of this process."""
        return MetricsSnapshot(dict(self._requests), list(self._times), self._seconds, dict(self.values))

    def share(self, *, now: bool = False) -> None:
        """Write the metrics for the other processes, at most once a second unless it has to be `now`."""
        if self._file is not None and (now or time.monotonic() - self._shared >= _SHARE_SECONDS):
            self._shared = time.monotonic()
            with contextlib.suppress(Exception):  # metrics are not worth a failed request
                write_atomically(self._file, msgspec.json.encode(self.snapshot()))

    def total(self) -> MetricsSnapshot:
        """Return the metrics of all processes; those of others may be a second old."""
        total = self.snapshot()
        for path in sorted(self._file.parent.glob("worker-*.json")) if self._file is not None else ():
            if path != self._file:
                with contextlib.suppress(OSError, msgspec.MsgspecError):
                    total = total.merge(parse_json(path.read_bytes(), MetricsSnapshot))
        return total


def prometheus_text(snapshot: MetricsSnapshot) -> str:
    """Return metrics in the text format of Prometheus."""
    lines = ["# HELP periplus_requests_total Responses by route and status.", "# TYPE periplus_requests_total counter"]
    for key, count in sorted(snapshot.requests.items()):
        label, _, status = key.rpartition(" ")
        lines.append(f'periplus_requests_total{{route="{label}",status="{status}"}} {count}')
    name = "periplus_request_seconds"
    lines += [f"# HELP {name} Time from request to response.", f"# TYPE {name} histogram"]
    total = 0
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), snapshot.times, strict=False):
        total += count
        lines.append(f'{name}_bucket{{le="{bound}"}} {total}')
    lines += [f"{name}_sum {snapshot.seconds:.6f}", f"{name}_count {total}"]
    for short, kind, help_text in _VALUES:
        full = f"periplus_{short}" + ("_total" if kind == "counter" else "")
        value = snapshot.values.get(short, 0)
        lines += [f"# HELP {full} {help_text}.", f"# TYPE {full} {kind}", f"{full} {value:.15g}"]
    return "\n".join(lines) + "\n"


def health_text(report: HealthReport) -> str:
    """Return the health of the parts of the program in the text format of Prometheus."""
    restarts: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    failing: Counter[str] = Counter()
    for part in report.parts:
        restarts[part.name] += part.restarts
        failures[part.name] += part.failures
        failing[part.name] += part.is_failing()
    lines = []
    for name, kind, help_text, values in (
        ("restarts_total", "counter", "Restarts of threads and processes after a failure", restarts),
        ("failures_total", "counter", "Failures of threads, processes and jobs", failures),
        ("failing", "gauge", "Whether a thread, process or job fails now", failing),
    ):
        if values:  # a metric without samples is not valid
            lines += [f"# HELP periplus_{name} {help_text}.", f"# TYPE periplus_{name} {kind}"]
        lines += [f'periplus_{name}{{part="{part}"}} {value}' for part, value in sorted(values.items())]
    for name, help_text, count in (
        ("inbox_pending", "Published pages that are not indexed yet", report.pending),
        ("inbox_damaged", "Published pages whose files are damaged", report.damaged),
    ):
        lines += [f"# HELP periplus_{name} {help_text}.", f"# TYPE periplus_{name} gauge", f"periplus_{name} {count}"]
    return "\n".join(lines) + "\n"
