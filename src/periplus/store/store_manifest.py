"""The one manifest of a store: which files there are, and up to where they are durable."""

import re
import uuid
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile, NewerFormat
from periplus.files import write_atomically

__all__ = ["Manifest", "Part", "log_files", "log_name", "number_of", "read_manifest", "warc_files", "write_manifest"]

FORMAT: Final = 1
_NAME: Final = "manifest.json"
_LOG: Final = re.compile(r"visits-(\d{5,9})\.log")
_WARC: Final = re.compile(r"pages-(\d{5,9})\.warc\.(?:zst|gz)")


class Part(msgspec.Struct, frozen=True):
    """One file, the length that is durable, and the visits in it (0 for a WARC file)."""

    name: str
    length: int
    visits: int = 0


class Manifest(msgspec.Struct, frozen=True):
    """What is durable."""

    format: int = FORMAT
    id: str = ""
    """Tells this store from another one that was in the same place."""
    visits: int = 0
    pages: int = 0
    logs: tuple[Part, ...] = ()
    warcs: tuple[Part, ...] = ()


class _Format(msgspec.Struct, frozen=True):
    format: int


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest; None when there is none. Newer and damaged ones are errors."""
    path = folder / _NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error.strerror}.") from error
    try:
        found = msgspec.json.decode(raw, type=_Format).format
        if found > FORMAT:
            raise NewerFormat(f"{path} has format {found}; this Periplus knows {FORMAT}.", "Upgrade Periplus.")
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptFile(
            f"{path} is damaged: {error}.", "Move it away: it is made anew from the logs beside it."
        ) from error
    _check(path, manifest)
    return manifest


def _check(path: Path, manifest: Manifest) -> None:
    names = [part.name == log_name(number) for number, part in enumerate(manifest.logs)]
    names += [is_warc(part.name) for part in manifest.warcs]
    parts = (*manifest.logs, *manifest.warcs)
    numbers = [part.length for part in parts] + [part.visits for part in parts] + [manifest.visits, manifest.pages]
    if not all(names) or min(numbers) < 0 or sum(part.visits for part in manifest.logs) != manifest.visits:
        raise CorruptFile(f"{path} is damaged: its numbers do not fit.", "Move it away: it is made anew from the logs.")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest, durably."""
    write_atomically(folder / _NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=1))


def new_manifest() -> Manifest:
    """Give the manifest of an empty store."""
    return Manifest(id=uuid.uuid4().hex)


def log_name(number: int) -> str:
    """Name a visit log."""
    return f"visits-{number:05d}.log"


def warc_name(number: int, compression: str) -> str:
    """Name a WARC file."""
    return f"pages-{number:05d}.warc.{'gz' if compression == 'gzip' else 'zst'}"


def number_of(name: str) -> int:
    """Give the number in a file's name; -1 for a name of another kind."""
    match = _LOG.fullmatch(name) or _WARC.fullmatch(name)
    return int(match[1]) if match else -1


def is_warc(name: str) -> bool:
    """Say whether this is the name of one of our WARC files, and nothing that leads elsewhere."""
    return _WARC.fullmatch(name) is not None


def log_files(folder: Path) -> list[Path]:
    """List the visit logs in order."""
    return _listed(folder, _LOG)


def warc_files(folder: Path) -> list[Path]:
    """List the WARC files in order."""
    return _listed(folder, _WARC)


def _listed(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if pattern.fullmatch(path.name)), key=lambda p: number_of(p.name))
