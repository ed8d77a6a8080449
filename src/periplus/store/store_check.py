"""Verifies a page store: every bit of its manifest, logs, WARC files and tables, and that they refer to each other."""

import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import zstandard

from periplus.arrays import ArrayFile
from periplus.checksums import FileFault
from periplus.errors import BadFile, CorruptFile, DataError
from periplus.records import FetchRecord
from periplus.store.compression import decompress_first
from periplus.store.fetch_log import open_log
from periplus.store.log_frames import FILE_HEADER, check_file_header, decode_records, read_frame
from periplus.store.read_order import check_read_order
from periplus.store.relocated_responses import RelocationTable, relocated_files
from periplus.store.store_manifest import Manifest, file_number, is_warc, log_files, read_manifest, warc_files
from periplus.store.warc.warc_dictionary import DICTIONARY_NAME, file_dictionary, parse_dictionary, read_frame_size
from periplus.store.warc.warc_reader import MAX_BODY, check_record

__all__ = ["MAX_RECORD", "SKIPPED", "WarcRecord", "check_store_folder", "is_skipped", "walk_warc"]

MAX_RECORD: Final = MAX_BODY + (2 << 20)
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_GZIP_START: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
SKIPPED: Final = b"\x50\x2a\x4d\x18"
"""A zstd frame that readers skip: a repair puts it in the place of a damaged record, filled with zeros."""
_SKIPPED_HEADER: Final = 8
_UNUSED_BITS: Final = 0b0001_1000
"""Bits of a zstd frame header that a decoder ignores or reserves; they are never set."""

_IRREGULAR: Final = "the header of its compression is irregular"

Progress = Callable[[str, int, int], None]


class WarcRecord(NamedTuple):
    """One record of a WARC file: where it is, and what is wrong with it."""

    offset: int
    end: int
    fault: str = ""
    skipped: bool = False
    """Whether a repair has put this in the place of a damaged record."""


def check_store_folder(
    folder: Path, progress: Progress = lambda stage, done, total: None, *, writing: bool = False
) -> Iterator[FileFault]:
    """Read all of one store, without those of other shards; yield its faults.

    With `writing`, another process appends to it: what is after the durable part is not complete yet.
    """
    manifest = Manifest()
    try:
        manifest = read_manifest(folder) or manifest
        if not manifest.id and (log_files(folder) or warc_files(folder)):
            yield FileFault(folder / "manifest.json", "is missing")
    except DataError as error:
        yield FileFault(folder / "manifest.json", error.message)
    yield from _check_lengths(folder, manifest)
    yield from _check_tables(folder)
    locations: dict[str, set[int]] = {}
    for path in log_files(folder):
        yield from _check_log(path, manifest, locations, writing=writing)
    yield from _check_warcs(folder, manifest, locations, progress, writing=writing)


def _check_lengths(folder: Path, manifest: Manifest) -> Iterator[FileFault]:
    for entry in (*manifest.logs, *manifest.warcs):
        path = folder / entry.name
        size = path.stat().st_size if path.exists() else -1
        if size < 0:
            yield FileFault(path, "is missing, though the manifest names it")
        elif size < entry.length:
            yield FileFault(path, f"is truncated: {size} bytes of {entry.length}")


def _check_tables(folder: Path) -> Iterator[FileFault]:
    for name, kind in (("visits.keys", "visit-keys"), ("kept.arrays", "kept-responses")):
        if (folder / name).exists():
            try:
                ArrayFile(folder / name, kind).check()
            except DataError as error:
                yield FileFault(folder / name, error.message)
    if (folder / DICTIONARY_NAME).exists():
        try:
            parse_dictionary((folder / DICTIONARY_NAME).read_bytes())
        except CorruptFile as error:
            yield FileFault(folder / DICTIONARY_NAME, error.message)
        except OSError as error:
            yield FileFault(folder / DICTIONARY_NAME, f"it cannot be read: {error.strerror}")
    if (folder / "order.bin").exists():
        fault, torn = check_read_order(folder)
        if fault:
            yield FileFault(folder / "order.bin", fault, torn)


def _check_log(path: Path, manifest: Manifest, locations: dict[str, set[int]], *, writing: bool) -> Iterator[FileFault]:
    """Read all frames of a log; add the places of the responses to `locations`."""
    durable = next((entry.length for entry in manifest.logs if entry.name == path.name), 0)
    try:
        with open_log(path) as descriptor:
            size = os.fstat(descriptor).st_size
            if not check_file_header(descriptor, path):
                if not writing:
                    yield FileFault(path, "was cut short in its header", torn=not durable)
                return
            if os.pread(descriptor, len(FILE_HEADER), 0) != FILE_HEADER:
                yield FileFault(path, "is damaged at byte 12")
            offset = len(FILE_HEADER)
            while offset < size:
                frame = read_frame(descriptor, offset, size)
                if frame is None:
                    torn = offset >= durable
                    if not (torn and writing):
                        yield FileFault(path, f"is damaged at byte {offset}", torn)
                    return
                for record in decode_records(frame):
                    if record.warc:
                        locations.setdefault(record.warc, set()).add(record.warc_offset)
                offset = frame.end
    except DataError as error:
        yield FileFault(path, error.message)


