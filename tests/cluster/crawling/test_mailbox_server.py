"""The mailbox at its limits: strangers, replays, other versions, oversized and slow requests, and what it promises."""

import asyncio
import contextlib
import http.client
import random
import socket
import threading
from types import SimpleNamespace

import msgspec
import pytest
from crawl_cluster import KEY, wait_for

from periplus.cluster.crawling import cluster_shard, mailbox_server
from periplus.cluster.crawling.cluster_shard import ClusterShard
from periplus.cluster.crawling.mail_folder import MailFile, MailFolder
from periplus.cluster.crawling.mail_records import (
    MAX_BODY,
    Envelope,
    ShardPlan,
    decode_message,
    encode_message,
)
from periplus.cluster.crawling.mail_sender import MailSender
from periplus.cluster.crawling.mailbox_client import MailboxClient
from periplus.cluster.crawling.mailbox_server import HttpAnswer, MailboxServer, request_purpose
from periplus.cluster.wire import signing
from periplus.cluster.wire.signing import SIGNATURE_HEADER, ClusterKey, sign_header
from periplus.crawl import ForwardedLink, TransferMessage
from periplus.errors import CorruptFile, PeerFailed, Unauthenticated, WrongVersion

PURPOSE = request_purpose(3, "/mail")


@pytest.fixture
def calls():
    return []


@pytest.fixture
def server(calls):
    def handle(body: bytes) -> HttpAnswer:
        calls.append(body)
        return HttpAnswer(429, b"later", 7.0) if body == b"full" else HttpAnswer(200, b"answer to " + body)

    server = MailboxServer(3, KEY, {"/mail": handle}, head_seconds=0.5, body_seconds=0.5, max_strangers=8)
    yield server
    server.close()


def send(server: MailboxServer, data: bytes, half: bool = False) -> bytes:
    """Send bytes as they are; return all that comes back until the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(data)
        if half:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while part := connection.recv(1 << 16):
                answer += part
        except ConnectionResetError:
            pass
        return answer


def request(body: bytes, signature: str | None, path: str = "/mail", **headers: str) -> bytes:
    lines = {"Content-Length": str(len(body)), **headers}
    if signature is not None:
        lines[SIGNATURE_HEADER] = signature
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def test_signed_messages_are_answered_on_one_connection(server, calls):
    client = MailboxClient(3, KEY, server.address)
    assert client.post("/mail", b"one").body == b"answer to one"
    assert client.post("/mail", b"two") == (200, b"answer to two", 0.0)
    assert client.post("/mail", b"full") == (429, b"later", 7.0)
    assert calls == [b"one", b"two", b"full"]
    client.close()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /mail HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        (b"nonsense\r\nHost: x\r\n\r\n", 400),
        (b"POST /mail HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"POST /mail HTTP/1.1\r\nA: 1\r\nA: 2\r\n\r\n", 400),
        (b"POST /mail HTTP/1.1\r\n" + b"a: " + b"b" * 20_000 + b"\r\n\r\n", 431),
        (request(b"x", None), 401),
        (request(b"x", "1 0.1.0 1 00 00"), 401),
        (request(b"x", "", path="/other"), 404),
        (request(b"x", "s", **{"Transfer-Encoding": "chunked"}), 411),
        (b"POST /mail HTTP/1.1\r\nPeriplus-Signature: s\r\nContent-Length: -4\r\n\r\n", 411),
        (f"POST /mail HTTP/1.1\r\nPeriplus-Signature: s\r\nContent-Length: {MAX_BODY + 1}\r\n\r\n".encode(), 413),
        (b"POST /mail HTTP/1.1\r\nPeriplus-Signature: s\r\nContent-Length: 99999999999999\r\n\r\n", 413),
    ],
)
def test_strangers_are_refused(server, calls, data, status):
    assert send(server, data, half=True).startswith(f"HTTP/1.1 {status} ".encode())
    assert calls == []


def test_what_is_signed_otherwise_is_refused(server, calls):
    other = ClusterKey(b"o" * 32)
    for signature in (
        sign_header(other, PURPOSE, b"x"),
        sign_header(KEY, request_purpose(4, "/mail"), b"x"),
        sign_header(KEY, request_purpose(3, "/plan"), b"x"),
        sign_header(KEY, PURPOSE, b"y"),
    ):
        assert send(server, request(b"x", signature)).startswith(b"HTTP/1.1 401 ")
    with pytest.raises(Unauthenticated):
        MailboxClient(3, other, server.address).post("/mail", b"x")
    assert calls == []


def test_a_replay_is_refused(server, calls):
    data = request(b"x", sign_header(KEY, PURPOSE, b"x"))
    assert send(server, data, half=True).startswith(b"HTTP/1.1 200 ")
    assert send(server, data).startswith(b"HTTP/1.1 401 ")
    assert calls == [b"x"]


def test_another_version_is_refused_and_both_are_named(server, calls, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(signing, "__version__", "9.9.9")
        signature = sign_header(KEY, PURPOSE, b"x")
    answer = send(server, request(b"x", signature))
    assert answer.startswith(b"HTTP/1.1 426 ")
    assert b"9.9.9" in answer
    assert signing.__version__.encode() in answer
    assert calls == []


def test_slow_bodies_and_heads_are_cut_off(server, calls):
    signature = sign_header(KEY, PURPOSE, b"long body")
    assert send(server, request(b"long body", signature)[:-4]).startswith(b"HTTP/1.1 408 ")
    assert send(server, b"POST /mail HTTP/1.1\r\nPeriplus") == b""
    assert calls == []


def connect(server: MailboxServer, data: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.sendall(data)
    return connection


def has_ended(connection: socket.socket) -> bool:
    """Return whether the server has closed a connection, once it has or an answer has come."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.fixture
