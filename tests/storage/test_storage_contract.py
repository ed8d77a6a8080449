"""What every kind of storage does."""

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from periplus.errors import BadInput, DiskFailed, NothingHere, StorageConflict
from periplus.settings import StorageSettings
from periplus.storage import ObjectSummary, Storage, StoredObject, storage_url


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


@pytest.mark.parametrize("name", ["", "/a", "a/", "../a", "a/../b", "a//b", ".hidden", "a/.b", "a b", "a\n", "a" * 900])
def test_names_that_leave_the_storage_are_refused(storage: Storage, name: str) -> None:
    with pytest.raises(BadInput):
        storage.put(name, b"")
    with pytest.raises(BadInput):
        storage.get(StoredObject(name, 1, "0" * 16))


def test_a_record_is_created_once_and_replaced_by_who_has_read_it(storage: Storage) -> None:
    assert storage.read_record("cluster.json") is None
    first = storage.create_record("cluster.json", b"1")
    with pytest.raises(StorageConflict):
        storage.create_record("cluster.json", b"1")
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


def test_a_file_that_cannot_be_read_is_no_failure_of_the_storage(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(20 << 20))
    with pytest.raises(DiskFailed, match=r"shorter"):
        storage.put_file("a", tmp_path / "f", 0, 21 << 20)
    with pytest.raises(DiskFailed, match=r"none"):
        storage.put_file("a", tmp_path / "none")
    assert [entry.name for entry in storage.list_objects()] == ["storage.json"]


def test_many_objects_are_removed(storage: Storage) -> None:
    names = [storage.put(f"many/{number}", b"").name for number in range(30)]
    storage.delete([*names[:20], *(f"many/none-{number}" for number in range(2000))])
    assert [entry.name for entry in storage.list_objects("many")] == sorted(names[20:])
    storage.delete([])


def test_large_objects_pass_in_small_pieces(storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not depend on the size of an object."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(40 << 20)
    backend, sizes = storage._backend, []
    get_range, put_stream = backend.get_range, backend.put_stream

    def watch_range(name: str, begin: int, end: int) -> bytes:
        sizes.append(end - begin)
        return get_range(name, begin, end)

    def watch_stream(name: str, chunks: Iterable[bytes], length: int) -> None:
        put_stream(name, (sizes.append(len(chunk)) or chunk for chunk in chunks), length)

    monkeypatch.setattr(backend, "get_range", watch_range)
    monkeypatch.setattr(backend, "put_stream", watch_stream)
    storage.get_file(storage.put_file("large", tmp_path / "large"), tmp_path / "back")
    assert (tmp_path / "back").stat().st_size == 40 << 20
    assert sum(sizes) == 80 << 20
    assert max(sizes) <= 8 << 20


def test_without_a_url_the_storage_is_in_the_data_folder(tmp_path: Path) -> None:
    settings = StorageSettings()
    assert storage_url(settings, tmp_path) == f"{tmp_path.as_uri()}/storage"
    assert storage_url(msgspec.structs.replace(settings, url="s3://a/b"), tmp_path) == "s3://a/b"
