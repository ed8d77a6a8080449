"""Where hosts are: names are resolved and looked up in a GeoIP database in the background, and remembered.

The crawl loop asks for a host with every link, so `find` never waits: it returns None while a lookup is under way.
A host that cannot be resolved, or whose address the database does not have, is at no known place; it is looked up again
after `retry` seconds, others after `lifetime`.
"""

import contextlib
import ipaddress
import queue
import socket
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

from periplus.errors import BadFile
from periplus.sites.placement.geoip import GeoDatabase
from periplus.sites.site_topology import Place

__all__ = ["HostLocator", "LocatedHost", "network_of", "resolve_host"]

_MAX_HOSTS: Final = 500_000
"""Hosts that are remembered; the oldest are forgotten."""
_MAX_WAITING: Final = 20_000
"""Hosts that wait for a lookup; further ones are at no known place until some are done."""
_MAX_ADDRESSES: Final = 4
_THREADS: Final = 4
_LIFETIME: Final = 7 * 86_400.0
_RETRY: Final = 3_600.0


class LocatedHost(NamedTuple):
    """What is known of where a host is."""

    place: Place | None = None
    country: str = ""
    network: str = ""
    """The network of its address, for measured round-trip times; '' if it was not resolved."""


_NOWHERE: Final = LocatedHost()


def resolve_host(host: str) -> list[str]:
    """Return the network addresses of a host, by the resolver of the system; none if it has none."""
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def network_of(address: str) -> str:
    """Return the network of an address, a /24 or, for IPv6, a /48; '' if it is not an address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    bits = 24 if parsed.version == 4 else 48
    return str(ipaddress.ip_network((parsed, bits), strict=False))


class HostLocator:
    """Looks up where hosts are. Safe to use from many threads."""

    def __init__(
        self,
        database: GeoDatabase | None,
        resolve: Callable[[str], Sequence[str]] = resolve_host,
        *,
        threads: int = _THREADS,
        max_hosts: int = _MAX_HOSTS,
        max_waiting: int = _MAX_WAITING,
        lifetime: float = _LIFETIME,
        retry: float = _RETRY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """database: None if there is none: then hosts are resolved, for round-trip times, and are at no known place.

        threads: 0 looks up hosts in the calling thread, which then waits for the resolver.
        """
        self._database = database
        self._resolve = resolve
        self._max_hosts = max_hosts
        self._lifetime, self._retry = lifetime, retry
        self._clock = clock
        self._hosts: dict[str, tuple[LocatedHost, float]] = {}
        """By host, what was found and when it expires; oldest first."""
        self._waiting: queue.Queue[str] = queue.Queue(max_waiting)
        self._pending: set[str] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.fault = ""
        """Why the database could not be read last, '' if it could."""
        self._threads = [
            threading.Thread(target=self._run, name=f"host-locator-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def find(self, host: str) -> LocatedHost | None:
        """Return where a host is; None while that is looked up."""
        with self._lock:
            entry = self._hosts.get(host)
            if entry is not None and (entry[1] > self._clock() or host in self._pending):
                return entry[0]
            if not self._threads:
                pass
            elif host in self._pending:
                return None
            else:
                try:
                    self._waiting.put_nowait(host)
                except queue.Full:
                    return entry[0] if entry is not None else _NOWHERE
                self._pending.add(host)
                # What has expired is still better than nothing.
                return entry[0] if entry is not None else None
        self._look_up(host)
        with self._lock:
            return self._hosts[host][0]

    def is_idle(self) -> bool:
        """Return whether no lookup is waiting or under way."""
        with self._lock:
            return not self._pending

    def close(self) -> None:
        """End the threads; lookups under way are not waited for."""
        self._closed.set()
        for _ in self._threads:
            with contextlib.suppress(queue.Full):
                self._waiting.put_nowait("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while not self._closed.is_set():
            host = self._waiting.get()
            if host and not self._closed.is_set():
                self._look_up(host)

    def _look_up(self, host: str) -> None:
        located = _NOWHERE
        try:
            located = self._locate(host)
            self.fault = ""
        except BadFile as error:
            self.fault = str(error)
        finally:
            with self._lock:
                lifetime = self._lifetime if located.place is not None else self._retry
                self._hosts.pop(host, None)
                self._hosts[host] = located, self._clock() + lifetime
                self._pending.discard(host)
                while len(self._hosts) > self._max_hosts:
                    del self._hosts[next(iter(self._hosts))]

    def _locate(self, host: str) -> LocatedHost:
        """Return the place of the first address that has one."""
        addresses = [host.strip("[]")] if _is_address(host) else list(self._resolve(host))[:_MAX_ADDRESSES]
        network = next((network for address in addresses if (network := network_of(address))), "")
        for address in addresses if self._database is not None else ():
            found = self._database.find_place(address) if self._database is not None else None
            if found is not None:
                return LocatedHost(found.place, found.country, network_of(address))
        return LocatedHost(network=network)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
