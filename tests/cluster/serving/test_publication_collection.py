"""Publications on their way into a build: in the log or in the build at every moment, whatever is killed in between."""

import time
from pathlib import Path
from typing import Any

import pytest

from periplus.cluster import PublicationLog, collect_publications, mark_built, remove_built
from periplus.cluster.serving.publication_log import encode_publication
from periplus.publish import PublicationStore, make_published_record
from periplus.records import FetchRecord, Outcome
from periplus.settings import Settings, StorageSettings
from periplus.storage import Storage, open_storage
from periplus.store import PageStore

STORE = Settings().store


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(f"file://{tmp_path}/storage", StorageSettings(), create=True)


def publish(log: PublicationLog, *numbers: int, text: str = "fog") -> None:
    for number in numbers:
        log.add(encode_publication(make_published_record("Fog", text, f"https://a.test/{number}")))


def stored(folder: Path) -> dict[str, FetchRecord]:
    with PageStore.open(folder / "store", STORE) as store:
        return {record.url: record for record in store.records()}


def test_publications_are_collected_once_and_removed_when_they_are_served(storage: Storage, tmp_path: Path) -> None:
    log, folder = PublicationLog(storage, 0), tmp_path / "shard"
    publish(log, 1, 2)
    names = collect_publications(log, folder, STORE)
    assert len(names) == 2
    mark_built(storage, 0, 7, names)
    publish(log, 3)  # during the build
    assert remove_built(storage, 0, 6) == 0  # the generation is not served yet
    assert len(log.names()) == 3
    assert remove_built(storage, 0, 7) == 2
    assert remove_built(storage, 0, 7) == 0
    assert len(log.names()) == 1
    assert len(collect_publications(log, folder, STORE)) == 1
    assert sorted(stored(folder)) == [f"https://a.test/{n}" for n in (1, 2, 3)]


def test_the_latest_version_and_a_withdrawal_count(storage: Storage, tmp_path: Path) -> None:
    log, folder = PublicationLog(storage, 0), tmp_path / "shard"
    publish(log, 1, 2)
    publish(log, 1, text="later fog")
    gone = make_published_record("Fog", "fog", "https://a.test/2")
    log.add(encode_publication(FetchRecord(gone.url, gone.key, Outcome.GONE, time.time(), 410)))
    collect_publications(log, folder, STORE)
    pages = stored(folder)
    page = pages["https://a.test/1"].page
    assert page is not None
    assert page.text == "later fog"
    assert pages["https://a.test/2"].outcome is Outcome.GONE


@pytest.mark.parametrize("broken", ["append_all", "write_atomically"])
def test_what_is_killed_while_collecting_is_collected_again(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    log, folder = PublicationLog(storage, 0), tmp_path / "shard"
    publish(log, 1, 2)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if broken == "append_all":
            patch.setattr(PublicationStore, "append_all", killed)
        else:
            patch.setattr("periplus.cluster.serving.publication_collection.write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            collect_publications(log, folder, STORE)
    assert len(log.names()) == 2
    assert len(collect_publications(log, folder, STORE)) == 2
    assert sorted(stored(folder)) == ["https://a.test/1", "https://a.test/2"]


def test_what_is_killed_while_removing_is_removed_later(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    log = PublicationLog(storage, 0)
    publish(log, 1, 2, 3)
    first, *rest = log.names()
    mark_built(storage, 0, 7, [first])
    mark_built(storage, 0, 7, [first, *rest])  # built again, elsewhere

    def killed(self: PublicationLog, names: Any) -> None:
        self._storage.delete([self._path(first)])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PublicationLog, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_built(storage, 0, 8)
    assert remove_built(storage, 0, 8) == 2
    assert not log.names()


def test_a_damaged_publication_stays_in_the_log(storage: Storage, tmp_path: Path) -> None:
    log = PublicationLog(storage, 0)
    publish(log, 1, 2)
    damaged = next(iter(log.names()))
    (tmp_path / "storage" / "shards" / "00" / "publications" / damaged[:8] / damaged).write_bytes(b"?")
    assert len(collect_publications(log, tmp_path / "shard", STORE)) == 1
    assert len(log.names()) == 2
