"""The page store: written by the crawler and by imports, read by the index, the graph and cached pages."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, cast

from periplus.errors import BadFile, CorruptFile, DataError, DiskFailed, NothingHere
from periplus.records import FetchRecord, FetchResult
from periplus.settings import StoreSettings
from periplus.store.fetch_log import LogPosition, read_frame_at, read_frames
from periplus.store.key_index import KeyIndex, RecordLocation
from periplus.store.log_frames import decode_record, decode_records
from periplus.store.relocated_responses import RelocationTable, relocated_files
from periplus.store.retention import RetentionResult, plan_retention, relocate_responses
from periplus.store.store_check import is_skipped
from periplus.store.store_manifest import Manifest, file_number, is_warc, log_files, log_name, read_manifest, warc_files
from periplus.store.store_recovery import read_stored_record, read_warc_record
from periplus.store.store_writer import StoreWriter
from periplus.store.warc.warc_reader import WarcPage, check_record, parse_record

__all__ = ["PageStore", "StoreStatistics"]


class StoreStatistics(NamedTuple):
    """The size of a store."""

    records: int
    pages: int
    warc_bytes: int
    log_bytes: int
    files: int


class PageStore:
    """All fetch records of a crawl or an import, in order of writing, and their responses. One writer at a time."""

    def __init__(self, folder: Path, writer: StoreWriter | None) -> None:
        self.folder = folder
        self._writer = writer
        self._keys = KeyIndex(folder)
        self._relocations = RelocationTable(folder)
        self._rotations = 0

    @classmethod
    def open(cls, folder: Path, settings: StoreSettings, *, write: bool = False) -> Self:
        """Open a store. For writing it is created if it does not exist, and recovered after a crash.

        For reading, it includes the stores of all shards in its folder.
        """
        if write:
            store = cls(folder, StoreWriter(folder, settings))
            store._apply_limits(settings)
            return store
        from periplus.store.sharded_store import ShardedStore

        return cast(Self, ShardedStore(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, record: FetchRecord, result: FetchResult | None = None) -> FetchRecord:
        """Append a record, and its response if that has a body; return the record with the response's WARC location."""
        writer = self._require_writer()
        stored = writer.append(record, result)
        if writer.rotations != self._rotations:
            self._rotations = writer.rotations
            self._apply_limits(writer.settings)
        return stored

    def append_forwarded(self, record: FetchRecord, response: bytes) -> FetchRecord:
        """Append a record of another store, and the WARC record of its response, decompressed; b'' if it has none."""
        if response and check_record(response):
            response = b""
        return self._require_writer().append_forwarded(record, response)

    def _apply_limits(self, settings: StoreSettings) -> None:
        """Apply the configured retention limits, if any. Disk failures are ignored: they are applied again later."""
        from periplus.store.sharded_store import count_shards

        share = settings.keep_bytes // count_shards(self.folder)
        with contextlib.suppress(DiskFailed):
            if settings.keep_days or 0 < share < self.statistics().warc_bytes:
                self.apply_retention(share, settings.keep_days)

    def flush(self) -> None:
        """Pass all records to the operating system: they survive the end of this process."""
        self._require_writer().flush()

    def commit(self) -> int:
        """Make all records durable: they survive a power failure. Return their number."""
        return self._require_writer().commit()

    def _require_writer(self) -> StoreWriter:
        if self._writer is None:
            raise DataError(f"{self.folder} is not open for writing.")
        return self._writer

    def records(self, start: int = 0) -> Iterator[FetchRecord]:
        """Yield fetch records in order of writing, from number `start` on."""
        begin, skip = self._find_start(start)
        for _, frame in read_frames(self.folder, self._manifest(), begin, skip):
            if frame.records <= skip:
                skip -= frame.records
                continue
            records = decode_records(frame)
            yield from records[skip:] if skip else records
            skip = 0

    def _find_start(self, start: int) -> tuple[LogPosition, int]:
        """Skip entire files by the manifest's counts; return where to begin and the records still to skip."""
        skip = max(start, 0)
        number = 0
        for entry in self._manifest().logs[:-1]:
            if entry.records > skip:
                break
            skip -= entry.records
            number += 1
        return LogPosition(number, 0), skip

    def _manifest(self) -> Manifest:
        """Return the durable state. What a writer has buffered is flushed first, so that it can be read."""
        if self._writer is not None:
            self._writer.flush()
            return self._writer.durable
        return read_manifest(self.folder) or Manifest()

    def number_records(self) -> None:
        """Assign a number to every record; those of a single store are numbered by their order."""

    def find(self, key: int) -> FetchRecord | None:
        """Return the newest record of the page with this key whose outcome was OK."""
        return self._read_record(key, self._keys.find(key, self._manifest()))

    def find_latest(self, key: int) -> FetchRecord | None:
        """Return the newest record of the page with this key, whatever its outcome."""
        return self._read_record(key, self._keys.find_latest(key, self._manifest()))

    def _read_record(self, key: int, location: RecordLocation | None) -> FetchRecord | None:
        if location is None:
            return None
        frame = read_frame_at(self.folder / log_name(location.log), location.offset)
        record = decode_record(frame, location.position)
        return record if record.key == key else None

    def read_response(self, record: FetchRecord) -> WarcPage:
        """Return the stored response of a record: status, headers and body, whose digest was verified."""
        if not record.warc:
            raise NothingHere(f"The response of {record.url} was not stored.")
        if self._writer is not None:
            self._writer.flush()
        raw = self._read_warc_record(record)
        try:
            page = parse_record(raw)
        except (BadFile, CorruptFile) as error:
            raise self._damage(record, error.message) from error
        if page is None:
            raise self._damage(record, "it contains no response.")
        return page

    def _damage(self, record: FetchRecord, reason: str) -> DataError:
        if is_skipped(self.folder, record):
            return NothingHere(f"The response of {record.url} was damaged and is no longer stored.")
        relocation = self._relocations.find(file_number(record.warc), record.warc_offset)
        path, offset = relocation or (self.folder / record.warc, record.warc_offset)
        return CorruptFile(f"{path} is damaged at byte {offset}: {reason}", "Run: periplus repair.")

    def _read_warc_record(self, record: FetchRecord) -> bytes:
        """Return the WARC record of a fetch record, from its own file or from where it was relocated to."""
        for last_try in (False, True):
            relocation = self._relocations.find(file_number(record.warc), record.warc_offset)
            if relocation is None and is_warc(record.warc) and not (self.folder / record.warc).exists():
                raise NothingHere(f"The response of {record.url} is no longer stored.")
            try:
                return read_warc_record(*relocation)[0] if relocation else read_stored_record(self.folder, record)
            except CorruptFile:
                # It may have been relocated between the two checks.
                if last_try:
                    raise
        raise AssertionError

    def read_response_record(self, record: FetchRecord) -> bytes:
        """Return the decompressed WARC record of a response; raise `DataError` if it is damaged or not stored."""
        if not record.warc:
            raise NothingHere(f"The response of {record.url} was not stored.")
        if self._writer is not None:
            self._writer.flush()
        raw = self._read_warc_record(record)
        if fault := check_record(raw):
            raise self._damage(record, f"{fault}.")
        return raw

    def has_response(self, record: FetchRecord) -> bool:
        """Return whether the response of a record is stored, judging by the files that exist."""
        exists = is_warc(record.warc) and (self.folder / record.warc).exists()
        return exists or self._relocations.find(file_number(record.warc), record.warc_offset) is not None

    def apply_retention(self, keep_bytes: int = 0, keep_days: float = 0.0, everything: bool = False) -> RetentionResult:
        """Remove old responses: of files older than `keep_days`, and the oldest beyond `keep_bytes`; 0 is no limit.

        The newest response of each page that still exists is kept, unless `everything` is set. Records are always kept.
        """
        writer = self._require_writer()
        if not writer.full_warcs() and not (everything and relocated_files(self.folder)):
            return RetentionResult(0, 0, 0)
        writer.commit()
        before = self.statistics().warc_bytes
        plan = plan_retention(self.folder, self._manifest(), writer.full_warcs(), keep_bytes, keep_days, everything)
        if not plan.names and not (everything and relocated_files(self.folder)):
            return RetentionResult(0, 0, 0)
        relocated = relocate_responses(self.folder, self._relocations, plan, writer.settings.rotate_bytes)
        writer.remove_warcs(plan.names)
        return RetentionResult(len(plan.names), before - self.statistics().warc_bytes, relocated)

    def statistics(self) -> StoreStatistics:
        """Return the numbers of records and pages, and the size of the files."""
        manifest = self._manifest()
        records, pages = manifest.records, manifest.pages
        last = manifest.logs[-1] if manifest.logs else None
        begin = LogPosition(len(manifest.logs) - 1, last.length) if last else LogPosition(0, 0)
        for _, frame in read_frames(self.folder, manifest, begin):
            records, pages = records + frame.records, pages + frame.pages
        logs, warcs = log_files(self.folder), [*warc_files(self.folder), *relocated_files(self.folder).values()]
        sizes = [sum(path.stat().st_size for path in paths) for paths in (warcs, logs)]
        return StoreStatistics(records, pages, sizes[0], sizes[1], len(logs) + len(warcs))

    def close(self) -> None:
        """Commit and close. A store can be closed twice."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
