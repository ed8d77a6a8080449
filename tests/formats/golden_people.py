"""What people leave in a data folder, as golden files: keys, deletions, pages handed in, judgements, clicks."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import numpy as np

from formats.golden_files import NOW, GoldenFormat, content, plain
from formats.golden_store import DAY, fetched_page
from periplus.app.administration.change_log import ChangeLog
from periplus.app.administration.job_schedule import JobSchedule
from periplus.arrays import ArrayFile
from periplus.crawl import block_host, blocked_hosts
from periplus.errors import DataError
from periplus.evaluate import read_quality as kept_quality
from periplus.evaluate import report
from periplus.evaluate.comparison import Comparison, QueryChange
from periplus.evaluate.experiment import Evaluation, Result
from periplus.evaluate.report import record_quality
from periplus.files import encode_json, make_folder, write_atomically
from periplus.health import part
from periplus.index import read_schema, write_schema
from periplus.index.own_fields.field_columns import Sources
from periplus.index.own_fields.field_columns import write_own_fields as write_own
from periplus.index.own_fields.own_fields import OwnFields, check_own_fields
from periplus.publish import (
    CollectionCatalog,
    ContentFiles,
    ContentPublisher,
    DeletionList,
    DocumentConverter,
    Inbox,
    Publication,
)
from periplus.records import FetchRecord
from periplus.result_rules import RuleStore
from periplus.search import Snapshot, list_snapshots
from periplus.search.pinning.snapshot_files import snapshot_settings
from periplus.serve.api_keys import ApiKeys
from periplus.settings import FieldSettings, Settings
from periplus.signals import Click, Judgement, read_clicks, read_judgements, write_click, write_judgement
from periplus.signals.popular_queries import PopularQueries


def write_keys(folder: Path) -> None:
    """Make two keys, and one that is limited to collections."""
    keys = ApiKeys(folder)
    keys.add("editor", "publish")
    keys.add("operator", "admin")
    keys.add("shop", "read", ("lamps", "lamps_*"))


def read_keys(folder: Path) -> Any:
    """Return the keys and a signature."""
    keys = ApiKeys(folder)
    listed = plain(keys.all())
    for key in listed:  # before version 3, no key had any
        key["collections"] or key.pop("collections")
    return {"keys": listed, "signature": keys.sign("text")}


def write_collections(folder: Path) -> None:
    """Create two collections, one of them public, and an alias."""
    catalog = CollectionCatalog(folder)
    catalog.create("charts", public=True)
    catalog.create("lamps_1", public=False)
    catalog.change_aliases({"lamps": "lamps_1"})
    shutil.rmtree(folder / "collections")


def read_collections(folder: Path) -> Any:
    """Return them, and what the alias stands for."""
    catalog = CollectionCatalog(folder)
    return {"all": plain(catalog.all()), "aliases": catalog.aliases(), "lamps": plain(catalog.find("lamps"))}


def write_deleted(folder: Path) -> None:
    """Delete three pages and take one back."""
    deleted = DeletionList(folder)
    deleted.add(["http://harbour.test/old", "http://harbour.test/older", "http://light.test/"])
    deleted.remove(["http://light.test/"])


def read_deleted(folder: Path) -> Any:
    """Return the list."""
    return plain(dict(DeletionList(folder).pages()))


def write_published(folder: Path) -> None:
    """Publish a text with all its metadata, and describe a film."""
    publisher = ContentPublisher(folder, Settings().parse, lambda _: None)
    publisher.publish(Publication("Tides", "High water.", "", "When", "Pytheas", "2026-05-31", ("sea",), "en"), "key")
    publisher.publish(Publication("Film", url="http://harbour.test/film.mp4", description="Ships"))
    for url in ("http://harbour.test/one", "http://harbour.test/two"):
        publisher.publish(Publication("Twice", "The same text.", url))


def read_published(folder: Path) -> Any:
    """Return the content and its metadata."""
    files = ContentFiles(folder)
    names = sorted(path.stem for path in folder.glob("published/*/*.json"))
    found = [(plain(files.find(name)), (files.read(name) or b"").decode()) for name in names]
    # The first edition has no other URLs.
    return [[{k: v for k, v in known.items() if k != "other_urls" or v}, text] for known, text in found]


def write_rules(folder: Path) -> None:
    """Store two rule sets, one of them for everybody."""
    store = RuleStore(folder)
    store.add("---\nname: Farms\n---\n*://*.farm.test/*\nraise light.test 4\n", name="mine")
    store.set_server_ids([store.add("! name: Light first\n$boost=3,site=light.test\n$discard\n").id])


def read_rules(folder: Path) -> Any:
    """Return both."""
    store = RuleStore(folder)
    ids = sorted({path.stem for path in (folder / "rules").glob("*.json")} - {"server"})
    return {"server": list(store.server_ids()), "sets": [plain(store.get(own)) for own in ids]}


def write_operations(folder: Path) -> None:
    """Schedule two jobs, one of which failed, block a host, and log a change."""
    schedule = JobSchedule(folder)
    schedule.set("recrawl", 24, 30)
    schedule.begin("build")
    schedule.end("build", "There is no room for it.", failed=True)
    block_host(folder, "farm.test")
    ChangeLog(folder).add("operator", "block a host", "farm.test")


def read_operations(folder: Path) -> Any:
    """Return all of it."""
    changes, jobs = ChangeLog(folder).latest(), JobSchedule(folder).jobs()
    return {"jobs": plain(jobs), "blocked": list(blocked_hosts(folder)), "changes": plain(changes)}


def write_inbox(folder: Path) -> None:
    """Put in a page that is indexed, one that is not, and one that is gone."""
    inbox = Inbox(folder)
    inbox.add_record(fetched_page(0)[0])
    for path, _ in list(inbox.pending_records()):
        inbox.mark_indexed(path)
    inbox.add_record(fetched_page(1)[0])
    inbox.withdraw_page("http://harbour.test/gone")


def read_inbox(folder: Path) -> Any:
    """Return what waits, and what is indexed."""
    part("inbox").recover()
    inbox = Inbox(folder)
    indexed = inbox.find_record(fetched_page(0)[0].key)
    waits = [plain(visit) for _, visits in inbox.pending_records() for visit in visits]
    if part("inbox").health.is_failing():  # it stays in the inbox and holds up no other page
        raise DataError(part("inbox").health.error)
    return {"waits": waits, "indexed": plain(indexed)}


_DOCUMENTS = (
    b'{"id": 1, "title": "Lamp", "text": "Brass.", "brand": ["acme", "kite"], "price": 9.5, "released": "2024-01-05"}',
    b'{"id": "2", "name": "Rope", "brand": "acme", "in_stock": true, "links": ["http://light.test/"], "more": [1, {}]}',
    b'{"url": "http://light.test/3", "title": "Fog horn", "popularity": 0.5, "details": "Loud."}',
)
_FIELDS = {
    "brand": FieldSettings("keyword"),
    "price": FieldSettings("number", sort=False),
    "in_stock": FieldSettings("boolean"),
    "released": FieldSettings("date", facet=False),
    "details": FieldSettings("text"),
}


def _documents() -> list[FetchRecord]:
    converter = DocumentConverter(_FIELDS)
    return [msgspec.structs.replace(converter.convert(raw), when=DAY) for raw in _DOCUMENTS]


def write_batches(folder: Path) -> None:
    """Put in a batch of documents that is indexed, and one that is not."""
    inbox = Inbox(folder)
    inbox.add_batch(_documents()[:2])
    for path, _ in list(inbox.pending_records()):
        inbox.mark_indexed(path)
    inbox.add_batch(_documents()[2:])


def read_batches(folder: Path) -> Any:
    """Return what waits, and a document that is indexed as it was sent."""
    part("inbox").recover()
    inbox = Inbox(folder)
    indexed = inbox.find_record(_documents()[1].key)
    waits = [plain(visit) for _, visits in inbox.pending_records() for visit in visits]
    if part("inbox").health.is_failing():
        raise DataError(part("inbox").health.error)
    return {"waits": waits, "indexed": plain(indexed)}


def write_own_fields(folder: Path) -> None:
    """Write the own fields of a segment, and the schema of its index."""
    records = _documents()
    write_schema(folder, _FIELDS)
    raws = [record.page.own_fields.encode() if record.page else b"" for record in records]
    start = np.cumsum([0, *map(len, raws)], dtype=np.int64)
    sources = Sources(start, np.frombuffer(b"".join(raws), np.uint8))
    write_own(folder, sources, np.array([record.content for record in records], np.uint64), _FIELDS)


def read_own_fields(folder: Path) -> Any:
    """Return schema, objects, columns and sets."""
    file = ArrayFile(folder / "own_fields.arrays", "own_fields")
    check_own_fields(file, len(_DOCUMENTS), DataError)
    own, schema = OwnFields(file, len(_DOCUMENTS)), read_schema(folder)
    return {
        "schema": plain(schema),
        "objects": [own.source(document).decode() for document in range(len(_DOCUMENTS))],
        "content": own.content.tolist(),
        "acme": own.with_words("brand", schema["brand"], ["acme"]).tolist(),
        "priced": own.in_range("price", schema["price"], 1.0, 10.0).tolist(),
        "dated": own.with_any("released", schema["released"]).tolist(),
    }


def write_signals(folder: Path) -> None:
    """Keep judgements and clicks."""
    for grade in (1, 3):
        write_judgement(folder, Judgement("tides", "http://harbour.test/tides", grade, DAY))
    write_judgement(folder, Judgement("fog", "http://light.test/fog", 4, DAY))
    write_click(folder, Click("tides", "http://harbour.test/tides", 1))
    shown = ("http://light.test/fog", "http://harbour.test/")
    write_click(folder, Click("fog", "http://light.test/fog", 2, shown, DAY, 9))


def read_signals(folder: Path) -> Any:
    """Return them."""
    return {"judgements": plain(read_judgements(folder)), "clicks": plain(list(read_clicks(folder)))}


def write_popular(folder: Path) -> None:
    """Count a text that many ask for, and one that few do."""
    popular = PopularQueries(folder / "popular", 3)
    for visitor in range(5):
        popular.count(b"tide table", f"192.0.2.{visitor}", NOW)
    popular.count(b"fog", "192.0.2.1", NOW)
    popular.synchronize(NOW)


def read_popular(folder: Path) -> Any:
    """Return what may be told, and count once more: visitors of the day are remembered."""
    popular = PopularQueries(folder / "popular", 3)
    before = popular.complete(b"ti", 5)
    for visitor in range(3):
        popular.count(b"fog", f"192.0.2.{visitor}", NOW)
    popular.synchronize(NOW)
    return {"before": plain(before), "after": plain(popular.complete(b"f", 5))}


def write_quality(folder: Path) -> None:
    """Keep the figures of two evaluations."""
    moved = QueryChange("q1", "tides", 0.25, 0.5)
    comparison = Comparison("bm25", 0.1, 0.2, 0.05, 0.15, 0.01, 3, 1, 2, (moved,), (moved,))
    results = (Result("bm25", "BM25", 0.5, 0.75, 0.625, 1.5), Result("all", "All", 0.6, 0.8, 0.7, 2.0, "", comparison))
    with mock.patch.object(report, "datetime") as clock:
        clock.now.return_value = datetime.fromtimestamp(NOW, UTC)
        for collection in ("coast", "harbour"):
            record_quality(folder, [Evaluation(collection, 100, 6, results, {"bm25": [0.5], "all": [0.6]})])


def read_quality(folder: Path) -> Any:
    """Return the figures, and the short form of all there were."""
    return [content(kept_quality(folder)[0] or {}), plain(kept_quality(folder)[1])]


def write_snapshots(folder: Path) -> None:
    """Describe a snapshot, and one of a date."""
    for name, date in (("may", "2026-05-01"), ("spring", "")):
        settings = {"search": {"snippet_chars": 40, "forgotten": True}, "rank": {}}
        make_folder(folder / "snapshots" / name)
        described = Snapshot(1, name, NOW, 7, 30, date, settings)
        write_atomically(folder / "snapshots" / name / "snapshot.json", encode_json(described))


def read_snapshots(folder: Path) -> Any:
    """Return both, with the day of each and a setting of its searches."""
    return [
        [plain(one), one.today, snapshot_settings(one, Settings()).search.snippet_chars]
        for one in list_snapshots(folder)
    ]


FORMATS = (
    GoldenFormat("keys", write_keys, read_keys),
    GoldenFormat("collections", write_collections, read_collections),
    GoldenFormat("batches", write_batches, read_batches, tolerant=("inbox/*",)),
    GoldenFormat("own-fields", write_own_fields, read_own_fields, unnumbered=("own_fields.arrays",)),
    GoldenFormat("deleted", write_deleted, read_deleted),
    GoldenFormat(
        "published", write_published, read_published, tolerant=("published/urls/*",), unnumbered=("published/*/*",)
    ),
    GoldenFormat("rules", write_rules, read_rules),
    GoldenFormat("operations", write_operations, read_operations, tolerant=("changes.jsonl",)),
    GoldenFormat("snapshots", write_snapshots, read_snapshots),
    GoldenFormat("inbox", write_inbox, read_inbox, tolerant=("inbox/*",)),
    GoldenFormat("signals", write_signals, read_signals, tolerant=("*.jsonl",)),
    GoldenFormat(
        "popular", write_popular, read_popular, tolerant=("popular/*",), unnumbered=("popular/s*", "popular/marks-*")
    ),
    GoldenFormat("quality", write_quality, read_quality, tolerant=("quality/*",)),
)
