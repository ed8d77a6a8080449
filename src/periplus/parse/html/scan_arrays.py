"""The arrays that a page is scanned into: reused from page to page, as new ones of this size cost page faults."""

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["ScanArrays", "borrow_arrays", "bytes_of_length", "return_arrays"]

_MAX_BYTES: Final = 32 << 20
"""Arrays of larger pages are not kept."""
_MAX_SPARE: Final = 2


class ScanArrays:
    """Arrays whose contents are undefined; one that is too short is replaced by whoever needs a longer one."""

    __slots__ = ("out", "pieces", "state")

    def __init__(self) -> None:
        self.state = np.empty(0, np.int64)
        self.out = np.empty(0, np.uint8)
        self.pieces = np.empty(0, np.uint8)


def bytes_of_length(array: npt.NDArray[np.uint8], length: int) -> npt.NDArray[np.uint8]:
    """Return the array if it is long enough, otherwise a longer one."""
    return array if len(array) >= length else np.empty(length + length // 4, np.uint8)


_spare: Final[list[ScanArrays]] = []


def borrow_arrays() -> ScanArrays:
    """Return arrays that nobody else uses until they are returned; it does no harm if they never are."""
    try:
        return _spare.pop()
    except IndexError:
        return ScanArrays()


def return_arrays(arrays: ScanArrays) -> None:
    """Return arrays to which there are no other references."""
    if len(_spare) < _MAX_SPARE and arrays.state.nbytes + arrays.out.nbytes + arrays.pieces.nbytes <= _MAX_BYTES:
        _spare.append(arrays)
