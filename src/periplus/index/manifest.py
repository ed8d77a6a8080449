"""The manifest: which segments make up the index. One atomic rename of it is a commit."""

from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile, NewerFormat, NothingHere
from periplus.files import write_atomically

__all__ = ["FORMAT", "Manifest", "SegmentEntry", "read_manifest", "write_manifest"]

FORMAT: Final = 1
_NAME: Final = "manifest.json"


class SegmentEntry(msgspec.Struct, frozen=True):
    """One segment of the index."""

    name: str
    documents: int
    dead: tuple[int, ...] = ()
    """Documents that a later segment has replaced."""


class Manifest(msgspec.Struct, frozen=True):
    """What the index consists of."""

    format: int
    generation: int
    segments: tuple[SegmentEntry, ...]
    visits: int
    """How many visits of the page store are in it."""
    built: float


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of an index folder."""
    path = folder / _NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise NothingHere(
            f"There is no index in {folder}.", "Make one: periplus crawl URL, then periplus index build."
        ) from None
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error.strerror}.") from error
    try:
        found = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        version = msgspec.json.decode(found.get("format", msgspec.Raw(b"0")), type=int)
        if version > FORMAT:
            raise NewerFormat(f"{path} has format {version}; this Periplus knows {FORMAT}.", "Upgrade Periplus.")
        return msgspec.json.decode(raw, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{path} is damaged: {error}.", "Run: periplus index build.") from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Commit: from now on, readers see these segments."""
    write_atomically(folder / _NAME, msgspec.json.encode(manifest))
