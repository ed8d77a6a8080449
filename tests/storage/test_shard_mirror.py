"""Shards uploaded to a storage and restored from it."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shard_folders import add_pages, append, content, object_names, write

from periplus.errors import CorruptFile, FolderInUse, NothingHere, StorageConflict
from periplus.files import encode_json, lock_folder
from periplus.settings import StoreSettings
from periplus.storage import ShardMirror, Storage, StoredObject, restore_shard, upload_shard
from periplus.storage.shard_manifest import ShardFile, ShardManifest, manifest_name, read_shard_manifest
from periplus.storage.shard_upload import part_ranges
from periplus.store import PageStore, durable_lengths

FILES = {
    "periplus.json": encode_json({"format": 2}),
    "crawl/frontier.bin": b"snapshot",
    "crawl/spill/00000001.spill": os.urandom(5000),
    "crawl/shard-01/inbox/00-1.parcel": b"message",
    "index/manifest.json": b"{}",
    "index/seg-1-1/terms.arrays": os.urandom(3000),
    "graph/graph.arrays": os.urandom(2000),
    "inbox/1-2.new": b"page",
    "models/name with spaces.model": b"model",
    "store/empty.log": b"",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "data", FILES)
    return tmp_path / "data"


def test_a_shard_comes_back_on_a_bare_machine(storage: Storage, folder: Path, tmp_path: Path) -> None:
    write(folder, {".pages.lock": b"", "crawl/status.json": b"", "crawl/crawl.log": b"", "keys.json": b"secret"})
    result = upload_shard(folder, storage, 3)
    assert (result.files, result.uploaded_bytes) == (len(FILES), sum(map(len, FILES.values())))
    restored = restore_shard(storage, 3, tmp_path / "bare" / "shard-03")
    assert restored == (result.generation, len(FILES), result.bytes, len(FILES), result.bytes)
    assert content(tmp_path / "bare" / "shard-03") == FILES
    assert [path.name for path in (tmp_path / "bare").iterdir()] == ["shard-03"]


def test_only_what_is_new_is_uploaded(storage: Storage, folder: Path, tmp_path: Path) -> None:
    mirror = ShardMirror(folder, storage, 0)
    assert mirror.upload().uploaded_objects == len(FILES) - 1  # an empty file has no object
    assert mirror.upload().uploaded_objects == 0
    generation = mirror.generation
    append(folder, "index/journal-000001.log", b"change")
    write(folder, {"crawl/frontier.bin": b"a later snapshot"})
    (folder / "crawl/shard-01/inbox/00-1.parcel").unlink()
    result = mirror.upload()
    assert (result.generation, result.uploaded_objects, result.uploaded_bytes) == (generation + 1, 2, 22)
    assert result.removed_objects == 2
    manifest = read_shard_manifest(storage, 0)
    assert manifest is not None
    assert object_names(storage, 0) == manifest.manifest.objects()
    again = ShardMirror(folder, storage, 0)  # the same folder after a restart
    assert again.upload().uploaded_objects == 0
    restore_shard(storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == content(folder)


def test_a_file_that_grows_is_continued(storage: Storage, folder: Path, tmp_path: Path) -> None:
    mirror = ShardMirror(folder, storage, 0)
    uploaded = 0
    for _ in range(16):
        append(folder, "index/journal-000001.log", os.urandom(1000))
        uploaded += mirror.upload().uploaded_bytes
    assert uploaded - sum(map(len, FILES.values())) <= 16_000 * 5
    assert len([name for name in object_names(storage, 0) if "journal" in name]) <= 5
    restore_shard(storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == content(folder)


def test_a_torn_end_that_is_rewritten_is_uploaded_again(storage: Storage, folder: Path, tmp_path: Path) -> None:
    mirror = ShardMirror(folder, storage, 0)
    append(folder, "index/journal-000001.log", b"complete|torn")
    mirror.upload()
    os.truncate(folder / "index/journal-000001.log", 9)
    append(folder, "index/journal-000001.log", b"whole and more")
    mirror.upload()
    restore_shard(storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == content(folder)


def test_parts_are_joined_like_digits_of_a_counter() -> None:
    lengths: list[int] = []
    for total in range(10, 2000, 10):
        count, ranges = part_ranges(lengths, total)
        lengths = [*lengths[:count], *(length for _, length in ranges)]
        assert sum(lengths) == total
        assert len(lengths) <= 9
        assert lengths == sorted(lengths, reverse=True)
    large = 64 << 20
    assert part_ranges([large], 2 * large + 5) == (1, [(large, large), (2 * large, 5)])


def test_pages_of_a_store_that_is_written_meanwhile(storage: Storage, tmp_path: Path) -> None:
    folder, small = tmp_path / "data", StoreSettings(rotate_bytes=1 << 20)
    add_pages(folder, 0, 50, small)
    mirror = ShardMirror(folder, storage, 0)
    mirror.upload()
    writer = threading.Thread(target=add_pages, args=(folder, 50, 2000, small))
    writer.start()
    uploads = 0
    while writer.is_alive() or uploads < 2:
        mirror.upload()
        committed = PageStore.open(folder / "store", small)
        uploads += 1
        restore_shard(storage, 0, tmp_path / f"bare-{uploads}")
        back = PageStore.open(tmp_path / f"bare-{uploads}" / "store", small, write=True)
        records = list(back.records())
        assert [record.url for record in records] == [f"https://example.org/{n}" for n in range(len(records))]
        for record in (records[0], records[-1]):
            assert back.read_response(record) is not None
        back.close()
        committed.close()
    writer.join()
    assert len(records) >= 50
    mirror.upload()
    restore_shard(storage, 0, tmp_path / "last")
    assert content(tmp_path / "last") == content(folder)
    assert durable_lengths(tmp_path / "last" / "store") == durable_lengths(folder / "store")


def test_an_older_copy_may_not_upload(storage: Storage, folder: Path, tmp_path: Path) -> None:
    first = ShardMirror(folder, storage, 0)
    first.upload()
    restore_shard(storage, 0, tmp_path / "other")
    second = ShardMirror(tmp_path / "other", storage, 0)
    append(folder, "crawl/frontier.bin", b"!")
    with pytest.raises(StorageConflict, match=r"shards/00/manifest\.json was changed by another process"):
        first.upload()
    second.upload()
    with pytest.raises(StorageConflict, match=r"is not the newest copy of shard 0.*Restore the shard"):
        ShardMirror(folder, storage, 0)
    write(tmp_path / "stranger", FILES)
    with pytest.raises(StorageConflict, match=r"is not the newest copy"):
        ShardMirror(tmp_path / "stranger", storage, 0)
    with pytest.raises(FolderInUse, match=r"is not empty"):
        restore_shard(storage, 0, folder)
    result = restore_shard(storage, 0, folder, replace=True)
    assert result.fetched_files == 1  # the others are the same
    assert content(folder) == content(tmp_path / "other")
    assert restore_shard(storage, 0, folder).fetched_files == 0
    ShardMirror(folder, storage, 0).upload()
    assert object_names(storage, 0) == read_objects(storage)  # what the first owner had uploaded in vain is removed


def read_objects(storage: Storage) -> set[str]:
    manifest = read_shard_manifest(storage, 0)
    assert manifest is not None
    return manifest.manifest.objects()


def test_a_folder_that_is_used_is_not_replaced(storage: Storage, folder: Path, tmp_path: Path) -> None:
    upload_shard(folder, storage, 0)
    write(tmp_path / "stale", {"store/manifest.json": b""})
    with lock_folder(tmp_path / "stale" / "store", "pages"), pytest.raises(FolderInUse, match=r"is in use"):
        restore_shard(storage, 0, tmp_path / "stale", replace=True)


def test_what_was_never_uploaded_is_an_error(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(NothingHere, match=r"has no shard 7"):
        restore_shard(storage, 7, tmp_path / "bare")
    assert list(tmp_path.glob("*bare*")) == []


def test_a_missing_object_is_damage(storage: Storage, folder: Path, tmp_path: Path) -> None:
    upload_shard(folder, storage, 0)
    storage.delete([name for name in object_names(storage, 0) if "frontier.bin" in name])
    with pytest.raises(CorruptFile, match=r"Shard 0 is damaged: .*frontier\.bin/.* does not exist"):
        restore_shard(storage, 0, tmp_path / "bare")
    assert not (tmp_path / "bare").exists()


def test_messages_that_are_consumed_during_the_capture(
    storage: Storage, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that disappears is in the snapshot that is captured after it; a page that is renamed is not lost."""
    write(folder, {f"crawl/inbox/{number}.mail": b"message" for number in range(9)})
    link = os.link

    def consume_first(source: Path, target: Path) -> None:
        if source.suffix == ".mail" and source.exists() and source.stem in "135":
            source.unlink()
            write(folder, {"crawl/frontier.bin": b"snapshot with " + source.stem.encode()})
        if source.name == "1-2.new" and source.exists():
            source.rename(source.with_suffix(".indexed"))
        link(source, target)

    monkeypatch.setattr(os, "link", consume_first)
    upload_shard(folder, storage, 0)
    restore_shard(storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == content(folder)
    assert (tmp_path / "bare/inbox/1-2.indexed").exists()
    assert (tmp_path / "bare/crawl/frontier.bin").read_bytes() == b"snapshot with 5"


def test_a_commit_during_the_capture_repeats_it(
    storage: Storage, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, commits = os.link, iter(range(3))

    def commit_first(source: Path, target: Path) -> None:
        link(source, target)
        if source.parent.name == "seg-1-1" and (number := next(commits, None)) is not None:
            write(folder, {f"index/seg-2-{number}/terms.arrays": b"new", "index/manifest.json": b"%d" % number})
            (folder / f"index/seg-2-{number - 1}/terms.arrays").unlink(missing_ok=True)

    monkeypatch.setattr(os, "link", commit_first)
    upload_shard(folder, storage, 0)
    restore_shard(storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == content(folder)


def test_a_restore_follows_an_owner_that_uploads(storage: Storage, folder: Path, tmp_path: Path) -> None:
    mirror = ShardMirror(folder, storage, 0)
    mirror.upload()
    read_chunks, interruptions, lock = storage.read_chunks, iter(range(3)), threading.Lock()

    def upload_first(stored: StoredObject) -> Iterator[bytes]:
        with lock:
            if next(interruptions, None) is not None:
                write(folder, {name: os.urandom(50) for name in FILES})
                mirror.upload()
        return read_chunks(stored)

    storage.read_chunks = upload_first  # type: ignore[method-assign]
    restore_shard(storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == content(folder)


@pytest.mark.parametrize(
    "file",
    [
        ShardFile("../outside", 0, ()),
        ShardFile("/etc/passwd", 0, ()),
        ShardFile("a/../../b", 0, ()),
        ShardFile("a//b", 0, ()),
        ShardFile(".storage.json", 0, ()),
        ShardFile("a", 5, ()),
        ShardFile("a", -1, ()),
        ShardFile("x" * 2000, 0, ()),
    ],
)
def test_a_hostile_manifest_writes_nothing(storage: Storage, tmp_path: Path, file: ShardFile) -> None:
    manifest = ShardManifest(shard=0, owner="o", generation=1, time=0.0, files=(file,))
    storage.create_record(manifest_name(0), encode_json(manifest))
    with pytest.raises(CorruptFile, match=r"manifest\.json is damaged"):
        restore_shard(storage, 0, tmp_path / "x" / "bare")
    assert not (tmp_path / "x").exists()


def test_a_damaged_manifest_is_an_error(storage: Storage, folder: Path, tmp_path: Path) -> None:
    upload_shard(folder, storage, 0)
    record = storage.read_record(manifest_name(0))
    assert record is not None
    storage.replace_record(manifest_name(0), record.data[:-40], record.version)
    with pytest.raises(CorruptFile, match=r"://.*shards/00/manifest\.json"):
        restore_shard(storage, 0, tmp_path / "bare")
    with pytest.raises(CorruptFile):
        ShardMirror(folder, storage, 0)


def take_over_elsewhere(storage: Storage, folder: Path) -> dict[str, bytes]:
    """Restore the shard on another machine, which adds to it; return what that has uploaded."""
    restore_shard(storage, 0, folder)
    second = ShardMirror(folder, storage, 0)
    write(folder, {"inbox/acknowledged.new": b"page"})
    second.upload()
    return content(folder)


def test_an_owner_that_was_replaced_before_its_first_upload_removes_nothing(
    storage: Storage, folder: Path, tmp_path: Path
) -> None:
    ShardMirror(folder, storage, 0).upload()
    first = ShardMirror(folder, storage, 0)  # and stalls, its files unchanged
    uploaded = take_over_elsewhere(storage, tmp_path / "other")
    with pytest.raises(StorageConflict, match=r"was changed by another process"):
        first.upload()
    restore_shard(storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == uploaded


@pytest.mark.parametrize("request_name", ["list_objects", "replace_record", "delete"])
def test_an_owner_that_is_replaced_during_an_upload_removes_nothing_of_its_successor(
    storage: Storage, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_name: str
) -> None:
    """The first owner stalls after any of the requests that end an upload, or before the removal."""
    ShardMirror(folder, storage, 0).upload()
    first = ShardMirror(folder, storage, 0)
    append(folder, "crawl/frontier.bin", b"!")
    uploaded: list[dict[str, bytes]] = []
    request = getattr(storage, request_name)

    def stall(*arguments: Any) -> Any:
        monkeypatch.undo()
        answer = None if request_name == "delete" else request(*arguments)
        uploaded.append(take_over_elsewhere(storage, tmp_path / "other"))
        return request(*arguments) if request_name == "delete" else answer

    monkeypatch.setattr(storage, request_name, stall)
    with contextlib.suppress(StorageConflict):
        first.upload()
    restore_shard(storage, 0, tmp_path / "bare")
    assert [content(tmp_path / "bare")] == uploaded
