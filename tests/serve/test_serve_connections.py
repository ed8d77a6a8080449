"""Connections of clients that do nothing, do not read, or are too many: closed in time, and nobody else is kept out."""

import contextlib
import resource
import socket
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from fake_searcher import FakeSearcher
from raw_client import connect, exchange, read_to_end, status_of

from conditions import wait_until
from periplus.serve import background_server
from periplus.serve.connections.connection_guard import ConnectionGuard, ConnectionLimits
from periplus.serve.connections.descriptor_limit import connection_capacity, raise_descriptor_limit
from periplus.serve.connections.tcp_sockets import close_connection, peer_of, tcp_states
from periplus.serve.server import _limited_client
from periplus.settings import ServeSettings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="connections are read from Linux")
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
KEPT_ALIVE = b"GET /search?q=salt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def metric(url: str, name: str) -> float:
    text = exchange(url, HEALTH.replace(b"/healthz", b"/metrics")).decode()
    return float(text.partition(f"\nperiplus_{name} ")[2].partition("\n")[0])


@contextlib.contextmanager
def many(url: str, number: int, first_bytes: bytes) -> Iterator[list[socket.socket]]:
    connections = []
    try:
        for _ in range(number):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.connect((urlsplit(url).hostname, urlsplit(url).port))
            connections.append(connection)
        for connection in connections:
            connection.settimeout(60)
            with contextlib.suppress(OSError, TimeoutError):
                connection.sendall(first_bytes)
            connection.setblocking(False)
        yield connections
    finally:
        for connection in connections:
            connection.close()


@pytest.mark.parametrize("first_bytes", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA:", KEPT_ALIVE])
def test_a_client_that_sends_nothing_is_disconnected(first_bytes: bytes) -> None:
    settings = ServeSettings(port=0, threads=1, header_seconds=0.2)
    with background_server(FakeSearcher(), settings) as url, connect(url) as connection:
        connection.sendall(first_bytes)
        response = read_to_end(connection)
    assert response.startswith(b"HTTP/1.1 200") is (first_bytes == KEPT_ALIVE)


@pytest.mark.parametrize(
    "first_bytes",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA:",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        KEPT_ALIVE,
        KEPT_ALIVE * 20,
        b"POST /api/click HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    ],
    ids=["silent", "headers", "HTTP/2", "idle", "not reading", "body"],
)
def test_clients_that_do_nothing_keep_nobody_out(first_bytes: bytes) -> None:
    settings = ServeSettings(
        port=0, threads=2, max_connections=16, max_waiting=4, header_seconds=600, write_seconds=600, clicks=True
    )
    with background_server(FakeSearcher(), settings) as url, many(url, 100, first_bytes):
        for _ in range(5):
            assert status_of(exchange(url, HEALTH)) == 200


def test_a_client_that_does_not_read_is_disconnected() -> None:
    settings = ServeSettings(port=0, threads=2, header_seconds=600, write_seconds=0.3)
    with background_server(FakeSearcher(), settings) as url, many(url, 4, KEPT_ALIVE * 500):
        wait_until(lambda: metric(url, "connections") <= 1)


class Pair:
    """Two ends of a connection in this process, and a guard of one of them."""

    def __init__(self, number: int = 1, **limits: float) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.clients, self.served = [], []
        for _ in range(number):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", self.port))
            self.clients.append(client)
            self.served.append(self.listener.accept()[0])
        self.active: set[tuple[str, int]] = set()
        bounds = ConnectionLimits(**({"capacity": 1_000, "per_address": 0, "write_seconds": 10.0} | limits))  # type: ignore[arg-type]
        self.guard = ConnectionGuard(self.port, bounds, lambda address: address, lambda: self.active)

    def is_open(self, number: int) -> bool:
        self.clients[number].setblocking(False)
        try:
            while part := self.clients[number].recv(65_536):
                assert part
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        return False

    def close(self) -> None:
        for end in (*self.clients, *self.served, self.listener):
            end.close()


def fill(connection: socket.socket) -> None:
    connection.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            connection.send(b"x" * 65_536)


def test_a_client_that_reads_by_drops_is_disconnected() -> None:
    pair = Pair(2)
    now = time.monotonic()
    for end in pair.served:
        fill(end)
    pair.guard.sweep(now)
    pair.clients[0].recv(100)
    for _ in range(400):
        pair.clients[1].recv(65_536)
    wait_until(lambda: pair.served[1].send(b"x") > 0)  # what was read has been acknowledged
    pair.guard.sweep(now + 9)
    assert pair.guard.closed_slow == 0, "it is too early to tell"
    pair.guard.sweep(now + 11)
    assert pair.guard.closed_slow == 1
    wait_until(lambda: not pair.is_open(0))
    assert pair.is_open(1)
    pair.close()


def test_an_address_has_only_so_many_connections() -> None:
    pair = Pair(10, per_address=4)
    pair.active = {pair.clients[n].getsockname() for n in (0, 1)}
    descriptors = {end.fileno() for end in pair.served}
    wait_until(lambda: all(state.since_sent > 0.02 for state in tcp_states() if state.descriptor in descriptors))
    pair.served[2].send(b"a response, not long ago")
    pair.guard.sweep(time.monotonic())
    wait_until(lambda: sum(pair.is_open(n) for n in range(10)) == 4)
    assert [pair.is_open(n) for n in range(3)] == [True] * 3, "those with a request, and the last one that had one"
    assert pair.guard.closed_excess == 6
    pair.close()


def test_idle_connections_make_room() -> None:
    pair = Pair(10, capacity=10)
    pair.active = {pair.clients[n].getsockname() for n in range(8)}
    pair.guard.sweep(time.monotonic())
    wait_until(lambda: not pair.is_open(8) and not pair.is_open(9))
    assert all(pair.is_open(n) for n in range(8)), "a request is never interrupted for another"
    pair.close()


def test_another_connection_is_never_closed_by_mistake() -> None:
    pair = Pair(1)
    outgoing = {state.descriptor for state in tcp_states()} & {pair.clients[0].fileno()}
    assert outgoing, "the client's end is a connection of this process, too"
    descriptor = pair.served[0].fileno()
    state = next(state for state in tcp_states() if state.descriptor == descriptor)
    assert peer_of(descriptor, state.cookie, pair.port) == pair.clients[0].getsockname()
    assert peer_of(descriptor, state.cookie, pair.port + 1) is None
    assert peer_of(descriptor, state.cookie + 1, pair.port) is None
    assert not close_connection(descriptor, state.cookie + 1)
    assert not close_connection(0, state.cookie)
    assert pair.is_open(0)
    pair.close()


def test_proxies_and_this_machine_have_no_limit() -> None:
    client_of = _limited_client(ServeSettings(trusted_proxies=("10.0.0.0/8",)))
    assert client_of("10.1.1.1") == client_of("127.0.0.1") == client_of("::ffff:127.0.0.1") == ""
    assert client_of("::ffff:203.0.113.7") == "203.0.113.7"
    assert _limited_client(ServeSettings(behind_proxy=True))("203.0.113.7") == ""
    assert _limited_client(ServeSettings())("2001:db8::5") == "2001:db8::/64"


def test_the_limit_of_descriptors_is_raised_and_respected(caplog: pytest.LogCaptureFixture) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 200), hard))
        assert raise_descriptor_limit() == min(hard, 1 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert connection_capacity(8_192, 20_000) == 8_192
    assert not caplog.records
    assert connection_capacity(8_192, 1_024) == 512
    assert "ulimit" in caplog.text
    assert connection_capacity(8_192, 100) == 50
