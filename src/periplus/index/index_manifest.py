"""The manifest: which segments make up the index, and which of their documents are deleted. One rename is a commit."""

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile, DataError, DiskFailed, NothingHere
from periplus.files import decode_json, encode_json, read_file, write_atomically

__all__ = [
    "FORMAT",
    "SEGMENT_FORMAT",
    "Manifest",
    "SegmentEntry",
    "commit",
    "next_number",
    "read_deleted",
    "read_manifest",
    "remove_replaced",
]

FORMAT: Final = 3
"""Since 2, segments have main content and boilerplate in fields of their own, and the rules of their tokens.
Since 3, the manifest has a checksum."""
SEGMENT_FORMAT: Final = 5
"""Format of the files of a segment: 2 since there is a field for boilerplate, 3 since skip entries are packed, 4 since
columns of integers, positions of escaped postings, terms and names are, 5 since keys of names and titles are shorter,
and long blocks say both of their lengths in a byte."""
_NAME: Final = "manifest.json"
_MAX_LISTED: Final = 1_000
"""More deleted documents than this are stored as bitmaps in a file of their own, and not listed in the manifest."""

Numbers = npt.NDArray[np.int64]


class SegmentEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One segment of the index."""

    name: str
    documents: int
    deleted: tuple[int, ...] = msgspec.field(default=(), name="dead")
    """Documents that were deleted, or that a later segment has again."""
    deleted_in_bitmap: int = msgspec.field(default=0, name="buried")
    """How many more are deleted by the bitmap in the manifest's `deleted_file`."""

    @property
    def live(self) -> int:
        """How many documents are not deleted."""
        return self.documents - len(self.deleted) - self.deleted_in_bitmap


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the index consists of."""

    format: int
    generation: int
    segments: tuple[SegmentEntry, ...]
    record_count: int = msgspec.field(name="visits")
    """How many fetch records of the page store are in it."""
    built: float
    deleted_file: str = msgspec.field(default="", name="dead_file")
    """The file of bitmaps, '' when the deleted documents are few and listed."""
    journal: int = 0
    """Number of the journal with the changes that a live index has accepted since."""
    news_file: str = ""
    """The file of pages that a feed listed after they were indexed, '' when there are none."""

    @property
    def live(self) -> int:
        """How many documents are not deleted."""
        return sum(entry.live for entry in self.segments)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of an index folder."""
    path = folder / _NAME
    try:
        raw = read_file(path)
    except FileNotFoundError:
        raise NothingHere(
            f"There is no index in {folder}.", "Make one: periplus crawl URL, then periplus index build."
        ) from None
    return decode_json(path, raw, Manifest, FORMAT, "Run: periplus index repair.", checksum_since=3)


def read_deleted(folder: Path, manifest: Manifest) -> list[Numbers]:
    """Return the deleted documents of each segment, in order."""
    bitmaps = ArrayFile(folder / manifest.deleted_file, "dead") if manifest.deleted_file else None
    if bitmaps is not None:
        bitmaps.check()
    return [_deleted_of(entry, bitmaps) for entry in manifest.segments]


def _deleted_of(entry: SegmentEntry, bitmaps: ArrayFile | None) -> Numbers:
    listed = np.array(sorted(set(entry.deleted)), np.int64)
    if len(listed) and not 0 <= listed[0] <= listed[-1] < entry.documents:
        raise CorruptFile(f"The manifest lists a deleted document that segment {entry.name} does not have.")
    if not entry.deleted_in_bitmap:
        return listed
    if bitmaps is None or len(bitmaps[entry.name]) != -(-entry.documents // 8):
        raise CorruptFile(f"The bitmap of deleted documents does not fit segment {entry.name}.")
    if bitmaps[entry.name].dtype != np.uint8 or bitmaps[entry.name].ndim != 1:
        raise CorruptFile(f"{bitmaps.path} is damaged in '{entry.name}'.")
    bits = np.flatnonzero(np.unpackbits(bitmaps[entry.name], bitorder="little")[: entry.documents])
    if len(bits) != entry.deleted_in_bitmap:
        raise CorruptFile(f"Segment {entry.name} has {len(bits)} deleted documents, not {entry.deleted_in_bitmap}.")
    return np.union1d(listed, bits.astype(np.int64))


def commit(folder: Path, manifest: Manifest, deleted: Sequence[Numbers]) -> Manifest:
    """Commit `manifest` with the deleted documents of its segments, so that readers see it; return it as written."""
    if sum(map(len, deleted)) > _MAX_LISTED:
        name = f"dead-{manifest.generation:06}.arrays"
        arrays: dict[str, npt.NDArray[Any]] = {
            entry.name: _bitmap(numbers, entry.documents)
            for entry, numbers in zip(manifest.segments, deleted, strict=True)
            if len(numbers)
        }
        write_arrays(folder / name, "dead", arrays)
        counted = zip(manifest.segments, deleted, strict=True)
        entries = tuple(SegmentEntry(e.name, e.documents, (), len(numbers)) for e, numbers in counted)
    else:
        name = ""
        listed = zip(manifest.segments, deleted, strict=True)
        entries = tuple(SegmentEntry(e.name, e.documents, tuple(numbers.tolist())) for e, numbers in listed)
    done = msgspec.structs.replace(manifest, format=FORMAT, segments=entries, deleted_file=name)
    try:
        write_atomically(folder / _NAME, encode_json(done))
    except DiskFailed:
        # Once the file is renamed, readers see the commit: a disk that then fails to sync does not undo it.
        if not _is_committed(folder, done):
            raise
    return done


def _is_committed(folder: Path, manifest: Manifest) -> bool:
    try:
        return read_manifest(folder).generation == manifest.generation
    except DataError:
        return False


def _bitmap(numbers: Numbers, documents: int) -> npt.NDArray[np.uint8]:
    flags = np.zeros(documents, np.uint8)
    flags[numbers] = 1
    return np.packbits(flags, bitorder="little")


def next_number(folder: Path, manifest: Manifest | None) -> int:
    """Return a number above all that this index, or an unfinished build of it, has used for a generation or segment."""
    numbers = [int(part) for path in folder.glob("seg-*-*") if (part := path.name.split("-")[1]).isdigit()]
    return max([*numbers, manifest.generation if manifest else 0]) + 1


def remove_replaced(folder: Path, old: Manifest, new: Manifest) -> None:
    """Remove the files that only the last generation had; readers that have them open keep their data."""
    keep = {entry.name for entry in new.segments}
    for entry in old.segments:
        if entry.name not in keep:
            shutil.rmtree(folder / entry.name, ignore_errors=True)
    with contextlib.suppress(OSError):
        if old.deleted_file and old.deleted_file != new.deleted_file:
            (folder / old.deleted_file).unlink(missing_ok=True)
        if old.news_file and old.news_file != new.news_file:
            (folder / old.news_file).unlink(missing_ok=True)
        if old.journal != new.journal:
            (folder / f"journal-{old.journal:06}.log").unlink(missing_ok=True)
