"""CDXJ indexes of WARC files, by which tools for web archives find a response: one JSON line for each, sorted.

    org,example)/page 20261117195413 {"url": "http://example.org/page", "mime": "text/html", "status": "200", ...}

Each WARC file has an index beside it, which is written again when the file has grown; `index.cdxj` is all of them
merged, without holding them in memory.
"""

import contextlib
import heapq
import io
import json
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from fastwarc.warc import ArchiveIterator, WarcRecordType

from periplus.files import disk_errors, sync_folder, temporary_path, write_atomically
from periplus.store.compression import decompress_first
from periplus.store.relocated_responses import relocated_files
from periplus.store.store_check import MAX_RECORD, walk_warc
from periplus.store.store_manifest import warc_files
from periplus.store.warc.surt import sort_key
from periplus.store.warc.warc_dictionary import file_dictionary

__all__ = ["CDXJ_NAME", "CdxjResult", "write_cdxj"]

CDXJ_NAME: Final = "index.cdxj"
_TYPES: Final = WarcRecordType.response | WarcRecordType.revisit | WarcRecordType.resource
_MAX_MIME: Final = 100
_MAX_OPEN: Final = 200
"""Files that are merged at once."""


class CdxjResult(NamedTuple):
    """What was written."""

    path: Path
    records: int
    files: int
    """WARC files that the index refers to."""


def write_cdxj(folders: list[Path], out: Path) -> CdxjResult:
    """Write one index of the WARC files of several folders; their names in it are relative to the first of them."""
    warcs = [path for folder in folders for path in (*warc_files(folder), *relocated_files(folder).values())]
    names = [os.path.relpath(path, folders[0]).replace(os.sep, "/") for path in warcs]
    runs = [_Run(_index_file(path), name) for path, name in zip(warcs, names, strict=True)]
    merged: list[Path] = []
    try:
        while len(runs) > _MAX_OPEN:
            merged.append(temporary_path(out))
            _merge(runs[:_MAX_OPEN], merged[-1])
            runs = [*runs[_MAX_OPEN:], _Run(merged[-1])]
        target = temporary_path(out)
        records = _merge(runs, target)
    finally:
        for path in merged:
            path.unlink(missing_ok=True)
    with disk_errors(out):
        os.replace(target, out)
        sync_folder(out.parent)
    return CdxjResult(out, records, len(warcs))


class _Run(NamedTuple):
    """A file of sorted lines, and the WARC file whose name is added to them; '' if they have one."""

    path: Path
    name: str = ""


def _merge(runs: list[_Run], target: Path) -> int:
    """Write the lines of sorted files to one; return their number."""
    count = 0
    with disk_errors(target), contextlib.ExitStack() as files:
        file = files.enter_context(target.open("w", encoding="ascii"))
        for line in heapq.merge(*(_lines(run, files) for run in runs)):
            file.write(line)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count


def _lines(run: _Run, files: contextlib.ExitStack) -> Iterator[str]:
    file = files.enter_context(run.path.open(encoding="ascii"))
    if not run.name:
        return file
    ending = f', "filename": {json.dumps(run.name)}}}\n'
    return (line.rstrip()[:-1] + ending for line in file)


def _index_file(path: Path) -> Path:
    """Return the index of one WARC file, which has the same time as the file unless that has grown since."""
    index = path.with_name(path.name.partition(".")[0] + ".cdxj")
    written = path.stat().st_mtime_ns
    if not index.exists() or index.stat().st_mtime_ns != written:
        write_atomically(index, "".join(sorted(_read_lines(path))).encode("ascii"))
        os.utime(index, ns=(written, written))
    return index


def _read_lines(path: Path) -> Iterator[str]:
    kind = "gzip" if path.suffix == ".gz" else "zstd"
    dictionary = None
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for entry in walk_warc(path):
                if entry.fault or entry.skipped:
                    continue
                dictionary = dictionary or file_dictionary(path)
                plain, _ = decompress_first(data[entry.offset : entry.end], MAX_RECORD, kind, dictionary)
                line = _line(plain, entry.offset, entry.end - entry.offset)
                if line:
                    yield line


def _line(plain: bytes, offset: int, length: int) -> str:
    """Return the line of one record, without the name of its file; '' if it is of another kind."""
    for record in ArchiveIterator(io.BytesIO(plain), record_types=_TYPES, parse_http=True, auto_decode="none"):
        url = record.headers.get("WARC-Target-URI") or ""
        date = "".join(char for char in record.headers.get("WARC-Date") or "" if char.isdigit())[:14]
        if not url or len(date) < 14:
            return ""
        fields = {"url": url, "mime": _mime(record)}
        if record.http_headers is not None:
            fields["status"] = str(record.http_headers.status_code or 0)
        if digest := record.headers.get("WARC-Payload-Digest"):
            fields["digest"] = digest
        fields |= {"length": str(length), "offset": str(offset)}
        return f"{sort_key(url)} {date} {json.dumps(fields, ensure_ascii=True)}\n"
    return ""


def _mime(record: Any) -> str:
    if record.record_type == WarcRecordType.revisit:
        return "warc/revisit"
    headers = record.http_headers if record.http_headers is not None else record.headers
    kind = (headers.get("Content-Type") or "").partition(";")[0].strip().lower()[:_MAX_MIME]
    return kind if kind and " " not in kind else "unk"
