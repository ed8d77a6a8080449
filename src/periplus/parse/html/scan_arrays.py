"""The arrays that a page is scanned into: reused from page to page, as new ones of this size cost page faults."""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.parse.kernels.html_state import state_size

__all__ = [
    "MARGIN",
    "ScanArrays",
    "borrow_arrays",
    "bytes_of_length",
    "numbers_of_length",
    "prepare_arrays",
    "return_arrays",
]

MARGIN: Final = 64
"""Bytes that are written behind the output, at most."""
_MAX_ROWS: Final = 65_536
_MAX_TRACES: Final = 262_144
_MAX_BYTES: Final = 32 << 20
"""Arrays of larger pages are not kept."""
_MAX_SPARE_BYTES: Final = 128 << 20
"""Of all arrays that are kept. Most of it is never written, and so takes no memory."""


class ScanArrays:
    """Arrays whose contents are undefined; one that is too short is replaced by whoever needs a longer one."""

    __slots__ = ("kinds", "numbers", "out", "pieces", "state")

    def __init__(self) -> None:
        self.state = self.numbers = np.empty(0, np.int64)
        self.out = self.kinds = self.pieces = np.empty(0, np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        together = self.state.nbytes + self.numbers.nbytes
        return together + self.out.nbytes + self.kinds.nbytes + self.pieces.nbytes


def bytes_of_length(array: npt.NDArray[np.uint8], length: int) -> npt.NDArray[np.uint8]:
    """Return the array if it is long enough, otherwise a longer one."""
    return array if len(array) >= length else np.empty(length + length // 4, np.uint8)


def numbers_of_length(array: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """Return the array if it is long enough, otherwise a longer one."""
    return array if len(array) >= length else np.empty(length + length // 4, np.int64)


_spare: Final[list[tuple[ScanArrays, int]]] = []
"""Arrays, and the bytes of these and of all before them."""


def borrow_arrays() -> ScanArrays:
    """Return arrays that nobody else uses until they are returned; it does no harm if they never are."""
    try:
        return _spare.pop()[0]
    except IndexError:
        return ScanArrays()


def return_arrays(arrays: ScanArrays) -> None:
    """Return arrays to which there are no other references."""
    size = arrays.nbytes
    together = size + (_spare[-1][1] if _spare else 0)
    if size <= _MAX_BYTES and together <= _MAX_SPARE_BYTES:
        _spare.append((arrays, together))


def prepare_arrays(data: bytes) -> tuple[ScanArrays, tuple[int, int, int, int]]:
    """Return arrays for the scan of a page, and its limits: rows, where values begin and must end, and traces."""
    size = len(data)
    # A zero byte may become three bytes; references grow by a fifth at most.
    text_size = (3 * size if 0 in data else size + size // 4) + MARGIN
    # No value is stored more than twice.
    values_limit = text_size + 3 * max(2 * size, text_size) + MARGIN
    arrays = borrow_arrays()
    arrays.out = bytes_of_length(arrays.out, values_limit + MARGIN)
    max_rows, max_traces = min(_MAX_ROWS, size // 3 + 8), min(_MAX_TRACES, size // 3 + 8)
    arrays.kinds = bytes_of_length(arrays.kinds, max_rows)
    arrays.state = numbers_of_length(arrays.state, state_size(max_rows, max_traces))
    return arrays, (max_rows, text_size, values_limit, max_traces)
