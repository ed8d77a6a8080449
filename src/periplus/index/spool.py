"""Bytes gathered before they are written as one array: in memory while they are few, in a file when they are many."""

from pathlib import Path
from typing import BinaryIO, Final, Self

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors

__all__ = ["Spool"]

_MOST: Final = 64 << 20


class Spool:
    """Takes pieces and gives them back as one array. Its file is gone when it is closed."""

    def __init__(self, path: Path, most: int = _MOST) -> None:
        self._path = path
        self._most = most
        self._held = bytearray()
        self._file: BinaryIO | None = None
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *rest: object) -> None:
        if self._file is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)

    def add(self, piece: bytes | memoryview) -> None:
        """Take a piece."""
        self._held += piece
        self.size += len(piece)
        if len(self._held) > self._most:
            self._spill()

    def _spill(self) -> None:
        with disk_errors(self._path):
            self._file = self._file or self._path.open("wb")
            self._file.write(self._held)
        self._held.clear()

    def array(self) -> npt.NDArray[np.uint8]:
        """Give all that was taken."""
        if self._file is None:
            held = np.frombuffer(self._held, np.uint8)
            held.flags.writeable = False
            return held
        self._spill()
        with disk_errors(self._path):
            self._file.flush()
        return np.asarray(np.memmap(self._path, np.uint8, "r"))
