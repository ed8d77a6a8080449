"""Rounds of a graph build in storage: for each round and shard one record, and one object for each message.

graph/BUILD/NNNN.json              what shard NNNN reads: how many fetch records
graph/BUILD/RRRRR/NNNN.json        round R of shard NNNN: its name, its summary and its messages; written last
graph/BUILD/RRRRR/NNNN-MMMM        what it sends to shard MMMM: an array file
"""

from pathlib import Path
from typing import Final

import msgspec

from periplus import __version__
from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile, StorageConflict, WrongVersion
from periplus.files import decode_json, encode_json
from periplus.graph import Message, Round
from periplus.storage import Storage, StoredObject

__all__ = ["RoundRecord", "RoundStore"]

_KIND: Final = "graph-message"
_FORMAT: Final = 1


class _Plan(msgspec.Struct, frozen=True):
    records: int
    periplus: str = __version__
    format: int = _FORMAT


class RoundRecord(msgspec.Struct, frozen=True):
    """What one shard has sent in one round."""

    name: str
    summary: tuple[float, ...]
    messages: dict[int, StoredObject]
    periplus: str = __version__
    format: int = _FORMAT


class RoundStore:
    """The rounds of one build of the graph. Shards are numbered as in the topology of the cluster."""

    def __init__(self, storage: Storage, build: str) -> None:
        self._storage, self._prefix = storage, f"graph/{build}"

    def plan(self, shard: int, records: int) -> int:
        """Return how many fetch records a shard reads: what its first ranker found, for its successors too."""
        name = f"{self._prefix}/{shard:04d}.json"
        stored = self._storage.read_record(name)
        if stored is None:
            try:
                self._storage.create_record(name, encode_json(_Plan(records)))
                return records
            except StorageConflict:
                stored = self._storage.read_record(name)
        plan = decode_json(name, stored.data if stored else b"", _Plan, _FORMAT, checksum_since=1)
        _check_version(plan.periplus)
        return plan.records

    def write(self, number: int, shard: int, sent: Round, scratch: Path) -> None:
        """Write a round: messages first, then the record. A round that is there already stays as it is."""
        existing = self.read(number, shard)
        if existing is not None:
            if (
                existing.name != sent.name
                or existing.summary != _as_summary(sent)
                or set(existing.messages) != set(sent.messages)
            ):
                raise CorruptFile(
                    f"Shard {shard} repeats round {number} of {self._prefix} differently.",
                    "Its store or its settings have changed: begin another build of the graph.",
                )
            return
        messages = {}
        for receiver, message in sent.messages.items():
            path = scratch / f"outgoing-{receiver}"
            write_arrays(path, _KIND, message, format=_FORMAT)
            messages[receiver] = self._storage.put_file(f"{self._folder(number)}/{shard:04d}-{receiver:04d}", path)
            path.unlink()
        record = RoundRecord(sent.name, _as_summary(sent), messages)
        self._storage.create_record(f"{self._folder(number)}/{shard:04d}.json", encode_json(record))

    def read(self, number: int, shard: int) -> RoundRecord | None:
        """Return a round of a shard; None if it is not written yet."""
        name = f"{self._folder(number)}/{shard:04d}.json"
        stored = self._storage.read_record(name)
        if stored is None:
            return None
        record = decode_json(name, stored.data, RoundRecord, _FORMAT, checksum_since=1)
        _check_version(record.periplus)
        return record

    def fetch(self, stored: StoredObject, path: Path) -> Message:
        """Return a message, verified and memory-mapped; the file at `path` is removed again."""
        self._storage.get_file(stored, path)
        file = ArrayFile(path, _KIND, format=_FORMAT)
        file.check()
        message = {name: file[name] for name in file.sizes()}
        path.unlink()
        return message

    def statistics(self) -> tuple[int, int]:
        """Return the number of objects of the build so far, and their bytes."""
        objects = self._storage.list_objects(self._prefix)
        return len(objects), sum(entry.length for entry in objects)

    def remove(self) -> None:
        """Remove all rounds, when all shards have ended."""
        self._storage.delete([entry.name for entry in self._storage.list_objects(self._prefix)])

    def _folder(self, number: int) -> str:
        return f"{self._prefix}/{number:05d}"


def _as_summary(sent: Round) -> tuple[float, ...]:
    return tuple(float(value) for value in sent.summary)


def _check_version(version: str) -> None:
    if version != __version__:
        raise WrongVersion(
            f"Another shard builds the graph with Periplus {version}; this is {__version__}.",
            "Install the same version on all nodes.",
        )
