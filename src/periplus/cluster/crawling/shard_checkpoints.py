"""Checkpoints of crawl shards, and the plan of their coordinator, in the storage of the cluster."""

import contextlib
import secrets
from pathlib import Path
from typing import Final

import msgspec

from periplus.cluster.crawling.crawl_plan import CrawlPlanState
from periplus.errors import CoordinatorConflict, NothingHere, StorageConflict
from periplus.files import decode_json, encode_json
from periplus.storage import ShardMirror, Storage, restore_shard

__all__ = ["PlanRecord", "ShardCheckpoints"]

_FORMAT: Final = 1
_ATTEMPTS: Final = 10


class ShardCheckpoints:
    """The checkpoints of one shard in storage; implements `CheckpointStore`."""

    def __init__(self, storage: Storage, number: int) -> None:
        self._storage, self._number = storage, number
        self._mirror: ShardMirror | None = None

    def restore(self, folder: Path) -> bool:
        """Make a folder equal to the shard in storage, unless it has all of it; return whether files were restored."""
        restored = False
        for attempt in range(_ATTEMPTS):
            with contextlib.suppress(NothingHere):
                restored |= restore_shard(self._storage, self._number, folder, replace=True).fetched_files > 0
            try:
                self._mirror = ShardMirror(folder, self._storage, self._number)
                break
            except StorageConflict:  # the owner has uploaded once more meanwhile
                if attempt == _ATTEMPTS - 1:
                    raise
        return restored

    @property
    def progress(self) -> int:
        """Grows with every object that is stored."""
        return self._mirror.progress if self._mirror is not None else 0

    def upload(self, folder: Path) -> None:
        """Store the folder; raise `StorageConflict` if another process has taken over the shard."""
        if self._mirror is None:
            self._mirror = ShardMirror(folder, self._storage, self._number)
        self._mirror.upload()


class PlanRecord:
    """The state of a coordinator in a record of the storage; implements `PlanStore`."""

    def __init__(self, storage: Storage, name: str = "crawl.json") -> None:
        self._storage, self._name = storage, name
        self._version = ""
        self._id = secrets.token_hex(8)

    def load(self) -> CrawlPlanState | None:
        """Return the last state; None if there is none."""
        record = self._storage.read_record(self._name)
        if record is None:
            return None
        self._version = record.version
        url = self._storage.object_url(self._name)
        state = decode_json(url, record.data, CrawlPlanState, _FORMAT, checksum_since=1)
        return msgspec.structs.replace(state, coordinator="")

    def save(self, state: CrawlPlanState) -> None:
        """Replace the record; raise `CoordinatorConflict` if another coordinator has done so."""
        data = encode_json(msgspec.structs.replace(state, coordinator=self._id), indent=1)
        try:
            self._write(data)
        except StorageConflict as error:
            if self._adopt():
                self._write(data)
                return
            raise CoordinatorConflict(
                f"Another coordinator has changed {self._storage.object_url(self._name)}.",
                "It runs the crawl; this one has stopped.",
            ) from error

    def _write(self, data: bytes) -> None:
        if self._version:
            self._version = self._storage.replace_record(self._name, data, self._version)
        else:
            self._version = self._storage.create_record(self._name, data)

    def _adopt(self) -> bool:
        """Note the version in storage if it was written here, and only the answer was lost; return whether it was."""
        record = self._storage.read_record(self._name)
        if record is None:
            return False
        url = self._storage.object_url(self._name)
        state = decode_json(url, record.data, CrawlPlanState, _FORMAT, checksum_since=1)
        if state.coordinator != self._id:
            return False
        self._version = record.version
        return True
