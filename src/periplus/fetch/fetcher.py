"""Concurrent requests: libcurl's multi interface driven by the event queue of the operating system."""

import time
from collections.abc import Callable
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from typing import Final

import pycurl

from periplus.errors import SettingsError
from periplus.fetch.address_guard import AddressGuard
from periplus.fetch.bandwidth import TokenBucket, concurrent_transfers
from periplus.fetch.event_queue import READ, WRITE, open_event_queue
from periplus.fetch.hosts_file import HostsFile
from periplus.fetch.idle_connections import idle_connections
from periplus.fetch.request_options import NO_ARCHIVING, Archiving, RequestOptions
from periplus.fetch.transfer import Transfer
from periplus.records import Address, FetchRequest, FetchResult
from periplus.settings import FetchSettings

__all__ = ["Fetcher"]

_EVENTS: Final = {
    pycurl.POLL_IN: READ,
    pycurl.POLL_OUT: WRITE,
    pycurl.POLL_INOUT: READ | WRITE,
}
_ACTIONS: Final = (0, pycurl.CSELECT_IN, pycurl.CSELECT_OUT, pycurl.CSELECT_IN | pycurl.CSELECT_OUT)
"""What libcurl is told of events: of none, reading, writing, both."""


_TOGETHER: Final = 64
"""Results from which on `poll` looks for no more of them."""
_NO_OPTIONS: Final = RequestOptions()


def _accept_all(content_type: str) -> bool:
    return True


def _no_options(address: Address) -> RequestOptions:
    return _NO_OPTIONS


