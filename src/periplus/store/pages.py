"""The page store: what the crawler and imports write, and the index, the graph and cached copies read."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, cast

from periplus.errors import CorruptFile, DataError, NothingHere
from periplus.records import Fetched, Visit
from periplus.settings import StoreSettings
from periplus.store.frames import decode_visits, one_visit
from periplus.store.keys import KeyIndex
from periplus.store.log import Position, frame_at, walk
from periplus.store.manifest import Manifest, log_files, log_name, read_manifest, warc_files
from periplus.store.recovery import stored_record
from periplus.store.warc_read import WarcPage, parse_record
from periplus.store.writer import Writer

__all__ = ["PageStore", "StoreStatistics"]


class StoreStatistics(NamedTuple):
    """How big a store is."""

    visits: int
    pages: int
    warc_bytes: int
    log_bytes: int
    files: int


class PageStore:
    """All visits of a crawl or an import, in order of writing, and the responses they kept. One writer at a time."""

    def __init__(self, folder: Path, writer: Writer | None) -> None:
        self.folder = folder
        self._writer = writer
        self._keys = KeyIndex(folder)

    @classmethod
    def open(cls, folder: Path, settings: StoreSettings, *, write: bool = False) -> Self:
        """Open a store. For writing it is made when absent, and put right after a crash.

        For reading, the stores of all shards beneath it are one.
        """
        if write:
            return cls(folder, Writer(folder, settings))
        from periplus.store.joined import JoinedStore, part_folders

        if part_folders(folder):
            return cast(Self, JoinedStore(folder))
        if read_manifest(folder) is None and not log_files(folder):
            raise NothingHere(f"There are no pages in {folder}.", "Crawl or import some first.")
        return cls(folder, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, visit: Visit, fetched: Fetched | None = None) -> Visit:
        """Take a visit, and its response when it has a body worth keeping; give the visit with its WARC place."""
        return self._writing().append(visit, fetched)

    def flush(self) -> None:
        """Hand all visits to the operating system: they survive the end of this process."""
        self._writing().flush()

    def commit(self) -> int:
        """Make all visits durable: they survive the end of the machine's power. Give their number."""
        return self._writing().commit()

    def _writing(self) -> Writer:
        if self._writer is None:
            raise DataError(f"{self.folder} is not open for writing.")
        return self._writer

    def visits(self, start: int = 0) -> Iterator[Visit]:
        """Give visits in order of writing, from visit number `start` on, a frame at a time."""
        begin, skip = self._begin(start)
        for _, frame in walk(self.folder, self._manifest(), begin, skip):
            if frame.visits <= skip:
                skip -= frame.visits
                continue
            found = decode_visits(frame)
            yield from found[skip:] if skip else found
            skip = 0

    def _begin(self, start: int) -> tuple[Position, int]:
        """Pass over whole files by the manifest's counts; give where to begin and the visits still to skip."""
        skip = max(start, 0)
        number = 0
        for part in self._manifest().logs[:-1]:
            if part.visits > skip:
                break
            skip -= part.visits
            number += 1
        return Position(number, 0), skip

    def _manifest(self) -> Manifest:
        """Give what is durable now. What a writer has in hand is handed over first, so that it can be read."""
        if self._writer is not None:
            self._writer.flush()
            return self._writer.durable
        return read_manifest(self.folder) or Manifest()

    def settle(self) -> None:
        """Give every visit that there is its number; those of one store have it by their place."""

    def find(self, key: int) -> Visit | None:
        """Give the newest visit of the page with this key whose outcome was OK."""
        place = self._keys.find(key, self._manifest())
        if place is None:
            return None
        visit = one_visit(frame_at(self.folder / log_name(place.log), place.offset), place.place)
        return visit if visit.key == key else None

    def response(self, visit: Visit) -> WarcPage:
        """Give the stored response of a visit: status, headers and body."""
        if not visit.warc:
            raise NothingHere(f"The response of {visit.url} was not kept.")
        if self._writer is not None:
            self._writer.flush()
        page = parse_record(stored_record(self.folder, visit))
        if page is None:
            raise CorruptFile(f"{self.folder / visit.warc} is damaged at byte {visit.warc_offset}.")
        return page

    def statistics(self) -> StoreStatistics:
        """Say how many visits and pages there are, and what they take."""
        manifest = self._manifest()
        visits, pages = manifest.visits, manifest.pages
        last = manifest.logs[-1] if manifest.logs else None
        begin = Position(len(manifest.logs) - 1, last.length) if last else Position(0, 0)
        for _, frame in walk(self.folder, manifest, begin):
            visits, pages = visits + frame.visits, pages + frame.pages
        logs, warcs = log_files(self.folder), warc_files(self.folder)
        sizes = [sum(path.stat().st_size for path in paths) for paths in (warcs, logs)]
        return StoreStatistics(visits, pages, sizes[0], sizes[1], len(logs) + len(warcs))

    def close(self) -> None:
        """Commit and let go. A store can be closed twice."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
