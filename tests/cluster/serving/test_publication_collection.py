"""Publications on their way into a build: in the log or in the build at every moment, whatever is killed in between."""

import time
from pathlib import Path
from typing import Any

import pytest

from periplus.cluster import (
    PublicationLog,
    append_collected,
    collect_publications,
    join_collected,
    new_attempt,
    remove_built,
    save_set,
)
from periplus.cluster.serving import publication_collection
from periplus.cluster.serving.publication_collection import read_set, remove_sets
from periplus.cluster.serving.publication_log import encode_publication
from periplus.crawl import HostPartitioner
from periplus.errors import CorruptFile, StorageConflict
from periplus.publish import make_published_record
from periplus.records import FetchRecord, Outcome
from periplus.settings import Settings, StorageSettings
from periplus.storage import Storage, open_storage
from periplus.store import PageStore

STORE = Settings().store
Built = dict[int, dict[str, FetchRecord]]
HOSTS = [f"host{number}.test" for number in range(12)]


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(f"file://{tmp_path}/storage", StorageSettings(retry_seconds=0.0), create=True)


def publish(storage: Storage, owners: tuple[int, ...], *urls: str, text: str = "fog") -> None:
    """Publish pages while some shards own all hosts."""
    partitioner = HostPartitioner(owners)
    for url in urls:
        record = make_published_record("Fog", text, url)
        PublicationLog(storage, partitioner.owner(url.split("/")[2])).add(encode_publication(record))


def withdraw(storage: Storage, shard: int, url: str) -> None:
    page = make_published_record("Fog", "fog", url)
    PublicationLog(storage, shard).add(
        encode_publication(FetchRecord(page.url, page.key, Outcome.GONE, time.time(), 410))
    )


def build(
    storage: Storage, folder: Path, generation: int, shards: tuple[int, ...]
) -> dict[int, dict[str, FetchRecord]]:
    """Collect, append and record, as build units do; return the published pages that each shard is built with."""
    attempt = new_attempt(generation)
    collected = join_collected(
        collect_publications(storage, shard, shards, generation - 1, attempt, folder / f"scratch-{shard}")
        for shard in shards
    )
    pages = {}
    for shard in shards:
        target = folder / f"{attempt}-{shard}"
        append_collected(storage, collected.parts.get(shard, ()), target, STORE, None)
        pages[shard] = stored(target)
    save_set(storage, generation, collected)
    return pages


def stored(folder: Path) -> dict[str, FetchRecord]:
    if not (folder / "store").exists():
        return {}
    with PageStore.open(folder / "store", STORE) as store:
        records = list(store.records())
    assert len({record.url for record in records}) == len(records), "each page is there once"
    return {record.url: record for record in records}


def pages_of(built: Built) -> dict[str, FetchRecord]:
    """Return the pages of all shards; none is in two of them."""
    pages = {url: record for records in built.values() for url, record in records.items()}
    assert len(pages) == sum(map(len, built.values()))
    return pages


def logged(storage: Storage, *shards: int) -> int:
    return sum(len(PublicationLog(storage, shard).names()) for shard in shards)


def test_publications_are_collected_and_removed_when_they_are_served(storage: Storage, tmp_path: Path) -> None:
    urls = [f"https://{host}/" for host in HOSTS]
    publish(storage, (0, 1), *urls[:8])
    assert pages_of(build(storage, tmp_path, 1, (0, 1))).keys() == set(urls[:8])
    publish(storage, (0, 1), *urls[8:])  # during the build
    assert logged(storage, 0, 1) == 12
    assert remove_built(storage, 1) == 8
    assert remove_built(storage, 1) == 0
    assert logged(storage, 0, 1) == 4
    assert pages_of(build(storage, tmp_path, 2, (0, 1))).keys() == set(urls)
    assert pages_of(build(storage, tmp_path, 3, (0, 1))).keys() == set(urls), "logs are not trimmed yet"
    assert remove_built(storage, 3) == 4
    assert pages_of(build(storage, tmp_path, 4, (0, 1))).keys() == set(urls)


def test_pages_and_withdrawals_follow_hosts_that_move(storage: Storage, tmp_path: Path) -> None:
    urls = [f"https://{host}/" for host in HOSTS]
    publish(storage, (0, 1, 2), *urls)
    build(storage, tmp_path, 1, (0, 1, 2))
    remove_built(storage, 1)
    moved = next(url for url in urls if HostPartitioner((0, 1, 2)).owner(url.split("/")[2]) == 2)
    withdraw(storage, 2, moved)  # the last thing that shard 2 hears before it leaves
    for generation, shards in ((2, (0, 1)), (3, (1, 4, 5)), (4, (3,))):
        built = build(storage, tmp_path, generation, shards)
        partitioner = HostPartitioner(shards)
        assert all(partitioner.owner(url.split("/")[2]) == shard for shard, pages in built.items() for url in pages)
        pages = pages_of(built)
        assert pages.keys() == set(urls)
        assert pages[moved].outcome is Outcome.GONE
        remove_built(storage, generation)
        assert logged(storage, 0, 1, 2) == 0


