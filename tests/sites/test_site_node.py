"""Sites that announce themselves within one process: who is alive, what is fetched again, and what status says."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from periplus.errors import BadBatch, BadInput, SiteUnreachable
from periplus.settings import SiteSettings
from periplus.sites import LocalNetwork, Place, SiteTopology, site_data
from periplus.sites.messaging.batches import UrlItem
from periplus.sites.messaging.liveness import LivenessTable, SiteAnnouncement, decode_announcement
from periplus.sites.site_data import fetch_data
from periplus.sites.site_folder import SiteConfig, SiteFolder, decode_token, new_site_record
from periplus.sites.site_node import SiteNode
from periplus.sites.site_status import read_site_status

_SETTINGS = SiteSettings(heartbeat_seconds=0.1, liveness_seconds=5.0, outbox_mb=1)


class _Federation:
    """Sites of one process, each with a folder of its own."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.network = LocalNetwork()
        self.folders = {name: SiteFolder(folder / name) for name in names}
        records = tuple(
            new_site_record(self.folders[name].make_key(), name, Place(0, i), (), f"127.0.0.1:{7000 + i}")
            for i, name in enumerate(sorted(names))
        )
        self.topology = SiteTopology(network="test", sites=records)
        for name in names:
            self.folders[name].create(SiteConfig(name=name, client_port=1), self.topology)
        self.nodes: dict[str, SiteNode] = {}

    def start(self, name: str, clock: float = 0.0) -> SiteNode:
        transport = self.network.join(name)
        received: list[UrlItem] = []
        node = SiteNode(
            self.folders[name],
            transport,
            _SETTINGS,
            {"urls": lambda batch: received.extend(batch.items)},
            lambda: {"url": f"http://{name}/", "documents": 3, "services": {"serve": "running"}},
            clock=lambda: time.time() + clock,
        )
        transport.start_delivery()
        node.received = received  # type: ignore[attr-defined]
        self.nodes[name] = node
        return node

    def close(self) -> None:
        for node in self.nodes.values():
            node.close()
            node.transport.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[_Federation]:
    federation = _Federation(tmp_path, ("a", "b"))
    federation.start("a")
    federation.start("b")
    yield federation
    federation.close()


def test_sites_hear_each_other_and_status_says_so(pair: _Federation) -> None:
    a = pair.nodes["a"]
    a.step()
    assert set(a.alive()) == {"b"}
    status = read_site_status(pair.folders["a"].path)
    assert status is not None
    (peer,) = status.peers
    assert (peer.name, peer.alive, peer.documents, peer.url) == ("b", True, 3, "http://b/")
    assert peer.round_trip > 0
    assert status.warnings() == []


def test_a_silent_site_is_not_asked_and_returns(tmp_path: Path) -> None:
    table = LivenessTable(8.0)
    hello = SiteAnnouncement(site="b", time=1_000.0)
    assert table.hear(hello, now=10.0, wall=1_000.0, round_trip=0.1)
    assert not table.hear(hello, now=12.0, wall=1_000.0, round_trip=0.1)
    assert set(table.alive(20.0)) == {"b"}
    assert not table.alive(20.5)
    assert table.hear(hello, now=30.0, wall=1_000.0)
    assert table.states(30.0)["b"].returned == 1


def test_a_site_whose_clock_is_a_day_off_is_alive_and_reported(tmp_path: Path) -> None:
    federation = _Federation(tmp_path, ("a", "b"))
    a = federation.start("a")
    b = federation.start("b", clock=86_400.0)
    a.step()
    b.step()
    assert set(a.alive()) == {"b"}
    assert any("clock of b is 86,400 s ahead" in line for line in a.status().warnings())
    assert any("clock of a is 86,400 s behind" in line for line in b.status().warnings())
    b.outbox.append("a", "urls", [UrlItem("https://example.org/")])
    b.sender.send_all("a")
    limit = time.monotonic() + 10
    while not a.received and time.monotonic() < limit:  # type: ignore[attr-defined]
        time.sleep(0.01)
    assert len(a.received) == 1  # type: ignore[attr-defined]
    federation.close()


def test_a_site_that_returns_fetches_what_has_changed_only(pair: _Federation) -> None:
    a, b = pair.nodes["a"], pair.nodes["b"]
    big = bytes(range(256)) * 5_000
    b.data.set("thresholds", big)
    b.data.set("statistics", b"one")
    a.step()
    assert a.data.of_site("b", "thresholds") == big
    pair.network.cut("a", "b")
    b.data.set("statistics", b"two")
    a.step()
    assert a.data.of_site("b", "statistics") == b"one"
    pair.network.mend("a", "b")
    fetched: list[str] = []
    a.data.listen(lambda site, name, body: fetched.append(name))
    a.step()
    assert a.data.of_site("b", "statistics") == b"two"
    assert fetched == ["statistics"]
    assert a.status().peers[0].data == {"statistics": 2, "thresholds": 1}


def test_new_versions_are_sent_through_the_sinks(pair: _Federation) -> None:
    a, b = pair.nodes["a"], pair.nodes["b"]
    assert b.send_data("thresholds", "thresholds", b"bounds")
    assert not b.send_data("thresholds", "thresholds", b"bounds")
    b.step()
    b.sender.send_all("a")
    limit = time.monotonic() + 10
    while a.data.of_site("b", "thresholds") != b"bounds" and time.monotonic() < limit:
        time.sleep(0.01)
    assert a.data.of_site("b", "thresholds") == b"bounds"