def patient_server():
    server = MailboxServer(3, KEY, {"/mail": lambda body: HttpAnswer(200, b"yes")}, max_strangers=8, max_connections=4)
    yield server
    server.close()


def test_strangers_that_are_idle_keep_nobody_out(patient_server):
    peer = MailboxClient(3, KEY, patient_server.address)
    assert peer.post("/mail", b"x").status == 200
    strangers = [connect(patient_server) for _ in range(20)]
    wait_for(lambda: patient_server.refused == 12)
    assert all(has_ended(stranger) for stranger in strangers[:12])
    assert MailboxClient(3, KEY, patient_server.address).post("/mail", b"x").status == 200
    assert peer._connection.sock is not None
    assert peer.post("/mail", b"x").status == 200
    for stranger in strangers:
        stranger.close()


@pytest.mark.parametrize("turns", range(5))
def test_a_request_that_comes_with_a_cancellation_does_not_undo_it(turns):
    """As with `asyncio.wait_for` of Python 3.11, which returns what has come a turn of the loop before."""
    server = MailboxServer(3, KEY, {}, head_seconds=0.05)

    async def cancel_after() -> bool:
        reader = asyncio.StreamReader()
        task = asyncio.create_task(server._answer_next(reader, SimpleNamespace(is_peer=False)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        reader.feed_data(b"POST /mail HTTP/1.1\r\n")
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled()

    try:
        assert asyncio.run(cancel_after())
    finally:
        server.close()


def test_a_conversation_that_misses_its_cancellation_ends_all_the_same(patient_server, monkeypatch):
    """Whatever takes its cancellation for something else."""

    async def answer_next(reader: asyncio.StreamReader, connection: object) -> bool:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return True

    monkeypatch.setattr(patient_server, "_answer_next", answer_next)
    with connect(patient_server):
        wait_for(lambda: patient_server._tasks)
        closing = threading.Thread(target=patient_server.close, daemon=True)
        closing.start()
        wait_for(lambda: not closing.is_alive())


def test_memory_is_reserved_only_for_what_has_come(patient_server):
    head = f"POST /mail HTTP/1.1\r\nPeriplus-Signature: s\r\nContent-Length: {MAX_BODY}\r\n\r\n".encode()
    strangers = [connect(patient_server, head) for _ in range(7)]
    body = b"x" * MAX_BODY
    for _ in range(3):
        assert MailboxClient(3, KEY, patient_server.address).post("/mail", body).status == 200
    wait_for(lambda: patient_server._peers._bytes == patient_server._strangers._bytes == 0)
    for stranger in strangers:
        stranger.close()


def test_strangers_that_send_much_are_closed_for_those_that_come_later(patient_server):
    patient_server._strangers._max_bytes = 1 << 20
    head = f"POST /mail HTTP/1.1\r\nPeriplus-Signature: s\r\nContent-Length: {MAX_BODY}\r\n\r\n".encode()
    strangers = [connect(patient_server, head + b"x" * 500_000) for _ in range(2)]
    wait_for(lambda: patient_server._strangers._bytes == 1_000_000)
    assert MailboxClient(3, KEY, patient_server.address).post("/mail", b"x" * 900_000).status == 200
    assert all(has_ended(stranger) for stranger in strangers)
    wait_for(lambda: patient_server._strangers._bytes == 0)
    for stranger in strangers:
        stranger.close()


def test_of_too_many_peers_the_one_that_was_idle_longest_is_closed(patient_server):
    peers = [MailboxClient(3, KEY, patient_server.address) for _ in range(5)]
    for peer in peers:
        assert peer.post("/mail", b"x").status == 200
    wait_for(lambda: len(patient_server._tasks) == 4)
    assert has_ended(peers[0]._connection.sock)
    assert peers[0].post("/mail", b"x").status == 200  # it connects again


def test_a_request_that_has_waited_too_long_is_not_handled(server, calls, monkeypatch):
    monkeypatch.setattr(mailbox_server, "_MAX_WAIT", -1.0)
    assert MailboxClient(3, KEY, server.address).post("/mail", b"x") == (503, b"The request has waited too long.", 1.0)
    assert calls == []


def test_answers_of_strangers_are_refused(calls):
    impostor = MailboxServer(3, ClusterKey(b"i" * 32), {"/mail": lambda body: HttpAnswer(200, body)})
    with pytest.raises(Unauthenticated):
        MailboxClient(3, KEY, impostor.address).post("/mail", b"x")
    impostor.close()
    with pytest.raises(PeerFailed, match="does not answer"):
        MailboxClient(3, KEY, impostor.address).post("/mail", b"x")


def test_an_answer_to_another_request_is_refused(monkeypatch):
    answers: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # it was shut down
                return
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answers[0])

    server = MailboxServer(3, KEY, {"/mail": lambda body: HttpAnswer(200, b"yes")})
    answers.append(send(server, request(b"x", sign_header(KEY, PURPOSE, b"x")), half=True))
    server.close()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        with pytest.raises((Unauthenticated, WrongVersion)):
            MailboxClient(3, KEY, f"127.0.0.1:{listener.getsockname()[1]}").post("/mail", b"x")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_body_is_bounded_before_it_is_decoded(server, calls):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    body = b"x" * MAX_BODY
    connection.request("POST", "/mail", body, {SIGNATURE_HEADER: sign_header(KEY, PURPOSE, body)})
    assert connection.getresponse().status == 200
    assert len(calls[0]) == MAX_BODY
    bomb = encode_message(TransferMessage(1, seeds=["a" * (70 << 20)]))
    assert len(bomb) < 1 << 20
    with pytest.raises(CorruptFile, match="longer than"):
        decode_message(bomb, "bomb")


def make_shard(folder, number: int = 0, epoch: int = 1) -> ClusterShard:
    shard = ClusterShard(folder, number, ShardPlan(incarnation=1, epoch=epoch, shards=(0, 1, 2)))
    shard.poll_control()
    return shard


def links(*urls: str) -> bytes:
    return encode_message(TransferMessage(1, [ForwardedLink(url, 1, 0.0, 0, False) for url in urls]))


def test_a_message_is_on_disk_before_it_is_acknowledged_and_applied_once(tmp_path):
    shard = make_shard(tmp_path)
    first = Envelope(1, 0, 1, 7, 0, False, links("http://a.test/"))
    assert shard.accept(first).state == "accepted"
    assert [path.name for path in (tmp_path / "crawl" / "inbox").iterdir()] == [MailFile(1, 7, 1, False).name]
    assert shard.accept(first).state == "duplicate"
    assert shard.accept(Envelope(1, 0, 1, 9, 8, False, links("http://c.test/"))).state == "gap"
    reply = shard.accept(Envelope(1, 0, 1, 8, 7, False, links("http://b.test/")))
    assert (reply.state, reply.received, reply.committed) == ("accepted", 8, 0)
    assert [link.url for message in shard.receive() for link in message.links] == ["http://a.test/", "http://b.test/"]
    assert shard.receive() == []
    # A snapshot that reflects both was written; the process ends before the files are deleted.
    again = make_shard(tmp_path)
    again.load_mail(shard.dump_mail())
    assert again.receive() == []
    assert again.accept(first).state == "duplicate"
    # With an earlier snapshot they are applied again.
    earlier = make_shard(tmp_path)
    assert len(earlier.receive()) == 2
    earlier.acknowledge()
    assert not list((tmp_path / "crawl" / "inbox").iterdir())
    earlier.commit({1: 8})
    assert earlier.accept(Envelope(1, 0, 1)).committed == 8


def test_a_full_mailbox_holds_its_senders_back(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_shard, "_MAX_INBOX_MESSAGES", 2)
    shard = make_shard(tmp_path)
    for number in (1, 2):
        assert shard.accept(Envelope(1, 0, 1, number, number - 1, False, links("http://a.test/"))).state == "accepted"
    assert shard.accept(Envelope(1, 0, 1, 3, 2, False, links())).state == "full"
    assert shard.accept(Envelope(2, 0, 1, 1, 0, False, links())).state == "accepted"  # others are not held back
    shard.receive()
    shard.acknowledge()
    assert shard.accept(Envelope(1, 0, 1, 3, 2, False, links())).state == "accepted"


def test_a_sender_with_a_full_outbox_is_congested(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_shard, "_MAX_OUTBOX_MESSAGES", 2)
    shard = make_shard(tmp_path)
    for _ in range(2):
        assert not shard.is_congested()
        shard._message_for(1).seeds.append("http://a.test/")
        shard.send(at_once=True)
    assert shard.is_congested()
    shard._message_for(1).seeds.append("http://b.test/")
    shard.send(at_once=True)
    assert shard.unsent() == 1
    shard.send(everything=True)  # before a snapshot that reflects it
    assert shard.unsent() == 0
    assert shard.outbox.count(1)[0] == 3


def test_a_damaged_message_is_asked_for_again(tmp_path):
    shard = make_shard(tmp_path)
    for number in (1, 2, 3):
        shard.accept(Envelope(1, 0, 1, number, number - 1, False, links(f"http://{number}.test/")))
    path = tmp_path / "crawl" / "inbox" / MailFile(1, 2, 1, False).name
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    assert [link.url for message in shard.receive() for link in message.links] == ["http://1.test/"]
    assert shard.accept(Envelope(1, 0, 1, 4, 3, False, links())).state == "gap"
    assert shard.accept(Envelope(1, 0, 1)).received == 1
    for number in (2, 3):
        shard.accept(Envelope(1, 0, 1, number, number - 1, False, links(f"http://{number}.test/")))
    assert [link.url for message in shard.receive() for link in message.links] == ["http://2.test/", "http://3.test/"]


def test_messages_of_a_later_topology_wait_for_the_hosts(tmp_path):
    plan = ShardPlan(incarnation=1, epoch=2, shards=(0, 1, 2), previous=(1, 2))
    shard = ClusterShard(tmp_path, 0, plan)
    shard.poll_control()
    assert shard.mail.awaiting == [1, 2]
    last = msgspec.convert({"last": True}, TransferMessage.__annotations__["transfer"])
    end = encode_message(TransferMessage(1, transfer=last))
    shard.accept(Envelope(1, 0, 1, 1, 0, False, links("http://early.test/")))
    shard.accept(Envelope(1, 0, 2, 2, 1, True, end))
    shard.accept(Envelope(1, 0, 2, 3, 2, False, links("http://late.test/")))
    assert [len(message) for message in shard.receive()] == [1, 1]
    assert shard.mail.awaiting == [2]
    assert shard.receive() == []
    assert shard.poll_control().paused
    reply = shard.accept(Envelope(2, 0, 1, 1, 0, False, links()))
    assert (reply.epoch, reply.plan) == (2, plan)  # the sender learns the newer topology
    shard.accept(Envelope(2, 0, 2, 2, 1, True, end))
    assert len(shard.receive()) == 2
    assert [link.url for message in shard.receive() for link in message.links] == ["http://late.test/"]
    shard.accept(Envelope(1, 0, 3, 4, 3, False, links()))
    assert shard.receive() == []


def test_hosts_are_sent_only_after_a_durable_checkpoint(tmp_path):
    received: list[Envelope] = []

    def accept(body: bytes) -> HttpAnswer:
        envelope = msgspec.msgpack.decode(body, type=Envelope)
        received.append(envelope)
        reply = receiver.accept(envelope)
        return HttpAnswer(200, msgspec.msgpack.encode(reply))

    receiver = make_shard(tmp_path / "b", 2)
    server = MailboxServer(2, KEY, {"/mail": accept})
    outbox = MailFolder(tmp_path / "outbox")
    outbox.write(MailFile(2, 1, 1, False), links("http://a.test/"))
    outbox.write(MailFile(2, 2, 2, True), links())
    sender = MailSender(1, KEY, outbox, lambda plan: None)
    sender.set_addresses({1: "127.0.0.1:1", 2: server.address})
    wait_for(lambda: [envelope.number for envelope in received].count(0) >= 2)
    assert {envelope.number for envelope in received} == {0, 1}
    sender.release({2: 2})
    wait_for(lambda: received[-1].number == 2 or any(envelope.number == 2 for envelope in received))
    assert outbox.count(2)[0] == 2
    receiver.commit({1: 1})
    wait_for(lambda: outbox.count(2)[0] == 1)
    # The receiver is restored from a checkpoint with the first message only: the second is sent again.
    count = len(received)
    receiver = make_shard(tmp_path / "c", 2)
    receiver.mail.processed[1] = 1
    wait_for(lambda: any(envelope.number == 2 for envelope in received[count:]))
    receiver.commit({1: 2})
    wait_for(lambda: outbox.count(2)[0] == 0)
    sender.close()
    server.close()


def test_messages_fit_into_a_request_however_long_their_urls_are(tmp_path):
    shard = make_shard(tmp_path)
    chance = random.Random(1)
    for _ in range(6_000):
        url = f"http://a.test/{chance.randbytes(1_000).hex()}"
        shard._message_for(1).links.append(ForwardedLink(url, 1, 0.0, 0, False))
    shard.send(everything=True)
    sizes = [file.size for file in shard.outbox.after(1, 0, 100)]
    assert len(sizes) > 2
    assert max(sizes) < MAX_BODY // 2
    assert shard.mail.written[1] == shard.outbox.last(1)


def test_a_damaged_message_in_the_outbox_does_not_block_those_after_it(tmp_path):
    receiver = make_shard(tmp_path / "b", 2)

    def accept(body: bytes) -> HttpAnswer:
        reply = receiver.accept(msgspec.msgpack.decode(body, type=Envelope))
        return HttpAnswer(200, msgspec.msgpack.encode(reply))

    server = MailboxServer(2, KEY, {"/mail": accept})
    outbox = MailFolder(tmp_path / "outbox")
    for number in (1, 2, 3):
        outbox.write(MailFile(2, number, 1, False), links(f"http://{number}.test/"))
    damaged = tmp_path / "outbox" / MailFile(2, 2, 1, False).name
    damaged.write_bytes(damaged.read_bytes()[:-1])
    sender = MailSender(1, KEY, outbox, lambda plan: None)
    sender.set_addresses({2: server.address})
    wait_for(lambda: receiver.inbox.last(1) == 3)
    assert [link.url for message in receiver.receive() for link in message.links] == [
        "http://1.test/",
        "http://3.test/",
    ]
    assert damaged.with_name(f"{damaged.name}.damaged").exists()
    sender.close()
    server.close()
    assert [file.number for file in MailFolder(tmp_path / "outbox").after(2, 0, 9)] == [1, 3]
