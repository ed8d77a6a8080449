"""Distribution of the page limit among the shards of a crawl, in slices, so that together they never exceed it."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.crawl_status import CrawlStatus
from periplus.errors import CorruptFile
from periplus.files import decode_json, encode_json, write_atomically
from periplus.typed_decoding import parse_json

__all__ = ["Quotas", "read_quotas"]

_FILE: Final = "quotas.json"
_FORMAT: Final = 2
"""Version of the file format; raised with every change to it. Files without one are of format 0.
Since 2, the file has a checksum."""
_SLICES: Final = 2
"""A shard gets its share of the remaining pages divided by this, but at least `_MIN_SLICE` pages at a time."""
_MIN_SLICE: Final = 8


class _QuotaFile(msgspec.Struct, frozen=True):
    """Contents of the file: the number of pages at which each shard stops."""

    pages: dict[int, int]
    format: int = _FORMAT


def read_quotas(folder: Path) -> dict[int, int]:
    """Return the current quota of each shard; empty if the file is missing or damaged."""
    path = folder / "crawl" / _FILE
    try:
        data = path.read_bytes()
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return parse_json(data, dict[int, int])  # format 0: the numbers alone
        return decode_json(path, data, _QuotaFile, _FORMAT, checksum_since=2).pages
    except (OSError, CorruptFile):
        return {}


class Quotas:
    """Assigns each shard a number of pages at which it stops. Their sum never exceeds the limit."""

    def __init__(self, folder: Path | None, limit: int) -> None:
        """Write the quotas to a file of `folder`, if there is one."""
        self._path = folder / "crawl" / _FILE if folder is not None else None
        self._limit = limit
        self._quotas: dict[int, int] = {}
        self._spent: dict[int, int] = {}
        """Pages fetched by earlier processes of a shard, if the current one counts from zero."""
        self._written: dict[int, int] = {}
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def is_exhausted(self, shards: Mapping[int, CrawlStatus]) -> bool:
        """Return whether all shards together have reached the limit."""
        return sum(self._pages_of(number, status) for number, status in shards.items()) >= self._limit

    def _pages_of(self, number: int, status: CrawlStatus) -> int:
        return status.pages + self._spent.get(number, 0)

    def note_restart(self, number: int, had: int) -> None:
        """Record that a new process of a shard counts from zero, after the last one fetched `had` pages."""
        self._spent[number] = self._spent.get(number, 0) + had
        self._write()

    def distribute(self, shards: Mapping[int, CrawlStatus]) -> None:
        """Raise the quotas of shards that have nearly used them; withdraw unused quota from idle shards."""
        had = {number: self._pages_of(number, status) for number, status in shards.items()}
        # A quota counts until the shard has acknowledged a lower one.
        reserved = {
            number: max(had[number], self._quotas.get(number, 0), status.quota + self._spent.get(number, 0))
            for number, status in shards.items()
        }
        free = self._limit - sum(reserved.values())
        slice_size = max(_MIN_SLICE, (self._limit - sum(had.values())) // (_SLICES * len(shards)))
        quotas = dict(self._quotas)
        for number, status in shards.items():
            remaining = quotas.get(number, 0) - had[number]
            if status.state == "idle" and free < slice_size and remaining > 0:
                quotas[number] = had[number]
            elif status.state != "idle" and 2 * remaining < slice_size and free > 0:
                grant = min(slice_size - max(0, remaining), free)
                quotas[number] = max(quotas.get(number, 0), had[number]) + grant
                free -= grant
        self._quotas = quotas
        self._write()

    def assigned(self) -> dict[int, int]:
        """Return the quota of each shard, as its current process counts."""
        return {number: total - self._spent.get(number, 0) for number, total in self._quotas.items()}

    def _write(self) -> None:
        numbers = self.assigned()
        if self._path is not None and numbers != self._written:
            write_atomically(self._path, encode_json(_QuotaFile(numbers)))
            self._written = numbers
