"""Published content between sites: by its hash from any site that has it, whatever others claim."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from periplus.app.sites.shared_content import share_content
from periplus.publish import ContentPublisher, Publication
from periplus.settings import Settings
from periplus.sites import ContentExchange, LocalNetwork, SharedContent
from periplus.sites.exchange import content_exchange

LONG = bytes(range(256)) * 5_000
NAMES = ("a", "b", "c")


def _id(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _shared(content: bytes, **changes: object) -> SharedContent:
    return SharedContent({"id": _id(content), "bytes": len(content), "title": "Tides"} | changes, content)


class _World:
    """Sites a, b and c; `has` is what each has."""

    def __init__(self) -> None:
        self.network = LocalNetwork()
        self.has: dict[str, dict[str, SharedContent]] = {name: {} for name in NAMES}
        self.asked: list[str] = []
        self.exchanges = {}
        for name in NAMES:
            transport = self.network.join(name)
            others = [other for other in NAMES if other != name]
            self.exchanges[name] = ContentExchange(transport, self._reader(name), lambda others=others: others)  # type: ignore[misc]
            transport.start_delivery()

    def _reader(self, name: str) -> Callable[[str], SharedContent | None]:
        def read(identifier: str) -> SharedContent | None:
            self.asked.append(name)
            return self.has[name].get(identifier)

        return read

    def close(self) -> None:
        for exchange in self.exchanges.values():
            exchange._transport.close()


@pytest.fixture
def world() -> Iterator[_World]:
    made = _World()
    yield made
    made.close()


@pytest.mark.parametrize("content", [b"", b"High water at noon.", LONG])
def test_content_comes_from_any_site_that_has_it(world: _World, content: bytes) -> None:
    world.has["c"][_id(content)] = _shared(content)
    found = world.exchanges["a"].find(_id(content))
    assert found == _shared(content)
    assert "a" not in world.asked, "who asks has looked at home before"


@pytest.mark.parametrize(
    "false",
    [
        _shared(LONG)._replace(content=b"something else"),
        _shared(LONG)._replace(content=LONG[:-1]),
        _shared(LONG, id="0" * 64),
        _shared(LONG, bytes=1),
        _shared(LONG, title="x" * (300 << 10)),
    ],
)
def test_what_is_not_what_its_id_says_is_refused(world: _World, false: SharedContent) -> None:
    world.has["b"][_id(LONG)] = false
    assert world.exchanges["a"].find(_id(LONG)) is None
    world.exchanges["a"]._missing.clear()
    world.has["c"][_id(LONG)] = _shared(LONG)
    assert world.exchanges["a"].find(_id(LONG)) == _shared(LONG)


def test_what_nobody_has_is_not_asked_for_again_at_once(world: _World, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = world.exchanges["a"]
    assert [exchange.find("f" * 64) for _ in range(5)] == [None] * 5
    assert sorted(world.asked) == ["b", "c"]
    for identifier in ("", "F" * 64, "f" * 63, "../" + "f" * 61):
        assert exchange.find(identifier) is None
    assert len(world.asked) == 2
    monkeypatch.setattr(content_exchange, "_MAX_MISSING", 8)
    for number in range(20):
        exchange.find(f"{number:064x}")
    assert len(exchange._missing) <= 8
    monkeypatch.setattr(content_exchange, "_MAX_LOOKUPS", 0)
    world.has["b"][_id(LONG)] = _shared(LONG)
    assert exchange.find(_id(LONG)) is None, "too many are looked up already"


@pytest.mark.parametrize("reply", [b"garbage", msgspec.msgpack.encode([1 << 40, b"{}", b"x"]), b"\x93\x00"])
def test_garbage_of_a_site_is_no_content(world: _World, reply: bytes) -> None:
    world.exchanges["b"]._transport.serve("content", lambda sender, body: reply)
    world.has["c"][_id(LONG)] = _shared(LONG)
    assert world.exchanges["a"].find(_id(LONG)) == _shared(LONG)
    assert world.exchanges["c"]._answer("a", msgspec.msgpack.encode(["f" * 64, 0])) == b""


def test_what_is_published_at_one_site_is_had_by_its_id_at_another(tmp_path: Path) -> None:
    network = LocalNetwork()
    publisher = ContentPublisher(tmp_path, Settings().parse, lambda record: None)
    given = publisher.publish(Publication("Tides", "High water at noon."), "key", owns_all=False)
    identifier = given.metadata.id

    def published(name: str) -> SharedContent | None:
        metadata, content = publisher.find(name), publisher.read(name)
        return SharedContent(msgspec.to_builtins(metadata), content) if metadata and content is not None else None

    foreign: dict[str, SharedContent] = {}
    transports = [network.join(name) for name in ("a", "b")]
    share_content(published, transports[0], lambda: ["b"])
    find = share_content(foreign.get, transports[1], lambda: ["a"])
    for transport in transports:
        transport.start_delivery()
    try:
        found = find(identifier)
        assert found is not None
        assert (found.content, found.metadata["title"]) == (b"High water at noon.", "Tides")
        assert found.metadata["publisher"] == "", "whose key it was concerns the first site only"
        assert find("0" * 64) is None
        foreign[identifier] = _shared(b"own")
        assert find(identifier) == _shared(b"own")
    finally:
        for transport in transports:
            transport.close()