def test_the_latest_version_and_a_withdrawal_count(storage: Storage, tmp_path: Path) -> None:
    one, two = "https://a.test/1", "https://a.test/2"
    publish(storage, (0,), one, two)
    build(storage, tmp_path, 1, (0,))
    publish(storage, (0,), one, text="later fog")
    withdraw(storage, 0, two)
    for generation in (2, 3):
        pages = build(storage, tmp_path, generation, (0,))[0]
        page = pages[one].page
        assert page is not None
        assert page.text == "later fog"
        assert pages[two].outcome is Outcome.GONE


def test_what_was_fetched_after_it_was_published_stays_as_it_was_fetched(storage: Storage, tmp_path: Path) -> None:
    urls = ["https://a.test/old", "https://a.test/new", "https://a.test/gone"]
    publish(storage, (0,), *urls)
    collected = collect_publications(storage, 0, (0,), 0, new_attempt(1), tmp_path / "scratch")
    with PageStore.open(tmp_path / "crawl", STORE, write=True) as crawl:
        for url, age, outcome in zip(
            urls, (-1000.0, 1000.0, 1000.0), (Outcome.OK, Outcome.OK, Outcome.GONE), strict=True
        ):
            record = make_published_record("Rain", "rain", url)
            crawl.append(FetchRecord(record.url, record.key, outcome, record.when + age, 200, page=record.page))
        crawl.commit()
    with PageStore.open(tmp_path / "crawl", STORE) as crawl:
        assert append_collected(storage, collected.parts[0], tmp_path / "build", STORE, crawl) == 1
    assert list(stored(tmp_path / "build")) == urls[:1]


def test_a_build_that_is_killed_loses_nothing_and_leaves_nothing(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = [f"https://{host}/" for host in HOSTS]
    publish(storage, (0,), *urls)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(publication_collection, "encode_json", killed)  # all is stored but the record of the set
        with pytest.raises(KeyboardInterrupt):
            build(storage, tmp_path, 1, (0,))
    assert read_set(storage, 1).parts == {}
    assert remove_built(storage, 1) == 0
    build(storage, tmp_path, 1, (0,))
    with pytest.raises(StorageConflict):
        save_set(storage, 1, read_set(storage, 1))  # another build of the same generation
    before = storage.list_objects("publication-sets")
    remove_sets(storage, 1, ())
    after = storage.list_objects("publication-sets")
    assert len(after) == 3 < len(before), "one part, the names in logs, the record"
    assert remove_built(storage, 1) == len(urls)
    build(storage, tmp_path, 2, (0,))
    remove_sets(storage, 2, (1,))
    assert read_set(storage, 1).parts
    remove_sets(storage, 2, ())
    assert not read_set(storage, 1).parts
    assert pages_of(build(storage, tmp_path, 3, (0,))).keys() == set(urls)


def test_what_is_killed_while_removing_is_removed_later(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(storage, (0,), *(f"https://a.test/{number}" for number in range(3)))
    build(storage, tmp_path, 1, (0,))
    first, *_ = PublicationLog(storage, 0).names()

    def killed(self: PublicationLog, names: Any) -> None:
        self._storage.delete([self._path(first)])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PublicationLog, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_built(storage, 1)
    assert remove_built(storage, 1) == 2
    assert logged(storage, 0) == 0


def test_a_damaged_publication_stays_in_the_log(storage: Storage, tmp_path: Path) -> None:
    publish(storage, (0,), "https://a.test/1", "https://a.test/2")
    damaged = next(iter(PublicationLog(storage, 0).names()))
    (tmp_path / "storage" / "shards" / "00" / "publications" / damaged[:8] / damaged).write_bytes(b"?")
    assert len(build(storage, tmp_path, 1, (0,))[0]) == 1
    assert remove_built(storage, 1) == 1
    assert logged(storage, 0) == 1


def test_a_damaged_set_stops_the_build(storage: Storage, tmp_path: Path) -> None:
    """Its pages are in no log any more: a build without them would lose them."""
    publish(storage, (0,), "https://a.test/1")
    build(storage, tmp_path, 1, (0,))
    part = read_set(storage, 1).parts[0][0]
    (tmp_path / "storage" / part.name).write_bytes(b"?" * part.length)
    with pytest.raises(CorruptFile, match="damaged"):
        build(storage, tmp_path, 2, (0,))
    assert not read_set(storage, 2).parts


def test_many_pages_are_divided_into_parts(storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication_collection, "_PART_BYTES", 2_000)
    urls = [f"https://{host}/{number}" for host in HOSTS for number in range(3)]
    publish(storage, (0, 1), *urls)
    for generation in (1, 2):
        assert pages_of(build(storage, tmp_path, generation, (0, 1))).keys() == set(urls)
        parts = read_set(storage, generation).parts
        assert all(len(objects) > 1 for objects in parts.values())
        assert max(part.length for objects in parts.values() for part in objects) < 3_000
