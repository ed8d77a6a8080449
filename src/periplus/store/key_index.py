"""Locations of the newest fetch records of each page, the successful and the failed one.

Sorted keys are in `visits.keys`; those of later records are in memory.
"""

import contextlib
import threading
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import DataError, DiskFailed
from periplus.records import Outcome
from periplus.store.compression import decompress
from periplus.store.fetch_log import LogPosition, read_frames
from periplus.store.log_frames import MAX_PAYLOAD, Frame
from periplus.store.store_manifest import Manifest, log_name
from periplus.typed_decoding import msgpack_decoder

__all__ = ["KeyIndex", "RecordLocation"]

_FILE: Final = "visits.keys"
_KIND: Final = "visit-keys"
_FORMAT: Final = 1
"""Version of the file's content, increased whenever that changes."""
_ARRAYS: Final = ("keys", "places", "failed_keys", "failed_places")
_SAVE_AT: Final = 4096
"""The file is written again when there are this many new keys."""


class RecordLocation(NamedTuple):
    """Location of one fetch record: log number, offset of its frame, position in the frame."""

    log: int
    offset: int
    position: int


class _KeyedOutcome(msgspec.Struct, frozen=True):
    key: int
    outcome: Outcome


_keyed_outcomes: Final = msgpack_decoder(list[_KeyedOutcome])


class _LocationTable:
    """Locations of the newest records by key: sorted arrays, and those that were added since."""

    def __init__(self) -> None:
        self.keys = np.zeros(0, np.uint64)
        self.locations = np.zeros((0, 3), np.uint64)
        """One row of log, offset, position for each key."""
        self.recent: dict[int, RecordLocation] = {}

    def find(self, key: int) -> RecordLocation | None:
        """Return the location of a key's newest record."""
        if key in self.recent:
            return self.recent[key]
        row = int(np.searchsorted(self.keys, np.uint64(key)))
        if row < len(self.keys) and int(self.keys[row]) == key:
            return RecordLocation(*(int(number) for number in self.locations[row]))
        return None

    def accepts(self, keys: npt.NDArray[Any], locations: npt.NDArray[Any]) -> bool:
        """Return whether these arrays have the shape and type of a table."""
        return keys.dtype == np.uint64 and locations.shape == (len(keys), 3) and locations.dtype == np.uint64

    def merge_recent(self) -> None:
        """Merge recent keys into the arrays."""
        recent_keys = np.fromiter(self.recent.keys(), np.uint64, len(self.recent))
        rows = np.array([*self.recent.values()], np.uint64).reshape(-1, 3)
        keys, locations = np.concatenate((self.keys, recent_keys)), np.concatenate((self.locations, rows))
        order = np.argsort(keys, kind="stable")
        keys, locations = keys[order], locations[order]
        # Of equal keys the last is the newest.
        last = np.append(keys[1:] != keys[:-1], np.ones(min(1, len(keys)), bool))
        self.keys, self.locations, self.recent = keys[last], locations[last], {}


class KeyIndex:
    """Finds the newest record of a key. The file can be deleted: it is rebuilt from the logs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._store = ""
        self._reset("")

    def _reset(self, store: str) -> None:
        self._store = store
        self._successful, self._failed = _LocationTable(), _LocationTable()
        self._position = LogPosition(0, 0)

    def find(self, key: int, manifest: Manifest) -> RecordLocation | None:
        """Return the location of the newest successful record of `key`, also if it was written since the last call."""
        with self._lock:
            self._refresh(manifest)
            return self._successful.find(key)

    def find_latest(self, key: int, manifest: Manifest) -> RecordLocation | None:
        """Return the location of the newest record of `key`, whatever its outcome."""
        with self._lock:
            self._refresh(manifest)
            locations = (self._successful.find(key), self._failed.find(key))
            return max((location for location in locations if location is not None), default=None)

    def _refresh(self, manifest: Manifest) -> None:
        if self._store != manifest.id:
            self._reset(manifest.id)
            with contextlib.suppress(DataError):
                self._load(manifest)
        for log, frame in read_frames(self._folder, manifest, self._position):
            self._add_frame(log, frame)
            self._position = LogPosition(log, frame.end)
        recent, saved = (sum(map(len, both)) for both in zip(*((t.recent, t.keys) for t in self._tables), strict=True))
        if recent >= max(_SAVE_AT, saved // 8) and self._is_durable(manifest, self._position):
            self._save()

    @property
    def _tables(self) -> tuple[_LocationTable, _LocationTable]:
        return self._successful, self._failed

    def _is_durable(self, manifest: Manifest, position: LogPosition) -> bool:
        """Return whether everything before a position is durable: the rest may be replaced after a power failure."""
        durable = {entry.name: entry.length for entry in manifest.logs}
        return position.offset <= durable.get(log_name(position.log), 0)

    def _add_frame(self, log: int, frame: Frame) -> None:
        for index, record in enumerate(_keyed_outcomes.decode(decompress(frame.payload, MAX_PAYLOAD))):
            table = self._successful if record.outcome is Outcome.OK else self._failed
            table.recent[record.key] = RecordLocation(log, frame.offset, index)

    def _load(self, manifest: Manifest) -> None:
        """Use the file if it belongs to this store and covers nothing that is not durable."""
        path = self._folder / _FILE
        if not path.exists():
            return
        file = ArrayFile(path, _KIND, format=_FORMAT)
        file.check()
        notes: dict[str, Any] = file.notes
        position = LogPosition(int(notes.get("log", 0)), int(notes.get("offset", 0)))
        if any(name not in file for name in _ARRAYS):
            return  # written before failed records were indexed: rebuilt from the logs
        arrays = [file[name] for name in _ARRAYS]
        valid = self._successful.accepts(*arrays[:2]) and self._failed.accepts(*arrays[2:])
        if valid and notes.get("store") == manifest.id and self._is_durable(manifest, position):
            self._successful.keys, self._successful.locations, self._failed.keys, self._failed.locations = arrays
            self._position = position

    def _save(self) -> None:
        """Merge recent keys into the tables and write them; a read-only folder is not an error."""
        for table in self._tables:
            table.merge_recent()
        values = (self._successful.keys, self._successful.locations, self._failed.keys, self._failed.locations)
        notes = {"store": self._store, "log": self._position.log, "offset": self._position.offset}
        with contextlib.suppress(DiskFailed):
            arrays = dict(zip(_ARRAYS, values, strict=True))
            write_arrays(self._folder / _FILE, _KIND, arrays, notes, format=_FORMAT)
