"""Retention: removes old responses by age or by size. Fetch records are kept: an index can always be built again.

The newest response of every page that still exists is relocated to another file, unless all are to be removed. Only the
writer of a store may do this; readers notice only that old responses are gone.
"""

import os
import time
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np

from periplus.files import disk_errors, sync_folder
from periplus.records import Outcome
from periplus.store.compression import decompress
from periplus.store.fetch_log import LogPosition, read_frames
from periplus.store.log_frames import MAX_PAYLOAD
from periplus.store.relocated_responses import Column, RelocationRows, RelocationTable, relocated_files, relocated_name
from periplus.store.store_manifest import Manifest, file_number
from periplus.store.store_recovery import read_compressed_record
from periplus.store.warc.warc_writer import info_record, pack_record
from periplus.typed_decoding import msgpack_decoder

__all__ = ["RetentionPlan", "RetentionResult", "plan_retention", "relocate_responses"]

_DAY: Final = 86_400.0
_KEY, _FILE, _OFFSET = 0, 1, 2
"""Columns of the table of responses."""
_MIN_FREED: Final = 0.1
"""A file is not rewritten for its size if that would free less than this share of it."""


class RetentionResult(NamedTuple):
    """What was removed."""

    files: int
    """WARC files that were removed."""
    freed: int
    """Bytes by which the store has shrunk."""
    relocated: int
    """Responses that were relocated."""


class _ResponseRow(msgspec.Struct, frozen=True):
    """The fields of a fetch record that matter for retention."""

    key: int
    outcome: Outcome
    when: float
    warc: str = ""
    warc_offset: int = 0


_rows: Final = msgpack_decoder(list[_ResponseRow])


class RetentionPlan(NamedTuple):
    """The files to remove, and which of their records are kept."""

    names: list[str]
    kept_offsets: dict[str, list[int]]
    """Offsets of records that are kept, by file."""
    newest: Column
    """Original locations of all records that are the newest of a page; none if everything is to be removed."""


class _RecordMove(NamedTuple):
    """A record to copy: the file and offset it had first, and those it has now."""

    old_file: int
    old_offset: int
    source: Path
    offset: int


def _pack_locations(file: Column, offset: Column) -> Column:
    """Return one number for each file and offset."""
    return (file << 40) | offset


class _StoredResponses(NamedTuple):
    """Every response of a store: its file and offset, whether it is the newest of a page, and when it was fetched."""

    file: Column
    offset: Column
    newest: np.ndarray[tuple[int], np.dtype[np.bool_]]
    when: np.ndarray[tuple[int], np.dtype[np.float64]]


def _read_responses(folder: Path, manifest: Manifest) -> _StoredResponses:
    """Read all records. A page that is gone, or became a duplicate of another, has no newest response."""
    columns, times = array("q"), array("d")
    for _, frame in read_frames(folder, manifest, LogPosition(0, 0)):
        for row in _rows.decode(decompress(frame.payload, MAX_PAYLOAD)):
            if row.outcome is Outcome.OK or row.outcome is Outcome.GONE:
                # Keys are unsigned, and are only compared.
                columns.extend((row.key - (1 << 63), file_number(row.warc) if row.warc else -1, row.warc_offset))
                times.append(row.when)
    table, when = np.array(columns, np.int64).reshape(-1, 3), np.array(times, np.float64)
    order = np.argsort(table[:, _KEY], kind="stable")
    newest = np.zeros(len(table), bool)
    keys = table[order, _KEY]
    newest[order] = np.append(keys[1:] != keys[:-1], np.ones(min(1, len(keys)), bool))
    stored = table[:, _FILE] >= 0
    return _StoredResponses(table[stored, _FILE], table[stored, _OFFSET], newest[stored], when[stored])


