"""The metric log of a site: what it did, as JSON lines, for `periplus evaluate sites`.

    site/metrics-00000.jsonl    {"format":1,"checksum":"..."}, then {"kind":"query",...,"checksum":"..."} line by line

Records are collected and appended together, once in a while: those of the last seconds are lost with the process, which
no metric minds. The oldest file is deleted when there are more than `MAX_FILES`.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from periplus.errors import PeriplusError
from periplus.files import make_folder
from periplus.json_lines import append_json_lines, read_json_lines
from periplus.sites.metric_records import MetricRecord, decode_metric, encode_metric

__all__ = ["METRIC_LOG_FORMAT", "MetricLog", "read_metric_log"]

METRIC_LOG_FORMAT: Final = 1
MAX_FILES: Final = 4
_MAX_FILE_BYTES: Final = 16 << 20
_BATCH: Final = 500
_MAX_WAITING: Final = 10_000
"""Records that wait for the disk; further ones are dropped."""
_MAX_AGE: Final = 5.0
_FOLDER: Final = "site"
_PATTERN: Final = "metrics-*.jsonl"


class MetricLog:
    """Appends records to the log of a data folder. Safe to use from many threads; a record that cannot be written is
    dropped, and counted: metrics never disturb what they measure."""

    def __init__(
        self,
        folder: Path,
        *,
        deferred: bool = False,
        max_file_bytes: int = _MAX_FILE_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """deferred: `write` never waits for the disk; another thread calls `flush_old` or `flush`."""
        self._folder = folder / _FOLDER
        self._deferred = deferred
        self._max_file_bytes = max_file_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._lines: list[bytes] = []
        self._oldest = 0.0
        self.dropped = 0
        """Records that could not be written."""

    def write(self, record: MetricRecord) -> None:
        """Add a record; it is on disk within some seconds, when another one is added, or after `flush`."""
        with self._lock:
            if len(self._lines) >= _MAX_WAITING:
                self.dropped += 1
                return
            if not self._lines:
                self._oldest = self._clock()
            self._lines.append(encode_metric(record))
            if self._deferred:
                return
            if len(self._lines) < _BATCH and self._clock() - self._oldest < _MAX_AGE:
                return
        self.flush()

    def flush_old(self) -> None:
        """Append what was collected if it has waited long enough; for threads that run all the time."""
        with self._lock:
            is_due = bool(self._lines) and self._clock() - self._oldest >= _MAX_AGE
        if is_due:
            self.flush()

    def flush(self) -> None:
        """Append what was collected."""
        with self._lock:
            lines, self._lines = self._lines, []
            if not lines:
                return
            try:
                self._append(lines)
            except (PeriplusError, OSError):
                self.dropped += len(lines)

    def _append(self, lines: list[bytes]) -> None:
        make_folder(self._folder)
        files = _log_files(self._folder)
        number = files[-1][0] if files else 0
        path = self._folder / f"metrics-{number:05d}.jsonl"
        if not append_json_lines(path, lines, METRIC_LOG_FORMAT, self._max_file_bytes):
            path = self._folder / f"metrics-{number + 1:05d}.jsonl"
            if not append_json_lines(path, lines, METRIC_LOG_FORMAT, self._max_file_bytes):
                self.dropped += len(lines)
        for _, old in _log_files(self._folder)[:-MAX_FILES]:
            old.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.flush()


def read_metric_log(folder: Path) -> Iterator[MetricRecord]:
    """Yield the records of a data folder, oldest first; damaged lines, and those that are no records, are left out."""
    for _, path in _log_files(folder / _FOLDER):
        for line in read_json_lines(path, METRIC_LOG_FORMAT, checksum_since=1):
            record = decode_metric(line)
            if record is not None:
                yield record


def _log_files(folder: Path) -> list[tuple[int, Path]]:
    files = []
    for path in folder.glob(_PATTERN):
        with contextlib.suppress(ValueError):
            files.append((int(path.stem.rpartition("-")[2]), path))
    return sorted(files)
