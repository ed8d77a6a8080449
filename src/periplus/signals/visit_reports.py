"""Visits that others report: a durable queue in the data folder, appended to by anybody, read by the crawl.

    passive/visits-00000.log    '<fingerprint> {"format": 1}', then lines of '<fingerprint> <json array of sightings>',
                                each one batch; files of earlier versions lack the first line
    passive/counts.arrays       how often each URL was reported, and by how many; see popularity.py

Appending takes a lock, writes whole lines and makes them durable; a line that was torn by a crash is ended by the next
writer and passed over by every reader. A reader keeps its own position, so that any number of them may read.
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

from periplus.errors import BadUrl, Overloaded
from periplus.files import check_format, disk_errors, open_data_folder
from periplus.hashing import fingerprint
from periplus.records import VisitReport
from periplus.url import parse_address

__all__ = [
    "FOLDER",
    "MAX_LOG_BYTES",
    "SOURCES",
    "LogPosition",
    "ReportCount",
    "append_visit_reports",
    "lock_log",
    "log_files",
    "read_visit_reports",
]

FOLDER: Final = "passive"
_FORMAT: Final = 1
"""The number of what the lines hold; it is raised whenever that changes."""
MAX_LOG_BYTES: Final = 256 << 20
"""Bytes that may wait; more is refused, because nobody seems to read."""
SOURCES: Final = 64
"""Numbers that stand for who reports; 0 for all who are not known."""
_ROTATE: Final = 4 << 20
_BATCH: Final = 500
_MOST_COUNT: Final = 1_000_000
_LONGEST_URL: Final = 2_048
_LONGEST_DIGEST: Final = 128
_DAY: Final = 86_400.0
_NAME: Final = re.compile(r"visits-(\d{5,9})\.log")

_decoder: Final = msgspec.json.Decoder(list[VisitReport])


class _First(msgspec.Struct, frozen=True):
    """The first line of a file."""

    format: int = 0


class ReportCount(NamedTuple):
    """What became of a report."""

    taken: int
    refused: int
    """Records whose URL is none, or none that is fetched."""


class LogPosition(NamedTuple):
    """How far a reader has come: the number of a file, and the offset in it."""

    file: int = 0
    offset: int = 0


def append_visit_reports(folder: Path, records: Iterable[VisitReport]) -> ReportCount:
    """Queue visits that were reported from outside, durably, whether or not a crawl is running.

    Raise `Overloaded` when so much waits that nobody can be reading.
    """
    refused = 0
    good: list[VisitReport] = []
    for record in records:
        checked = _checked(record)
        if checked is None:
            refused += 1
        else:
            good.append(checked)
    if good:
        open_data_folder(folder, create=True)
        lines = b"".join(_line(good[at : at + _BATCH]) for at in range(0, len(good), _BATCH))
        _append(folder / FOLDER, lines)
    return ReportCount(len(good), refused)


def _checked(record: VisitReport) -> VisitReport | None:
    """Give the record in canonical form and within bounds, or None."""
    if len(record.url) > _LONGEST_URL:
        return None
    try:
        url = parse_address(record.url).url
    except BadUrl:
        return None
    now = time.time()
    when = record.when if 0 < record.when <= now + _DAY else now
    digest = "".join(sign for sign in record.digest[:_LONGEST_DIGEST] if sign.isascii() and sign.isprintable())
    source = record.source if 0 <= record.source < SOURCES else 0
    return VisitReport(url, min(max(record.count, 1), _MOST_COUNT), digest, when, source)


def _line(content: object) -> bytes:
    body = msgspec.json.encode(content)
    return b"%016x %s\n" % (fingerprint(body), body)


@contextlib.contextmanager
def lock_log(sink: Path, name: str = ".lock") -> Iterator[None]:
    """Wait for the right to change the queue's files; it is given back however the process ends."""
    with disk_errors(sink):
        sink.mkdir(parents=True, exist_ok=True)
        file = (sink / name).open("a")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def log_files(sink: Path) -> list[tuple[int, Path]]:
    """List the queue's files with their numbers, in order."""
    try:
        found = [(_NAME.fullmatch(path.name), path) for path in sink.iterdir()]
    except FileNotFoundError:
        return []
    return sorted((int(match[1]), path) for match, path in found if match)


def _append(sink: Path, lines: bytes) -> None:
    with lock_log(sink), disk_errors(sink):
        files = log_files(sink)
        if sum(path.stat().st_size for _, path in files) + len(lines) > MAX_LOG_BYTES:
            raise Overloaded("More reported visits wait than the queue holds.", "Run periplus crawl to read them.")
        number, path = files[-1] if files else (0, sink / "visits-00000.log")
        if files and path.stat().st_size >= _ROTATE:
            path = sink / f"visits-{number + 1:05d}.log"
        if not path.exists():
            lines = _line(_First(_FORMAT)) + lines
        else:
            _check_first(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            _write(descriptor, lines)
        finally:
            os.close(descriptor)


def _write(descriptor: int, lines: bytes) -> None:
    """Write whole lines at the end; when the disk refuses, take back what was written of them."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        lines = b"\n" + lines
    try:
        view = memoryview(lines)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fdatasync(descriptor)
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
    """Give what was reported since `position`, about `most` bytes of it, and how far that goes.

    Files from number `before` on are not looked at, nor what comes after `until`, how far another reader has come.
    """
    found: list[VisitReport] = []
    for number, path in log_files(folder / FOLDER):
        if number < position.file:
            continue
        if before is not None and number >= before:
            break
        offset = position.offset if number == position.file else 0
        _check_first(path)
        if until is not None and number >= until.file:
            most = min(most, until.offset - offset if number == until.file else 0)
        if most <= 0:
            break
        data, is_all = _whole_lines(path, offset, most)
        for line in data.split(b"\n"):
            found += _read_line(line)
        position = LogPosition(number, offset + len(data))
        most -= len(data)
        if most <= 0 or not is_all:
            break
    return found, position


def _whole_lines(path: Path, offset: int, most: int) -> tuple[bytes, bool]:
    """Read up to `most` bytes from `offset`, to the end of a line, or one line if that is longer.

    Tell also whether that is all there is.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            data = file.read(max(min(most, size - offset), 0))
            if data and b"\n" not in data:
                data += file.readline(_ROTATE)
    except FileNotFoundError:
        return b"", True
    return data[: data.rfind(b"\n") + 1], offset + len(data) >= size


def _check_first(path: Path) -> None:
    """Raise `NewerFormat` for a file that a later version began."""
    with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError), path.open("rb") as file:
        mark, _, body = file.readline(100).rstrip(b"\n").partition(b" ")
        if mark == b"%016x" % fingerprint(body):
            check_format(path, msgspec.json.decode(body, type=_First).format, _FORMAT)


def _read_line(line: bytes) -> list[VisitReport]:
    """Give the sightings of one line; none of a torn or damaged one."""
    mark, _, body = line.partition(b" ")
    try:
        if not body or int(mark, 16) != fingerprint(body):
            return []
        return _decoder.decode(body)
    except (ValueError, msgspec.MsgspecError):
        return []
