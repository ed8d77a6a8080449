"""The writer of a store: WARC record first, fetch record second, manifest last."""

import contextlib
import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile, DiskFailed
from periplus.files import disk_errors, lock_folder, make_folder, write_atomically
from periplus.records import LIST_KIND, FetchRecord, FetchResult, Outcome
from periplus.settings import StoreSettings
from periplus.store.append_file import AppendFile
from periplus.store.log_frames import FILE_HEADER, MAX_PAYLOAD, RecordBatch
from periplus.store.store_manifest import (
    FORMAT,
    FileEntry,
    Manifest,
    file_number,
    log_files,
    log_name,
    new_manifest,
    read_manifest,
    warc_files,
    warc_name,
    write_manifest,
)
from periplus.store.store_recovery import recover
from periplus.store.warc.warc_dictionary import (
    DICTIONARY_NAME,
    DictionaryTrainer,
    dictionary_frame,
    file_dictionary,
    parse_dictionary,
    read_dictionary_copy,
)
from periplus.store.warc.warc_reader import MAX_BODY
from periplus.store.warc.warc_writer import info_record, pack_record, request_record, response_record, revisit_record

__all__ = ["StoreWriter"]

_BATCH_BYTES: Final = 256 << 10
"""Records are buffered up to this many bytes: small frames compress badly."""
_WARC_BYTES: Final = 4 << 20
_MAX_RECORD: Final = MAX_PAYLOAD // 4
_PACKED_LEVEL: Final = -1
"""Level for bodies that the server has compressed: higher ones take ten times as long and save no byte."""

_STORED: Final = frozenset((Outcome.OK, Outcome.TOO_LARGE))


