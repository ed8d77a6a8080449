"""Framed messages: between peers with the key of the cluster, and against everybody else."""

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from conditions import wait_until
from periplus.cluster.wire.handshake import ClientHandshake, ServerHandshake
from periplus.cluster.wire.message_frames import Frame, FrameReader, FrameWriter, Status
from periplus.cluster.wire.message_server import MessageServer, PeerRequest, ServerLimits
from periplus.cluster.wire.peer_connection import PeerConnection, call_peer
from periplus.cluster.wire.signing import PROTOCOL, ClusterKey
from periplus.errors import BadInput, Overloaded, PeerFailed, Unauthenticated, WrongVersion

KEY = ClusterKey(bytes(range(32)))
LIMITS = ServerLimits(threads=2, waiting=1, strangers=3, handshake_seconds=0.3, message_seconds=0.3, max_body=100_000)


def echo(request: PeerRequest) -> bytes:
    if request.method == 2:
        raise BadInput("This is refused.", "Send something else.")
    if request.method == 3:
        raise RuntimeError("unexpected")
    return bytes([request.method]) + request.body


@contextlib.contextmanager
def serving(answer: Callable[[PeerRequest], bytes] = echo, limits: ServerLimits = LIMITS) -> Iterator[MessageServer]:
    server = MessageServer(("127.0.0.1", 0), KEY, answer, limits)
    server.start()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def server() -> Iterator[MessageServer]:
    with serving() as running:
        yield running


def soon() -> float:
    return time.monotonic() + 10


def raw(server: MessageServer) -> socket.socket:
    return socket.create_connection(server.address, timeout=10)


def greeted(server: MessageServer) -> tuple[socket.socket, FrameWriter, FrameReader]:
    """Return a raw connection that has proved itself."""
    connection, handshake = raw(server), ClientHandshake(KEY)
    connection.sendall(handshake.hello)
    reply = b""
    while len(reply) < handshake.REPLY_BYTES:
        reply += connection.recv(handshake.REPLY_BYTES - len(reply))
    proof, keys = handshake.finish(reply)
    connection.sendall(proof)
    return connection, FrameWriter(keys.to_server), FrameReader(keys.to_client)


def read_frame(connection: socket.socket, reader: FrameReader) -> Frame:
    while True:
        data = connection.recv(65_536)
        assert data, "closed"
        if frames := reader.feed(data):
            return frames[0]


