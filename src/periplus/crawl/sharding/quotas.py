"""How the pages of a crawl are shared out among its shards: in slices, so that all of them together keep the limit."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.crawl_status import CrawlStatus
from periplus.errors import CorruptFile
from periplus.files import decode_json, write_atomically

__all__ = ["Quotas", "read_quotas"]

_FILE: Final = "quotas.json"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes. Files without one are of format 0."""
_SLICES: Final = 2
"""A shard gets one part in so many of what would be its share of the rest, but not fewer pages at once than these."""
_LEAST: Final = 8


class _Pages(msgspec.Struct, frozen=True):
    """At how many pages each shard stops for now."""

    pages: dict[int, int]
    format: int = _FORMAT


def read_quotas(folder: Path) -> dict[int, int]:
    """Return how many pages each shard may have by now; nothing where nobody has said so, or that is damaged."""
    path = folder / "crawl" / _FILE
    try:
        data = path.read_bytes()
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return msgspec.json.decode(data, type=dict[int, int])  # format 0: the numbers alone
        return decode_json(path, data, _Pages, _FORMAT).pages
    except (OSError, CorruptFile):
        return {}


class Quotas:
    """Gives each shard a number of pages to stop at. Their sum never exceeds the limit."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._path = folder / "crawl" / _FILE
        self._limit = limit
        self._given: dict[int, int] = {}
        self._spent: dict[int, int] = {}
        """What processes that have ended had, where a new one begins to count at zero."""
        self._written: dict[str, int] = {}
        self._path.unlink(missing_ok=True)

    def reached(self, shards: Mapping[int, CrawlStatus]) -> bool:
        """Tell whether all shards together have had all pages."""
        return sum(self._had(number, status) for number, status in shards.items()) >= self._limit

    def _had(self, number: int, status: CrawlStatus) -> int:
        return status.pages + self._spent.get(number, 0)

    def restart(self, number: int, had: int) -> None:
        """Take note that a new process of a shard begins to count at zero, after another had so many."""
        self._spent[number] = self._spent.get(number, 0) + had
        self._write()

    def share_out(self, shards: Mapping[int, CrawlStatus]) -> None:
        """Give more to those that are short of it; take from those that have nothing to do what they do not need."""
        had = {number: self._had(number, status) for number, status in shards.items()}
        # What a shard was given counts until it has said that it knows of less.
        held = {
            number: max(had[number], self._given.get(number, 0), status.quota + self._spent.get(number, 0))
            for number, status in shards.items()
        }
        free = self._limit - sum(held.values())
        part = max(_LEAST, (self._limit - sum(had.values())) // (_SLICES * len(shards)))
        given = dict(self._given)
        for number, status in shards.items():
            left = given.get(number, 0) - had[number]
            if status.state == "idle" and free < part and left > 0:
                given[number] = had[number]
            elif status.state != "idle" and 2 * left < part and free > 0:
                more = min(part - max(0, left), free)
                given[number] = max(given.get(number, 0), had[number]) + more
                free -= more
        self._given = given
        self._write()

    def _write(self) -> None:
        numbers = {str(number): total - self._spent.get(number, 0) for number, total in self._given.items()}
        if numbers != self._written:
            write_atomically(
                self._path, msgspec.json.encode(_Pages({int(name): pages for name, pages in numbers.items()}))
            )
            self._written = numbers
