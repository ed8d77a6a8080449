"""Closes connections of clients that do not read, of addresses with too many, and idle ones when there are too many.

The HTTP server closes a connection on which no complete request head comes in time, and accepts no more connections
than it may have. What it does not do is done here, in a thread that looks at the sockets of the process once a second.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from periplus.serve.connections.tcp_sockets import TcpState, close_connection, peer_of, tcp_states

__all__ = ["ConnectionGuard", "ConnectionLimits"]

_LOG: Final = logging.getLogger("periplus.serve")
_SWEEP_SECONDS: Final = 1.0
_BUSY_SWEEP_SECONDS: Final = 0.1
"""The same while there are many connections."""
_IDLE_FACTOR: Final = 20.0
"""After looking at all connections, the pause is at least this many times as long as that took."""
_MIN_RATE: Final = 1_000.0
"""Bytes a second that a client reads at least."""
_CROWDED: Final = 0.85
"""Share of the capacity above which idle connections are closed."""
_ROOMY: Final = 0.6
"""Share of the capacity down to which they are closed."""


class ConnectionLimits(NamedTuple):
    """The limits of one process."""

    capacity: int
    """Connections in all."""
    per_address: int
    """Connections of one client; 0 is no limit."""
    write_seconds: float
    """Time in which a client has to read at the least rate."""


class _Connection:
    """What is remembered of a connection from one look to the next."""

    __slots__ = ("acknowledged", "client", "peer", "queued_since", "state")

    def __init__(self, peer: tuple[str, int], client: str) -> None:
        self.peer = peer
        self.client = client
        """What identifies the client; '' if its connections are not limited."""
        self.queued_since = 0.0
        """Since when bytes wait to be read by the client, or were last found to be read fast enough; 0 if none do."""
        self.acknowledged = 0
        """Bytes that it had acknowledged then."""
        self.state: TcpState | None = None

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last byte was sent to the client, or else since it connected."""
        return self.state.since_sent if self.state is not None else 0.0


class ConnectionGuard:
    """Watches the connections to one port of this process."""

    def __init__(
        self,
        port: int,
        limits: ConnectionLimits,
        client_of: Callable[[str], str],
        active: Callable[[], Iterable[tuple[str, int]]],
    ) -> None:
        """Prepare to watch.

        client_of: what identifies the client at an address, '' for one without a limit; active: address and port of
        the connections on which a request is being answered.
        """
        self._port = port
        self._limits = limits
        self._client_of = client_of
        self._active = active
        self._connections: dict[int, _Connection] = {}
        self._foreign: set[int] = set()
        """Cookies of connections of this process that are not to the port."""
        self._sweep_cost = 0.0
        self._stopped = threading.Event()
        self.closed_slow = self.closed_excess = self.closed_idle = 0
        """Connections that were closed: of clients that do not read, that have too many, that do nothing."""

    def __len__(self) -> int:
        return len(self._connections)

    def start(self) -> None:
        """Watch in a thread until `stop` is called."""
        threading.Thread(target=self._run, name="periplus-connections", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._pause()):
            began = time.thread_time()
            try:
                self.sweep(time.monotonic())
            except Exception:  # it has to go on, whatever happened
                _LOG.exception("Connections could not be checked")
            self._sweep_cost = time.thread_time() - began

    def _pause(self) -> float:
        seconds = _BUSY_SWEEP_SECONDS if 2 * len(self) > self._limits.capacity else _SWEEP_SECONDS
        return max(seconds, _IDLE_FACTOR * self._sweep_cost)

    def sweep(self, now: float) -> None:
        """Look at all connections once, and close those that are over a limit."""
        self._update()
        for cookie, connection in list(self._connections.items()):
            if self._reads_too_slowly(connection, now):
                self.closed_slow += self._close(cookie, reset=True)
        self._close_excess()
        if len(self) > _CROWDED * self._limits.capacity:
            self._close_idle()

    def _update(self) -> None:
        connections: dict[int, _Connection] = {}
        foreign: set[int] = set()
        for state in tcp_states():
            if state.cookie in self._foreign:
                foreign.add(state.cookie)
                continue
            connection = self._connections.get(state.cookie)
            if connection is None:
                peer = peer_of(state.descriptor, state.cookie, self._port)
                if peer is None:
                    foreign.add(state.cookie)
                    continue
                connection = _Connection(peer, self._client_of(peer[0]))
            connection.state = state
            connections[state.cookie] = connection
        self._connections, self._foreign = connections, foreign

    def _reads_too_slowly(self, connection: _Connection, now: float) -> bool:
        state = connection.state
        assert state is not None
        if not state.queued:
            connection.queued_since = 0.0
            return False
        if not connection.queued_since:
            connection.queued_since, connection.acknowledged = now, state.acknowledged
            return False
        seconds = now - connection.queued_since
        if seconds < self._limits.write_seconds:
            return False
        if state.acknowledged - connection.acknowledged < _MIN_RATE * seconds:
            return True
        connection.queued_since, connection.acknowledged = now, state.acknowledged
        return False

    def _close_excess(self) -> None:
        """Close the connections of a client that has too many, those that do nothing first."""
        limit = self._limits.per_address
        if not limit:
            return
        by_client: dict[str, list[int]] = defaultdict(list)
        for cookie, connection in self._connections.items():
            if connection.client:
                by_client[connection.client].append(cookie)
        for cookies in by_client.values():
            if len(cookies) > limit:
                for cookie in self._order(cookies)[: len(cookies) - limit]:
                    self.closed_excess += self._close(cookie)

    def _close_idle(self) -> None:
        """Close connections without a request, those that do nothing for longest first."""
        active = set(self._active())
        idle = [cookie for cookie, connection in self._connections.items() if connection.peer not in active]
        surplus = len(self) - round(_ROOMY * self._limits.capacity)
        for cookie in self._order(idle)[:surplus]:
            self.closed_idle += self._close(cookie)

    def _order(self, cookies: list[int]) -> list[int]:
        active = set(self._active())
        connections = self._connections
        return sorted(cookies, key=lambda c: (connections[c].peer in active, -connections[c].idle_seconds))

    def _close(self, cookie: int, *, reset: bool = False) -> bool:
        connection = self._connections.pop(cookie)
        assert connection.state is not None
        return close_connection(connection.state.descriptor, cookie, reset=reset)
