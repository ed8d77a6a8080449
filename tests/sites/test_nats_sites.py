"""Sites linked by real NATS servers: requests, batches, a link that is cut, and what a site may not see."""

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from periplus.errors import SiteUnreachable
from periplus.fakeweb import DistanceProxy
from periplus.sites import SiteRecord, SiteTopology
from periplus.sites.messaging.batches import UrlItem
from periplus.sites.messaging.liveness import SiteAnnouncement
from periplus.sites.messaging.nats_config import JOIN_ACCOUNT, LOCAL_ACCOUNT, NatsPorts, nkey_seed, write_nats_config
from periplus.sites.messaging.nats_server import NatsServer, free_tcp_port
from periplus.sites.messaging.nats_transport import NatsTransport
from periplus.sites.messaging.outbox import Outbox, OutboxReader
from periplus.sites.messaging.sinks import SinkReceiver, SinkSender
from periplus.sites.messaging.site_buckets import SiteBuckets
from periplus.sites.messaging.site_keys import make_site_key, sign_record

pytestmark = pytest.mark.xdist_group("nats")
_NAMES = ("a", "b", "c")
_PASSWORDS = {name: f"password-{name}" for name in (*_NAMES, LOCAL_ACCOUNT, JOIN_ACCOUNT)}


def _wait(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


class _Sites:
    """Three sites with NATS servers; the link from b to a goes through a proxy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = {name: make_site_key(folder / name / "key.pem") for name in _NAMES}
        leaf = {name: free_tcp_port() for name in _NAMES}
        self.ports = {name: NatsPorts(free_tcp_port(), "127.0.0.1", leaf[name]) for name in _NAMES}
        records = []
        for name in _NAMES:
            address = f"127.0.0.1:{leaf[name]}"
            certificate = self.keys[name].make_certificate(name, address)
            record = SiteRecord(name=name, address=address, key=self.keys[name].public, certificate=certificate)
            records.append(sign_record(self.keys[name], record))
        self.topology = SiteTopology(network="test", sites=tuple(records))
        self.proxy = DistanceProxy("127.0.0.1", leaf["a"], 0.005).start()
        self.servers = {name: self._server(name) for name in _NAMES}
        for server in self.servers.values():
            server.start()

    def _server(self, name: str) -> NatsServer:
        path = self.folder / name / "nats.json"
        routes = {"a": f"127.0.0.1:{self.proxy.port}"} if name == "b" else {}
        text = write_nats_config(
            self.folder / name,
            self.topology,
            self.topology.site(name),
            self.ports[name],
            _PASSWORDS,
            self.keys[name].seed(),
            64 << 20,
            routes,
        )
        path.write_text(text)
        return NatsServer(path, self.folder / name / "nats.log", self.ports[name].client)

    def transport(self, name: str) -> NatsTransport:
        peers = [other for other in _NAMES if other != name]
        return NatsTransport(name, f"nats://127.0.0.1:{self.ports[name].client}", _PASSWORDS, peers, 16 << 20)

    def close(self) -> None:
        for server in self.servers.values():
            server.stop()
        self.proxy.close()


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Sites]:
    pytest.importorskip("nats")
    made = _Sites(tmp_path_factory.mktemp("nats"))
    yield made
    made.close()


def _reached(transport: NatsTransport, site: str) -> bool:
    try:
        return transport.request(site, "echo", b"x", 1.0) == transport.site.encode() + b":x"
    except SiteUnreachable:
        return False


def test_requests_batches_and_a_cut_link(sites: _Sites, tmp_path: Path) -> None:
    transports = {name: sites.transport(name) for name in _NAMES}
    try:
        for transport in transports.values():
            transport.serve("echo", lambda sender, body: sender.encode() + b":" + body)
        for one in _NAMES:
            for other in _NAMES:
                if one != other:
                    _wait(lambda one=one, other=other: _reached(transports[one], other))  # type: ignore[misc]
        _check_batches(sites, transports, tmp_path)
    finally:
        for transport in transports.values():
            transport.close()


def _check_batches(sites: _Sites, transports: dict[str, NatsTransport], folder: Path) -> None:
    """Batches arrive once in effect, with a link that is cut while they are sent and a server that is restarted."""
    applied: list[str] = []
    receiver = SinkReceiver(
        folder / "a", "a", lambda: sites.topology, {"urls": lambda batch: applied.extend(i.url for i in batch.items)}
    )
    transports["a"].consume(receiver.receive)
    outbox = Outbox(folder / "b" / "outbox", "crawl", sites.keys["b"], "test", "b")
    reader = OutboxReader(folder / "b" / "outbox")
    sender = SinkSender(transports["b"], reader, seconds=2.0)
    sent = []
    for number in range(60):
        url = f"https://example.org/{number}/{os.urandom(8).hex()}"
        outbox.append("a", "urls", [UrlItem(url)])
        sent.append(url)
    cutter = threading.Timer(0.05, sites.proxy.cut)
    cutter.start()
    sender.send_all("a")
    cutter.join()
    # While it is cut: other links work, and so does what each site stores itself.
    assert transports["c"].request("a", "echo", b"", 5.0) == b"c:"
    with pytest.raises(SiteUnreachable, match="Site a"):
        transports["b"].request("a", "echo", b"", 0.5)
    sites.servers["a"].restart()
    sites.proxy.mend()

    def sent_all() -> bool:
        sender.send_all("a")
        return not reader.pending("a")

    _wait(sent_all, 60)
    _wait(lambda: len(applied) >= 60, 60)
    assert sorted(applied) == sorted(sent)
    assert transports["b"].traffic()["a"].sent_bytes > 0
    outbox.close()


def test_a_server_is_not_interrupted_with_the_site(sites: _Sites) -> None:
    assert {os.getpgid(server.pid) for server in sites.servers.values()}.isdisjoint({os.getpgid(0)})


def test_a_site_does_not_see_what_others_exchange(sites: _Sites) -> None:
    transports = {name: sites.transport(name) for name in _NAMES}
    try:
        heard: list[bytes] = []

        def note(sender: str, body: bytes) -> bytes:
            heard.append(body)
            return b""

        async def spy() -> None:
            client = await transports["c"].client("a")

            async def callback(message: object) -> None:
                heard.append(b"spied")

            await client.subscribe("to.>", cb=callback)
            await client.flush()

        transports["c"].run(spy(), 10)
        transports["a"].serve("note", note)
        _wait(lambda: _noted(transports["b"], heard))
        assert b"spied" not in heard
    finally:
        for transport in transports.values():
            transport.close()


def test_a_site_can_use_no_more_of_the_disk_of_another_than_its_share(sites: _Sites) -> None:
    import nats

    transport = sites.transport("c")

    async def fill(name: str, size: int) -> bool:
        stream = (await transport.client("a")).jetstream(domain="a", timeout=5)
        try:
            await stream.add_stream(name=name, subjects=[name], max_bytes=size)
        except nats.js.errors.ServiceUnavailableError:
            return False  # the link is not there yet
        return True

    def filled() -> bool:
        try:
            return transport.run(fill("some", 1 << 20), 10)
        except nats.errors.Error:
            return False

    try:
        _wait(filled)
        with pytest.raises(nats.js.errors.APIError, match=r"insufficient|limit|exceed"):
            transport.run(fill("much", 200 << 20), 10)
    finally:
        transport.close()


def _noted(transport: NatsTransport, heard: list[bytes]) -> bool:
    try:
        transport.request("a", "note", b"secret", 1.0)
    except SiteUnreachable:
        return False
    return b"secret" in heard


def test_buckets_say_who_is_alive_and_expire(sites: _Sites) -> None:
    transport = sites.transport("a")
    try:
        buckets = SiteBuckets(transport, 1.0)
        heard: list[tuple[str, int]] = []
        buckets.watch(lambda site, announcement: heard.append((site, announcement.documents)))
        assert buckets.alive() == {}
        for documents in (1, 1, 2):
            buckets.put(SiteAnnouncement(site="b", time=time.time(), documents=documents)).result(10)
        assert buckets.alive()["b"].documents == 2
        _wait(lambda: ("b", 2) in heard)
        assert heard.count(("b", 1)) <= 1
        _wait(lambda: buckets.alive() == {})
    finally:
        transport.close()


def test_a_seed_is_spelled_as_nats_spells_it() -> None:
    assert nkey_seed(bytes(32)).startswith("SU")


@pytest.mark.filterwarnings("error")
def test_what_comes_after_the_end_fails_and_leaves_nothing_behind(sites: _Sites) -> None:
    transport = sites.transport("a")
    transport.serve("echo", lambda sender, body: body)
    transport.close()
    transport.close()
    transport.serve("late", lambda sender, body: body)
    transport.set_peers(["b"])
    with pytest.raises(SiteUnreachable):
        transport.request("b", "echo", b"", 1.0)
    gc.collect()  # A coroutine that never ran warns when it is freed.
