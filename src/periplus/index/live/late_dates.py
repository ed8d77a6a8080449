"""News that a feed named only after the page was indexed: which documents of each segment, and of what day.

Segments are never changed, so this stands in a file of its own, `news-N.arrays`, which the manifest names: for each
segment that has any, `NAME.document` u32 (rising) and `NAME.day` i32. A merge writes it into the new segment.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index.index_manifest import Manifest, SegmentEntry

__all__ = ["NONE_LATE", "Late", "add_late", "find_late", "read_late", "write_late"]

Numbers = npt.NDArray[np.int64]
Days = npt.NDArray[np.int32]


class Late(NamedTuple):
    """Documents of one segment that became news late."""

    documents: Numbers
    """Rising."""
    days: Days


NONE_LATE: Final = Late(np.zeros(0, np.int64), np.zeros(0, np.int32))


def add_late(known: Late, documents: Numbers, days: Days) -> Late:
    """Give `known` with more documents; the day that was given last holds."""
    if not len(documents):
        return known
    # The first of equals is kept, so what is newest goes to the front.
    every = np.concatenate([documents[::-1], known.documents])
    unique, first = np.unique(every, return_index=True)
    return Late(unique, np.concatenate([days[::-1], known.days])[first].astype(np.int32))


def read_late(folder: Path, manifest: Manifest) -> list[Late]:
    """Give the late news of each segment, in order."""
    if not manifest.news_file:
        return [NONE_LATE] * len(manifest.segments)
    file = ArrayFile(folder / manifest.news_file, "news")
    file.check()
    return [_late_of(file, entry) for entry in manifest.segments]


def _late_of(file: ArrayFile, entry: SegmentEntry) -> Late:
    if f"{entry.name}.document" not in file:
        return NONE_LATE
    documents, days = file[f"{entry.name}.document"].astype(np.int64), file[f"{entry.name}.day"].astype(np.int32)
    rising = bool((documents[1:] > documents[:-1]).all())
    if len(days) != len(documents) or not rising or (len(documents) and documents[-1] >= entry.documents):
        raise CorruptFile(f"{file.path} does not fit segment {entry.name}.", "Run: periplus index repair.")
    return Late(documents, days)


def write_late(folder: Path, generation: int, late: Mapping[str, Late]) -> str:
    """Write the late news of segments by name; give the name of the file, '' if there is none to write."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, one in late.items():
        if len(one.documents):
            arrays[f"{name}.document"], arrays[f"{name}.day"] = one.documents.astype(np.uint32), one.days
    if not arrays:
        return ""
    name = f"news-{generation:06}.arrays"
    write_arrays(folder / name, "news", arrays)
    return name


def find_late(
    folder: Path, entries: Iterable[SegmentEntry], keys: npt.NDArray[np.uint64], days: Days
) -> dict[str, Late]:
    """Find, by segment, the documents with one of `keys` (rising) that do not stand as news of that day already."""
    return {entry.name: _find(folder / entry.name, keys, days) for entry in entries} if len(keys) else {}


def _find(segment: Path, keys: npt.NDArray[np.uint64], days: Days) -> Late:
    columns = ArrayFile(segment / "documents.arrays", "documents")
    own = columns["key"]
    at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    found = np.flatnonzero(keys[at] == own)
    told = days[at[found]]
    day = columns["day"]
    same = (day[found] if len(day) == len(own) else np.broadcast_to(day, len(found))) == told
    fresh = ~(same & np.isin(found, _marked(segment)))
    return Late(found[fresh].astype(np.int64), told[fresh].astype(np.int32))


def _marked(segment: Path) -> Sequence[int] | npt.NDArray[Any]:
    """Give the documents that stand as news in a segment."""
    path = segment / "extras.arrays"
    return ArrayFile(path, "extras")["news"] if path.exists() else ()
