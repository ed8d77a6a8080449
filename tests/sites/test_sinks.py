"""Sinks between sites: once in effect, bounded, checked, and never stopped by what a site sends."""

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from site_fixtures import NETWORK, SinkSite, file_handler, make_sites

from periplus.errors import BadBatch
from periplus.sites import LocalNetwork
from periplus.sites.messaging.applied_batches import WINDOW, AppliedBatches
from periplus.sites.messaging.batches import Batch, DataItem, UrlItem, decode_batch, encode_batch
from periplus.sites.messaging.outbox import Outbox, OutboxReader
from periplus.sites.messaging.sinks import SinkReceiver
from periplus.sites.messaging.transport import LinkFaults


class _Killed(Exception):
    """The process of a site ends here."""


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1 << 30),
    faults=st.builds(LinkFaults, loss=st.floats(0, 0.5), duplication=st.floats(0, 0.6), reordering=st.floats(0, 0.6)),
    steps=st.lists(
        st.sampled_from(["append", "append", "append", "send", "deliver", "kill", "die", "cut", "mend"]),
        min_size=5,
        max_size=40,
    ),
)
def test_every_batch_arrives_once_in_effect(
    tmp_path_factory: pytest.TempPathFactory, seed: int, faults: LinkFaults, steps: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("sinks")
    topology, keys = make_sites(folder, ("a", "b"))
    network = LocalNetwork(faults, seed)
    applied: list[str] = []
    dies: list[str] = []

    def on_apply(batch: Batch) -> None:
        applied.extend(item.url for item in batch.items)
        if dies:
            raise _Killed(dies.pop())  # after the effect, before it is recorded and acknowledged

    effects = folder / "effects"

    def start(name: str) -> SinkSite:
        handlers = {"urls": file_handler(effects, on_apply)}
        return SinkSite(network, folder / name, topology, keys[name], name, handlers)

    sites = {name: start(name) for name in ("a", "b")}
    sent: list[str] = []
    for step in [*steps, "mend"]:
        a, b = sites["a"], sites["b"]
        if step == "append":
            urls = [f"https://example.org/{len(sent) + i}" for i in range(2)]
            assert a.outbox.append("b", "urls", [UrlItem(url) for url in urls])
            sent += urls
        elif step == "send":
            a.sender.send_all("b")
        elif step == "deliver":
            try:
                b.transport.deliver_all()
            except _Killed:
                b.kill()
                sites["b"] = start("b")
        elif step == "kill":
            a.kill()
            sites["a"] = start("a")
        elif step == "die":
            dies[:] = ["now"]
        elif step == "cut":
            network.cut("a", "b")
        else:
            network.mend("a", "b")
    dies.clear()
    network.faults = LinkFaults(duplication=faults.duplication, reordering=faults.reordering)
    sites["a"].sender.send_all("b")
    sites["b"].transport.deliver_all()
    assert not OutboxReader(folder / "a" / "outbox").pending("b")
    effect = sorted(url for path in effects.iterdir() for url in path.read_text().split())
    assert effect == sorted(sent)
    # Without a process that ends between effect and record, nothing is even applied twice.
    assert len(applied) - len(sent) <= 2 * steps.count("die")
    for site in sites.values():
        site.kill()


def test_a_partition_in_the_middle_of_batches_loses_nothing(tmp_path: Path) -> None:
    topology, keys = make_sites(tmp_path, ("a", "b"))
    network = LocalNetwork()
    effects = tmp_path / "effects"
    a, b = (
        SinkSite(network, tmp_path / name, topology, keys[name], name, {"urls": file_handler(effects)})
        for name in ("a", "b")
    )
    for number in range(20):
        a.outbox.append("b", "urls", [UrlItem(f"https://example.org/{number}")])
    publish, count = a.transport.publish, iter(range(100))

    def cut_after_nine(site: str, subject: str, body: bytes, deadline: float) -> None:
        if next(count) == 9:
            network.cut("a", "b")
        publish(site, subject, body, deadline)

    a.transport.publish = cut_after_nine  # type: ignore[method-assign]
    assert a.sender.send_all("b") < 20
    assert "b" in a.sender.faults
    b.transport.deliver_all()
    network.mend("a", "b")
    a.sender.send_all("b")
    b.transport.deliver_all()
    assert len(list(effects.iterdir())) == 20
    assert not a.sender.faults


def test_a_full_outbox_drops_the_oldest_urls_and_refuses_pages(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    body = bytes(range(256)) * 8
    with Outbox(tmp_path / "outbox", "crawl", keys["a"], NETWORK, "a", max_bytes=20_000) as outbox:
        urls = [UrlItem(f"https://example.org/{number}/{'x' * 50}") for number in range(5)]
        for _ in range(200):
            assert outbox.append("b", "urls", urls)
        reader = OutboxReader(tmp_path / "outbox")
        size = reader.sizes()["b"]
        assert size.bytes <= 20_000
        assert size.dropped == 200 - size.batches > 0
        assert reader.pending("b")[0].number == size.dropped + 1
        pages = 0
        while outbox.append("b", "pages", [(os.urandom(2_000), b"", "")]):
            pages += 1
        assert reader.sizes()["b"].bytes <= 20_000
        waiting = [batch.sink for batch in reader.pending("b")]
        assert waiting.count("pages") == pages
        assert outbox.append("c", "pages", [(body, b"", "")])  # another site has room of its own
    assert reader.remove_receiver("b") == len(waiting)


def test_numbers_are_never_used_twice_after_a_restart(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    reader = OutboxReader(tmp_path / "outbox")
    seen = set()
    for _ in range(3):
        with Outbox(tmp_path / "outbox", "crawl", keys["a"], NETWORK, "a") as outbox:
            outbox.append("b", "urls", [UrlItem("https://example.org/")])
            (batch,) = reader.pending("b")
            assert (outbox.lane, batch.number) not in seen
            seen.add((outbox.lane, batch.number))
            reader.delete(batch)


def _receiver(
    folder: Path, names: tuple[str, ...] = ("a", "b", "c")
) -> tuple[SinkReceiver, dict[str, object], list[Batch]]:
    topology, keys = make_sites(folder, names)
    applied: list[Batch] = []
    receiver = SinkReceiver(folder / "b", "b", lambda: topology, {"urls": applied.append}, max_bytes=10_000)
    return receiver, dict(keys), applied


def _batch(key: object, **changes: object) -> bytes:
    arguments: dict[str, object] = {
        "key": key,
        "network": NETWORK,
        "sender": "a",
        "receiver": "b",
        "sink": "urls",
        "lane": "l",
        "number": 1,
        "items": [UrlItem("https://example.org/")],
    }
    return encode_batch(**{**arguments, **changes})  # type: ignore[arg-type]


def test_what_cannot_be_accepted_is_quarantined_and_the_rest_goes_on(tmp_path: Path) -> None:
    receiver, keys, applied = _receiver(tmp_path)
    good = _batch(keys["a"])
    bad = [
        b"",
        b"garbage" * 100,
        good[:-1],
        good[:40] + bytes([good[40] ^ 1]) + good[41:],
        _batch(keys["c"]),  # not signed by the sender
        _batch(keys["a"], network="another"),
        _batch(keys["a"], receiver="c"),
        _batch(keys["a"], sender="d"),
        _batch(keys["a"], sink="nothing"),
        _batch(keys["a"], sink="pages", items=[("not bytes", 1)]),
        _batch(keys["a"], items=[["https://example.org/", "deep"]]),
        _batch(keys["a"], number=0),
        _batch(keys["a"], items=[UrlItem("https://example.org/" + "x" * 20_000)]),  # larger than allowed
        _batch(keys["a"], items=[UrlItem("https://example.org/" + "x" * 1_000_000)]),  # small only when compressed
    ]
    for body in bad:
        receiver.receive("a", "urls", body)
    receiver.receive("c", "urls", good)  # came over the link of another site
    assert not applied
    assert receiver.quarantine.count() == len(bad) + 1
    receiver.receive("a", "urls", good)
    assert len(applied) == 1
    assert receiver.counts["a", "urls"].batches == 1
    assert receiver.counts["a", "urls"].refused == len(bad)


def test_the_quarantine_is_bounded(tmp_path: Path) -> None:
    receiver, _, _ = _receiver(tmp_path)
    for number in range(300):
        receiver.receive("a", "urls", b"x" * number)
    assert receiver.quarantine.count() == 256
    assert "299 bytes from a" in receiver.quarantine.last_reason()


def test_nothing_is_decompressed_before_the_signature_is_checked(tmp_path: Path) -> None:
    topology, keys = make_sites(tmp_path, ("a", "b"))
    bomb = _batch(keys["a"], items=[UrlItem("x" * 30_000_000)])
    assert len(bomb) < 100_000
    with pytest.raises(BadBatch, match="claims"):
        decode_batch(bomb, topology, "b", 1 << 20)
    with pytest.raises(BadBatch, match="signed"):
        decode_batch(bomb[:-1] + bytes([bomb[-1] ^ 1]), topology, "b", 1 << 20)


def test_a_site_that_has_left_is_not_accepted(tmp_path: Path) -> None:
    topology, keys = make_sites(tmp_path, ("a", "b"))
    gone = msgspec.structs.replace(
        topology, sites=(msgspec.structs.replace(topology.sites[0], left=True), topology.sites[1])
    )
    with pytest.raises(BadBatch, match="not a site"):
        decode_batch(_batch(keys["a"]), gone, "b", 1 << 20)


def test_applied_batches_are_remembered_in_bounded_space(tmp_path: Path) -> None:
    applied = AppliedBatches(tmp_path)
    for number in (1, 3, WINDOW + 3, WINDOW + 5):
        applied.add("a", "lane", number)
    again = AppliedBatches(tmp_path)
    assert again.novelty("a", "lane", WINDOW + 3) == "applied"
    assert again.novelty("a", "lane", WINDOW + 4) == "new"
    assert again.novelty("a", "lane", WINDOW + 6) == "new"
    assert again.novelty("a", "lane", 1) == "stale"
    assert again.novelty("a", "other", 1) == "new"
    assert again.novelty("b", "lane", 1) == "new"
    for number in range(40):
        again.add("a", f"lane-{number}", 10)
    assert (tmp_path / "a.json").stat().st_size < 64_000


def test_a_damaged_record_of_applied_batches_is_begun_again(tmp_path: Path) -> None:
    AppliedBatches(tmp_path).add("a", "lane", 5)
    (tmp_path / "a.json").write_bytes(b"{")
    assert AppliedBatches(tmp_path).novelty("a", "lane", 5) == "new"


def test_items_of_every_sink_survive(tmp_path: Path) -> None:
    topology, keys = make_sites(tmp_path, ("a", "b"))
    item = DataItem("thresholds", 7, b"\x00\xff")
    batch = decode_batch(_batch(keys["a"], sink="thresholds", items=[item]), topology, "b", 1 << 20)
    assert batch.items == [item]
