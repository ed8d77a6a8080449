"""In which order the visits of several stores are read: written down once, the same for every reader from then on.

order.bin   magic "PERIORDR", version u32, then runs: shard u32, visits u32, xxh3 of both and of the place u64
"""

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from periplus.errors import CorruptFile, NewerFormat
from periplus.files import disk_errors
from periplus.hashing import fingerprint

__all__ = ["Order"]

_HEADER: Final = struct.Struct("<8sI")
_MAGIC: Final = b"PERIORDR"
_VERSION: Final = 1
_RUN: Final = struct.Struct("<IIQ")
_REMEDY: Final = "Delete it, then: periplus index build."


class Order:
    """In which order the visits of all parts are read: runs of visits of one part after another."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "order.bin"
        self._read = 0
        self.runs: list[tuple[int, int]] = []
        self.counted: dict[int, int] = {}
        """Visits of each part that have their place."""

    def extend(self, visits: dict[int, int]) -> None:
        """Give their place to visits beyond those counted, when there are `visits` of each part."""
        self._go_on()
        if not self._new(visits):
            return
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            # A folder that cannot be written to is read all the same.
            for number, count in self._new(visits):
                self._count(number, count)
            return
        with self._alone(descriptor):
            for number, count in self._new(visits):
                self._add(descriptor, number, count)

    def _new(self, visits: dict[int, int]) -> list[tuple[int, int]]:
        more = ((number, min(total - self.counted.get(number, 0), 2**32 - 1)) for number, total in visits.items())
        return [(number, count) for number, count in more if count > 0]

    @contextlib.contextmanager
    def _alone(self, descriptor: int) -> Iterator[None]:
        """Hold the file, with every whole run in it and nothing more."""
        try:
            with disk_errors(self._path):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if os.fstat(descriptor).st_size < _HEADER.size:
                    os.pwrite(descriptor, _HEADER.pack(_MAGIC, _VERSION), 0)
                self._go_on()
                os.ftruncate(descriptor, self._read)
                yield
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def _add(self, descriptor: int, number: int, count: int) -> None:
        os.pwrite(descriptor, self._pack(number, count), self._read)
        self._read += _RUN.size
        self._count(number, count)

    def _pack(self, number: int, count: int) -> bytes:
        place = self._read.to_bytes(8, "little")
        return _RUN.pack(number, count, fingerprint(struct.pack("<II", number, count) + place))

    def _count(self, number: int, count: int) -> None:
        self.runs.append((number, count))
        self.counted[number] = self.counted.get(number, 0) + count

    def _go_on(self) -> None:
        """Read the runs that others have added; what is torn at the end was never read by anybody."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise CorruptFile(f"{self._path} cannot be read: {error.strerror}.") from error
        if self._read == 0 and len(data) >= _HEADER.size:
            self._check_header(data)
            self._read, data = _HEADER.size, data[_HEADER.size :]
        for offset in range(0, len(data) - _RUN.size + 1, _RUN.size):
            number, count, _ = _RUN.unpack_from(data, offset)
            if data[offset : offset + _RUN.size] != self._pack(number, count):
                if len(data) - offset > _RUN.size:
                    raise CorruptFile(f"{self._path} is damaged at byte {self._read}.", _REMEDY)
                return
            self._read += _RUN.size
            self._count(number, count)

    def _check_header(self, data: bytes) -> None:
        magic, version = _HEADER.unpack_from(data)
        if magic != _MAGIC or version < 1:
            raise CorruptFile(f"{self._path} is not an order of visits.", _REMEDY)
        if version > _VERSION:
            raise NewerFormat(
                f"{self._path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus."
            )
