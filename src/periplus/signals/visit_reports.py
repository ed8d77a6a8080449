"""Visit reports: a durable queue in the data folder that any process may append to and the crawl reads.

    passive/visits-00000.log    '<fingerprint> {"format": 1}', then lines of '<fingerprint> <json array of reports>',
                                each one batch; files of earlier versions lack the first line
    passive/counts.arrays       visits and reporters of each URL; see visit_counts.py

Appending acquires a lock, writes whole lines and makes them durable; a line that a crash cut short is terminated by
the next writer and skipped by every reader. Each reader stores its own position, so there may be any number.
"""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.checksums import FileFault
from periplus.errors import BadUrl, Overloaded
from periplus.files import check_format, disk_errors, make_folder, open_data_folder, sync_folder
from periplus.hashing import fingerprint
from periplus.records import VisitReport
from periplus.typed_decoding import json_decoder, parse_json
from periplus.url import parse_address

__all__ = [
    "FOLDER",
    "MAX_LOG_BYTES",
    "SOURCES",
    "LogPosition",
    "ReceivedVisit",
    "ReportCount",
    "append_received_visits",
    "append_visit_reports",
    "check_visit_log",
    "lock_log",
    "log_files",
    "read_visit_reports",
]

FOLDER: Final = "passive"
_FORMAT: Final = 1
"""Version of the line format; raised with every change to it."""
MAX_LOG_BYTES: Final = 256 << 20
"""Maximum size of the queue; further reports are rejected, since it is evidently not being read."""
SOURCES: Final = 64
"""Reporter numbers are below this; 0 stands for all unknown reporters."""
_MAX_FILE_BYTES: Final = 4 << 20
_BATCH: Final = 500
_MAX_COUNT: Final = 1_000_000
_MAX_URL_LENGTH: Final = 2_048
_MAX_DIGEST_LENGTH: Final = 128
_DAY: Final = 86_400.0
_NAME: Final = re.compile(r"visits-(\d{5,9})\.log")

_SEARCHED_BYTES: Final = 32 << 20
"""Newest part of the queue in which a batch that comes again is looked for."""


class ReceivedVisit(VisitReport, frozen=True, array_like=True):
    """A visit that was reported to another site of a federation, which has sent it to this one."""

    origin: str = ""
    """The batch that it came with, unique for ever."""


_decoder: Final = json_decoder(list[VisitReport])
_received_decoder: Final = json_decoder(list[ReceivedVisit])


class _FormatLine(msgspec.Struct, frozen=True):
    """The first line of a file."""

    format: int = 0


class ReportCount(NamedTuple):
    """Numbers of accepted and rejected reports."""

    taken: int
    refused: int
    """Reports with a malformed URL, or one that the crawler does not fetch."""


class LogPosition(NamedTuple):
    """A position in the queue: the number of a file, and the offset in it."""

    file: int = 0
    offset: int = 0


def append_visit_reports(folder: Path, records: Iterable[VisitReport]) -> ReportCount:
    """Append reports to the queue, durably, whether or not a crawl is running.

    Raise `Overloaded` if the queue is full.
    """
    accepted, refused = _accept(records)
    if accepted:
        open_data_folder(folder, create=True)
        queue = folder / FOLDER
        lines = b"".join(_encode_line(accepted[start : start + _BATCH]) for start in range(0, len(accepted), _BATCH))
        with lock_log(queue), disk_errors(queue):
            _append(queue, lines)
    return ReportCount(len(accepted), refused)


def append_received_visits(folder: Path, records: Iterable[VisitReport], origin: str) -> ReportCount:
    """Append a batch of reports of another site, once: those of the same `origin` that are there stay alone.

    Raise `Overloaded` if the queue is full. The newest `_SEARCHED_BYTES` are looked through: a batch comes again soon
    after the process that was about to acknowledge it has ended.
    """
    accepted, refused = _accept(records)
    batches: dict[str, bytes] = {}
    for number, start in enumerate(range(0, len(accepted), _BATCH)):
        name = f"{origin} {number}"
        batches[name] = _encode_line(
            [
                ReceivedVisit(one.url, one.count, one.digest, one.when, one.source, name)
                for one in accepted[start : start + _BATCH]
            ]
        )
    if batches:
        open_data_folder(folder, create=True)
        queue = folder / FOLDER
        with lock_log(queue), disk_errors(queue):
            present = _find_origins(queue, batches)
            lines = b"".join(line for name, line in batches.items() if name not in present)
            if lines:
                _append(queue, lines)
    return ReportCount(len(accepted), refused)


def _find_origins(queue: Path, names: Iterable[str]) -> set[str]:
    """Return those origins of which the newest files have whole lines."""
    wanted, present, left = {name: b'"%s"]]' % name.encode() for name in names}, set(), _SEARCHED_BYTES
    for _, path in reversed(log_files(queue)):
        data = path.read_bytes()
        for name, ending in wanted.items():
            at = data.find(ending + b"\n")
            if at >= 0 and _decode_line(data[data.rfind(b"\n", 0, at) + 1 : at + len(ending)]):
                present.add(name)
        left -= len(data)
        if left <= 0:
            break
    return present


def _accept(records: Iterable[VisitReport]) -> tuple[list[VisitReport], int]:
    """Return reports within bounds, and how many were refused."""
    normalized = [_normalize(record) for record in records]
    accepted = [record for record in normalized if record is not None]
    return accepted, len(normalized) - len(accepted)