def _check_warcs(
    folder: Path, manifest: Manifest, locations: dict[str, set[int]], progress: Progress, *, writing: bool
) -> Iterator[FileFault]:
    paths = [*warc_files(folder), *relocated_files(folder).values()]
    durable = {entry.name: entry.length for entry in manifest.warcs}
    last = max((file_number(path.name) for path in warc_files(folder)), default=-1)
    for number, path in enumerate(paths):
        progress("checking responses", number, len(paths))
        offsets = set()
        for record in walk_warc(path):
            offsets.add(record.offset)
            torn = file_number(path.name) == last and record.offset >= durable.get(path.name, 0)
            if record.fault and not (torn and writing):
                yield FileFault(path, f"is damaged at byte {record.offset}: {record.fault}", torn)
        missing = locations.get(path.name, set()) - offsets
        if missing and not writing:
            yield FileFault(path, f"has no record at byte {min(missing)}, which the fetch log names")
    progress("checking responses", len(paths), len(paths))
    yield from _check_relocations(folder)


def _check_relocations(folder: Path) -> Iterator[FileFault]:
    try:
        rows = RelocationTable(folder).rows()
    except DataError:
        return  # reported with the table
    files = relocated_files(folder)
    for number in sorted(set(rows.file.tolist()) - set(files)):
        yield FileFault(folder / "kept.arrays", f"names file {number}, which is missing")


def walk_warc(path: Path) -> Iterator[WarcRecord]:
    """Yield the records of a WARC file of a store, damaged ones with their fault; reading continues at the next."""
    kind = "gzip" if path.suffix == ".gz" else "zstd"
    magic = _GZIP_START[:3] if kind == "gzip" else _ZSTD_MAGIC
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                dictionary, offset, fault = _read_dictionary(path, data)
                if fault:
                    yield WarcRecord(0, offset, fault)
                while offset < len(data):
                    record = _read_record(data, offset, kind, dictionary)
                    if kind == "gzip" and not record.fault and data[offset + 8 : offset + 10] != data[8:10]:
                        # Decoders ignore these two; one program writes them alike in every record.
                        record = record._replace(fault=_IRREGULAR)
                    if record.fault and record.end == offset:
                        following = data.find(magic, offset + 1)
                        record = record._replace(end=following if following >= 0 else len(data))
                    yield record
                    offset = record.end
    except OSError as error:
        yield WarcRecord(0, 0, f"it cannot be read: {error.strerror}")


def _read_dictionary(path: Path, data: mmap.mmap) -> tuple[zstandard.ZstdCompressionDict | None, int, str]:
    """Return the dictionary of a WARC file, the offset of its first record, and what is wrong with the dictionary."""
    size = read_frame_size(data[:_SKIPPED_HEADER]) if path.suffix == ".zst" else 0
    if not size:
        return None, 0, ""
    try:
        dictionary = file_dictionary(path)
        fault = _header_fault(data[_SKIPPED_HEADER : _SKIPPED_HEADER + 10], "zstd")
        return dictionary, size, f"its dictionary: {fault}" if fault else ""
    except CorruptFile as error:
        following = data.find(_ZSTD_MAGIC, min(size, len(data)))
        return None, following if following >= 0 else len(data), error.message


def _read_record(
    data: mmap.mmap, offset: int, kind: str, dictionary: zstandard.ZstdCompressionDict | None
) -> WarcRecord:
    """Read the record at `offset`; its end is `offset` if that is unknown."""
    if kind == "zstd" and data[offset : offset + 4] == SKIPPED:
        length = int.from_bytes(data[offset + 4 : offset + 8], "little")
        end = offset + 8 + length
        if end <= len(data) and not any(data[offset + 8 : end]):
            return WarcRecord(offset, end, skipped=True)
        return WarcRecord(offset, offset, "what a repair has put there is damaged")
    view = memoryview(data)
    try:
        plain, size = decompress_first(view[offset:], MAX_RECORD, kind, dictionary)
    except CorruptFile as error:
        return WarcRecord(offset, offset, error.message)
    finally:
        view.release()
    fault = _header_fault(data[offset : offset + 10], kind)
    if not fault:
        try:
            fault = check_record(plain)
        except (BadFile, CorruptFile) as error:
            fault = error.message
    return WarcRecord(offset, offset + size, fault)


def _header_fault(start: bytes, kind: str) -> str:
    """Return what is wrong with the header of a compressed record: decoders ignore some of its bits."""
    if kind == "gzip":
        regular = start.startswith(_GZIP_START)
    else:
        descriptor = start[4]
        is_single = descriptor & 0b0010_0000
        regular = not descriptor & _UNUSED_BITS and (bool(is_single) or start[5] & 7 == 0)
    return "" if regular else _IRREGULAR


def is_skipped(folder: Path, record: FetchRecord) -> bool:
    """Return whether a repair has removed the response of a record."""
    if not is_warc(record.warc):
        return False
    try:
        with (folder / record.warc).open("rb") as file:
            file.seek(record.warc_offset)
            return file.read(len(SKIPPED)) == SKIPPED
    except OSError:
        return False
