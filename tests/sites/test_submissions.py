"""Pages that are published at one site and indexed by another: sent once they are on disk, found through both."""

import time
from pathlib import Path

import pytest
from engine_world import EngineWorld, await_bounds
from made_sites import SETTINGS
from site_fixtures import NETWORK, make_sites

from periplus.app.serving.server_actions import server_actions
from periplus.errors import BadInput, Overloaded
from periplus.hashing import fingerprint_text
from periplus.index import LiveIndex
from periplus.publish import Inbox, make_published_record, publish_pending
from periplus.records import FetchRecord, Outcome, Query
from periplus.serve import PublishRequest
from periplus.sites import ReceivedSubmissions, SubmissionRouter
from periplus.sites.exchange.received_pages import encode_page
from periplus.sites.messaging.batches import Batch, BatchHeader, decode_batch
from periplus.sites.messaging.outbox import Outbox, OutboxReader


class _Router:
    """The router of site a, whose pages would all be indexed by b, then c."""

    def __init__(self, folder: Path, max_bytes: int = 1 << 20) -> None:
        self.here: set[int] = set()
        self.placed: dict[int, str] = {}
        self.folder, self.alive, self.sites = folder, {"b", "c"}, {"a", "b", "c"}
        self.ranking: tuple[str, ...] = ("b", "c", "a")
        self.topology, keys = make_sites(folder, ("a", "b", "c"))
        self.outbox = Outbox(folder / "outbox", "site", keys["a"], NETWORK, "a", max_bytes)
        self.open()

    def open(self) -> None:
        self.router = SubmissionRouter(
            self.folder,
            self.outbox,
            "a",
            lambda: self.sites,
            lambda: self.alive,
            lambda record: self.ranking,
            lambda key: fingerprint_text(self.placed[key]) if key in self.placed else None,
            self.here.__contains__,
        )

    def sent(self, receiver: str) -> list[tuple[str, Outcome]]:
        reader, sent = OutboxReader(self.folder / "outbox"), []

        def note(record: FetchRecord) -> None:
            sent.append((record.url, record.outcome))

        for entry in reader.pending(receiver):
            body = reader.read(entry)
            assert body is not None
            batch = decode_batch(body, self.topology, receiver, 1 << 20)
            assert batch.header.sink == "submissions"
            ReceivedSubmissions(note).apply(batch)
        return sent


def _gone(record: FetchRecord) -> FetchRecord:
    return FetchRecord(record.url, record.key, Outcome.GONE, time.time(), 410)


def test_a_page_its_versions_and_its_withdrawal_go_to_one_master(tmp_path: Path) -> None:
    made = _Router(tmp_path)
    first = make_published_record("Tides", "High water at noon.", "https://x.example/1")
    assert made.router.submit(first) is None
    made.ranking, made.alive = ("c", "b", "a"), {"c"}
    made.open()  # Another process.
    assert made.router.submit(make_published_record("Tides", "At one.", "https://x.example/1")) is None
    assert made.router.submit(_gone(first)) is None
    assert made.sent("b") == [(first.url, Outcome.OK)] * 2 + [(first.url, Outcome.GONE)]
    assert not made.sent("c")


def test_a_page_whose_master_is_silent_or_full_is_indexed_where_it_was_published(tmp_path: Path) -> None:
    made = _Router(tmp_path, max_bytes=2_000)
    made.alive = {"c"}
    made.ranking = ("b", "a")
    page = make_published_record("Tides", "High water at noon.")
    kept = made.router.submit(page)
    assert kept is not None
    assert kept.forwarded  # It is not placed again as if it had been fetched.
    assert made.router.submit(_gone(page)) is not None
    made.alive, made.ranking = {"b", "c"}, ()
    assert made.router.submit(make_published_record("Nothing", "that anybody asks for")) is not None
    made.ranking = ("b",)
    long = make_published_record("Long", "".join(chr(200 + n * n % 9_000) for n in range(3_000)))
    assert made.router.submit(long) is not None
    assert not made.sent("b")


def test_what_cannot_be_sent_to_the_master_of_a_page_is_refused(tmp_path: Path) -> None:
    made = _Router(tmp_path, max_bytes=2_000)
    page = make_published_record("Tides", "High water at noon.", "https://x.example/1")
    assert made.router.submit(page) is None
    long = make_published_record("Long", "".join(chr(200 + n * n % 9_000) for n in range(3_000)), page.url)
    with pytest.raises(Overloaded):
        made.router.submit(long)  # Indexed here, it would be found twice.
    while made.outbox.append("b", "submissions", [encode_page(page)]):
        pass
    with pytest.raises(Overloaded):
        made.router.submit(_gone(page))  # Applied here only, the page would stay where it is.
    assert [entry[0] for entry in made.sent("b")] == [page.url] * len(made.sent("b"))
    other = make_published_record("New", "Nobody has it.", "https://x.example/2")
    assert made.router.submit(other) is not None


