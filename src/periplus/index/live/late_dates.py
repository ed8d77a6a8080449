"""Late news: documents that a feed listed only after they were indexed, and their days.

Segments are immutable, so late news is in a file of its own, `news-N.arrays`, which the manifest refers to: for each
segment that has any, `NAME.document` u32 (ascending) and `NAME.day` i32. A merge writes it into the new segment.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index.index_manifest import Manifest, SegmentEntry
from periplus.index.validation.segment_checks import open_documents

__all__ = ["NO_LATE_NEWS", "LateNews", "find_late_news", "merge_late_news", "read_late_news", "write_late_news"]

Numbers = npt.NDArray[np.int64]
Days = npt.NDArray[np.int32]


class LateNews(NamedTuple):
    """Documents of one segment that became news after it was written."""

    documents: Numbers
    """Ascending."""
    days: Days


NO_LATE_NEWS: Final = LateNews(np.zeros(0, np.int64), np.zeros(0, np.int32))


def merge_late_news(before: LateNews, documents: Numbers, days: Days) -> LateNews:
    """Return `before` with more documents; the last day of a document counts."""
    if not len(documents):
        return before
    # np.unique keeps the first of equals, so the newest come first.
    combined = np.concatenate([documents[::-1], before.documents])
    unique, first = np.unique(combined, return_index=True)
    return LateNews(unique, np.concatenate([days[::-1], before.days])[first].astype(np.int32))


def read_late_news(folder: Path, manifest: Manifest) -> list[LateNews]:
    """Return the late news of each segment, in order."""
    if not manifest.news_file:
        return [NO_LATE_NEWS] * len(manifest.segments)
    file = ArrayFile(folder / manifest.news_file, "news")
    file.check()
    return [_segment_late_news(file, entry) for entry in manifest.segments]


def _segment_late_news(file: ArrayFile, entry: SegmentEntry) -> LateNews:
    if f"{entry.name}.document" not in file:
        return NO_LATE_NEWS
    stored, days = file[f"{entry.name}.document"], file[f"{entry.name}.day"]
    if stored.dtype != np.uint32 or days.dtype != np.int32 or not stored.ndim == days.ndim == 1:
        raise CorruptFile(f"{file.path} does not fit segment {entry.name}.", "Run: periplus index repair.")
    documents = stored.astype(np.int64)
    ascending = bool((documents[1:] > documents[:-1]).all())
    if len(days) != len(documents) or not ascending or (len(documents) and documents[-1] >= entry.documents):
        raise CorruptFile(f"{file.path} does not fit segment {entry.name}.", "Run: periplus index repair.")
    return LateNews(documents, days)


def write_late_news(folder: Path, generation: int, late: Mapping[str, LateNews]) -> str:
    """Write the late news of segments, by name; return the name of the file, '' if there is none."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, news in late.items():
        if len(news.documents):
            arrays[f"{name}.document"], arrays[f"{name}.day"] = news.documents.astype(np.uint32), news.days
    if not arrays:
        return ""
    name = f"news-{generation:06}.arrays"
    write_arrays(folder / name, "news", arrays)
    return name


def find_late_news(
    folder: Path, entries: Iterable[SegmentEntry], keys: npt.NDArray[np.uint64], days: Days
) -> dict[str, LateNews]:
    """Return, by segment, the documents with one of `keys` (ascending) that are not news of that day yet."""
    return {entry.name: _find_in_segment(folder / entry.name, keys, days) for entry in entries} if len(keys) else {}


def _find_in_segment(segment: Path, keys: npt.NDArray[np.uint64], days: Days) -> LateNews:
    columns = open_documents(segment)
    segment_keys = columns["key"]
    at = np.minimum(np.searchsorted(keys, segment_keys), len(keys) - 1)
    documents = np.flatnonzero(keys[at] == segment_keys)
    feed_days = days[at[documents]]
    day = columns["day"]
    has_day = (day[documents] if len(day) == len(segment_keys) else np.broadcast_to(day, len(documents))) == feed_days
    is_new = ~(has_day & np.isin(documents, _read_news(segment)))
    return LateNews(documents[is_new].astype(np.int64), feed_days[is_new].astype(np.int32))


def _read_news(segment: Path) -> Sequence[int] | npt.NDArray[Any]:
    """Return the documents that a segment was written with as news."""
    path = segment / "extras.arrays"
    return ArrayFile(path, "extras")["news"] if path.exists() else ()