def _normalize(record: VisitReport) -> VisitReport | None:
    """Return a report with its URL in canonical form and its values within bounds; None if the URL is invalid."""
    if len(record.url) > _MAX_URL_LENGTH:
        return None
    try:
        url = parse_address(record.url).url
    except BadUrl:
        return None
    now = time.time()
    when = record.when if 0 < record.when <= now + _DAY else now
    digest = "".join(
        character for character in record.digest[:_MAX_DIGEST_LENGTH] if character.isascii() and character.isprintable()
    )
    source = record.source if 0 <= record.source < SOURCES else 0
    return VisitReport(url, min(max(record.count, 1), _MAX_COUNT), digest, when, source)


def _encode_line(content: object) -> bytes:
    body = msgspec.json.encode(content)
    return b"%016x %s\n" % (fingerprint(body), body)


@contextlib.contextmanager
def lock_log(queue: Path, name: str = ".lock") -> Iterator[None]:
    """Acquire the lock on the queue's files; it is released even if the process is killed."""
    with disk_errors(queue):
        make_folder(queue)
        file = (queue / name).open("a")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def log_files(queue: Path) -> list[tuple[int, Path]]:
    """List the queue's files with their numbers, in order."""
    try:
        entries = [(_NAME.fullmatch(path.name), path) for path in queue.iterdir()]
    except FileNotFoundError:
        return []
    return sorted((int(match[1]), path) for match, path in entries if match)


def _append(queue: Path, lines: bytes) -> None:
    """Append lines to the newest file; the lock is held."""
    files = log_files(queue)
    if sum(path.stat().st_size for _, path in files) + len(lines) > MAX_LOG_BYTES:
        raise Overloaded("The queue of reported visits is full.", "Run periplus crawl to read them.")
    number, path = files[-1] if files else (0, queue / "visits-00000.log")
    if files and path.stat().st_size >= _MAX_FILE_BYTES:
        path = queue / f"visits-{number + 1:05d}.log"
    is_new = not path.exists() or not path.stat().st_size
    if is_new:
        lines = _encode_line(_FormatLine(_FORMAT)) + lines
    else:
        _check_format_line(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        _write(descriptor, lines, queue)
    finally:
        os.close(descriptor)


def _write(descriptor: int, lines: bytes, queue: Path) -> None:
    """Append whole lines, durably; on a disk error, truncate the file to its former size."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        lines = b"\n" + lines
    try:
        view = memoryview(lines)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fdatasync(descriptor)
        if not size:
            sync_folder(queue)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def read_visit_reports(
    folder: Path,
    position: LogPosition,
    most: int = 1 << 20,
    before: int | None = None,
    until: LogPosition | None = None,
) -> tuple[list[VisitReport], LogPosition]:
    """Return about `most` bytes of reports from `position` on, and the position after them.

    Files from number `before` on are not read, nor anything after the position `until`.
    """
    reports: list[VisitReport] = []
    for number, path in log_files(folder / FOLDER):
        if number < position.file:
            continue
        if before is not None and number >= before:
            break
        offset = position.offset if number == position.file else 0
        _check_format_line(path)
        if until is not None and number >= until.file:
            most = min(most, until.offset - offset if number == until.file else 0)
        if most <= 0:
            break
        data, at_end = _read_whole_lines(path, offset, most)
        for line in data.split(b"\n"):
            reports += _decode_line(line)
        position = LogPosition(number, offset + len(data))
        most -= len(data)
        if most <= 0 or not at_end:
            break
    return reports, position


def _read_whole_lines(path: Path, offset: int, most: int) -> tuple[bytes, bool]:
    """Return up to `most` bytes from `offset`, ending with a line, or one line if that is longer.

    The second value is whether the end of the file was reached.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            data = file.read(max(min(most, size - offset), 0))
            if data and b"\n" not in data:
                data += file.readline(_MAX_FILE_BYTES)
    except FileNotFoundError:
        return b"", True
    return data[: data.rfind(b"\n") + 1], offset + len(data) >= size


def _check_format_line(path: Path) -> None:
    """Raise `NewerFormat` for a file that a later version began."""
    with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError), path.open("rb") as file:
        mark, _, body = file.readline(100).rstrip(b"\n").partition(b" ")
        if mark == b"%016x" % fingerprint(body):
            check_format(path, parse_json(body, _FormatLine).format, _FORMAT)


def check_visit_log(path: Path) -> list[FileFault]:
    """Return the faults of a file of the queue."""
    raw = path.read_bytes()
    lines = raw.split(b"\n")
    faults = [FileFault(path, "was cut short in its last line", torn=True)] if lines.pop() else []
    for number, line in enumerate(lines, 1):
        mark, _, body = line.partition(b" ")
        if line and mark != b"%016x" % fingerprint(body):
            faults.append(FileFault(path, f"is damaged in line {number}"))
    return faults


def _decode_line(line: bytes) -> list[VisitReport]:
    """Return the reports of one line; none if it is incomplete or damaged."""
    mark, _, body = line.partition(b" ")
    try:
        if not body or int(mark, 16) != fingerprint(body):
            return []
        if body.endswith(b'"]]'):  # Others end with the number of a reporter.
            return list(_received_decoder.decode(body))
        return _decoder.decode(body)
    except (ValueError, msgspec.MsgspecError):
        return []