def assert_closed(connection: socket.socket) -> None:
    """Wait until the server has closed a connection."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(65_536):
            pass
    connection.close()


def assert_still_serves(server: MessageServer) -> None:
    assert call_peer(PeerConnection(server.address, KEY), 1, b"good", soon()) == b"\x01good"


def test_many_requests_on_one_connection(server: MessageServer) -> None:
    connection = PeerConnection(server.address, KEY)
    for size in (0, 1, 30, 65_536, 99_999, 5):
        body = os.urandom(size)
        assert call_peer(connection, 7, body, soon()) == b"\x07" + body
    assert connection.is_idle


def test_errors_come_back_as_what_they_are(server: MessageServer) -> None:
    connection = PeerConnection(server.address, KEY)
    with pytest.raises(BadInput, match="This is refused"):
        call_peer(connection, 2, b"", soon())
    with pytest.raises(PeerFailed, match="its log says why"):
        call_peer(connection, 3, b"", soon())
    assert call_peer(connection, 1, b"and goes on", soon()) == b"\x01and goes on"


def test_frames_are_read_in_any_pieces() -> None:
    writer, bodies = FrameWriter(KEY.secret), [b"", b"one", os.urandom(5_000)]
    data = b"".join(writer.encode(n, body, method=9, deadline_ms=70) for n, body in enumerate(bodies))
    for step in (1, 7, 29, 30, 31, 4_096, len(data)):
        reader, frames = FrameReader(KEY.secret), []
        for start in range(0, len(data), step):
            frames += reader.feed(data[start : start + step])
        assert frames == [Frame(n, 9, 0, 70, body) for n, body in enumerate(bodies)]
        assert not reader.unfinished


def test_a_changed_frame_is_refused_wherever_it_is_changed() -> None:
    data = FrameWriter(KEY.secret).encode(5, b"twelve bytes", method=1, deadline_ms=9)
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        reader = FrameReader(KEY.secret, 1_000)
        with contextlib.suppress(PeerFailed):
            assert reader.feed(bytes(changed)) == []  # a longer one waits for more
            assert position < 4


def test_bodies_are_encrypted_each_otherwise() -> None:
    writer = FrameWriter(KEY.secret)
    first, second = (writer.encode(1, b"twelve bytes") for _ in range(2))
    assert b"twelve" not in first + second
    assert first[14:] != second[14:]


def test_frames_of_another_place_are_refused() -> None:
    writer = FrameWriter(KEY.secret)
    first, second = writer.encode(1, b"one"), writer.encode(2, b"two")
    for sequence in ((second,), (first, first), (first, second, first)):
        reader = FrameReader(KEY.secret)
        with pytest.raises(PeerFailed, match="repeated"):
            reader.feed(b"".join(sequence))


def test_a_length_beyond_the_limit_is_refused_before_it_comes() -> None:
    reader = FrameReader(KEY.secret, 1_000)
    with pytest.raises(PeerFailed, match="1,001 bytes; at most 1,000"):
        reader.feed(struct.pack("<I", 1_001) + bytes(26))


@pytest.mark.parametrize("wrong", ["client", "server"])
def test_a_wrong_key_is_refused_by_both_sides(server: MessageServer, wrong: str) -> None:
    if wrong == "client":
        with pytest.raises(Unauthenticated, match="does not have the key"):
            call_peer(PeerConnection(server.address, ClusterKey(bytes(32))), 1, b"", soon())
    else:  # a client that does not check the server, and sends any proof
        connection = raw(server)
        connection.sendall(ClientHandshake(KEY).hello + bytes(32))
        assert_closed(connection)
        wait_until(lambda: server.statistics().refused == 1)
    assert_still_serves(server)


@pytest.mark.parametrize(("version", "protocol"), [("0.0.9", PROTOCOL), ("1.0", PROTOCOL + 1)])
def test_another_version_is_refused_and_both_are_named(
    server: MessageServer, version: str, protocol: int, caplog: pytest.LogCaptureFixture
) -> None:
    from periplus import __version__

    connection = PeerConnection(server.address, KEY, ClientHandshake(KEY, version, protocol))
    with pytest.raises(WrongVersion) as error:
        call_peer(connection, 1, b"", soon())
    assert f"Periplus {__version__} (protocol {PROTOCOL}), this node {version} (protocol {protocol})" in str(
        error.value
    )
    wait_until(lambda: f"Periplus {version} (protocol {protocol}), this node {__version__}" in caplog.text)
    assert_still_serves(server)


def test_proofs_of_another_connection_are_of_no_use() -> None:
    client, server = ClientHandshake(KEY), ServerHandshake(KEY)
    proof, _ = client.finish(server.answer(client.hello))
    again = ServerHandshake(KEY)
    again.answer(client.hello)
    with pytest.raises(Unauthenticated):
        again.finish(proof)


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\nHost: shard\r\n\r\n" + b"x" * 200, os.urandom(5_000), bytes(300)], ids=len
)
def test_garbage_is_refused(server: MessageServer, data: bytes) -> None:
    connection = raw(server)
    with contextlib.suppress(ConnectionError):
        connection.sendall(data)
    assert_closed(connection)
    assert_still_serves(server)


def test_a_silent_or_slow_stranger_is_closed(server: MessageServer) -> None:
    """Some bytes every now and then do not extend its time."""
    silent, slow = raw(server), raw(server)
    hello = ClientHandshake(KEY).hello
    with contextlib.suppress(ConnectionError):
        for byte in hello[:50]:
            slow.sendall(bytes([byte]))
            time.sleep(0.01)
    assert_closed(silent)
    assert_closed(slow)
    assert_still_serves(server)


def test_many_strangers_do_not_keep_peers_out() -> None:
    with serving(limits=LIMITS._replace(handshake_seconds=60)) as server:
        strangers = [raw(server) for _ in range(20)]
        assert_still_serves(server)
        for stranger in strangers[: -LIMITS.strangers]:
            assert_closed(stranger)


@pytest.mark.parametrize("part", [1, 13, 29, 31, 500])
def test_half_a_message_is_not_waited_for(server: MessageServer, part: int) -> None:
    connection, writer, _ = greeted(server)
    connection.sendall(writer.encode(1, os.urandom(1_000), method=1, deadline_ms=1000)[:part])
    assert_closed(connection)
    assert_still_serves(server)


def test_a_replayed_message_ends_the_connection(server: MessageServer) -> None:
    connection, writer, reader = greeted(server)
    frame = writer.encode(1, b"once", method=1, deadline_ms=5_000)
    connection.sendall(frame)
    assert read_frame(connection, reader).body == b"\x01once"
    connection.sendall(frame)
    assert_closed(connection)
    wait_until(lambda: server.statistics().refused == 1)
    assert server.statistics().requests == 1
    assert_still_serves(server)


def test_an_oversized_message_ends_the_connection(server: MessageServer) -> None:
    connection, writer, _ = greeted(server)
    connection.sendall(writer.encode(1, bytes(100_001))[:30])
    assert_closed(connection)
    wait_until(lambda: server.statistics().refused == 1)
    assert_still_serves(server)


def test_a_full_queue_is_busy_and_a_late_request_is_not_run() -> None:
    release, started = threading.Event(), threading.Semaphore(0)
    ran = []

    def answer(request: PeerRequest) -> bytes:
        ran.append(request.body)
        started.release()
        release.wait(30)
        return request.body

    with serving(answer) as server:
        connections = [PeerConnection(server.address, KEY) for _ in range(2)]
        threads = [threading.Thread(target=call_peer, args=(c, 1, b"runs", soon())) for c in connections]
        for thread in threads:
            thread.start()
        assert started.acquire(timeout=10)
        assert started.acquire(timeout=10)
        late, writer, reader = greeted(server)
        late.sendall(writer.encode(1, b"waits", method=1, deadline_ms=300))
        wait_until(lambda: server.statistics().waiting == 1)
        with pytest.raises(Overloaded):
            call_peer(PeerConnection(server.address, KEY), 1, b"is too much", soon())
        assert read_frame(late, reader).status == Status.LATE
        release.set()
        for thread in threads:
            thread.join()
        assert ran == [b"runs", b"runs"]
        assert server.statistics().busy == 1


def test_a_peer_that_does_not_answer_is_given_up() -> None:
    """Whether it does not accept, does not greet, or does not respond."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        with pytest.raises(PeerFailed, match="did not answer in time"):
            call_peer(PeerConnection(mute.getsockname(), KEY), 1, b"", time.monotonic() + 0.1)
        port = mute.getsockname()
    with pytest.raises(PeerFailed):
        call_peer(PeerConnection(port, KEY), 1, b"", soon())
    hang = threading.Event()
    with serving(lambda request: b"x" * hang.wait(30)) as server:
        with pytest.raises(PeerFailed, match="did not answer in time"):
            call_peer(PeerConnection(server.address, KEY), 1, b"", time.monotonic() + 0.3)
        hang.set()


def test_an_abandoned_response_is_dropped(server: MessageServer) -> None:
    connection = PeerConnection(server.address, KEY)
    for _ in range(3):
        connection.request(1, b"nobody waits", soon())
        connection.abandon()
    assert connection.is_usable
    assert not connection.is_idle
    assert call_peer(connection, 1, b"this one", soon()) == b"\x01this one"
    assert connection.is_idle


@pytest.mark.parametrize("garbage", [b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 100, bytes(500)])
def test_a_server_that_is_something_else_is_refused(garbage: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            connection.sendall(garbage)
            connection.recv(1_000)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(PeerFailed, match="does not speak"):
            call_peer(PeerConnection(listener.getsockname(), KEY), 1, b"", soon())
        thread.join()


def test_the_idlest_peer_makes_way() -> None:
    with serving(limits=LIMITS._replace(connections=2)) as server:
        old, new = PeerConnection(server.address, KEY), PeerConnection(server.address, KEY)
        for connection in (old, new):
            call_peer(connection, 1, b"", soon())
        assert_still_serves(server)
        assert call_peer(new, 1, b"stays", soon()) == b"\x01stays"
        with pytest.raises(PeerFailed):
            call_peer(old, 1, b"", soon())
