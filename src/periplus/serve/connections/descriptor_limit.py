"""File descriptors: as many as the system allows, and how many of them connections may take."""

import logging
from typing import Final

__all__ = ["connection_capacity", "raise_descriptor_limit"]

_LOG: Final = logging.getLogger("periplus.serve")
_MAX_DESCRIPTORS: Final = 1 << 20
"""More are not asked for, even where the system sets no limit."""
_RESERVED: Final = 512
"""Descriptors for files of the index, the inbox and logs, and for other processes."""


def raise_descriptor_limit() -> int:
    """Raise the limit of open files to what the system allows this process; return the limit, 0 if there is none."""
    try:
        import resource
    except ImportError:  # not a Unix system
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        except (OSError, ValueError):
            return soft
        return allowed
    return allowed if soft == resource.RLIM_INFINITY else soft


def connection_capacity(wanted: int, descriptors: int) -> int:
    """Return how many connections a process accepts: `wanted`, or fewer if there are not enough descriptors."""
    if not descriptors:
        return wanted
    available = max(1, descriptors - min(_RESERVED, descriptors // 2))
    if available < wanted:
        _LOG.warning(
            "This process may open %d files, so it accepts %d connections instead of serve.max_connections = %d. "
            "Raise the limit of open files (ulimit -n, or LimitNOFILE= of a service).",
            descriptors,
            available,
            wanted,
        )
    return min(wanted, available)
