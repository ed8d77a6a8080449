"""Bytes gathered before they are written as one array: in memory while they are few, in a file when they are many."""

from pathlib import Path
from typing import BinaryIO, Final, Self

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors

__all__ = ["Spool"]

_MOST: Final = 64 << 20
_PIECE: Final = 1 << 20
"""Smaller pieces are joined before they are written."""


class Spool:
    """Takes pieces and gives them back as one array. Its file is gone when it is closed."""

    def __init__(self, path: Path, most: int = _MOST) -> None:
        self._path = path
        self._most = most
        self._held: list[bytes | memoryview] = []
        self._waiting = 0
        self._file: BinaryIO | None = None
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *rest: object) -> None:
        self._held.clear()
        if self._file is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)

    def add(self, piece: bytes | memoryview) -> None:
        """Take a piece, which must stay as it is."""
        self._held.append(piece)
        self._waiting += len(piece)
        self.size += len(piece)
        if self._waiting > (self._most if self._file is None else _PIECE):
            self._spill()

    def _spill(self) -> None:
        with disk_errors(self._path):
            self._file = self._file or self._path.open("wb", buffering=0)
            for piece in self._joined():
                at = 0
                while at < len(piece):  # A file may take less than all at once.
                    at += self._file.write(piece[at:]) or 0
        self._held.clear()
        self._waiting = 0

    def _joined(self) -> list[bytes | memoryview]:
        return self._held if self._waiting > _PIECE * len(self._held) else [b"".join(self._held)]

    def array(self) -> npt.NDArray[np.uint8]:
        """Give all that was taken."""
        if self._file is None:
            whole = np.frombuffer(self._held[0] if len(self._held) == 1 else b"".join(self._held), np.uint8)
            whole.flags.writeable = False  # As a mapped file is: kernels are compiled for one of the two.
            return whole
        self._spill()
        return np.asarray(np.memmap(self._path, np.uint8, "r"))