def test_a_site_that_sends_slowly_does_not_silence_this_one(pair: _Federation) -> None:
    a, b = pair.nodes["a"], pair.nodes["b"]
    b.data.set("thresholds", b"bounds")
    released = threading.Event()

    def answer_late(sender: str, body: bytes) -> bytes:
        released.wait(30)
        return b.data.answer(sender, body)

    b.transport.serve("data", answer_late)
    a.step(in_background=True)
    a.step(in_background=True)
    assert a.data.of_site("b", "thresholds") is None
    assert a.status().peers[0].alive
    released.set()
    limit = time.monotonic() + 10
    while a.data.of_site("b", "thresholds") != b"bounds" and time.monotonic() < limit:
        time.sleep(0.01)
    assert a.data.of_site("b", "thresholds") == b"bounds"


def test_data_of_a_site_are_bounded_in_number_and_parts(pair: _Federation) -> None:
    a, b = pair.nodes["a"], pair.nodes["b"]
    for number in range(16):
        assert a.data.store("b", f"data-{number}", 1, b"x")
    with pytest.raises(BadBatch, match="kinds"):
        a.data.store("b", "data-16", 1, b"x")
    assert a.data.store("b", "data-3", 2, b"y")
    with pytest.raises(BadBatch, match="name"):
        a.data.store("b", "data-3\n", 3, b"z")
    calls: list[bytes] = []

    def answer_in_drops(sender: str, body: bytes) -> bytes:
        calls.append(body)
        return msgspec.msgpack.encode([1, 1 << 28, b"d" * 32, b"x"])

    b.transport.serve("data", answer_in_drops)
    with pytest.raises(SiteUnreachable):
        fetch_data(a.transport, a.data, "b", "data-3")
    assert len(calls) == 1


def test_garbage_of_a_site_is_counted_and_changes_nothing(pair: _Federation) -> None:
    a, b = pair.nodes["a"], pair.nodes["b"]
    a.step()
    b.transport.publish("a", "urls", b"\x00garbage" * 50, 5.0)
    b.transport.publish("a", "no-such-sink", b"", 5.0)
    limit = time.monotonic() + 10
    while a.receiver.quarantine.count() < 2 and time.monotonic() < limit:
        time.sleep(0.01)
    lines = a.status().warnings()
    assert any("2 batches of b were refused" in line for line in lines)
    assert any("in quarantine" in line for line in lines)
    assert decode_announcement(b"\xff" * 100) is None
    assert decode_announcement(msgspec.msgpack.encode({"site": "x" * 5_000})) is None


def test_two_sites_with_one_name(pair: _Federation, tmp_path: Path) -> None:
    a, b = pair.nodes["a"], pair.nodes["b"]
    double = new_site_record(SiteFolder(tmp_path / "x").make_key(), "b", None, (), "127.0.0.1:9")
    with pytest.raises(BadInput, match="already"):
        a.accept_join(double)
    # Both halves of a federation have accepted another site of the name: the one known first stays.
    a.add_records((msgspec.structs.replace(double, version=9),))  # the signature is wrong now
    assert a.status().conflicts == ()
    a.add_records((double,))
    assert a.topology.site("b").key == pair.topology.site("b").key
    assert any("Two sites have one name: b" in line for line in a.status().warnings())
    a.step()
    assert set(a.alive()) == {"b"}
    b.close()


def test_a_full_outbox_is_reported_and_dropped_batches_too(pair: _Federation) -> None:
    import os

    a = pair.nodes["a"]
    pair.network.cut("a", "b")
    for _ in range(40):
        assert a.outbox.append("b", "urls", [UrlItem("https://example.org/" + os.urandom(25_000).hex())])
    lines = a.status().warnings()
    assert any("outbox for b is full" in line and "dropped" in line for line in lines)
    assert a.status().peers[0].sinks[0].waiting > 0


def test_a_site_joins_and_all_others_learn_of_it(pair: _Federation, tmp_path: Path) -> None:
    a, b = pair.nodes["a"], pair.nodes["b"]
    record = new_site_record(SiteFolder(tmp_path / "c").make_key(), "c", Place(35.7, 139.7), ("ja",), "")
    a.accept_join(record)
    b.step()
    assert b.topology.names == ("a", "b", "c")
    gone = pair.folders["a"].topology()
    assert gone.names == ("a", "b", "c")


def test_a_site_that_leaves_is_forgotten(pair: _Federation) -> None:
    a, b = pair.nodes["a"], pair.nodes["b"]
    a.step()
    a.outbox.append("b", "urls", [UrlItem("https://example.org/")])
    b.add_records((pair.folders["b"].update_own(left=True),))
    a.learn_topology(b._answer_topology("a", b""))
    assert a.topology.names == ("a",)
    assert not a.alive()
    assert not a.outbox_reader.pending("b")


def test_a_token_survives_and_nonsense_is_refused(pair: _Federation) -> None:
    text = pair.folders["a"].token()
    token = decode_token(f"  {text}\n")
    assert (token.site, token.address, token.network) == ("a", "127.0.0.1:7000", "test")
    for bad in ("", "periplus-site-", "periplus-site-!!!", text[:-20], "x" * 10_000):
        with pytest.raises(BadInput):
            decode_token(bad)


def test_what_is_announced_is_not_read_again(pair: _Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    node = pair.nodes["a"]
    node.send_data("statistics", "interests", b"first")
    node.step()
    read: list[Path] = []
    real = site_data.read_file
    monkeypatch.setattr(site_data, "read_file", lambda path: read.append(path) or real(path))
    for _ in range(3):
        node.step()
        node.status()
    own = node.folder.path  # The other site reads what it received whenever that arrives.
    assert not [path for path in read if path.suffix == ".bin" and path.is_relative_to(own)]
    before = node.data.versions()["interests"]
    node.data.set("interests", b"second")
    assert node.data.versions()["interests"].version == before.version + 1
    (node.folder.path / "data" / "interests.bin").write_bytes(b"damaged")
    assert "interests" not in node.data.versions()
