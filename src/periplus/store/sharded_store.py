"""Several stores that are read as one: those of a crawl's shards, in an order that never changes once it was read.

Each shard writes a store of its own: the first in `store`, the others in `store/shard-NN`. Whoever reads them all gives
the visits that nobody has read before their place, and writes it down in `store/order.bin`, so that visit number 1000
is the same visit for every reader, for ever. While there is but one store, its own order is that of all; shards that
come later come after all that was in it.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from periplus.errors import CorruptFile, NothingHere
from periplus.records import FetchRecord
from periplus.store.page_store import PageStore, StoreStatistics
from periplus.store.read_order import Order
from periplus.store.store_manifest import is_warc, log_files, read_manifest
from periplus.store.warc.warc_reader import WarcPage

__all__ = ["ShardedStore", "shard_folder", "shard_folders", "shards_beside"]

_PART: Final = re.compile(r"shard-(\d{2,4})")


def shard_folder(folder: Path, number: int) -> Path:
    """Give the folder of one shard's store."""
    return folder if number == 0 else folder / f"shard-{number:02d}"


def shard_folders(folder: Path) -> dict[int, Path]:
    """Give the folders of all shards but the first, by their numbers."""
    if not folder.is_dir():
        return {}
    found = ((_PART.fullmatch(path.name), path) for path in folder.iterdir())
    return dict(sorted((int(match[1]), path) for match, path in found if match is not None and int(match[1])))


def shards_beside(folder: Path) -> int:
    """Give how many stores there are where this one is: its own, and those of other shards."""
    root = folder.parent if _PART.fullmatch(folder.name) else folder
    return 1 + len(shard_folders(root))


class _Mark(NamedTuple):
    """A place in the order: so many runs, so many visits, so many of each part."""

    runs: int
    visits: int
    of_part: dict[int, int]


class ShardedStore(PageStore):
    """All stores of a folder, for reading."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, None)
        self._order = Order(folder)
        self._mark = _Mark(0, 0, {})
        self._parts: dict[int, PageStore] = {}
        if not self._look():
            raise NothingHere(f"There are no pages in {folder}.", "Crawl or import some first.")

    def _look(self) -> dict[int, PageStore]:
        """Give the stores that there are by now: shards may be added while we read."""
        for number, path in {0: self.folder, **shard_folders(self.folder)}.items():
            if number not in self._parts and (read_manifest(path) is not None or log_files(path)):
                self._parts[number] = PageStore(path, None)
        return self._parts

    def number_records(self) -> None:
        """Give every visit that there is its place in the order."""
        if set(self._look()) <= {0}:
            return
        self._order.extend({number: part.statistics().records for number, part in self._look().items()})

    def records(self, start: int = 0) -> Iterator[FetchRecord]:
        """Give visits in the order of all parts, from visit number `start` on."""
        self.number_records()
        if set(self._parts) <= {0}:
            yield from self._parts[0].records(start)
            return
        mark = self._mark = self._pass_over(start)
        skip = max(start - mark.visits, 0)
        readers: dict[int, Iterator[FetchRecord]] = {}
        for number, count in self._order.runs[mark.runs :]:
            if number not in self._parts:
                raise CorruptFile(f"{shard_folder(self.folder, number)} is missing, though it was read before.")
            if number not in readers:
                readers[number] = self._parts[number].records(mark.of_part.get(number, 0) + skip)
            yield from islice(readers[number], count - skip)
            skip = 0

    def _pass_over(self, start: int) -> _Mark:
        """Give the run that visit number `start` is in; those who follow the end begin near it."""
        begin = self._mark if self._mark.visits <= start else _Mark(0, 0, {})
        runs, visits, of_part = begin.runs, begin.visits, dict(begin.of_part)
        for number, count in islice(self._order.runs, runs, None):
            if visits + count > start:
                break
            runs, visits = runs + 1, visits + count
            of_part[number] = of_part.get(number, 0) + count
        return _Mark(runs, visits, of_part)

    def find(self, key: int) -> FetchRecord | None:
        """Give the newest visit of the page with this key whose outcome was OK."""
        found = [visit for part in self._look().values() if (visit := part.find(key)) is not None]
        return max(found, key=lambda visit: visit.when, default=None)

    def find_latest(self, key: int) -> FetchRecord | None:
        """Give the newest visit of the page with this key, whatever became of it."""
        found = [visit for part in self._look().values() if (visit := part.find_latest(key)) is not None]
        return max(found, key=lambda visit: visit.when, default=None)

    def read_response(self, visit: FetchRecord) -> WarcPage:
        """Give the stored response of a visit, of whichever part it is."""
        failure: CorruptFile | None = None
        for part in self._look().values():
            if is_warc(visit.warc) and not part.has_response(visit):
                continue
            try:
                page = part.read_response(visit)
            except CorruptFile as error:
                failure = error
                continue
            if page.url == visit.url:
                return page
        raise failure or NothingHere(f"The response of {visit.url} was not kept.")

    def has_response(self, visit: FetchRecord) -> bool:
        """Tell whether the response of a visit is in some part, as far as files tell."""
        return any(part.has_response(visit) for part in self._look().values())

    def statistics(self) -> StoreStatistics:
        """Say how many visits and pages there are in all parts, and what they take."""
        every = [part.statistics() for part in self._look().values()]
        return StoreStatistics(*(sum(column) for column in zip(*every, strict=True)))

    def close(self) -> None:
        """Let go of all parts."""
        for part in self._parts.values():
            part.close()
