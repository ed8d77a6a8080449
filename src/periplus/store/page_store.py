"""The page store: what the crawler and imports write, and the index, the graph and cached copies read."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, cast

from periplus.errors import CorruptFile, DataError, DiskFailed, NothingHere
from periplus.records import FetchRecord, FetchResult
from periplus.settings import StoreSettings
from periplus.store.carried_over import KeptTable, kept_files
from periplus.store.fetch_log import Position, frame_at, walk
from periplus.store.key_index import KeyIndex, Place
from periplus.store.log_frames import decode_visits, one_visit
from periplus.store.retention import RetentionResult, carry_over, plan_trim
from periplus.store.store_manifest import Manifest, is_warc, log_files, log_name, number_of, read_manifest, warc_files
from periplus.store.store_recovery import record_at, stored_record
from periplus.store.store_writer import Writer
from periplus.store.warc.warc_reader import WarcPage, parse_record

__all__ = ["PageStore", "StoreStatistics"]


class StoreStatistics(NamedTuple):
    """How big a store is."""

    records: int
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
        self._kept = KeptTable(folder)
        self._rotations = 0

    @classmethod
    def open(cls, folder: Path, settings: StoreSettings, *, write: bool = False) -> Self:
        """Open a store. For writing it is made when absent, and put right after a crash.

        For reading, the stores of all shards beneath it are one.
        """
        if write:
            store = cls(folder, Writer(folder, settings))
            store._tidy(settings)
            return store
        from periplus.store.sharded_store import ShardedStore

        return cast(Self, ShardedStore(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, visit: FetchRecord, fetched: FetchResult | None = None) -> FetchRecord:
        """Take a visit, and its response when it has a body worth keeping; give the visit with its WARC place."""
        writer = self._writing()
        taken = writer.append(visit, fetched)
        if writer.rotations != self._rotations:
            self._rotations = writer.rotations
            self._tidy(writer.settings)
        return taken

    def _tidy(self, settings: StoreSettings) -> None:
        """Let go of what is too much, where the operator has said what is. A disk that refuses may be asked again."""
        from periplus.store.sharded_store import shards_beside

        share = settings.keep_bytes // shards_beside(self.folder)
        with contextlib.suppress(DiskFailed):
            if settings.keep_days or 0 < share < self.statistics().warc_bytes:
                self.apply_retention(share, settings.keep_days)

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

    def records(self, start: int = 0) -> Iterator[FetchRecord]:
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

    def number_records(self) -> None:
        """Give every visit that there is its number; those of one store have it by their place."""

    def find(self, key: int) -> FetchRecord | None:
        """Give the newest visit of the page with this key whose outcome was OK."""
        return self._visit(key, self._keys.find(key, self._manifest()))

    def find_latest(self, key: int) -> FetchRecord | None:
        """Give the newest visit of the page with this key, whatever became of it."""
        return self._visit(key, self._keys.find_latest(key, self._manifest()))

    def _visit(self, key: int, place: Place | None) -> FetchRecord | None:
        if place is None:
            return None
        visit = one_visit(frame_at(self.folder / log_name(place.log), place.offset), place.place)
        return visit if visit.key == key else None

    def read_response(self, visit: FetchRecord) -> WarcPage:
        """Give the stored response of a visit: status, headers and body."""
        if not visit.warc:
            raise NothingHere(f"The response of {visit.url} was not kept.")
        if self._writer is not None:
            self._writer.flush()
        page = parse_record(self._record(visit))
        if page is None:
            raise CorruptFile(f"{self.folder / visit.warc} is damaged at byte {visit.warc_offset}.")
        return page

    def _record(self, visit: FetchRecord) -> bytes:
        """Give the record of a visit, from its own file or from where it was carried to."""
        for last_try in (False, True):
            place = self._kept.find(number_of(visit.warc), visit.warc_offset)
            if place is None and is_warc(visit.warc) and not (self.folder / visit.warc).exists():
                raise NothingHere(f"The response of {visit.url} is no longer kept.")
            try:
                return record_at(*place)[0] if place else stored_record(self.folder, visit)
            except CorruptFile:
                # It may have been carried elsewhere between the two looks.
                if last_try:
                    raise
        raise AssertionError

    def has_response(self, visit: FetchRecord) -> bool:
        """Tell whether the response of a visit is here, as far as files tell."""
        here = is_warc(visit.warc) and (self.folder / visit.warc).exists()
        return here or self._kept.find(number_of(visit.warc), visit.warc_offset) is not None

    def apply_retention(self, keep_bytes: int = 0, keep_days: float = 0.0, everything: bool = False) -> RetentionResult:
        """Let go of old responses: of files older than `keep_days`, and the oldest beyond `keep_bytes`; 0 is no limit.

        The newest response of each page that is still there stays, unless `everything` is to go. Visits stay always.
        """
        writer = self._writing()
        if not writer.full_warcs() and not (everything and kept_files(self.folder)):
            return RetentionResult(0, 0, 0)
        writer.commit()
        before = self.statistics().warc_bytes
        plan = plan_trim(self.folder, self._manifest(), writer.full_warcs(), keep_bytes, keep_days, everything)
        if not plan.names and not (everything and kept_files(self.folder)):
            return RetentionResult(0, 0, 0)
        carried = carry_over(self.folder, self._kept, plan, writer.settings.rotate_bytes)
        writer.forget_warcs(plan.names)
        return RetentionResult(len(plan.names), before - self.statistics().warc_bytes, carried)

    def statistics(self) -> StoreStatistics:
        """Say how many visits and pages there are, and what they take."""
        manifest = self._manifest()
        visits, pages = manifest.visits, manifest.pages
        last = manifest.logs[-1] if manifest.logs else None
        begin = Position(len(manifest.logs) - 1, last.length) if last else Position(0, 0)
        for _, frame in walk(self.folder, manifest, begin):
            visits, pages = visits + frame.visits, pages + frame.pages
        logs, warcs = log_files(self.folder), [*warc_files(self.folder), *kept_files(self.folder).values()]
        sizes = [sum(path.stat().st_size for path in paths) for paths in (warcs, logs)]
        return StoreStatistics(visits, pages, sizes[0], sizes[1], len(logs) + len(warcs))

    def close(self) -> None:
        """Commit and let go. A store can be closed twice."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
