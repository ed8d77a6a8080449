"""Memory that was freed, back to the system.

glibc keeps what is freed for what is asked for next. Batches of all sizes leave holes: after a build of 300,000
documents it held 500 MB that nothing was in.
"""

import ctypes
from functools import cache
from typing import Any

__all__ = ["give_back"]


def give_back() -> None:
    """Return freed memory to the system, where the C library can; it takes some milliseconds."""
    trim = _trimmer()
    if trim is not None:
        trim(0)


@cache
def _trimmer() -> Any:
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except OSError:  # A C library that cannot be opened by itself.
        return None
