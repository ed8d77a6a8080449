"""Which batches of other sites were applied: a batch that comes again is recognised, in bounded space.

    applied/SENDER.json    for each of the last 16 lanes of a site: the highest number, and the 4,096 numbers up to it

A batch is recorded after what it changes is durable. If the process ends in between, the batch is applied again: what
applies batches is therefore idempotent by the identity of the batch. A number that is more than 4,096 below the highest
can no longer be told from one that was applied; senders have at most a few dozen batches under way, so such a batch is
refused and quarantined, never applied twice.
"""

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile
from periplus.files import decode_json, disk_errors, encode_json, make_folder, read_file, write_atomically

__all__ = ["WINDOW", "AppliedBatches", "Novelty"]

WINDOW: Final = 4_096
"""Numbers below the highest that are remembered one by one."""
_MAX_LANES: Final = 16
_FORMAT: Final = 1

Novelty = str
"""'new', 'applied' or 'stale': too old to know."""


class _Lane(msgspec.Struct, array_like=True):
    name: str
    highest: int
    bits: str
    """Hexadecimal: bit i is whether `highest - i` was applied."""


class _Record(msgspec.Struct):
    format: int = _FORMAT
    lanes: list[_Lane] = []
    """The one used last is the last."""


class AppliedBatches:
    """The record of one site; one thread uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: dict[str, _Record] = {}
        with disk_errors(folder):
            make_folder(folder, 0o700)

    def novelty(self, sender: str, lane: str, number: int) -> Novelty:
        """Return whether a batch was applied: 'new', 'applied' or 'stale'."""
        entry = next((entry for entry in self._record(sender).lanes if entry.name == lane), None)
        if entry is None or number > entry.highest:
            return "new"
        distance = entry.highest - number
        if distance >= WINDOW:
            return "stale"
        return "applied" if int(entry.bits, 16) >> distance & 1 else "new"

    def add(self, sender: str, lane: str, number: int) -> None:
        """Record that a batch was applied, durably."""
        record = self._record(sender)
        entry = next((entry for entry in record.lanes if entry.name == lane), _Lane(lane, 0, "0"))
        bits, highest = int(entry.bits, 16), entry.highest
        if number > highest:
            bits = bits << min(number - highest, WINDOW) & (1 << WINDOW) - 1
            highest = number
        bits |= 1 << (highest - number)
        lanes = [other for other in record.lanes if other.name != lane]
        record.lanes = [*lanes, _Lane(lane, highest, f"{bits:x}")][-_MAX_LANES:]
        write_atomically(self._path(sender), encode_json(record))

    def _path(self, sender: str) -> Path:
        return self._folder / f"{sender}.json"

    def _record(self, sender: str) -> _Record:
        if sender not in self._records:
            record = _Record()
            path = self._path(sender)
            # A damaged record is begun again: batches that come again are then applied again, which changes nothing.
            with contextlib.suppress(FileNotFoundError, CorruptFile):
                record = decode_json(path, read_file(path), _Record, _FORMAT, checksum_since=1)
            self._records[sender] = record
        return self._records[sender]
