"""Putting a store right after a crash: every whole frame is kept, torn tails are cut, WARC files are cut to fit."""

import os
from pathlib import Path
from typing import NamedTuple

from periplus.errors import CorruptFile
from periplus.files import disk_errors
from periplus.records import FetchRecord
from periplus.store.compression import unpack_first
from periplus.store.fetch_log import walk_file
from periplus.store.log_frames import FILE_HEADER, Frame, decode_visits
from periplus.store.store_manifest import Manifest, Part, is_warc, log_files, number_of, warc_files
from periplus.store.warc.warc_reader import MAX_BODY

__all__ = ["packed_record", "record_at", "recover", "stored_record"]

_MAX_RECORD = MAX_BODY + (2 << 20)


class _Reach(NamedTuple):
    """How far the WARC files go: number of the last one, and its end. (-1, 0) when there is none."""

    number: int
    end: int


def stored_record(folder: Path, visit: FetchRecord) -> bytes:
    """Give the plain WARC record a visit points to; raise `CorruptFile` when it is not there whole."""
    if not is_warc(visit.warc):
        raise CorruptFile(f"'{visit.warc[:80]}' is no name of a WARC file of this store.")
    return record_at(folder / visit.warc, visit.warc_offset)[0]


def packed_record(path: Path, offset: int) -> bytes:
    """Give the record at `offset` as it lies in the file, compressed."""
    return record_at(path, offset)[1]


def record_at(path: Path, offset: int) -> tuple[bytes, bytes]:
    """Give the record at `offset` of a WARC file, plain and as it lies there; `CorruptFile` when it is not whole."""
    kind = "gzip" if path.suffix == ".gz" else "zstd"
    try:
        with path.open("rb") as file:
            length = 1 << 18
            while True:
                file.seek(offset)
                raw = file.read(length)
                try:
                    plain, taken = unpack_first(raw, _MAX_RECORD, kind)
                    return plain, raw[:taken]
                except CorruptFile:
                    # Most records fit the first bite; a longer one is only damaged when all of it was seen.
                    if len(raw) < length or length > 2 * _MAX_RECORD:
                        raise
                length *= 8
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error.strerror}.") from error
    except CorruptFile as error:
        raise CorruptFile(f"{path} is damaged at byte {offset}: {error.message}") from None


def recover(folder: Path, manifest: Manifest) -> Manifest:
    """Find what is whole beyond the manifest, cut off what is not, and give the manifest of what is there now."""
    _check_warcs(folder, manifest)
    known = {part.name: part for part in manifest.logs}
    missing = set(known) - {path.name for path in log_files(folder)}
    if missing:
        raise CorruptFile(f"{folder / min(missing)} is missing, though the manifest names it.")
    last = number_of(manifest.logs[-1].name) if manifest.logs else 0
    parts = list(manifest.logs[:-1])
    reach = _Reach(number_of(manifest.warcs[-1].name), manifest.warcs[-1].length) if manifest.warcs else _Reach(-1, 0)
    pages = manifest.pages
    paths = [path for path in log_files(folder) if number_of(path.name) >= last]
    for path in paths:
        found = _scan(folder, path, known.get(path.name, Part(path.name, 0)), reach)
        if path is not paths[-1] and path.stat().st_size > found.part.length:
            # A log is made durable before the next one begins: this is no torn tail.
            raise CorruptFile(f"{path} is damaged at byte {found.part.length}.")
        parts.append(found.part)
        pages += found.pages
        reach = found.reach
    if paths:
        _cut(paths[-1], parts[-1].length)
    warcs = _fit_warcs(folder, reach)
    visits = sum(part.visits for part in parts)
    return Manifest(id=manifest.id, visits=visits, pages=pages, logs=tuple(parts), warcs=warcs)


class _Found(NamedTuple):
    part: Part
    pages: int
    reach: _Reach


def _scan(folder: Path, path: Path, part: Part, reach: _Reach) -> _Found:
    """Walk the frames behind the durable part of one log, as far as they and their WARC records are whole."""
    end, visits, pages = part.length, part.visits, 0
    for frame in walk_file(path, part.length, part.length):
        if not _records_whole(folder, frame):
            break
        end, visits, pages = frame.end, visits + frame.visits, pages + frame.pages
        if frame.warc_end:
            reach = max(reach, _Reach(frame.warc, frame.warc_end))
    return _Found(Part(path.name, max(end, _header_end(path)), visits), pages, reach)


def _header_end(path: Path) -> int:
    return len(FILE_HEADER) if path.stat().st_size >= len(FILE_HEADER) else 0


def _records_whole(folder: Path, frame: Frame) -> bool:
    """Say whether all WARC records a frame points to are there: after a power cut they may not be.

    A file before the last that is not there at all was let go; a power cut takes the end of the last one.
    """
    last = max((number_of(path.name) for path in warc_files(folder)), default=-1)
    try:
        for visit in decode_visits(frame):
            let_go = number_of(visit.warc) < last and not (folder / visit.warc).exists()
            if visit.warc and not let_go:
                stored_record(folder, visit)
    except CorruptFile:
        return False
    return True


def _check_warcs(folder: Path, manifest: Manifest) -> None:
    for part in manifest.warcs:
        path = folder / part.name
        size = path.stat().st_size if path.exists() else -1
        if size < part.length:
            raise CorruptFile(f"{path} is cut off: {max(size, 0)} bytes of {part.length}.")


def _fit_warcs(folder: Path, reach: _Reach) -> tuple[Part, ...]:
    """Cut the last WARC file to the last record that a visit points to, and remove files that none points to."""
    parts = []
    paths = warc_files(folder)
    if sum(number_of(path.name) > reach.number for path in paths) > 1:
        # A crash leaves one at most; more of them are somebody's pages.
        raise CorruptFile(f"{folder} has WARC files that no visit log knows.", "Restore the logs, or move them away.")
    for path in paths:
        number = number_of(path.name)
        if number > reach.number:
            with disk_errors(path):
                path.unlink()
            continue
        if number == reach.number:
            _cut(path, reach.end)
        parts.append(Part(path.name, path.stat().st_size))
    return tuple(parts)


def _cut(path: Path, length: int) -> None:
    with disk_errors(path):
        if path.stat().st_size > length:
            os.truncate(path, length)