class Fetcher:
    """Starts requests and returns their results. Single-threaded; all work happens in `poll`."""

    def __init__(
        self,
        settings: FetchSettings,
        accepts: Callable[[str], bool] = _accept_all,
        bandwidth: float = 0.0,
        options: Callable[[Address], RequestOptions] = _no_options,
        *,
        only_own: bool = False,
        archiving: Archiving = NO_ARCHIVING,
    ) -> None:
        """Open a fetcher.

        bandwidth: the limit of all its transfers together in bytes per second, 0 is none; options: what the operator
        adds to a request; only_own: public addresses are refused, except for `fetch.own_hosts`; archiving: what
        results contain besides the bodies of pages.
        """
        self._settings = settings
        self._options = options
        self._only_own, self._archiving = only_own, archiving
        self._bucket = TokenBucket(bandwidth) if bandwidth > 0 else None
        self._connections = (
            concurrent_transfers(bandwidth, settings.connections) if self._bucket else settings.connections
        )
        self._accepts = accepts
        self._guard = AddressGuard(settings.allow)
        if settings.ca_file and not Path(settings.ca_file).is_file():
            raise SettingsError(f"fetch.ca_file: {settings.ca_file} does not exist.")
        self._hosts = HostsFile.read(Path(settings.hosts_file)) if settings.hosts_file else HostsFile()
        self._events = open_event_queue()
        self._sockets: set[int] = set()
        """Descriptors that libcurl waits for."""
        self._watched: set[int] = set()
        self._woken = False
        self._deadline: float | None = None
        self._interrupted = False
        self._idle: list[Transfer] = []
        self._in_flight: dict[pycurl.Curl, Transfer] = {}
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, idle_connections(settings.connections))
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)

    def start(
        self,
        request: FetchRequest,
        headers: tuple[tuple[str, str], ...] = (),
        *,
        any_type: bool = False,
        as_list: bool = False,
    ) -> None:
        """Start one GET. `any_type` accepts every content type, for robots.txt.

        as_list: it is a sitemap or a feed, of any type and up to `fetch.max_list_bytes`; what is longer than
        `fetch.max_bytes` is in the result as gzip.
        """
        transfer = self._idle.pop() if self._idle else self._new_transfer()
        address = request.address
        transfer.begin(request, headers, self._hosts.route(address), any_type, self._options(address), as_list)
        self._in_flight[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)

    def _new_transfer(self) -> Transfer:
        return Transfer(
            self._settings,
            self._guard,
            self._accepts,
            self._bucket,
            self._connections,
            only_own=self._only_own,
            archiving=self._archiving,
        )

    def busy(self) -> int:
        """Return the number of requests in flight."""
        return len(self._in_flight)

    def under_way(self, count: int = 20) -> tuple[tuple[str, float, int], ...]:
        """Return the requests in flight that take longest: URL, seconds, bytes received."""
        return tuple(nlargest(count, (transfer.progress() for transfer in self._in_flight.values()), key=itemgetter(1)))

    def is_full(self) -> bool:
        """Return whether no more requests should be started: no connection is free, or no bandwidth."""
        return len(self._in_flight) >= self._connections or self.bandwidth_wait() > 0

    def bandwidth_wait(self) -> float:
        """Return in how many seconds the bandwidth limit allows more to be received; 0 if it does now."""
        return self._bucket.wait() if self._bucket is not None else 0.0

    def watch(self, descriptor: int) -> None:
        """Have `poll` return as soon as this descriptor, which is not one of its own, can be read."""
        self._watched.add(descriptor)
        self._events.set(descriptor, READ)

    def poll(self, timeout: float) -> list[FetchResult]:
        """Work for up to `timeout` seconds, or until at least one request has ended; return the results.

        What has arrived while the first ones were read is read too: results take less time together than alone.
        """
        end = time.monotonic() + timeout
        self._woken = False
        results: list[FetchResult] = []
        while True:
            self._run_once(0.0 if results else end)
            ended = self._collect()
            results += ended
            if self._interrupted:
                self._interrupted = False
                raise KeyboardInterrupt
            if self._woken or not self._in_flight or len(results) >= _TOGETHER:
                return results
            if not ended and (results or time.monotonic() >= end):
                return results

    def close(self) -> None:
        """Abort every request in flight and free libcurl's handles."""
        for curl in list(self._in_flight):
            self._multi.remove_handle(curl)
            self._idle.append(self._in_flight.pop(curl))
        for transfer in self._idle:
            transfer.curl.close()
        self._idle.clear()
        self._multi.close()
        self._events.close()

    def _run_once(self, end: float) -> None:
        """Wait for sockets or libcurl's timer, whichever comes first, and have libcurl handle it."""
        if self._bucket is not None and (owed := self._bucket.wait()) > 0:
            # What is not read here fills the buffers of the sockets, and then the peers have to wait. libcurl's timer
            # waits as well: it is also due where a socket has more than was read at once.
            time.sleep(min(max(0.0, end - time.monotonic()), owed))
            return
        until = end if self._deadline is None else min(end, self._deadline)
        wait = max(0.0, until - time.monotonic())
        if self._sockets or (wait and self._in_flight):
            action = self._multi.socket_action
            for descriptor, events in self._events.wait(wait):
                if descriptor in self._watched:
                    self._woken = True
                    continue
                action(descriptor, _ACTIONS[events])
                if self._bucket is not None and self._bucket.wait() > 0:
                    return
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._deadline = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)

    def _collect(self) -> list[FetchResult]:
        ended: list[FetchResult] = []
        more = 1
        while more:
            more, good, bad = self._multi.info_read()
            ended.extend(self._end(curl, 0, "") for curl in good)
            ended.extend(self._end(curl, code, message) for curl, code, message in bad)
        return ended

    def _end(self, curl: pycurl.Curl, code: int, message: str) -> FetchResult:
        transfer = self._in_flight.pop(curl)
        self._multi.remove_handle(curl)
        result = transfer.finish(code, message)
        self._idle.append(transfer)
        if transfer.interrupted:
            self._interrupted, transfer.interrupted = True, False
        return result

    def _on_timer(self, milliseconds: int) -> None:
        self._deadline = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def _on_socket(self, event: int, descriptor: int, multi: pycurl.CurlMulti, data: object) -> None:
        """Register what libcurl waits for; a descriptor may be closed and reused between two calls."""
        try:
            events = _EVENTS.get(event)
            if events is not None:
                self._sockets.add(descriptor)
                self._events.set(descriptor, events)
            else:
                self._sockets.discard(descriptor)
                self._events.remove(descriptor)
        except KeyboardInterrupt:
            # An exception cannot pass through libcurl; it is raised again by `poll`.
            self._interrupted = True
