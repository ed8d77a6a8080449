"""Where the newest visits of a page are, the good one and any that failed: sorted keys in `visits.keys`, and what came
since."""

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
from periplus.store.fetch_log import Position, walk
from periplus.store.log_frames import MAX_PAYLOAD, Frame
from periplus.store.store_manifest import Manifest, log_name

__all__ = ["KeyIndex", "Place"]

_FILE: Final = "visits.keys"
_KIND: Final = "visit-keys"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes."""
_ARRAYS: Final = ("keys", "places", "failed_keys", "failed_places")
_SAVE_AT: Final = 4096
"""So many new keys are worth a new file."""


class Place(NamedTuple):
    """Where one visit is: log number, offset of its frame, place in the frame."""

    log: int
    offset: int
    place: int


class _Keyed(msgspec.Struct, frozen=True):
    key: int
    outcome: Outcome


_keyed: Final = msgspec.msgpack.Decoder(list[_Keyed])


class _Table:
    """The newest of some visits by key: sorted arrays, and those that came since."""

    def __init__(self) -> None:
        self.keys = np.zeros(0, np.uint64)
        self.places = np.zeros((0, 3), np.uint64)
        """One row of log, offset, place for each key."""
        self.recent: dict[int, Place] = {}

    def find(self, key: int) -> Place | None:
        """Give the place of a key's newest visit."""
        if key in self.recent:
            return self.recent[key]
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        if at < len(self.keys) and int(self.keys[at]) == key:
            return Place(*(int(number) for number in self.places[at]))
        return None

    def fits(self, keys: npt.NDArray[Any], places: npt.NDArray[Any]) -> bool:
        """Say whether these arrays can be a table."""
        return keys.dtype == np.uint64 and places.shape == (len(keys), 3) and places.dtype == np.uint64

    def settle(self) -> None:
        """Put what came since into the arrays."""
        fresh = np.fromiter(self.recent.keys(), np.uint64, len(self.recent))
        rows = np.array([*self.recent.values()], np.uint64).reshape(-1, 3)
        keys, places = np.concatenate((self.keys, fresh)), np.concatenate((self.places, rows))
        order = np.argsort(keys, kind="stable")
        keys, places = keys[order], places[order]
        # Of equal keys the last is the newest.
        last = np.append(keys[1:] != keys[:-1], np.ones(min(1, len(keys)), bool))
        self.keys, self.places, self.recent = keys[last], places[last], {}


class KeyIndex:
    """Finds the newest visit of a key. Can be lost: it is made again from the logs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._store = ""
        self._reset("")

    def _reset(self, store: str) -> None:
        self._store = store
        self._good, self._failed = _Table(), _Table()
        self._reached = Position(0, 0)

    def find(self, key: int, manifest: Manifest) -> Place | None:
        """Give the place of the newest good visit of `key`, after a look at what was written since the last call."""
        with self._lock:
            self._refresh(manifest)
            return self._good.find(key)

    def find_latest(self, key: int, manifest: Manifest) -> Place | None:
        """Give the place of the newest visit of `key`, whatever became of it."""
        with self._lock:
            self._refresh(manifest)
            found = (self._good.find(key), self._failed.find(key))
            return max((place for place in found if place is not None), default=None)

    def _refresh(self, manifest: Manifest) -> None:
        if self._store != manifest.id:
            self._reset(manifest.id)
            with contextlib.suppress(DataError):
                self._load(manifest)
        for log, frame in walk(self._folder, manifest, self._reached):
            self._take(log, frame)
            self._reached = Position(log, frame.end)
        fresh, known = (sum(map(len, both)) for both in zip(*((t.recent, t.keys) for t in self._tables), strict=True))
        if fresh >= max(_SAVE_AT, known // 8) and self._is_durable(manifest, self._reached):
            self._save()

    @property
    def _tables(self) -> tuple[_Table, _Table]:
        return self._good, self._failed

    def _is_durable(self, manifest: Manifest, reached: Position) -> bool:
        """Say whether all up to there is durable: what is not may be replaced after a power cut."""
        durable = {part.name: part.length for part in manifest.logs}
        return reached.offset <= durable.get(log_name(reached.log), 0)

    def _take(self, log: int, frame: Frame) -> None:
        for place, visit in enumerate(_keyed.decode(decompress(frame.payload, MAX_PAYLOAD))):
            table = self._good if visit.outcome is Outcome.OK else self._failed
            table.recent[visit.key] = Place(log, frame.offset, place)

    def _load(self, manifest: Manifest) -> None:
        """Use the file when it is of this store and reaches no further than what is durable."""
        path = self._folder / _FILE
        if not path.exists():
            return
        file = ArrayFile(path, _KIND, format=_FORMAT)
        file.check()
        notes: dict[str, Any] = file.notes
        reached = Position(int(notes.get("log", 0)), int(notes.get("offset", 0)))
        if any(name not in file for name in _ARRAYS):
            return  # written before failures were known: made again from the logs
        arrays = [file[name] for name in _ARRAYS]
        fits = self._good.fits(*arrays[:2]) and self._failed.fits(*arrays[2:])
        if fits and notes.get("store") == manifest.id and self._is_durable(manifest, reached):
            self._good.keys, self._good.places, self._failed.keys, self._failed.places = arrays
            self._reached = reached

    def _save(self) -> None:
        """Put recent keys into the tables and write them; a folder that cannot be written to is no obstacle."""
        for table in self._tables:
            table.settle()
        values = (self._good.keys, self._good.places, self._failed.keys, self._failed.places)
        notes = {"store": self._store, "log": self._reached.log, "offset": self._reached.offset}
        with contextlib.suppress(DiskFailed):
            arrays = dict(zip(_ARRAYS, values, strict=True))
            write_arrays(self._folder / _FILE, _KIND, arrays, notes, format=_FORMAT)