class StoreWriter:
    """Appends records and responses. Every method leaves the store usable when the disk fails: call it again later."""

    def __init__(self, folder: Path, settings: StoreSettings) -> None:
        self.folder = folder
        self.settings = settings
        self._resources = contextlib.ExitStack()
        with disk_errors(folder):
            make_folder(folder)
        self._resources.enter_context(lock_folder(folder, "pages"))
        try:
            durable = self._load_manifest()
            self._durable_lengths = {entry.name: entry.length for entry in (*durable.logs, *durable.warcs)}
            self._open(recover(folder, durable))
        except BaseException:
            self._resources.close()
            raise

    def _load_manifest(self) -> Manifest:
        manifest = read_manifest(self.folder)
        if manifest is None:
            if warc_files(self.folder) and not log_files(self.folder):
                raise CorruptFile(f"{self.folder} has WARC files but no fetch log.", "Restore the logs.")
            manifest = new_manifest()
            write_manifest(self.folder, manifest)
        return manifest

    def _open(self, manifest: Manifest) -> None:
        self._durable = manifest
        self.rotations = 0
        """WARC files filled since the store was opened."""
        self._records, self._pages = manifest.records, manifest.pages
        self._batch = RecordBatch()
        self._batch_pages = 0
        self._changed = True
        # Files that were filled before; the last one of each kind is open below.
        self._old_logs, self._old_warcs = list(manifest.logs), list(manifest.warcs)
        self._log = self._open_log(self._old_logs.pop() if self._old_logs else FileEntry(log_name(0), 0))
        self._warc: AppendFile | None = None
        if self._old_warcs and self._old_warcs[-1].name.endswith(self._suffix()):
            entry = self._old_warcs.pop()
            self._warc = self._register(self._append_to(entry))
        self._dictionary = file_dictionary(self._warc.path) if self._warc is not None else None
        self._format = manifest.format
        self._dictionary_content = self._read_dictionary()
        self._trainer = self._new_trainer()
        self.commit()

    def _read_dictionary(self) -> bytes:
        """Return the dictionary that new files begin with, compressed; b'' for none."""
        if not self.settings.dictionary_kb or self.settings.warc == "gzip":
            return b""
        return read_dictionary_copy(self.folder)

    def _new_trainer(self) -> DictionaryTrainer | None:
        is_wanted = self.settings.dictionary_kb and self.settings.warc != "gzip"
        return (
            DictionaryTrainer(self.settings.dictionary_kb << 10) if is_wanted and not self._dictionary_content else None
        )

    def _append_to(self, entry: FileEntry) -> AppendFile:
        return AppendFile(self.folder / entry.name, entry.length, self._durable_lengths.get(entry.name, 0))

    def _suffix(self) -> str:
        return ".gz" if self.settings.warc == "gzip" else ".zst"

    def _register(self, file: AppendFile) -> AppendFile:
        self._resources.callback(file.close)
        return file

    def _open_log(self, entry: FileEntry) -> AppendFile:
        log = self._register(self._append_to(entry))
        if entry.length == 0:
            log.add(FILE_HEADER)
        return log

    @property
    def records(self) -> int:
        """Records appended so far, durable or not."""
        return self._records

    @property
    def durable(self) -> Manifest:
        """The durable state."""
        return self._durable

    def append(self, record: FetchRecord, result: FetchResult | None) -> FetchRecord:
        """Append one record. If this raises, the record was not appended."""
        self._flush_or_rotate()
        if result is None:
            return self._add_record(record)
        # Of a body that is too long, the beginning is stored.
        if result.outcome in _STORED and 0 < len(result.body) <= MAX_BODY:
            response = response_record(result)
            name, offset = self._add_warc_record(response, is_packed=bool(result.raw))
            record = msgspec.structs.replace(record, warc=name, warc_offset=offset)
        elif result.outcome is Outcome.NOT_MODIFIED and _is_web(result):
            response = revisit_record(result)
            self._add_warc_record(response)
        elif self.settings.errors and result.status and _is_web(result):
            response = response_record(result)
            self._add_warc_record(response)
        else:
            return self._add_record(record)
        if self.settings.requests and result.sent:
            self._add_warc_record(request_record(result, response))
        self._learn(response)
        return self._add_record(record)

    def _add_warc_record(self, record: bytes, *, is_packed: bool = False) -> tuple[str, int]:
        """Append a WARC record to the current file; return the file's name and the record's offset.

        is_packed: its body is compressed already, so that only its head can become smaller.
        """
        warc = self._warc or self._new_warc()
        level = self.settings.level
        if is_packed and self.settings.warc != "gzip":
            level = min(level, _PACKED_LEVEL)
        packed = pack_record(record, self.settings.warc, level, self._dictionary)
        return warc.path.name, warc.add(packed)

    def _learn(self, record: bytes) -> None:
        """Collect samples; once there are enough, make a dictionary durable, and use it from the next file on."""
        if self._trainer is None or not self._trainer.add(record):
            return
        content, self._trainer = self._trainer.train(), None
        if content:
            with contextlib.suppress(DiskFailed):  # then records are compressed without it, as before
                write_atomically(self.folder / DICTIONARY_NAME, content)
                self._dictionary_content = content

    def append_forwarded(self, record: FetchRecord, response: bytes) -> FetchRecord:
        """Append a record of another store, with the WARC record of its response as it is there; b'' for none."""
        self._flush_or_rotate()
        record = msgspec.structs.replace(record, warc="", warc_offset=0, forwarded=True)
        if response:
            name, offset = self._add_warc_record(response)
            record = msgspec.structs.replace(record, warc=name, warc_offset=offset)
        return self._add_record(record)

    def _add_record(self, record: FetchRecord) -> FetchRecord:
        if not self._batch.add(record, _MAX_RECORD):
            # No parser returns such pages; an import may. The record is stored without its text.
            record = msgspec.structs.replace(record, page=None)
            self._batch.add(record)
        self._batch_pages += _is_page(record)
        self._records += 1
        self._pages += _is_page(record)
        self._changed = True
        return record

    def _flush_or_rotate(self) -> None:
        if self._batch.size >= _BATCH_BYTES:
            self.flush()
        elif self._warc is not None and self._warc.buffered >= _WARC_BYTES:
            self._warc.write()
        # Every file but the last is durable before the next begins, so that recovery reads the last ones only.
        if self._log.size >= self.settings.rotate_bytes:
            self.commit()
            self._next_log()
        if self._warc is not None and (self._warc.size >= self.settings.rotate_bytes or self._gets_dictionary()):
            self.commit()
            self._old_warcs.append(FileEntry(self._warc.path.name, self._warc.end))
            self.rotations += 1
            self._warc.close()
            self._warc = None

    def _gets_dictionary(self) -> bool:
        """Return whether the current file has no dictionary though there is one now: then a new one is begun."""
        return bool(self._dictionary_content) and self._dictionary is None

    def _next_log(self) -> None:
        full = self._log
        log = self._open_log(FileEntry(log_name(file_number(full.path.name) + 1), 0))
        self._old_logs.append(FileEntry(full.path.name, full.end, self._records - self._records_in_old_logs()))
        self._log, self._changed = log, True
        full.close()
        self.commit()

    def _records_in_old_logs(self) -> int:
        return sum(entry.records for entry in self._old_logs)

    def _new_warc(self) -> AppendFile:
        number = file_number(self._old_warcs[-1].name) + 1 if self._old_warcs else 0
        name = warc_name(number, self.settings.warc)
        warc = self._register(AppendFile(self.folder / name))
        self._dictionary = None
        if self._dictionary_content:
            self._dictionary, self._format = parse_dictionary(self._dictionary_content), FORMAT
            warc.add(dictionary_frame(self._dictionary_content))
        self._warc = warc
        self._add_warc_record(info_record(name, time.time()))
        return warc

    def flush(self) -> None:
        """Pass everything to the operating system, responses before the records that point to them."""
        if self._warc is not None:
            self._warc.write()
        if self._batch.records:
            number, end = self._warc_end()
            self._log.add(self._batch.pack(self._batch_pages, number, end, self.settings.level))
            self._batch.clear()
            self._batch_pages = 0
        self._log.write()

    def _warc_end(self) -> tuple[int, int]:
        if self._warc is not None:
            return file_number(self._warc.path.name), self._warc.end
        return (file_number(self._old_warcs[-1].name), self._old_warcs[-1].length) if self._old_warcs else (0, 0)

    def commit(self) -> int:
        """Make everything durable; return the number of records."""
        if not self._changed:
            return self._records
        self.flush()
        if self._warc is not None:
            self._warc.sync()
        self._log.sync()
        logs = (
            *self._old_logs,
            FileEntry(self._log.path.name, self._log.end, self._records - self._records_in_old_logs()),
        )
        warcs = tuple(self._old_warcs)
        if self._warc is not None:
            warcs += (FileEntry(self._warc.path.name, self._warc.end),)
        manifest = Manifest(self._format, self._durable.id, self._records, self._pages, logs, warcs)
        write_manifest(self.folder, manifest)
        self._durable, self._changed = manifest, False
        return self._records

    def full_warcs(self) -> list[str]:
        """Return the names of the WARC files that are full; the last of all is never among them."""
        names = [entry.name for entry in self._old_warcs]
        return names if self._warc is not None else names[:-1]

    def remove_warcs(self, names: list[str]) -> None:
        """Remove full WARC files: first from the manifest, then from the disk."""
        self._old_warcs = [entry for entry in self._old_warcs if entry.name not in names]
        self._changed = True
        self.commit()
        for name in names:
            with disk_errors(self.folder / name):
                (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Commit, then close files and release the lock, even if the commit fails."""
        try:
            self.commit()
        finally:
            self._resources.close()


def _is_web(result: FetchResult) -> bool:
    """Return whether there was an HTTP response, whose headers a revisit record stores."""
    return result.request.address.scheme in ("http", "https")


def _is_page(record: FetchRecord) -> bool:
    """Return whether a record has a page to index: a sitemap or a feed is only a list of links."""
    return record.page is not None and record.page.kind != LIST_KIND
