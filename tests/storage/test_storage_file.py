"""Objects and records of a storage on a shared disk."""

import errno
import os
from pathlib import Path

import pytest

from periplus.errors import (
    CorruptFile,
    NewerFormat,
    NothingHere,
    SettingsError,
    StorageConflict,
    StorageFailed,
)
from periplus.files import encode_json
from periplus.settings import StorageSettings
from periplus.storage import Storage, file_backend, open_storage

BRIEF = StorageSettings(retry_seconds=0.0)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage((tmp_path / "shared disk").as_uri(), BRIEF, create=True)


def folder_of(storage: Storage) -> Path:
    return Path(storage.url.removeprefix("file://").replace("%20", " "))


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


def test_a_record_whose_rename_could_not_be_synced_is_written_once(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sync of the folder, after the rename, fails once: the write is repeated and conflicts with itself."""
    first = storage.create_record("counter", b"1")
    failures = iter([OSError(errno.EIO, os.strerror(errno.EIO))])

    def fail_once(folder: Path) -> None:
        for error in failures:
            raise error

    monkeypatch.setattr(file_backend, "sync_folder", fail_once)
    patient = Storage(storage.url, storage._backend, StorageSettings(), lambda _: None)
    second = patient.replace_record("counter", b"2", first)
    assert storage.read_record("counter") == (b"2", second)
    with pytest.raises(StorageConflict):
        patient.replace_record("counter", b"2", first)
