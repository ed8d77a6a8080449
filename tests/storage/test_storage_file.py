"""Objects and records of a storage on a shared disk."""

import errno
import os
import threading
from pathlib import Path

import pytest

from periplus.errors import (
    BadInput,
    CorruptFile,
    DiskFailed,
    NewerFormat,
    NothingHere,
    SettingsError,
    StorageConflict,
    StorageFailed,
)
from periplus.files import encode_json
from periplus.settings import StorageSettings
from periplus.storage import ObjectSummary, Storage, StoredObject, open_storage

BRIEF = StorageSettings(retry_seconds=0.0)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage((tmp_path / "shared disk").as_uri(), BRIEF, create=True)


def folder_of(storage: Storage) -> Path:
    return Path(storage.url.removeprefix("file://").replace("%20", " "))


def test_bytes_and_files_come_back(storage: Storage, tmp_path: Path) -> None:
    large = os.urandom((9 << 20) + 17)
    (tmp_path / "large").write_bytes(large)
    objects = [
        storage.put("a/empty", b""),
        storage.put("a/small", b"tides"),
        storage.put("a/large", large),
        storage.put_file("b/file", tmp_path / "large"),
        storage.put_file("b/part", tmp_path / "large", 5, 100),
    ]
    assert [storage.get(stored) for stored in objects] == [b"", b"tides", large, large, large[5:105]]
    storage.get_file(objects[3], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == large
    assert storage.list_objects("a") == [
        ObjectSummary("a/empty", 0),
        ObjectSummary("a/large", len(large)),
        ObjectSummary("a/small", 5),
    ]
    storage.delete(["a/small", "a/none", "a/empty", "a/large"])
    assert [entry.name for entry in storage.list_objects()] == ["b/file", "b/part", "storage.json"]
    with pytest.raises(NothingHere, match=r"a/small does not exist"):
        storage.get(objects[1])


@pytest.mark.parametrize("name", ["", "/a", "a/", "../a", "a/../b", "a//b", ".hidden", "a/.b", "a b", "a\n", "a" * 600])
def test_names_that_leave_the_storage_are_refused(storage: Storage, name: str) -> None:
    with pytest.raises(BadInput):
        storage.put(name, b"")
    with pytest.raises(BadInput):
        storage.get(StoredObject(name, 1, "0" * 16))


@pytest.mark.parametrize(
    "url", ["", "periplus-data", "file://host/a", "file:///", "http://127.0.0.1/a", "s3://", "s3://b?x=1", "ftp://a/b"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"s3://BUCKET/PREFIX"):
        open_storage(url, BRIEF)


@pytest.mark.parametrize("damage", ["truncated", "longer", "flipped", "empty"])
def test_other_bytes_are_an_error_that_names_the_object(storage: Storage, tmp_path: Path, damage: str) -> None:
    data = os.urandom(9 << 20)
    stored = storage.put("x/y", data)
    changed = {
        "truncated": data[:-1],
        "longer": data + b"x",
        "flipped": data[:5000] + bytes([data[5000] ^ 1]) + data[5001:],
        "empty": b"",
    }[damage]
    (folder_of(storage) / "x/y").write_bytes(changed)
    if damage == "longer":  # the bytes that were written are all there
        assert storage.get(stored) == data
        return
    with pytest.raises(CorruptFile, match=r"file:///.*/x/y is damaged"):
        storage.get(stored)
    with pytest.raises(CorruptFile, match=r"file:///.*/x/y is damaged"):
        storage.get_file(stored, tmp_path / "back")
    assert not (tmp_path / "back").exists()
    assert list(tmp_path.glob(".*")) == []


def test_a_record_is_created_once_and_replaced_by_who_has_read_it(storage: Storage) -> None:
    assert storage.read_record("cluster.json") is None
    first = storage.create_record("cluster.json", b"1")
    assert storage.create_record("cluster.json", b"1") == first  # the same write again, as after a lost response
    with pytest.raises(StorageConflict, match=r"cluster\.json was changed by another process"):
        storage.create_record("cluster.json", b"2")
    second = storage.replace_record("cluster.json", b"2", first)
    with pytest.raises(StorageConflict):
        storage.replace_record("cluster.json", b"3", first)
    assert storage.read_record("cluster.json") == (b"2", second)
    storage.delete(["cluster.json"])
    with pytest.raises(StorageConflict):
        storage.replace_record("cluster.json", b"3", second)


def test_of_many_writers_one_succeeds_each_time(storage: Storage) -> None:
    storage.create_record("counter", b"0")
    wins: list[int] = []

    def add_ones() -> None:
        while True:
            record = storage.read_record("counter")
            assert record is not None
            if int(record.data) == 40:
                return
            try:
                storage.replace_record("counter", b"%d" % (int(record.data) + 1), record.version)
            except StorageConflict:
                continue
            wins.append(int(record.data))

    threads = [threading.Thread(target=add_ones) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record = storage.read_record("counter")
    assert record is not None
    assert record.data == b"40"
    assert sorted(wins) == list(range(40))


def test_a_storage_is_opened_only_where_there_is_one(tmp_path: Path) -> None:
    url = (tmp_path / "s").as_uri()
    with pytest.raises(NothingHere, match=r"is not a storage of Periplus.*mounted"):
        open_storage(url, BRIEF)
    assert not (tmp_path / "s").exists()
    first = open_storage(url, BRIEF, create=True)
    assert open_storage(url + "/", BRIEF).id == first.id != ""
    (tmp_path / "s/storage.json").write_bytes(encode_json({"format": 2, "id": "a"}))
    with pytest.raises(NewerFormat):
        open_storage(url, BRIEF)


def test_a_full_storage_fails_at_once_and_leaves_nothing(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageFailed, match=r"storage is full: cannot write file:///.*/a/b.*Free some space"):
        storage.put("a/b", b"1")
    monkeypatch.undo()
    assert [entry.name for entry in storage.list_objects()] == ["storage.json"]
    assert [path.name for path in folder_of(storage).rglob("*") if path.is_file()] == [".records.lock", "storage.json"]


def test_a_disk_that_is_gone_for_a_while_is_waited_for(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    pauses: list[float] = []

    def mount_again(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            root.rmdir()
            (tmp_path / "away").rename(root)

    opened = open_storage(root.as_uri(), StorageSettings(), create=True)
    storage = Storage(opened.url, opened._backend, StorageSettings(), mount_again)
    root.rename(tmp_path / "away")
    root.mkdir()  # where a disk is mounted, there is an empty folder without it
    stored = storage.put("a", b"1")
    assert len(pauses) == 4
    assert pauses[3] > pauses[0]
    assert storage.get(stored) == b"1"
    assert (root / "a").exists()


def test_a_disk_that_stays_away_is_an_error_that_names_it(storage: Storage, tmp_path: Path) -> None:
    folder_of(storage).rename(tmp_path / "away")
    with pytest.raises(StorageFailed, match=r"file:///.*/a cannot be used: .*mounted.*Check that the storage runs"):
        storage.put("a", b"1")
    with pytest.raises(StorageFailed):
        storage.read_record("a")


def test_a_file_that_cannot_be_read_is_no_failure_of_the_storage(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(20 << 20))
    with pytest.raises(DiskFailed, match=r"shorter"):
        storage.put_file("a", tmp_path / "f", 0, 21 << 20)
    with pytest.raises(DiskFailed, match=r"none"):
        storage.put_file("a", tmp_path / "none")
    assert [entry.name for entry in storage.list_objects()] == ["storage.json"]
