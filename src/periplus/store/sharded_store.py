"""The stores of a crawl's shards, read as one store in an order that never changes.

Each shard writes a store of its own: the first in `store`, the others in `store/shard-NN`. A reader of all of them
assigns numbers to the records that nobody has read before, and writes their order to `store/order.bin`, so that record
number 1000 is the same record for every reader from then on. With a single store, the order is that of writing; records
of shards that are added later follow all that were in it.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from periplus.errors import CorruptFile, NothingHere
from periplus.records import FetchRecord
from periplus.store.page_store import PageStore, StoreStatistics
from periplus.store.read_order import ReadOrder
from periplus.store.store_manifest import is_warc, log_files, read_manifest
from periplus.store.warc.warc_reader import WarcPage

__all__ = ["PUBLICATION_SHARD", "RECEIVED_SHARD", "ShardedStore", "count_shards", "shard_folder", "shard_folders"]

PUBLICATION_SHARD: Final = 9999
"""The shard of published pages, beyond all that a crawl can have. It has no responses."""
RECEIVED_SHARD: Final = 9998
"""The shard of pages that other sites have fetched."""
_SHARD: Final = re.compile(r"shard-(\d{2,4})")


def shard_folder(folder: Path, number: int) -> Path:
    """Return the folder of one shard's store."""
    return folder if number == 0 else folder / f"shard-{number:02d}"


def shard_folders(folder: Path) -> dict[int, Path]:
    """Return the folders of all shards but the first, by their numbers."""
    if not folder.is_dir():
        return {}
    matches = ((_SHARD.fullmatch(path.name), path) for path in folder.iterdir())
    return dict(sorted((int(match[1]), path) for match, path in matches if match is not None and int(match[1])))


def count_shards(folder: Path) -> int:
    """Return the number of stores of which this one is a shard, itself included; published pages do not count."""
    root = folder.parent if _SHARD.fullmatch(folder.name) else folder
    return 1 + len(shard_folders(root).keys() - {PUBLICATION_SHARD, RECEIVED_SHARD})


class _OrderPosition(NamedTuple):
    """A position in the order: the numbers of runs, of records, and of records of each shard before it."""

    runs: int
    records: int
    shard_records: dict[int, int]


class ShardedStore(PageStore):
    """The stores of all shards in a folder, for reading."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, None)
        self._order = ReadOrder(folder)
        self._position = _OrderPosition(0, 0, {})
        self._shards: dict[int, PageStore] = {}
        if not self._open_shards():
            raise NothingHere(f"There are no pages in {folder}.", "Crawl or import some first.")

    def _open_shards(self) -> dict[int, PageStore]:
        """Return the stores of all shards that exist now: shards may be added while the store is read."""
        for number, path in {0: self.folder, **shard_folders(self.folder)}.items():
            if number not in self._shards and (read_manifest(path) is not None or log_files(path)):
                self._shards[number] = PageStore(path, None)
        return self._shards

    def number_records(self) -> None:
        """Assign a number to every record."""
        if set(self._open_shards()) <= {0}:
            return
        self._order.extend({number: shard.statistics().records for number, shard in self._open_shards().items()})

    def records(self, start: int = 0) -> Iterator[FetchRecord]:
        """Yield the records of all shards in their order, from number `start` on."""
        self.number_records()
        if set(self._shards) <= {0}:
            yield from self._shards[0].records(start)
            return
        position = self._position = self._find_run(start)
        skip = max(start - position.records, 0)
        readers: dict[int, Iterator[FetchRecord]] = {}
        for number, count in self._order.runs[position.runs :]:
            if number not in self._shards:
                raise CorruptFile(f"{shard_folder(self.folder, number)} is missing, though it was read before.")
            if number not in readers:
                readers[number] = self._shards[number].records(position.shard_records.get(number, 0) + skip)
            yield from islice(readers[number], count - skip)
            skip = 0

    def _find_run(self, start: int) -> _OrderPosition:
        """Return the position of the run with record number `start`; the search starts at that of the last call."""
        begin = self._position if self._position.records <= start else _OrderPosition(0, 0, {})
        runs, records, shard_records = begin.runs, begin.records, dict(begin.shard_records)
        for number, count in islice(self._order.runs, runs, None):
            if records + count > start:
                break
            runs, records = runs + 1, records + count
            shard_records[number] = shard_records.get(number, 0) + count
        return _OrderPosition(runs, records, shard_records)

    def find(self, key: int) -> FetchRecord | None:
        """Return the newest record of the page with this key whose outcome was OK."""
        records = [record for shard in self._open_shards().values() if (record := shard.find(key)) is not None]
        return max(records, key=lambda record: record.when, default=None)

    def find_latest(self, key: int) -> FetchRecord | None:
        """Return the newest record of the page with this key, whatever its outcome."""
        records = [record for shard in self._open_shards().values() if (record := shard.find_latest(key)) is not None]
        return max(records, key=lambda record: record.when, default=None)

    def read_response(self, record: FetchRecord) -> WarcPage:
        """Return the stored response of a record, whichever shard it is in."""
        failure: CorruptFile | None = None
        for shard in self._open_shards().values():
            if is_warc(record.warc) and not shard.has_response(record):
                continue
            try:
                page = shard.read_response(record)
            except CorruptFile as error:
                failure = error
                continue
            if page.url == record.url:
                return page
        raise failure or NothingHere(f"The response of {record.url} was not stored.")

    def has_response(self, record: FetchRecord) -> bool:
        """Return whether the response of a record is stored in any shard, judging by the files that exist."""
        return any(shard.has_response(record) for shard in self._open_shards().values())

    def statistics(self) -> StoreStatistics:
        """Return the numbers of records and pages of all shards, and the size of their files."""
        statistics = [shard.statistics() for shard in self._open_shards().values()]
        return StoreStatistics(*(sum(column) for column in zip(*statistics, strict=True)))

    def close(self) -> None:
        """Close the stores of all shards."""
        for shard in self._shards.values():
            shard.close()
