"""Repairs a page store: keeps every intact frame and record, and makes the rest harmless.

A damaged frame of a fetch log is removed from it; a damaged record of a WARC file is replaced by a frame that every
reader of zstd skips, of the same length, so that all others stay where they are. What is removed is handed to
`keep_aside` first, which has to make it durable: whenever the process dies, a repair can begin again.
"""

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.errors import DataError
from periplus.files import disk_errors, lock_folder, sync_folder, temporary_path
from periplus.records import FetchRecord
from periplus.store.fetch_log import open_log
from periplus.store.log_frames import FILE_HEADER, decode_records, read_frame
from periplus.store.relocated_responses import relocated_files
from periplus.store.store_check import SKIPPED, WarcRecord, walk_warc
from periplus.store.store_manifest import Manifest, file_number, log_files, read_manifest, warc_files, write_manifest
from periplus.store.store_recovery import read_compressed_record
from periplus.store.warc.warc_dictionary import can_decompress, find_damaged_dictionary

__all__ = ["StoreRepair", "read_orphans", "repair_store_files"]

_SKIPPED_HEADER: Final = 8
_STEP: Final = 1 << 20

KeepAside = Callable[[Path, int, bytes], None]
"""Receives a file, an offset in it and the bytes that are removed there."""
KeepOrphans = Callable[[list[tuple[Path, int]]], None]
"""Receives the places of records of WARC files that no fetch record refers to, before a writer removes them."""


class StoreRepair(msgspec.Struct):
    """What the repair of a store has found and done."""

    lost_frames: int = 0
    """Parts of fetch logs that were damaged, or are missing at the end of one."""
    lost_responses: list[str] = []
    """URLs of pages whose copy was damaged."""
    unrepaired: list[str] = []


class _LogScan(NamedTuple):
    """A fetch log: its intact frames, and what is between and after them."""

    path: Path
    intact: list[tuple[int, int]]
    removed: list[tuple[int, int]]
    is_header_intact: bool


def repair_store_files(folder: Path, keep_aside: KeepAside, keep_orphans: KeepOrphans) -> StoreRepair:
    """Repair the logs and WARC files of one store, and its manifest; raise `FolderInUse` if it is being written."""
    repair = StoreRepair()
    with lock_folder(folder, "pages"):
        records: dict[tuple[str, int], FetchRecord] = {}
        for path in warc_files(folder):
            _restore_dictionary(path, keep_aside)
        scans = [_scan_log(path, records) for path in log_files(folder)]
        repair.lost_frames = sum(len(scan.removed) for scan in scans) + _count_truncated(folder)
        orphans, damaged = _scan_warcs(folder, records)
        if repair.lost_frames and orphans:
            # The next writer removes records that no fetch record refers to.
            keep_orphans(orphans)
        for scan in scans:
            _repair_log(scan, keep_aside)
        for path, entry in damaged:
            _repair_warc(path, entry, repair, records, keep_aside)
        if repair.lost_frames:
            _rewrite_manifest(folder)
    return repair


def _count_truncated(folder: Path) -> int:
    """Return how many logs are shorter than the manifest says."""
    try:
        manifest = read_manifest(folder) or Manifest()
    except DataError:
        return 0
    sizes = {path.name: path.stat().st_size for path in log_files(folder)}
    return sum(sizes.get(entry.name, 0) < entry.length for entry in manifest.logs)


def _scan_log(path: Path, records: dict[tuple[str, int], FetchRecord]) -> _LogScan:
    """Find the intact frames of a log; add the places of their responses to `records`."""
    intact: list[tuple[int, int]] = []
    removed: list[tuple[int, int]] = []
    with open_log(path) as descriptor:
        size = os.fstat(descriptor).st_size
        is_header_intact = os.pread(descriptor, len(FILE_HEADER), 0) == FILE_HEADER
        offset = begin = min(len(FILE_HEADER), size)
        while offset < size:
            frame = read_frame(descriptor, offset, size)
            if frame is None:
                offset = _next_frame(descriptor, offset + 1, size)
                continue
            try:
                for record in decode_records(frame):
                    if record.warc:
                        records[record.warc, record.warc_offset] = record
            except DataError:
                offset = frame.end
                continue
            if offset > begin:
                removed.append((begin, offset))
            intact.append((offset, frame.end))
            offset = begin = frame.end
        if begin < size:
            removed.append((begin, size))
    return _LogScan(path, intact, removed, is_header_intact)


