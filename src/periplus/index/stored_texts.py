"""The bodies of the documents of a segment, in compressed blocks: for snippets, cached copies and merges."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.errors import CorruptFile
from periplus.index.kernels import string_table
from periplus.store import decompress

__all__ = ["StoredTexts"]

_MAX_BLOCK_BYTES: Final = 1 << 28


class StoredTexts:
    """Reads bodies; the block that was read last is kept."""

    def __init__(self, file: ArrayFile) -> None:
        self._file = file
        self._first, self._ends, self._starts = file["first"], file["end"], file["start"]
        self._blocks = file.part_reader("text")
        self._cached: tuple[int, bytes] = (-1, b"")

    def text(self, document: int) -> bytes:
        """Return the body of a document, as UTF-8."""
        return self.texts((document,))[0]

    def texts(self, documents: Sequence[int]) -> list[bytes]:
        """Return the bodies of some documents, ascending: their blocks are found by one lookup."""
        bodies = []
        number, raw = self._cached
        for block, begin, end, start, stop in self.spans(np.array(documents, np.int64)).tolist():
            if block != number:
                number, raw = block, self._decompress(block, start, stop)
            bodies.append(raw[begin:end])
        self._cached = (number, raw)
        return bodies

    def length(self, document: int) -> int:
        """Return the length of a body, in bytes."""
        span = self.spans(np.array([document], np.int64))[0]
        return int(span[2] - span[1])

    def spans(self, documents: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return where bodies are: see `string_table.locate_bodies`."""
        spans: npt.NDArray[np.int64] = string_table.locate_bodies(self._first, self._ends, self._starts, documents)
        return spans

    def block(self, block: int) -> bytes:
        """Return a block of text, decompressed; raise `CorruptFile` if it is damaged."""
        return self._decompress(block, int(self._starts[block]), int(self._starts[block + 1]))

    def _decompress(self, block: int, start: int, stop: int) -> bytes:
        packed = self._blocks.read(start, stop)
        try:
            return decompress(packed, _MAX_BLOCK_BYTES)
        except Exception as error:
            raise CorruptFile(f"{self._file.path} is damaged in block {block}: {error}.") from error
