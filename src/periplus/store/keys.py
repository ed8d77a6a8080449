"""Where the newest good visit of a page is: a sorted array of keys in `visits.keys`, and the visits since then."""

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
from periplus.store.frames import MAX_PAYLOAD, Frame
from periplus.store.log import Position, walk
from periplus.store.manifest import Manifest, log_name

__all__ = ["KeyIndex", "Place"]

_FILE: Final = "visits.keys"
_KIND: Final = "visit-keys"
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


class _Table(NamedTuple):
    keys: npt.NDArray[np.uint64]
    places: npt.NDArray[np.uint64]
    """One row of log, offset, place for each key."""


def _empty() -> _Table:
    return _Table(np.zeros(0, np.uint64), np.zeros((0, 3), np.uint64))


class KeyIndex:
    """Finds the newest visit with outcome OK of a key. Can be lost: it is made again from the logs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._store = ""
        self._reset("")

    def _reset(self, store: str) -> None:
        self._store = store
        self._table = _empty()
        self._recent: dict[int, Place] = {}
        self._reached = Position(0, 0)

    def find(self, key: int, manifest: Manifest) -> Place | None:
        """Give the place of the newest good visit of `key`, after a look at what was written since the last call."""
        with self._lock:
            self._refresh(manifest)
            if key in self._recent:
                return self._recent[key]
            keys = self._table.keys
            at = int(np.searchsorted(keys, np.uint64(key)))
            if at < len(keys) and int(keys[at]) == key:
                return Place(*(int(number) for number in self._table.places[at]))
            return None

    def _refresh(self, manifest: Manifest) -> None:
        if self._store != manifest.id:
            self._reset(manifest.id)
            with contextlib.suppress(DataError):
                self._load(manifest)
        for log, frame in walk(self._folder, manifest, self._reached):
            self._take(log, frame)
            self._reached = Position(log, frame.end)
        if len(self._recent) >= max(_SAVE_AT, len(self._table.keys) // 8) and self._is_durable(manifest, self._reached):
            self._save()

    def _is_durable(self, manifest: Manifest, reached: Position) -> bool:
        """Say whether all up to there is durable: what is not may be replaced after a power cut."""
        durable = {part.name: part.length for part in manifest.logs}
        return reached.offset <= durable.get(log_name(reached.log), 0)

    def _take(self, log: int, frame: Frame) -> None:
        for place, visit in enumerate(_keyed.decode(decompress(frame.payload, MAX_PAYLOAD))):
            if visit.outcome is Outcome.OK:
                self._recent[visit.key] = Place(log, frame.offset, place)

    def _load(self, manifest: Manifest) -> None:
        """Use the file when it is of this store and reaches no further than what is durable."""
        path = self._folder / _FILE
        if not path.exists():
            return
        file = ArrayFile(path, _KIND)
        file.check()
        notes: dict[str, Any] = file.notes
        reached = Position(int(notes.get("log", 0)), int(notes.get("offset", 0)))
        keys, places = file["keys"], file["places"]
        fits = keys.dtype == np.uint64 and places.shape == (len(keys), 3) and places.dtype == np.uint64
        if fits and notes.get("store") == manifest.id and self._is_durable(manifest, reached):
            self._table = _Table(keys, places)
            self._reached = reached

    def _save(self) -> None:
        """Merge the recent keys into the table and write it; a folder that cannot be written to is no obstacle."""
        fresh = np.fromiter(self._recent.keys(), np.uint64, len(self._recent))
        rows = np.array([*self._recent.values()], np.uint64).reshape(-1, 3)
        keys = np.concatenate((self._table.keys, fresh))
        places = np.concatenate((self._table.places, rows))
        order = np.argsort(keys, kind="stable")
        keys, places = keys[order], places[order]
        # Of equal keys the last is the newest.
        last = np.append(keys[1:] != keys[:-1], np.ones(min(1, len(keys)), bool))
        self._table = _Table(keys[last], places[last])
        self._recent = {}
        notes = {"store": self._store, "log": self._reached.log, "offset": self._reached.offset}
        with contextlib.suppress(DiskFailed):
            write_arrays(self._folder / _FILE, _KIND, self._table._asdict(), notes)
