"""The order in which the records of several stores are read: written once, the same for every reader from then on.

order.bin   magic "PERIORDR", version u32, then runs: shard u32, records u32, xxh3 of both and of the offset u64
"""

import contextlib
import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from periplus.errors import CorruptFile, DataError, NewerFormat
from periplus.files import disk_errors, disk_failure, sync_folder
from periplus.hashing import fingerprint

__all__ = ["ReadOrder", "check_read_order"]

_HEADER: Final = struct.Struct("<8sI")
_MAGIC: Final = b"PERIORDR"
_VERSION: Final = 1
_RUN: Final = struct.Struct("<IIQ")
_REMEDY: Final = "Delete it, then: periplus index build."


class ReadOrder:
    """The order in which the records of all shards are read: a sequence of runs, each of records of one shard."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "order.bin"
        self._end = 0
        self.runs: list[tuple[int, int]] = []
        self.counted: dict[int, int] = {}
        """Records of each shard that are in the order."""

    def extend(self, records: dict[int, int]) -> None:
        """Append the records beyond those counted; `records` has the number of each shard."""
        self._read_new_runs()
        if not self._uncounted(records):
            return
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise disk_failure(self._path, error) from error
            # A read-only folder can be read, too.
            for number, count in self._uncounted(records):
                self._count_run(number, count)
            return
        with self._locked(descriptor):
            for number, count in self._uncounted(records):
                self._append_run(descriptor, number, count)

    def _uncounted(self, records: dict[int, int]) -> list[tuple[int, int]]:
        runs = ((number, min(total - self.counted.get(number, 0), 2**32 - 1)) for number, total in records.items())
        return [(number, count) for number, count in runs if count > 0]

    @contextlib.contextmanager
    def _locked(self, descriptor: int) -> Iterator[None]:
        """Lock the file, and truncate it to its complete runs."""
        try:
            with disk_errors(self._path):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if _is_unwritten(os.pread(descriptor, _HEADER.size, 0)):
                    os.ftruncate(descriptor, 0)
                    self._write(descriptor, _HEADER.pack(_MAGIC, _VERSION), 0)
                    sync_folder(self._path.parent)
                self._read_new_runs()
                os.ftruncate(descriptor, self._end)
                yield
        finally:
            os.close(descriptor)

    def _append_run(self, descriptor: int, number: int, count: int) -> None:
        self._write(descriptor, self._pack_run(number, count), self._end)
        self._end += _RUN.size
        self._count_run(number, count)

    def _write(self, descriptor: int, data: bytes, offset: int) -> None:
        """Write and sync: a power failure may take the end of the file, never something before it."""
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(descriptor, data[written:], offset + written)
            os.fdatasync(descriptor)
        except OSError:
            # The next reader would find it in memory and append to it, although it may never reach the disk.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, offset)
            raise

    def _pack_run(self, number: int, count: int) -> bytes:
        offset = self._end.to_bytes(8, "little")
        return _RUN.pack(number, count, fingerprint(struct.pack("<II", number, count) + offset))

    def _count_run(self, number: int, count: int) -> None:
        self.runs.append((number, count))
        self.counted[number] = self.counted.get(number, 0) + count

    def _read_new_runs(self) -> None:
        """Read the runs that others have added; a torn run at the end was never read by anybody."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._end)
                data = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise disk_failure(self._path, error) from error
        if self._end == 0 and not _is_unwritten(data[: _HEADER.size]):
            self._check_header(data)
            self._end, data = _HEADER.size, data[_HEADER.size :]
        for offset in range(0, len(data) - _RUN.size + 1, _RUN.size) if self._end else ():
            number, count, _ = _RUN.unpack_from(data, offset)
            if data[offset : offset + _RUN.size] != self._pack_run(number, count):
                if len(data) - offset > _RUN.size:
                    raise CorruptFile(f"{self._path} is damaged at byte {self._end}.", _REMEDY)
                return
            self._end += _RUN.size
            self._count_run(number, count)

    def _check_header(self, data: bytes) -> None:
        magic, version = _HEADER.unpack_from(data)
        if magic != _MAGIC or version < 1:
            raise CorruptFile(f"{self._path} is not a read order.", _REMEDY)
        if version > _VERSION:
            raise NewerFormat(
                f"{self._path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus."
            )


def _is_unwritten(header: bytes) -> bool:
    """Return whether a power failure came before the header: the file is too short, or has a length but no data."""
    return len(header) < _HEADER.size or not any(header)


def check_read_order(folder: Path) -> tuple[str, bool]:
    """Return what is wrong with the order of a folder, '' if nothing is, and whether a crash explains it."""
    order = ReadOrder(folder)
    try:
        order._read_new_runs()
    except DataError as error:
        return error.message, False
    size = (folder / "order.bin").stat().st_size
    return (f"was cut short at byte {order._end}", True) if order._end < size else ("", False)
