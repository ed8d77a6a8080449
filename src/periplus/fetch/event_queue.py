"""The descriptors that libcurl waits for, and what happens to them: epoll where there is one, or what Python selects.

`selectors` makes some objects for each descriptor and event; a crawl has two changes and an event for each page.
"""

import contextlib
import select
import selectors
from typing import Final, Protocol

__all__ = ["READ", "WRITE", "EventQueue", "open_event_queue"]

READ: Final = selectors.EVENT_READ
WRITE: Final = selectors.EVENT_WRITE


class EventQueue(Protocol):
    """A set of descriptors to wait for. One may be closed, and its number used again, between two calls."""

    def set(self, descriptor: int, events: int) -> None:
        """Wait for these events of a descriptor from now on."""

    def remove(self, descriptor: int) -> None:
        """Wait for a descriptor no more."""

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """Return descriptors and their events; wait so long for the first of them."""

    def close(self) -> None:
        """Release the queue."""


class _Epoll:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._masks = (0, select.EPOLLIN, select.EPOLLOUT, select.EPOLLIN | select.EPOLLOUT)
        self._not_in, self._not_out = ~select.EPOLLIN, ~select.EPOLLOUT

    def set(self, descriptor: int, events: int) -> None:
        try:
            self._epoll.register(descriptor, self._masks[events])
        except FileExistsError:
            self._epoll.modify(descriptor, self._masks[events])

    def remove(self, descriptor: int) -> None:
        with contextlib.suppress(OSError, ValueError):  # it was closed, or never waited for
            self._epoll.unregister(descriptor)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        # Errors and hang-ups are both, so that whoever reads or writes sees them.
        return [
            (descriptor, (READ if mask & self._not_out else 0) | (WRITE if mask & self._not_in else 0))
            for descriptor, mask in self._epoll.poll(seconds)
        ]

    def close(self) -> None:
        self._epoll.close()


class _Selector:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def set(self, descriptor: int, events: int) -> None:
        self.remove(descriptor)
        self._selector.register(descriptor, events)

    def remove(self, descriptor: int) -> None:
        with contextlib.suppress(KeyError, ValueError, OSError):  # it was closed, or never waited for
            self._selector.unregister(descriptor)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        return [(key.fd, events) for key, events in self._selector.select(seconds)]

    def close(self) -> None:
        self._selector.close()


def open_event_queue() -> EventQueue:
    """Return an empty queue."""
    return _Epoll() if hasattr(select, "epoll") else _Selector()