def _repair_log(scan: _LogScan, keep_aside: KeepAside) -> None:
    """Rewrite a log without damaged frames, and without what a crash has left after the last intact one."""
    if scan.is_header_intact and not scan.removed:
        return
    with open_log(scan.path) as descriptor:
        for begin, end in scan.removed:
            keep_aside(scan.path, begin, os.pread(descriptor, end - begin, begin))
        _rewrite(scan.path, descriptor, scan.intact)


def _next_frame(descriptor: int, offset: int, size: int) -> int:
    """Return where the next intact frame begins; `size` if there is none."""
    while offset < size:
        block = os.pread(descriptor, _STEP, offset)
        for at in range(len(block)):
            # The highest byte of a frame's length is 0 to 8: most offsets are ruled out without reading.
            if (at + 3 >= len(block) or block[at + 3] <= 8) and read_frame(descriptor, offset + at, size) is not None:
                return offset + at
        offset += len(block)
    return size


def _rewrite(path: Path, descriptor: int, frames: list[tuple[int, int]]) -> None:
    temporary = temporary_path(path)
    with disk_errors(path):
        with temporary.open("wb") as file:
            file.write(FILE_HEADER)
            for begin, end in frames:
                file.write(os.pread(descriptor, end - begin, begin))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)


def _scan_warcs(
    folder: Path, records: dict[tuple[str, int], FetchRecord]
) -> tuple[list[tuple[Path, int]], list[tuple[Path, WarcRecord]]]:
    """Return the places of intact records that no fetch record refers to, and the damaged records."""
    orphans, damaged = [], []
    for path in warc_files(folder):
        for number, entry in enumerate(walk_warc(path)):
            if entry.fault:
                damaged.append((path, entry))
            elif number and not entry.skipped and (path.name, entry.offset) not in records:
                orphans.append((path, entry.offset))
    for path in relocated_files(folder).values():
        damaged += [(path, entry) for entry in walk_warc(path) if entry.fault]
    return orphans, damaged


def _restore_dictionary(path: Path, keep_aside: KeepAside) -> None:
    """Write the dictionary of a WARC file again, from the copy beside it, if it is damaged and its records need it."""
    frame = find_damaged_dictionary(path)
    if frame:
        with disk_errors(path), path.open("r+b") as file:
            keep_aside(path, 0, file.read(len(frame)))
            file.seek(0)
            file.write(frame)
            file.flush()
            os.fsync(file.fileno())


def _repair_warc(
    path: Path,
    entry: WarcRecord,
    repair: StoreRepair,
    records: dict[tuple[str, int], FetchRecord],
    keep_aside: KeepAside,
) -> None:
    """Make a damaged record of a WARC file harmless."""
    record = records.get((path.name, entry.offset))
    if record is not None:
        repair.lost_responses.append(record.url)
    elif path.name not in {name for name, _ in records}:
        repair.unrepaired.append(f"The copy of a page is lost: {path}, byte {entry.offset}.")
    length = entry.end - entry.offset - _SKIPPED_HEADER
    if path.suffix == ".gz" or length < 0 or not can_decompress(path):
        repair.unrepaired.append(f"{path} stays damaged at byte {entry.offset}; its other records can be read.")
        return
    with disk_errors(path), path.open("r+b") as file:
        file.seek(entry.offset)
        keep_aside(path, entry.offset, file.read(entry.end - entry.offset))
        file.seek(entry.offset)
        file.write(SKIPPED + struct.pack("<I", length) + bytes(length))
        file.flush()
        os.fsync(file.fileno())


def _rewrite_manifest(folder: Path) -> None:
    """Write a manifest in which nothing is durable: the next writer reads all logs and counts anew."""
    try:
        manifest = read_manifest(folder)
    except DataError:
        return
    if manifest is not None:
        write_manifest(folder, Manifest(manifest.format, manifest.id))


def read_orphans(orphans: list[tuple[Path, int]]) -> bytes:
    """Return the given records of WARC files, one after the other, as they are in their files."""
    return b"".join(read_compressed_record(path, offset) for path, offset in orphans if file_number(path.name) >= 0)
