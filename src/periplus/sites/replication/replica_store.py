"""Copies of documents of one other site, in a folder: an index of its own beside that of the site's documents.

Copies are never mixed with the documents that this site is the master of: statistics, dictionaries and bounds do not
count them, and answers are those of one index in which every document is once. A copy is current as long as the site
still has the segment it was taken from, and the document is not deleted there: segments never change.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import DataError, NothingHere
from periplus.index import Index, Segment, folder_statistics, replace_index, write_build_statistics
from periplus.search import IndexShard, ShardDescription
from periplus.settings import Settings
from periplus.sites.forwarding import ReplicaSet, copies_version
from periplus.sites.replication.replica_shard import IndexReplica
from periplus.sites.replication.replica_slices import DocumentSlice, unpack_slice

__all__ = ["ReplicaStore"]

_KIND: Final = "replica-origins"

Numbers = npt.NDArray[np.int64]


class Origins(NamedTuple):
    """Where each copy is from: the name of its segment at the site, and its number there."""

    segments: tuple[str, ...]
    owners: npt.NDArray[np.int32]
    numbers: Numbers

    def by_segment(self) -> dict[str, Numbers]:
        """Return the numbers of all copies by segment, ascending."""
        return {name: np.sort(self.numbers[self.owners == n]) for n, name in enumerate(self.segments)}


_NOTHING: Final = Origins((), np.zeros(0, np.int32), np.zeros(0, np.int64))


class ReplicaStore:
    """The copies of documents of one site. One thread changes it; sets that were returned stay as they are."""

    def __init__(self, folder: Path, site: str, number: int, settings: Settings) -> None:
        """Open a folder, which may be empty; number: of the other site among all sites."""
        self.site = site
        self.number = number
        self._folder = folder
        self._settings = settings
        self._origins = self._read_origins()

    def _index_folder(self) -> Path:
        return self._folder / "index"

    def _open(self) -> Index | None:
        try:
            return Index.open(self._index_folder(), verify=False)
        except (NothingHere, FileNotFoundError):
            return None

    def _read_origins(self) -> Origins:
        """Return where copies are from; without that, copies are of no use and are removed."""
        index = self._open()
        if index is None:
            return _NOTHING
        try:
            file = ArrayFile(self._index_folder() / f"origins-{index.manifest.generation:06}.arrays", _KIND)
            file.check()
            origins = Origins(
                tuple(file.notes["segments"]),
                np.array(file["owner"]).astype(np.int32),
                np.array(file["number"]).astype(np.int64),
            )
            if len(origins.owners) == sum(segment.documents for segment in index.segments):
                return origins
        except (DataError, FileNotFoundError, KeyError):
            pass
        self.clear()
        return _NOTHING

    def clear(self) -> None:
        """Remove all copies."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._origins = _NOTHING

    def __len__(self) -> int:
        return len(self._origins.owners)

    @property
    def bytes(self) -> int:
        """The bytes of all copies."""
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())

    def keys(self) -> npt.NDArray[np.uint64]:
        """Return the keys of all copies, in their order."""
        index = self._open()
        parts = [segment.column("key").astype(np.uint64) for segment in index.segments] if index else []
        return np.concatenate([np.zeros(0, np.uint64), *parts])

    def copies(self) -> dict[str, Numbers]:
        """Return the documents of the site that there are copies of, by segment: what its bounds are to leave out."""
        return self._origins.by_segment()

    def update(self, added: DocumentSlice | None = None, removed: Iterable[int] = ()) -> None:
        """Add the documents of a slice, and remove copies by their keys; raise `BadInput` for a damaged slice.

        Copies that were built with other collection statistics than the slice are removed.
        """
        folder = self._index_folder()
        if added is not None and len(added.owners):
            own = folder_statistics(folder) if len(self) else None
            if own is not None and own != added.statistics:
                self.clear()
            folder.mkdir(parents=True, exist_ok=True)
            write_build_statistics(folder / "collection.json", added.statistics)
        keys = self.keys()
        self._rewrite(added, np.isin(keys, np.array(sorted(set(removed)), np.uint64)))

    def _rewrite(self, added: DocumentSlice | None, gone: npt.NDArray[np.bool_]) -> None:
        """Write the copies that are not gone, and those of a slice, as a new index."""
        folder = self._index_folder()
        parts, origins = [], []
        incoming = self._folder / "incoming"
        shutil.rmtree(incoming, ignore_errors=True)
        if added is not None and len(added.owners):
            segment = unpack_slice(added, incoming / "slice")
            new = Origins(added.segments, added.owners, added.numbers)
            gone = gone | np.isin(self.keys(), segment.column("key"))  # A newer copy replaces an older one.
            parts.append(segment)
            origins.append(new)
        index = self._open()
        for segment in index.segments if index else ():
            if not gone.all():
                parts.append(Segment(folder / segment.name, np.flatnonzero(gone), verify=False))
                origins.append(self._origins)
        if not parts:
            self.clear()
            return
        maps = replace_index(folder, parts, self._settings.index)
        self._origins = _join_origins(origins, maps)
        current = self._open()
        assert current is not None
        path = folder / f"origins-{current.manifest.generation:06}.arrays"
        arrays: dict[str, npt.NDArray[Any]] = {"owner": self._origins.owners, "number": self._origins.numbers}
        write_arrays(path, _KIND, arrays, {"segments": list(self._origins.segments)})
        for old in folder.glob("origins-*.arrays"):
            if old != path:
                old.unlink(missing_ok=True)
        shutil.rmtree(incoming, ignore_errors=True)

    def replica_set(self, description: ShardDescription) -> ReplicaSet | None:
        """Return the copies that are current for what a site has now; others are removed. None if there are none."""
        current = self._current(description)
        if not current.all():
            self._rewrite(None, ~current)
        if not len(self):
            return None
        shard = IndexShard(self._folder, self._settings, self.number)
        numbers = {segment.name: number for number, segment in enumerate(description.segments)}
        segments = np.array([numbers[name] for name in self._origins.segments], np.int32)[self._origins.owners]
        replica = IndexReplica(
            shard,
            description,
            segments,
            self._origins.numbers.astype(np.int32),
            max(self._settings.rank.rerank, 0),
        )
        keys = np.sort(self.keys())
        return ReplicaSet(copies_version(self.copies()), description.generation, keys, replica)

    def _current(self, description: ShardDescription) -> npt.NDArray[np.bool_]:
        """Return which copies are of documents that the site still has."""
        current = np.zeros(len(self), np.bool_)
        segments = {segment.name: segment for segment in description.segments}
        for number, name in enumerate(self._origins.segments):
            own = np.flatnonzero(self._origins.owners == number)
            if name in segments:
                numbers = self._origins.numbers[own]
                there = numbers < segments[name].documents
                current[own] = there & ~np.isin(numbers, segments[name].deleted)
        return current


def _join_origins(parts: Iterable[Origins], maps: Iterable[Numbers]) -> Origins:
    """Return the origins of the documents of a slice that was made of several; unused segments are left out."""
    names: dict[str, int] = {}
    owners: dict[int, tuple[int, int]] = {}
    for part, new in zip(parts, maps, strict=True):
        for old in np.flatnonzero(new >= 0).tolist():
            name = part.segments[int(part.owners[old])]
            owners[int(new[old])] = names.setdefault(name, len(names)), int(part.numbers[old])
    rows = [owners[number] for number in range(len(owners))]
    return Origins(
        tuple(names), np.array([row[0] for row in rows], np.int32), np.array([row[1] for row in rows], np.int64)
    )
