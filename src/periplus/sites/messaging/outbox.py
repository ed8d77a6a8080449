"""The outbox: batches on disk until the site that they are for has stored them.

    outbox/LANE/id.json                              the random name of the lane
    outbox/LANE/RECEIVER/NNNNNNNNNNNN-SINK.batch     a signed batch

A lane has one writer at a time, the process that its folder is named after; its batches are numbered from 1 for each
receiver. What is appended is durable when `append` returns. The process that sends reads all lanes (`OutboxReader`) and
deletes a batch when the receiver has stored it.

The batches for one site are bounded. When they are too many, the oldest of those that can be lost (URLs are found
again, statistics are replaced by newer ones) are dropped; pages and submissions are not accepted: `append` returns
False, and the page stays with the site that has it.
"""

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import msgspec

from periplus.errors import CorruptFile
from periplus.files import (
    decode_json,
    disk_errors,
    encode_json,
    lock_folder,
    make_folder,
    read_file,
    sweep_torn,
    write_atomically,
)
from periplus.sites.messaging.batches import encode_batch
from periplus.sites.messaging.site_keys import SiteKey

__all__ = ["LASTING_SINKS", "Outbox", "OutboxBatch", "OutboxReader", "OutboxSize", "list_outbox"]

LASTING_SINKS: Final = frozenset(("pages", "submissions"))
"""Batches of these sinks are never dropped: without room for them, the items stay where they are."""
_NAME: Final = re.compile(r"(\d{12})-([a-z]{1,16})\.batch")
_STATE: Final = "id.json"
_FORMAT: Final = 1


class _LaneState(msgspec.Struct, frozen=True):
    format: int = _FORMAT
    lane: str = ""
    numbers: dict[str, int] = {}
    """By receiver: at least the number of the last batch that was deleted."""
    dropped: dict[str, int] = {}


class OutboxBatch(NamedTuple):
    """A batch that waits to be sent."""

    path: Path
    receiver: str
    number: int
    sink: str
    size: int


class OutboxSize(NamedTuple):
    """What waits for one site."""

    batches: int = 0
    bytes: int = 0
    oldest: float = 0.0
    """When the oldest was written, in seconds since 1970; 0 if there is none."""
    dropped: int = 0
    """Batches that were dropped since the lane was made, for lack of room."""


def list_outbox(folder: Path) -> list[OutboxBatch]:
    """Return the batches for one receiver in one lane, in the order of their numbers."""
    batches = []
    with disk_errors(folder), contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(folder):
            if match := _NAME.fullmatch(entry.name):
                with contextlib.suppress(FileNotFoundError):
                    size = entry.stat().st_size
                    batches.append(OutboxBatch(Path(entry.path), folder.name, int(match[1]), match[2], size))
    return sorted(batches, key=lambda batch: batch.number)


