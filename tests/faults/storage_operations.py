"""Shards of a cluster: uploaded to a shared disk, and restored from it. Power fails on both disks at once."""

from pathlib import Path

from operation import MarkWriter, Operation, expect
from store_operations import append_records, check_store, response_body

from periplus.errors import NothingHere
from periplus.settings import StorageSettings, StoreSettings
from periplus.storage import ShardMirror, Storage, open_storage, restore_shard, upload_shard
from periplus.store import PageStore

_SMALL = StoreSettings(rotate_bytes=65_536)
_BATCHES, _BATCH = 4, 3
_AT_ONCE = StorageSettings(retry_seconds=0.0)


def _storage(folder: Path) -> Storage:
    return open_storage((folder / "shared").as_uri(), _AT_ONCE, create=True)


def _add_batch(shard: Path) -> int:
    """Store a few more pages; return how many there are."""
    with PageStore.open(shard / "store", _SMALL, write=True) as store:
        count = len(list(store.records()))
        append_records(store, count, count + _BATCH)
        return store.commit()


def _count_records(shard: Path) -> int:
    with PageStore.open(shard / "store", _SMALL, write=True) as store:  # what a crash has left is removed
        return len(list(store.records()))


def _restored_records(folder: Path, name: str) -> int:
    """Restore the shard; return the number of its records, all of which have their responses."""
    try:
        restore_shard(_storage(folder), 0, folder / name)
    except NothingHere:
        return 0
    with PageStore.open(folder / name / "store", _SMALL) as store:
        records = list(store.records())
        for number, record in enumerate(records):
            expect(store.read_response(record).body == response_body(number), f"record {number} has another body")
    return len(records)


class ShardUpload(Operation):
    """Pages stored and uploaded in several rounds: what an upload has acknowledged is restored."""

    name = "storage: upload of a shard"

    def prepare(self, folder: Path) -> None:
        (folder / "shard").mkdir(parents=True)
        _storage(folder)
        _add_batch(folder / "shard")
        upload_shard(folder / "shard", _storage(folder), 0)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        mirror = ShardMirror(folder / "shard", _storage(folder), 0)
        for _ in range(_BATCHES):
            marks.begin(str(_count_records(folder / "shard") + _BATCH))
            count = _add_batch(folder / "shard")
            mirror.upload()
            marks.done(str(count))

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        least, most = max(map(int, done), default=_BATCH), max(map(int, begun), default=_BATCH)
        count = _restored_records(folder, "bare")
        expect(least <= count <= most, f"{count} records are restored, not {least} to {most}")
        added = _add_batch(folder / "shard")
        upload_shard(folder / "shard", _storage(folder), 0)
        expect(_restored_records(folder, "bare-again") == added, "an upload after the interruption is not whole")


class ShardRestore(Operation):
    """A shard restored: its folder is there whole, or not at all."""

    name = "storage: restore of a shard"

    def prepare(self, folder: Path) -> None:
        (folder / "shard").mkdir(parents=True)
        for _ in range(_BATCHES):
            _add_batch(folder / "shard")
        upload_shard(folder / "shard", _storage(folder), 0)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin("restored")
        restore_shard(_storage(folder), 0, folder / "bare")
        marks.done("restored")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        expect(not done or (folder / "bare").exists(), "the restored folder is lost")
        if (folder / "bare").exists():
            with PageStore.open(folder / "bare" / "store", _SMALL) as store:
                expect(len(list(store.records())) == _BATCHES * _BATCH, "a restored folder is not whole")
        result = restore_shard(_storage(folder), 0, folder / "bare")
        expect(not done or not result.fetched_files, "a restored folder is fetched again")
        check_store(folder / "bare" / "store", _SMALL, _BATCHES * _BATCH, _BATCHES * _BATCH)
        expect(upload_shard(folder / "bare", _storage(folder), 0).files > 0, "a restored shard cannot be uploaded")


OPERATIONS: tuple[Operation, ...] = (ShardUpload(), ShardRestore())