def test_a_page_that_was_here_before_the_site_joined_keeps_its_master(tmp_path: Path) -> None:
    made = _Router(tmp_path)
    page = make_published_record("Tides", "High water at noon.", "https://x.example/1")
    fetched = make_published_record("Moles", "Fetched here, indexed by c.", "https://x.example/2")
    made.here.add(page.key)
    made.placed[fetched.key] = "c"
    assert made.router.submit(page) is not None
    assert made.router.submit(fetched) is None
    made.here.clear()
    made.placed.clear()
    made.open()
    assert made.router.submit(_gone(page)) is not None
    assert made.router.submit(_gone(fetched)) is None
    assert not made.sent("b")
    assert [outcome for _, outcome in made.sent("c")] == [Outcome.OK, Outcome.GONE]


def test_a_page_of_a_site_that_has_left_gets_another_master(tmp_path: Path) -> None:
    made = _Router(tmp_path)
    page = make_published_record("Tides", "High water at noon.")
    assert made.router.submit(page) is None
    made.sites = made.alive = {"a", "c"}
    assert made.router.submit(page) is None
    assert [url for url, _ in made.sent("c")] == [page.url]


def test_a_deleted_page_does_not_hold_up_a_batch(tmp_path: Path) -> None:
    published: list[str] = []

    def publish(record: FetchRecord) -> None:
        if record.page is not None and record.page.title == "deleted":
            raise BadInput("It was deleted.")
        published.append(record.url)

    records = [make_published_record(title, title) for title in ("one", "deleted", "two")]
    header = BatchHeader("n", "a", "b", "submissions", "l", 1, 3, 1)
    ReceivedSubmissions(publish).apply(Batch(header, [encode_page(record) for record in records]))
    assert published == [records[0].url, records[2].url]


def test_a_page_published_at_one_site_is_indexed_by_its_master_and_found_through_both(tmp_path: Path) -> None:
    """By the actions of a server, over outbox, sink and inbox, until it is withdrawn where it was published."""
    inbox = Inbox(tmp_path / "site-1")
    world = EngineWorld(tmp_path, {"site-1": {"submissions": ReceivedSubmissions(inbox.add_record).apply}})
    try:
        await_bounds(world)
        node, engine = world.nodes["site-0"], world.engines["site-0"]
        router = SubmissionRouter(
            node.folder.path,
            node.outbox,
            node.name,
            lambda: node.topology.names,
            node.alive,
            lambda record: ("site-1", "site-0"),
        )
        actions = server_actions(tmp_path / "site-0", engine, SETTINGS, router.submit)
        assert actions.publish is not None
        assert actions.unpublish is not None
        receipt = actions.publish(PublishRequest("Regatta", "A regatta of barges on the estuary."))
        assert not Inbox(tmp_path / "site-0").has_pending()
        with LiveIndex(tmp_path / "site-1" / "index", SETTINGS.index, background=False) as live:
            _exchange(world, inbox, live)
            for site in world.engines.values():
                assert [hit.url for hit in site.search(Query("regatta")).hits] == [receipt.url]
            actions.unpublish(receipt.id)
            _exchange(world, inbox, live)
            for site in world.engines.values():
                assert not site.search(Query("regatta")).hits
    finally:
        world.close()


def _exchange(world: EngineWorld, inbox: Inbox, live: LiveIndex) -> None:
    """Return when the master has indexed what was sent, and both searchers know."""
    limit = time.monotonic() + 120
    generation = live.manifest.generation
    while live.manifest.generation == generation:
        world.turn()
        publish_pending(live, inbox)
        live.publish()
        assert time.monotonic() < limit
    while any(
        engine._federated is None or engine._federated.collection.descriptions[1].generation != live.manifest.generation
        for engine in world.engines.values()
    ):
        for engine in world.engines.values():
            engine._refreshed = 0.0
        world.turn()
        assert time.monotonic() < limit


@pytest.mark.parametrize("number", range(3))
def test_garbage_is_refused(number: int) -> None:
    from periplus.errors import BadBatch
    from periplus.sites.messaging.batches import PageItem

    items = [PageItem(b""), PageItem(b"x", b"", "0" * 64), PageItem(b"x" * 100, b"y", "")]
    header = BatchHeader("n", "a", "b", "submissions", "l", 1, 1, 1)
    with pytest.raises(BadBatch):
        ReceivedSubmissions(lambda record: None).apply(Batch(header, [items[number]]))
