"""The arrays that a page is scanned into: reused from page to page, as new ones of this size cost page faults."""

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["ScanArrays", "borrow_arrays", "bytes_of_length", "return_arrays"]

_MAX_BYTES: Final = 32 << 20
"""Arrays of larger pages are not kept."""
_MAX_SPARE_BYTES: Final = 128 << 20
"""Of all arrays that are kept. Most of it is never written, and so takes no memory."""


class ScanArrays:
    """Arrays whose contents are undefined; one that is too short is replaced by whoever needs a longer one."""

    __slots__ = ("out", "pieces", "state")

    def __init__(self) -> None:
        self.state = np.empty(0, np.int64)
        self.out = np.empty(0, np.uint8)
        self.pieces = np.empty(0, np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.state.nbytes + self.out.nbytes + self.pieces.nbytes


def bytes_of_length(array: npt.NDArray[np.uint8], length: int) -> npt.NDArray[np.uint8]:
    """Return the array if it is long enough, otherwise a longer one."""
    return array if len(array) >= length else np.empty(length + length // 4, np.uint8)


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
