"""The manifest: which segments make up the index, and which of their documents are dead. One rename is a commit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile, DataError, DiskFailed, NewerFormat, NothingHere
from periplus.files import write_atomically

__all__ = ["FORMAT", "Manifest", "SegmentEntry", "commit", "next_number", "read_dead", "read_manifest"]

FORMAT: Final = 1
_NAME: Final = "manifest.json"
_MOST_LISTED: Final = 1_000
"""More dead documents than this are not listed in the manifest, but drawn as bitmaps in a file of their own."""

Numbers = npt.NDArray[np.int64]


class SegmentEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One segment of the index."""

    name: str
    documents: int
    dead: tuple[int, ...] = ()
    """Documents that were deleted, or that a later segment has again."""
    buried: int = 0
    """How many more are dead by the bitmap in the manifest's `dead_file`."""

    @property
    def live(self) -> int:
        """How many documents can be found."""
        return self.documents - len(self.dead) - self.buried


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the index consists of."""

    format: int
    generation: int
    segments: tuple[SegmentEntry, ...]
    visits: int
    """How many visits of the page store are in it."""
    built: float
    dead_file: str = ""
    """The file of bitmaps, '' when the dead are few and listed."""
    journal: int = 0
    """Number of the journal with what a live index has taken since."""
    news_file: str = ""
    """The file of pages that a feed named after they were indexed, '' when there are none."""

    @property
    def live(self) -> int:
        """How many documents can be found."""
        return sum(entry.live for entry in self.segments)


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
        raise CorruptFile(f"{path} is damaged: {error}.", "Run: periplus index repair.") from error


def read_dead(folder: Path, manifest: Manifest) -> list[Numbers]:
    """Give the dead documents of each segment, in order."""
    drawn = ArrayFile(folder / manifest.dead_file, "dead") if manifest.dead_file else None
    if drawn is not None:
        drawn.check()
    return [_dead_of(entry, drawn) for entry in manifest.segments]


def _dead_of(entry: SegmentEntry, drawn: ArrayFile | None) -> Numbers:
    listed = np.array(sorted(set(entry.dead)), np.int64)
    if len(listed) and not 0 <= listed[0] <= listed[-1] < entry.documents:
        raise CorruptFile(f"The manifest lists a dead document that segment {entry.name} does not have.")
    if not entry.buried:
        return listed
    if drawn is None or len(drawn[entry.name]) != -(-entry.documents // 8):
        raise CorruptFile(f"The bitmap of the dead does not fit segment {entry.name}.")
    bits = np.flatnonzero(np.unpackbits(drawn[entry.name], bitorder="little")[: entry.documents])
    if len(bits) != entry.buried:
        raise CorruptFile(f"Segment {entry.name} has {len(bits)} dead documents, not {entry.buried}.")
    return np.union1d(listed, bits.astype(np.int64))


def commit(folder: Path, manifest: Manifest, dead: Sequence[Numbers]) -> Manifest:
    """Commit `manifest` with these dead documents for its segments: from now on, readers see it."""
    if sum(map(len, dead)) > _MOST_LISTED:
        name = f"dead-{manifest.generation:06}.arrays"
        maps: dict[str, npt.NDArray[Any]] = {
            entry.name: _bitmap(numbers, entry.documents)
            for entry, numbers in zip(manifest.segments, dead, strict=True)
            if len(numbers)
        }
        write_arrays(folder / name, "dead", maps)
        counted = zip(manifest.segments, dead, strict=True)
        entries = tuple(SegmentEntry(e.name, e.documents, (), len(numbers)) for e, numbers in counted)
    else:
        name = ""
        listed = zip(manifest.segments, dead, strict=True)
        entries = tuple(SegmentEntry(e.name, e.documents, tuple(numbers.tolist())) for e, numbers in listed)
    done = msgspec.structs.replace(manifest, segments=entries, dead_file=name)
    try:
        write_atomically(folder / _NAME, msgspec.json.encode(done))
    except DiskFailed:
        # Once the new name stands, readers see the commit: a disk that then fails to sync does not undo it.
        if not _stands(folder, done):
            raise
    return done


def _stands(folder: Path, manifest: Manifest) -> bool:
    try:
        return read_manifest(folder).generation == manifest.generation
    except DataError:
        return False


def _bitmap(numbers: Numbers, documents: int) -> npt.NDArray[np.uint8]:
    flags = np.zeros(documents, np.uint8)
    flags[numbers] = 1
    return np.packbits(flags, bitorder="little")


def next_number(folder: Path, manifest: Manifest | None) -> int:
    """Give a number above all that this index, or an unfinished build of it, has used for a generation or segment."""
    numbers = [int(part) for path in folder.glob("seg-*-*") if (part := path.name.split("-")[1]).isdigit()]
    return max([*numbers, manifest.generation if manifest else 0]) + 1
