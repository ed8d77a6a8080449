"""A buffer for bytes that become one array: in memory while they are few, in a file when they are many."""

import os
from pathlib import Path
from typing import BinaryIO, Final, Self

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors

__all__ = ["Spool"]

_MAX_MEMORY: Final = 64 << 20
_WRITE_SIZE: Final = 1 << 20
"""Bytes that are written to the file at a time, at least."""
_MAX_PIECES: Final = 512
"""Pieces that are written by one call: systems allow 1,024."""


class Spool:
    """Collects pieces of bytes into one array. Its file is removed when it is closed."""

    def __init__(self, path: Path, max_memory: int = _MAX_MEMORY) -> None:
        self._path = path
        self._max_memory = max_memory
        self._pieces: list[bytes | memoryview] = []
        self._buffered = 0
        self._file: BinaryIO | None = None
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *rest: object) -> None:
        self._pieces.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
            self._path.unlink(missing_ok=True)

    def add(self, piece: bytes | memoryview) -> None:
        """Add a piece, which must not change afterwards."""
        self._pieces.append(piece)
        self._buffered += len(piece)
        self.size += len(piece)
        if self._buffered > (self._max_memory if self._file is None else _WRITE_SIZE):
            self._spill()

    def _spill(self) -> None:
        with disk_errors(self._path):
            self._file = self._file or self._path.open("wb", buffering=0)
            for first in range(0, len(self._pieces), _MAX_PIECES):
                self._write(self._pieces[first : first + _MAX_PIECES])
        self._pieces.clear()
        self._buffered = 0

    def _write(self, pieces: list[bytes | memoryview]) -> None:
        """Write pieces by one call of the system, without joining them; a write may be partial."""
        assert self._file is not None
        written, size = os.writev(self._file.fileno(), pieces), sum(map(len, pieces))
        if written < size:
            rest = memoryview(b"".join(pieces))
            while written < size:
                written += self._file.write(rest[written:]) or 0

    def array(self) -> npt.NDArray[np.uint8]:
        """Return all pieces as one read-only array."""
        if self._file is None:
            data = np.frombuffer(self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces), np.uint8)
            data.flags.writeable = False  # As a mapped file is: kernels are compiled for one of the two.
            return data
        self._spill()
        return np.asarray(np.memmap(self._path, np.uint8, "r"))