class Outbox:
    """One lane, for the process that writes it. Any of its threads may append."""

    def __init__(
        self, folder: Path, lane: str, key: SiteKey, network: str, site: str, max_bytes: int = 1 << 30
    ) -> None:
        self._folder = folder / lane
        self._key, self._network, self._site, self._max = key, network, site, max_bytes
        self._lock = threading.Lock()
        self._resources = contextlib.ExitStack()
        self._resources.enter_context(lock_folder(self._folder, "outbox", f"sending to other sites ({lane})"))
        try:
            self._state = self._open()
        except BaseException:
            self._resources.close()
            raise
        self._waiting: dict[str, list[OutboxBatch]] = {}
        self._used = dict(self._state.numbers)
        """By receiver: the last number that was used; those of the state are reserved."""

    def _open(self) -> _LaneState:
        path = self._folder / _STATE
        try:
            state = decode_json(path, read_file(path), _LaneState, _FORMAT, checksum_since=1)
        except (FileNotFoundError, CorruptFile):
            state = _LaneState(lane=secrets.token_hex(8))  # a new lane: its numbers begin again
        numbers = dict(state.numbers)
        for receiver in self._receivers():
            sweep_torn(self._folder / receiver)
            last = max((batch.number for batch in list_outbox(self._folder / receiver)), default=0)
            # A batch that was sent and deleted may have had a higher number: no number is used twice.
            numbers[receiver] = max(numbers.get(receiver, 0), last)
        state = msgspec.structs.replace(state, numbers=numbers)
        self._save(state)
        return state

    def _receivers(self) -> list[str]:
        with disk_errors(self._folder):
            return [entry.name for entry in os.scandir(self._folder) if entry.is_dir()]

    def _save(self, state: _LaneState) -> None:
        write_atomically(self._folder / _STATE, encode_json(state))

    @property
    def lane(self) -> str:
        """The random name of the lane."""
        return self._state.lane

    def append(self, receiver: str, sink: str, items: Sequence[Any]) -> bool:
        """Write a batch, durably; return False, and write nothing, if there is no room for it."""
        with self._lock:
            folder = self._folder / receiver
            with disk_errors(folder):
                make_folder(folder, 0o700)
            number = self._next_number(receiver)
            data = encode_batch(self._key, self._network, self._site, receiver, sink, self.lane, number, items)
            if not self._make_room(receiver, sink, len(data)):
                return False
            path = folder / f"{number:012d}-{sink}.batch"
            write_atomically(path, data)
            self._waiting[receiver].append(OutboxBatch(path, receiver, number, sink, len(data)))
            return True

    def _next_number(self, receiver: str) -> int:
        """Return the next number. Numbers are reserved on disk by hundreds: none is used again after a crash."""
        numbers = self._state.numbers
        number = self._used.get(receiver, numbers.get(receiver, 0)) + 1
        if number > numbers.get(receiver, 0):
            self._state = msgspec.structs.replace(self._state, numbers={**numbers, receiver: number + 99})
            self._save(self._state)
        self._used[receiver] = number
        return number

    def _pending(self, receiver: str) -> list[OutboxBatch]:
        """Return what waits for a receiver; batches that were sent meanwhile are gone from disk."""
        batches = self._waiting.get(receiver)
        if batches is None:
            batches = self._waiting[receiver] = list_outbox(self._folder / receiver)
        while batches and not batches[0].path.exists():
            batches.pop(0)
        return batches

    def _make_room(self, receiver: str, sink: str, size: int) -> bool:
        if sum(batch.size for batch in self._pending(receiver)) + size <= self._max:
            return True
        batches = self._waiting[receiver] = list_outbox(self._folder / receiver)
        excess = sum(batch.size for batch in batches) + size - self._max
        for batch in list(batches):
            if excess <= 0:
                break
            if sink in LASTING_SINKS or batch.sink in LASTING_SINKS:
                continue
            with contextlib.suppress(OSError):
                batch.path.unlink(missing_ok=True)
            batches.remove(batch)
            excess -= batch.size
            dropped = {**self._state.dropped, receiver: self._state.dropped.get(receiver, 0) + 1}
            self._state = msgspec.structs.replace(self._state, dropped=dropped)
        self._save(self._state)
        return excess <= 0

    def close(self) -> None:
        """Release the lane; what waits stays on disk."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class OutboxReader:
    """All lanes of a site, for the process that sends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def pending(self, receiver: str) -> list[OutboxBatch]:
        """Return the batches for a site, lane by lane in the order of their numbers."""
        return [batch for lane in self._lanes() for batch in list_outbox(lane / receiver)]

    def _lanes(self) -> list[Path]:
        try:
            return sorted(Path(entry.path) for entry in os.scandir(self._folder) if entry.is_dir())
        except FileNotFoundError:
            return []

    def read(self, batch: OutboxBatch) -> bytes | None:
        """Return a batch; None if it was dropped meanwhile."""
        try:
            return read_file(batch.path)
        except FileNotFoundError:
            return None

    def delete(self, batch: OutboxBatch) -> None:
        """Delete a batch that was stored. One that comes back after a power cut is sent again, and known there."""
        with contextlib.suppress(OSError):
            batch.path.unlink(missing_ok=True)

    def sizes(self) -> dict[str, OutboxSize]:
        """Return what waits, by receiver."""
        sizes: dict[str, OutboxSize] = {}
        for lane in self._lanes():
            dropped: dict[str, int] = {}
            with contextlib.suppress(OSError, CorruptFile):
                path = lane / _STATE
                dropped = decode_json(path, read_file(path), _LaneState, _FORMAT).dropped
            for folder in (Path(entry.path) for entry in os.scandir(lane) if entry.is_dir()):
                batches, before = list_outbox(folder), sizes.get(folder.name, OutboxSize())
                times = [before.oldest] if before.oldest else []
                for batch in batches[:1]:
                    with contextlib.suppress(OSError):
                        times.append(batch.path.stat().st_mtime)
                sizes[folder.name] = OutboxSize(
                    before.batches + len(batches),
                    before.bytes + sum(batch.size for batch in batches),
                    min(times, default=0.0),
                    before.dropped + dropped.get(folder.name, 0),
                )
        return sizes

    def remove_receiver(self, receiver: str) -> int:
        """Delete everything that waits for a site that has left; return how many batches those were."""
        batches = self.pending(receiver)
        for batch in batches:
            self.delete(batch)
        return len(batches)
