"""Files of JSON lines that any process may append to: one object a line, each with a checksum.

    {"format":2,"checksum":"..."}      states the format of the lines after it; the first line of every new file
    {"query":"...","checksum":"..."}   a record

A line is appended under a lock on the file, and is durable then. One that a crash cut short is ended by the next
writer; readers leave it out, as they do every line with a wrong checksum, and those around it are read. Files of
earlier formats have no checksums: a process that appends to one states the format once more, and from there on every
line must have one.
"""

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.checksums import add_checksum, split_checksum
from periplus.files import check_format, disk_errors, sync_folder
from periplus.typed_decoding import parse_json

__all__ = ["CheckedLine", "append_json_line", "append_json_lines", "check_json_lines", "read_json_lines"]

_FORMAT_MEMBER: Final = b'{"format"'
_MAX_LINE: Final = 1 << 20
_DURABLE: Final[dict[tuple[int, int], int]] = {}
"""The sizes up to which this process has synced files, by device and inode."""
_MAX_FILES: Final = 64
_LOG: Final = logging.getLogger("periplus.files")


class _FormatLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line that states the format of those after it."""

    format: int


class CheckedLine(NamedTuple):
    """One line of a file: its number from 1 on, and what is in it."""

    number: int
    body: bytes
    """The object without its checksum; empty where the line is damaged."""
    format: int
    """The format that the file states, here or before; 0 if it states none."""
    fault: str = ""
    """What is wrong with the line; '' if nothing is."""


def append_json_line(path: Path, encoded: bytes, number: int, max_bytes: int) -> bool:
    """Append an encoded object to a file of format `number`, durably; return False if that would exceed `max_bytes`."""
    return append_json_lines(path, (encoded,), number, max_bytes)


def append_json_lines(path: Path, encoded: Sequence[bytes], number: int, max_bytes: int) -> bool:
    """Append encoded objects to a file as `append_json_line` does, all of them or none, and sync it once."""
    line = b"".join(add_checksum(record) + b"\n" for record in encoded)
    format_line = add_checksum(msgspec.json.encode(_FormatLine(number))) + b"\n"
    with disk_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            status = os.fstat(descriptor)
            size = status.st_size
            if size + len(line) > max_bytes:
                return False
            file, first, end = (status.st_dev, status.st_ino), b"", b""
            is_durable = _DURABLE.get(file, 0) == size
            if size:
                first = os.pread(descriptor, 128, 0).partition(b"\n")[0]
                # The last line may be cut short, or lost in a power failure although it can be read now.
                end = b"" if is_durable else b"\n"
            if _stated_format(first) > number:
                check_format(path, _stated_format(first), number)
            if first + b"\n" != format_line and not _states_format(descriptor, size, format_line):
                line = format_line + line
            _write_durably(descriptor, end + line, size, None if size and file in _DURABLE else path.parent)
            if len(_DURABLE) >= _MAX_FILES:
                _DURABLE.clear()
            _DURABLE[file] = size + len(end + line)
        finally:
            os.close(descriptor)
    return True


def _write_durably(descriptor: int, data: bytes, size: int, folder: Path | None) -> None:
    """Append all bytes and sync them, and then the folder, if any; on a failure, truncate it to its former size."""
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fdatasync(descriptor)
        if folder is not None:
            sync_folder(folder)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _states_format(descriptor: int, size: int, format_line: bytes) -> bool:
    """Return whether a file of an earlier format has the line that states the present one somewhere."""
    offset, overlap = 0, b""
    while offset < size and (block := os.pread(descriptor, 1 << 20, offset)):
        if b"\n" + format_line in overlap + block:
            return True
        offset, overlap = offset + len(block), block[-len(format_line) :]
    return False


def read_json_lines(path: Path, newest: int, checksum_since: int) -> Iterator[bytes]:
    """Yield the objects of a file, without those that state a format; damaged lines are logged and left out.

    Raise `NewerFormat` if the file states a format above `newest`.
    """
    damaged = 0
    for line in check_json_lines(path, checksum_since):
        check_format(path, line.format, newest)
        damaged += bool(line.fault)
        if line.body and not line.body.startswith(_FORMAT_MEMBER):
            yield line.body
    if damaged:
        _LOG.warning("%s: damaged lines left out: %d. Run: periplus check.", path, damaged)


def check_json_lines(path: Path, checksum_since: int) -> Iterator[CheckedLine]:
    """Yield the lines of a file, damaged ones with their fault; empty lines, and a missing file, are left out.

    From the first line that states format `checksum_since` or a later one, every line must have a checksum.
    """
    stated = number = 0
    if not path.exists():
        return
    with disk_errors(path), path.open("rb") as file:
        while line := file.readline(_MAX_LINE):
            number += 1
            if line == b"\n":
                continue
            body, is_right = split_checksum(line.removesuffix(b"\n"))
            own = _stated_format(body) if is_right is not False and body.startswith(_FORMAT_MEMBER) else stated
            fault = ""
            if not line.endswith(b"\n"):
                fault = "it was cut short"
            elif is_right is False:
                fault = "its checksum is wrong"
            elif is_right is None and (own >= checksum_since or own < 0):
                fault = "it has no checksum"
            elif b"\0" in body:  # JSON has no such byte: a power failure left a length without its data
                fault = "it has lost its data"
            if fault and number == 1 and own <= 0:
                # Files begin with their format. Only one with checksums can have a wrong one.
                own = checksum_since
            stated = max(own, stated)
            yield CheckedLine(number, b"" if fault else body, stated, fault)


def _stated_format(body: bytes) -> int:
    """Return the format that a line states; -1 if it states none."""
    try:
        return parse_json(split_checksum(body)[0], _FormatLine).format
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return -1
