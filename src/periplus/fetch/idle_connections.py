"""How many connections stay open between two requests: each one that does not is opened again, most with TLS."""

from typing import Final

__all__ = ["idle_connections"]

_FOR_EACH: Final = 8
"""Open connections for each concurrent request: a crawl takes turns between more hosts than it asks at one time."""
_AT_LEAST: Final = 2
_SHARE: Final = 4
"""Connections take at most one part in this many of the files that a process may open."""


def idle_connections(concurrent: int) -> int:
    """Return how many connections to keep open for so many concurrent requests."""
    return _within(concurrent, _descriptor_limit())


def _within(concurrent: int, descriptors: int) -> int:
    """Return how many connections to keep open if a process may open so many files; 0 is no limit."""
    wanted = _FOR_EACH * concurrent
    return max(_AT_LEAST * concurrent, min(wanted, descriptors // _SHARE)) if descriptors else wanted


def _descriptor_limit() -> int:
    try:
        import resource
    except ImportError:  # not a Unix system
        return 0
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 0 if soft == resource.RLIM_INFINITY else soft
