"""Columns of numbers and texts that grow on disk, and are read back as memory-mapped arrays."""

from collections.abc import Sequence
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors

__all__ = ["ColumnSpool", "pack_texts", "unpack_texts"]


class ColumnSpool:
    """Named columns, each in a file of its own."""

    def __init__(self, folder: Path, name: str, types: dict[str, Any]) -> None:
        self._types = types
        self._paths = {field: folder / f"{name}-{field}.column" for field in types}
        self._files: dict[str, BufferedWriter] = {}

    def append(self, columns: dict[str, npt.NDArray[Any]]) -> None:
        """Append rows to all columns."""
        for field, column in columns.items():
            with disk_errors(self._paths[field]):
                if field not in self._files:
                    self._files[field] = self._paths[field].open("wb")
                self._files[field].write(np.ascontiguousarray(column, self._types[field]).data)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return all columns, memory-mapped; nothing is appended after that."""
        columns = {}
        for field, kind in self._types.items():
            if field in self._files:
                with disk_errors(self._paths[field]):
                    self._files[field].close()
            size = self._paths[field].stat().st_size if field in self._files else 0
            columns[field] = np.memmap(self._paths[field], kind, mode="r") if size else np.zeros(0, kind)
        return columns

    def remove(self) -> None:
        """Delete all files."""
        for field, file in self._files.items():
            file.close()
            self._paths[field].unlink(missing_ok=True)


def pack_texts(texts: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the columns `lengths` (in bytes) and `text` of some texts."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    lengths = np.fromiter(map(len, encoded), np.uint16, len(encoded))
    return {"lengths": lengths, "text": np.frombuffer(b"".join(encoded), np.uint8)}


def unpack_texts(lengths: npt.NDArray[np.uint16], text: npt.NDArray[np.uint8]) -> list[str]:
    """Return texts; bytes that are not UTF-8 are replaced."""
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    data = text.tobytes()
    return [data[begin:end].decode("utf-8", "replace") for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