def plan_retention(
    folder: Path, manifest: Manifest, names: list[str], keep_bytes: int, keep_days: float, everything: bool
) -> RetentionPlan:
    """Select among the files that are full: all that are too old, then the oldest until the rest is small enough."""
    responses = _read_responses(folder, manifest)
    sizes = {name: (folder / name).stat().st_size for name in names}
    relocated_bytes = sum(path.stat().st_size for path in relocated_files(folder).values())
    paths = [folder / entry.name for entry in manifest.warcs]
    total = relocated_bytes + sum(path.stat().st_size for path in paths if path.exists())
    selected, kept_offsets = [], {}
    for name in names:
        in_file = responses.file == file_number(name)
        offsets = [] if everything else np.unique(responses.offset[in_file & responses.newest]).tolist()
        share = len(offsets) / max(1, int(in_file.sum()))
        old = keep_days > 0 and float(responses.when[in_file].max(initial=0.0)) < time.time() - keep_days * _DAY
        large = keep_bytes > 0 and total > keep_bytes and share <= 1 - _MIN_FREED
        if (old and share < 1) or large:
            selected.append(name)
            kept_offsets[name] = offsets
            total -= int(sizes[name] * (1 - share))
    newest = _pack_locations(responses.file, responses.offset)[responses.newest]
    return RetentionPlan(selected, kept_offsets, newest[:0] if everything else newest)


def relocate_responses(folder: Path, table: RelocationTable, plan: RetentionPlan, rotate: int) -> int:
    """Copy the responses that are kept to new files, and record where they are; return their number."""
    rows = table.rows()
    rows = rows.select(np.isin(_pack_locations(rows.old_file, rows.old_offset), plan.newest))
    stale = np.isin(rows.file, _half_empty(folder, rows))
    moving = [
        _RecordMove(file_number(name), offset, folder / name, offset)
        for name in plan.names
        for offset in plan.kept_offsets[name]
    ]
    relocated = len(moving)
    for row in np.flatnonzero(stale).tolist():
        path = folder / relocated_name(int(rows.file[row]), int(rows.packed[row]))
        moving.append(_RecordMove(int(rows.old_file[row]), int(rows.old_offset[row]), path, int(rows.offset[row])))
    moved = _write_records(folder, moving, max(relocated_files(folder), default=-1) + 1, rotate)
    rest = rows.select(~stale)
    table.write(RelocationRows(*(np.concatenate((old, new)) for old, new in zip(rest, moved, strict=True))))
    in_use = set(table.rows().file.tolist())
    for path in (path for number, path in relocated_files(folder).items() if number not in in_use):
        with disk_errors(path):
            path.unlink()
    return relocated


def _half_empty(folder: Path, rows: RelocationRows) -> list[int]:
    """Return the files of relocated responses of which more than half is no longer needed."""
    numbers = []
    for number, path in relocated_files(folder).items():
        used = int(rows.length[rows.file == number].sum())
        if 0 < used * 2 < path.stat().st_size:
            numbers.append(number)
    return numbers


def _write_records(folder: Path, moving: Iterable[_RecordMove], number: int, rotate: int) -> RelocationRows:
    """Copy records byte for byte to new files: one for each compression, more if they are large."""
    rows: list[tuple[int, int, int, int, int, int]] = []
    by_kind: dict[int, list[_RecordMove]] = {0: [], 1: []}
    for move in moving:
        by_kind[int(move.source.suffix == ".gz")].append(move)
    for packed, records in by_kind.items():
        while records:
            written = _write_file(folder, records, number, packed, rotate, rows)
            records, number = records[written:], number + 1
    return RelocationRows(*np.array(rows, np.int64).reshape(-1, 6).T.copy())


def _write_file(
    folder: Path,
    records: list[_RecordMove],
    number: int,
    packed: int,
    rotate: int,
    rows: list[tuple[int, int, int, int, int, int]],
) -> int:
    """Write one file until it is full; return the number of records written."""
    path = folder / relocated_name(number, packed)
    temporary = path.with_name(f".{path.name}.new")
    with disk_errors(path):
        with temporary.open("wb") as file:
            file.write(pack_record(info_record(path.name, time.time()), "gzip" if packed else "zstd", 3))
            written = 0
            for move in records:
                raw = read_compressed_record(move.source, move.offset)
                rows.append((move.old_file, move.old_offset, number, file.tell(), len(raw), packed))
                file.write(raw)
                written += 1
                if file.tell() >= rotate:
                    break
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(folder)
    return written
