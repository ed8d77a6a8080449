"""Returns freed memory to the system.

glibc keeps freed memory for later allocations. Batches of all sizes leave holes: after a build of 300,000 documents it
held 500 MB of free memory. Where little was freed, it stays: the next segment of a live index needs it again, and
memory that the system provides anew is cleared first, which took a tenth of indexing.
"""

import ctypes
from functools import cache
from typing import Any, Final

__all__ = ["trim_heap"]

_MIN_BYTES: Final = 16 << 20
"""Less memory than this is not worth the time."""


def trim_heap(freed: int = _MIN_BYTES) -> None:
    """Return freed memory to the system, if the C library can; this takes some milliseconds.

    freed: about how many bytes there are; few are kept.
    """
    trim = _trimmer() if freed >= _MIN_BYTES else None
    if trim is not None:
        trim(0)


@cache
def _trimmer() -> Any:
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except OSError:  # A C library that cannot be opened by itself.
        return None
