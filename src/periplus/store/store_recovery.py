"""Recovery after a crash: every complete frame is kept, torn tails are truncated, and WARC files to match them."""

import os
from pathlib import Path
from typing import NamedTuple

from periplus.errors import CorruptFile
from periplus.files import disk_errors, disk_failure
from periplus.records import FetchRecord
from periplus.store.compression import compress, decompress_first
from periplus.store.fetch_log import read_file_frames
from periplus.store.log_frames import FILE_HEADER, Frame, check_file_header, decode_records
from periplus.store.store_manifest import FileEntry, Manifest, file_number, is_warc, log_files, warc_files
from periplus.store.warc.warc_dictionary import file_dictionary
from periplus.store.warc.warc_reader import MAX_BODY

__all__ = ["read_compressed_record", "read_stored_record", "read_warc_record", "recover"]

_MAX_RECORD = MAX_BODY + (2 << 20)


class _WarcEnd(NamedTuple):
    """The end of the WARC files: number of the last one, and its length. (-1, 0) if there is none."""

    number: int
    end: int


def read_stored_record(folder: Path, record: FetchRecord) -> bytes:
    """Return the decompressed WARC record of a fetch record; raise `CorruptFile` if it is missing or incomplete."""
    if not is_warc(record.warc):
        raise CorruptFile(f"'{record.warc[:80]}' is not the name of a WARC file of this store.")
    return read_warc_record(folder / record.warc, record.warc_offset)[0]


def read_compressed_record(path: Path, offset: int) -> bytes:
    """Return the record at `offset`, compressed, as it is in the file; if that has a dictionary, without it."""
    plain, compressed = read_warc_record(path, offset)
    return compress(plain) if file_dictionary(path) is not None else compressed


def read_warc_record(path: Path, offset: int) -> tuple[bytes, bytes]:
    """Return the record at `offset` of a WARC file, decompressed and compressed; raise `CorruptFile` if incomplete."""
    kind = "gzip" if path.suffix == ".gz" else "zstd"
    try:
        dictionary = file_dictionary(path)
        with path.open("rb") as file:
            length = 1 << 18
            while True:
                file.seek(offset)
                raw = file.read(length)
                try:
                    plain, size = decompress_first(raw, _MAX_RECORD, kind, dictionary)
                    return plain, raw[:size]
                except CorruptFile:
                    # Most records fit into the first read; a longer one is only damaged if all of it was read.
                    if len(raw) < length or length > 2 * _MAX_RECORD:
                        raise
                length *= 8
    except FileNotFoundError as error:
        raise CorruptFile(f"{path} is missing.") from error
    except OSError as error:
        # What cannot be read now is not damaged: recovery would truncate it.
        raise disk_failure(path, error) from error
    except CorruptFile as error:
        raise CorruptFile(f"{path} is damaged at byte {offset}: {error.message}") from None


def recover(folder: Path, manifest: Manifest) -> Manifest:
    """Find what is complete beyond the manifest, truncate what is not, and return the new manifest."""
    _check_warcs(folder, manifest)
    durable = {entry.name: entry for entry in manifest.logs}
    missing = set(durable) - {path.name for path in log_files(folder)}
    if missing:
        raise CorruptFile(f"{folder / min(missing)} is missing, though the manifest names it.")
    last = file_number(manifest.logs[-1].name) if manifest.logs else 0
    entries = list(manifest.logs[:-1])
    warc_end = (
        _WarcEnd(file_number(manifest.warcs[-1].name), manifest.warcs[-1].length) if manifest.warcs else _WarcEnd(-1, 0)
    )
    pages = manifest.pages
    paths = [path for path in log_files(folder) if file_number(path.name) >= last]
    for path in paths:
        scan = _scan_log(folder, path, durable.get(path.name, FileEntry(path.name, 0)), warc_end)
        if path is not paths[-1] and path.stat().st_size > scan.entry.length:
            # A log is made durable before the next one begins: this is not a torn tail.
            raise CorruptFile(f"{path} is damaged at byte {scan.entry.length}.")
        entries.append(scan.entry)
        pages += scan.pages
        warc_end = scan.warc_end
    if paths:
        _truncate(paths[-1], entries[-1].length)
    warcs = _truncate_warcs(folder, warc_end)
    records = sum(entry.records for entry in entries)
    return Manifest(manifest.format, manifest.id, records, pages, tuple(entries), warcs)


class _LogScan(NamedTuple):
    entry: FileEntry
    pages: int
    warc_end: _WarcEnd


def _scan_log(folder: Path, path: Path, entry: FileEntry, warc_end: _WarcEnd) -> _LogScan:
    """Read the frames after the durable part of one log, as far as they and their WARC records are complete."""
    end, records, pages = entry.length, entry.records, 0
    for frame in read_file_frames(path, entry.length, entry.length):
        if not _has_all_records(folder, frame):
            break
        end, records, pages = frame.end, records + frame.records, pages + frame.pages
        if frame.warc_end:
            warc_end = max(warc_end, _WarcEnd(frame.warc, frame.warc_end))
    return _LogScan(FileEntry(path.name, max(end, _header_end(path)), records), pages, warc_end)


def _header_end(path: Path) -> int:
    """Return where the header of a log ends, 0 if it is incomplete: then it is written again."""
    with disk_errors(path), path.open("rb") as file:
        return len(FILE_HEADER) if check_file_header(file.fileno(), path) else 0


def _has_all_records(folder: Path, frame: Frame) -> bool:
    """Return whether all WARC records of a frame exist: after a power failure they may not.

    A missing file before the last was removed by retention; a power failure takes the end of the last one.
    """
    last = max((file_number(path.name) for path in warc_files(folder)), default=-1)
    try:
        for record in decode_records(frame):
            is_removed = file_number(record.warc) < last and not (folder / record.warc).exists()
            if record.warc and not is_removed:
                read_stored_record(folder, record)
    except CorruptFile:
        return False
    return True


def _check_warcs(folder: Path, manifest: Manifest) -> None:
    for entry in manifest.warcs:
        path = folder / entry.name
        size = path.stat().st_size if path.exists() else -1
        if size < entry.length:
            raise CorruptFile(f"{path} is truncated: {max(size, 0)} bytes of {entry.length}.")


def _truncate_warcs(folder: Path, warc_end: _WarcEnd) -> tuple[FileEntry, ...]:
    """Truncate the last WARC file after the last record of a frame, and remove files without any."""
    entries = []
    paths = warc_files(folder)
    if sum(file_number(path.name) > warc_end.number for path in paths) > 1:
        # A crash leaves one at most; if there are more, they contain pages.
        raise CorruptFile(
            f"{folder} has WARC files that no fetch log refers to.", "Restore the logs, or move the files."
        )
    for path in paths:
        number = file_number(path.name)
        if number > warc_end.number:
            with disk_errors(path):
                path.unlink()
            continue
        if number == warc_end.number:
            _truncate(path, warc_end.end)
        entries.append(FileEntry(path.name, path.stat().st_size))
    return tuple(entries)


def _truncate(path: Path, length: int) -> None:
    with disk_errors(path):
        if path.stat().st_size > length:
            os.truncate(path, length)
