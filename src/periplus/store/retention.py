"""Letting go of old responses, by age or by size. Visits with their digests stay: an index can always be built anew.

The newest response of every page that is still there is carried over to a file of kept responses, unless all are to
go. Only the writer of a store may do this; readers notice nothing but that old responses are gone.
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
from periplus.store.carried_over import Column, KeptTable, Rows, kept_files, kept_name
from periplus.store.compression import decompress
from periplus.store.fetch_log import Position, walk
from periplus.store.log_frames import MAX_PAYLOAD
from periplus.store.store_manifest import Manifest, number_of
from periplus.store.store_recovery import packed_record
from periplus.store.warc.warc_writer import info_record, pack_record

__all__ = ["Plan", "RetentionResult", "carry_over", "plan_trim"]

_DAY: Final = 86_400.0
_WORTH: Final = 0.1
"""A file of which less than this share would go is not worth writing anew for its size."""


class RetentionResult(NamedTuple):
    """What became of it."""

    files: int
    """WARC files that are gone."""
    freed: int
    """Bytes less than before."""
    relocated: int
    """Responses that were carried over."""


class _Row(msgspec.Struct, frozen=True):
    """What counts of a visit here."""

    key: int
    outcome: Outcome
    when: float
    warc: str = ""
    warc_offset: int = 0


_rows: Final = msgspec.msgpack.Decoder(list[_Row])


class Plan(NamedTuple):
    """Which files go, and which of their records stay."""

    names: list[str]
    live: dict[str, list[int]]
    """Offsets by file."""
    newest: Column
    """Places of all records that are the newest of a page, wherever they are by now; none when all are to go."""


def _places(file: Column, offset: Column) -> Column:
    """Give one number for each place."""
    return (file << 40) | offset


class _Copies(NamedTuple):
    """Every response of a store: its file and place, whether it is the newest of a page, and when it was got."""

    file: Column
    offset: Column
    newest: np.ndarray[tuple[int], np.dtype[np.bool_]]
    when: np.ndarray[tuple[int], np.dtype[np.float64]]


def _read_copies(folder: Path, manifest: Manifest) -> _Copies:
    """Look through the visits. A page that is gone, or became a copy of another, has no newest response."""
    places, moments = array("q"), array("d")
    for _, frame in walk(folder, manifest, Position(0, 0)):
        for row in _rows.decode(decompress(frame.payload, MAX_PAYLOAD)):
            if row.outcome is Outcome.OK or row.outcome is Outcome.GONE:
                # Keys are unsigned, and only compared.
                places.extend((row.key - (1 << 63), number_of(row.warc) if row.warc else -1, row.warc_offset))
                moments.append(row.when)
    table, when = np.array(places, np.int64).reshape(-1, 3), np.array(moments, np.float64)
    order = np.argsort(table[:, 0], kind="stable")
    newest = np.zeros(len(table), bool)
    keys = table[order, 0]
    newest[order] = np.append(keys[1:] != keys[:-1], np.ones(min(1, len(keys)), bool))
    stored = table[:, 1] >= 0
    return _Copies(table[stored, 1], table[stored, 2], newest[stored], when[stored])


def plan_trim(
    folder: Path, manifest: Manifest, names: list[str], keep_bytes: int, keep_days: float, everything: bool
) -> Plan:
    """Choose among the files that are full: all that are too old, then the oldest until the rest is small enough."""
    copies = _read_copies(folder, manifest)
    sizes = {name: (folder / name).stat().st_size for name in names}
    kept = sum(path.stat().st_size for path in kept_files(folder).values())
    total = kept + sum((folder / part.name).stat().st_size for part in manifest.warcs if (folder / part.name).exists())
    chosen, live = [], {}
    for name in names:
        own = copies.file == number_of(name)
        offsets = [] if everything else np.unique(copies.offset[own & copies.newest]).tolist()
        share = len(offsets) / max(1, int(own.sum()))
        old = keep_days > 0 and float(copies.when[own].max(initial=0.0)) < time.time() - keep_days * _DAY
        large = keep_bytes > 0 and total > keep_bytes and share <= 1 - _WORTH
        if (old and share < 1) or large:
            chosen.append(name)
            live[name] = offsets
            total -= int(sizes[name] * (1 - share))
    newest = _places(copies.file, copies.offset)[copies.newest]
    return Plan(chosen, live, newest[:0] if everything else newest)


def carry_over(folder: Path, table: KeptTable, plan: Plan, rotate: int) -> int:
    """Copy the responses that stay to files of their own, and write down where they are; give their number."""
    known = table.rows()
    known = known.of(np.isin(_places(known.old_file, known.old_offset), plan.newest))
    stale = np.isin(known.file, _half_empty(folder, known))
    moving = [(number_of(name), offset, folder / name, offset) for name in plan.names for offset in plan.live[name]]
    relocated = len(moving)
    for row in np.flatnonzero(stale).tolist():
        path = folder / kept_name(int(known.file[row]), int(known.packed[row]))
        moving.append((int(known.old_file[row]), int(known.old_offset[row]), path, int(known.offset[row])))
    made = _write(folder, moving, max(kept_files(folder), default=-1) + 1, rotate)
    rest = known.of(~stale)
    table.write(Rows(*(np.concatenate((mine, more)) for mine, more in zip(rest, made, strict=True))))
    named = set(table.rows().file.tolist())
    for path in (path for number, path in kept_files(folder).items() if number not in named):
        with disk_errors(path):
            path.unlink()
    return relocated


def _half_empty(folder: Path, known: Rows) -> list[int]:
    """Give the kept files of which more than half is of no use by now."""
    found = []
    for number, path in kept_files(folder).items():
        used = int(known.length[known.file == number].sum())
        if 0 < used * 2 < path.stat().st_size:
            found.append(number)
    return found


def _write(folder: Path, moving: Iterable[tuple[int, int, Path, int]], number: int, rotate: int) -> Rows:
    """Write records, byte for byte as they were, to new files: one for each compression, more when they are large."""
    rows: list[tuple[int, int, int, int, int, int]] = []
    by_kind: dict[int, list[tuple[int, int, Path, int]]] = {0: [], 1: []}
    for record in moving:
        by_kind[int(record[2].suffix == ".gz")].append(record)
    for packed, records in by_kind.items():
        while records:
            done = _write_one(folder, records, number, packed, rotate, rows)
            records, number = records[done:], number + 1
    return Rows(*np.array(rows, np.int64).reshape(-1, 6).T.copy())


def _write_one(
    folder: Path,
    records: list[tuple[int, int, Path, int]],
    number: int,
    packed: int,
    rotate: int,
    rows: list[tuple[int, int, int, int, int, int]],
) -> int:
    """Write one file until it is full; give how many records it took."""
    path = folder / kept_name(number, packed)
    temporary = path.with_name(f".{path.name}.new")
    with disk_errors(path):
        with temporary.open("wb") as file:
            file.write(pack_record(info_record(path.name, time.time()), "gzip" if packed else "zstd", 3))
            done = 0
            for old_file, old_offset, source, offset in records:
                raw = packed_record(source, offset)
                rows.append((old_file, old_offset, number, file.tell(), len(raw), packed))
                file.write(raw)
                done += 1
                if file.tell() >= rotate:
                    break
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(folder)
    return done
