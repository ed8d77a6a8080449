"""The manifest of a store: its files, and the length of each that is durable."""

import re
import uuid
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile
from periplus.files import decode_json, encode_json, read_file, write_atomically

__all__ = [
    "FORMAT",
    "FileEntry",
    "Manifest",
    "durable_lengths",
    "file_number",
    "log_files",
    "log_name",
    "read_manifest",
    "warc_files",
    "write_manifest",
]

FORMAT: Final = 3
"""Since 2, the file has a checksum; with 3, WARC files may begin with a dictionary."""
_PLAIN_FORMAT: Final = 2
"""That of a store without dictionaries, which earlier versions read."""
_NAME: Final = "manifest.json"
_REMEDY: Final = "It is restored from the logs beside it: periplus repair."
_LOG: Final = re.compile(r"visits-(\d{5,9})\.log")
_WARC: Final = re.compile(r"pages-(\d{5,9})\.warc\.(?:zst|gz)")


class FileEntry(msgspec.Struct, frozen=True):
    """One file, its durable length, and the number of its fetch records (0 for a WARC file)."""

    name: str
    length: int
    records: int = msgspec.field(default=0, name="visits")


class Manifest(msgspec.Struct, frozen=True):
    """The durable state of a store."""

    format: int = _PLAIN_FORMAT
    id: str = ""
    """Distinguishes this store from another one that was in the same folder."""
    records: int = msgspec.field(default=0, name="visits")
    pages: int = 0
    logs: tuple[FileEntry, ...] = ()
    warcs: tuple[FileEntry, ...] = ()


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest, None if there is none. Raise for one that is newer or damaged."""
    path = folder / _NAME
    try:
        raw = read_file(path)
    except FileNotFoundError:
        return None
    manifest = decode_json(path, raw, Manifest, FORMAT, _REMEDY, checksum_since=2)
    if b'"format"' not in raw:
        raise CorruptFile(f"{path} is damaged: it states no format.", _REMEDY)
    _check(path, manifest)
    return manifest


def durable_lengths(folder: Path) -> dict[str, int]:
    """Return the files of a store and the length of each that never changes again; empty if there is no manifest."""
    manifest = read_manifest(folder)
    return {} if manifest is None else {entry.name: entry.length for entry in (*manifest.logs, *manifest.warcs)}


def _check(path: Path, manifest: Manifest) -> None:
    entries = (*manifest.logs, *manifest.warcs)
    valid_names = [entry.name == log_name(number) for number, entry in enumerate(manifest.logs)]
    valid_names += [is_warc(entry.name) for entry in manifest.warcs]
    numbers = [
        manifest.records,
        manifest.pages,
        *(entry.length for entry in entries),
        *(entry.records for entry in entries),
    ]
    if not all(valid_names) or min(numbers) < 0 or sum(entry.records for entry in manifest.logs) != manifest.records:
        raise CorruptFile(f"{path} is damaged: its numbers do not match.", _REMEDY)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest, durably."""
    write_atomically(folder / _NAME, encode_json(manifest, indent=1))


def new_manifest() -> Manifest:
    """Return the manifest of an empty store."""
    return Manifest(id=uuid.uuid4().hex)


def log_name(number: int) -> str:
    """Return the name of a fetch log."""
    return f"visits-{number:05d}.log"


def warc_name(number: int, compression: str) -> str:
    """Return the name of a WARC file."""
    return f"pages-{number:05d}.warc.{'gz' if compression == 'gzip' else 'zst'}"


def file_number(name: str) -> int:
    """Return the number in a file's name; -1 for a name of another kind."""
    match = _LOG.fullmatch(name) or _WARC.fullmatch(name)
    return int(match[1]) if match else -1


def is_warc(name: str) -> bool:
    """Return whether this is the name of a WARC file of a store, and not a path to another folder."""
    return _WARC.fullmatch(name) is not None


def log_files(folder: Path) -> list[Path]:
    """Return the fetch logs in order."""
    return _list_files(folder, _LOG)


def warc_files(folder: Path) -> list[Path]:
    """Return the WARC files in order."""
    return _list_files(folder, _WARC)


def _list_files(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        (path for path in folder.iterdir() if pattern.fullmatch(path.name)), key=lambda p: file_number(p.name)
    )
