"""Connections to replicas that are open already, by address."""

import threading
from collections import defaultdict
from typing import Final

from periplus.cluster.wire.peer_connection import PeerAddress, PeerConnection
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import ClusterError

__all__ = ["ConnectionPool"]

_MAX_DRAINING: Final = 4
"""Connections to a replica that wait for a response nobody needs; with more, the oldest is closed."""


class ConnectionPool:
    """Open connections. Any thread may take one, uses it alone, and puts it back."""

    def __init__(self, key: ClusterKey, size: int) -> None:
        """size: how many idle connections to each replica stay open."""
        self._key, self._size = key, size
        self._lock = threading.Lock()
        self._idle: dict[PeerAddress, list[PeerConnection]] = defaultdict(list)
        self._draining: dict[PeerAddress, list[PeerConnection]] = defaultdict(list)
        self._closed_bytes = [0, 0]

    def take(self, address: PeerAddress) -> PeerConnection:
        """Return a connection, the one used last if there is any; raise `ClusterError` if none can be begun.

        The replica may have closed it meanwhile, which its user notices when nothing comes back.
        """
        with self._lock:
            idle = self._idle[address]
            connection = idle.pop() if idle else self._drained(address)
        return PeerConnection(address, self._key) if connection is None else connection

    def put(self, connection: PeerConnection) -> None:
        """Put a connection back: it is used again once nothing is outstanding on it."""
        if connection.fileno() < 0:
            self._close(connection)
            return
        with self._lock:
            if connection.is_idle:
                kept, most = self._idle[connection.address], self._size
            else:
                kept, most = self._draining[connection.address], _MAX_DRAINING
            kept.append(connection)
            surplus = kept.pop(0) if len(kept) > most else None
        if surplus is not None:
            self._close(surplus)

    def _drained(self, address: PeerAddress) -> PeerConnection | None:
        """Return a connection on which the response that nobody waited for has come meanwhile. Called with the lock."""
        draining = self._draining[address]
        for connection in list(draining):
            try:
                connection.advance()
            except ClusterError:
                draining.remove(connection)
                continue
            if connection.is_idle:
                draining.remove(connection)
                return connection
        return None

    def forget(self, address: PeerAddress) -> None:
        """Close all connections to a replica, which is gone or starts again."""
        with self._lock:
            connections = self._idle.pop(address, []) + self._draining.pop(address, [])
        for connection in connections:
            self._close(connection)

    def close(self) -> None:
        """Close all connections."""
        for address in {*self._idle, *self._draining}:
            self.forget(address)

    def transferred(self) -> tuple[int, int]:
        """Return the bytes that were sent and received by the connections in the pool, and those that were closed."""
        with self._lock:
            connections = [c for group in (self._idle, self._draining) for some in group.values() for c in some]
            sent, received = self._closed_bytes
        return sent + sum(c.sent_bytes for c in connections), received + sum(c.received_bytes for c in connections)

    def _close(self, connection: PeerConnection) -> None:
        with self._lock:
            self._closed_bytes[0] += connection.sent_bytes
            self._closed_bytes[1] += connection.received_bytes
        connection.close()
