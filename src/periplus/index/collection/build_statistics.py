"""Collection statistics: what a build takes from all documents of a collection, however many segments or shards it has.

On one machine these are those of the segment that is built. In a cluster every shard gathers its own in a quick pass
over a sample of its pages, the sums are written once for an epoch, and all shards build with them: so a word in a page
has the same impact on whatever shard the page is. A build stores what it was given in the index folder, in
`collection.json`, for later appends, live indexing and merging; a build without removes it. See
docs/formats/collection-statistics.md.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from periplus.errors import BadInput
from periplus.files import decode_json, encode_json, read_file, write_atomically
from periplus.index.document_fields import Field

__all__ = [
    "BuildStatistics",
    "expected_languages",
    "folder_statistics",
    "read_build_statistics",
    "statistics_path",
    "store_build_statistics",
    "sum_build_statistics",
    "write_build_statistics",
]

_FORMAT: Final = 1
_HINT: Final = "Gather the statistics again, or build the index without them."


class BuildStatistics(msgspec.Struct, frozen=True):
    """The statistics of a collection that builds use; floats, since they may be estimated from a sample."""

    format: int
    epoch: int
    """Rises each time that they are gathered; 0 for those of one shard, which are not summed yet."""
    documents: int
    tokens: tuple[float, ...]
    """Words of all documents, by field."""
    filled: tuple[float, ...]
    """Documents that have a field, by field."""
    languages: dict[str, float]
    """Documents by language."""

    def check(self) -> None:
        """Raise `BadInput` for what no collection has."""
        numbers = (*self.tokens, *self.filled, *self.languages.values())
        if self.format > _FORMAT or len(self.tokens) != len(Field) or len(self.filled) != len(Field):
            raise BadInput("The collection statistics are of another version of Periplus.")
        if self.documents < 0 or self.epoch < 0 or not all(np.isfinite(number) and number >= 0 for number in numbers):
            raise BadInput("The collection statistics are not those of any collection.")


def sum_build_statistics(parts: Sequence[BuildStatistics], epoch: int) -> BuildStatistics:
    """Return the statistics of all shards together, for an epoch; the order of shards does not matter."""
    for part in parts:
        part.check()
    ordered = sorted(parts, key=lambda part: (part.documents, part.tokens, part.filled, sorted(part.languages.items())))
    languages: dict[str, float] = {}
    for part in ordered:
        for code, count in part.languages.items():
            languages[code] = languages.get(code, 0.0) + count
    sums = [[sum(column) for column in zip(*rows, strict=True)] for rows in _columns(ordered)]
    tokens, filled = (tuple(column or [0.0] * len(Field)) for column in sums)
    documents = sum(part.documents for part in ordered)
    return BuildStatistics(_FORMAT, epoch, documents, tokens, filled, dict(sorted(languages.items())))


def _columns(parts: Sequence[BuildStatistics]) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    return [part.tokens for part in parts], [part.filled for part in parts]


def write_build_statistics(path: Path, statistics: BuildStatistics) -> None:
    """Write statistics as a file with a checksum."""
    write_atomically(path, encode_json(statistics))


def read_build_statistics(path: Path) -> BuildStatistics:
    """Read statistics; raise `CorruptFile` for a damaged file, and `FileNotFoundError` without one."""
    statistics = decode_json(path, read_file(path), BuildStatistics, _FORMAT, _HINT, checksum_since=1)
    statistics.check()
    return statistics


def statistics_path(folder: Path) -> Path:
    """Return the path of the statistics that an index folder was built with."""
    return folder / "collection.json"


def store_build_statistics(folder: Path, statistics: BuildStatistics | None, *, append: bool) -> None:
    """Store what a build was given in its index folder; without any, an append goes on with what is there."""
    if statistics is not None:
        statistics.check()
        folder.mkdir(parents=True, exist_ok=True)
        write_build_statistics(statistics_path(folder), statistics)
    elif not append:
        statistics_path(folder).unlink(missing_ok=True)


def folder_statistics(folder: Path) -> BuildStatistics | None:
    """Return the statistics that an index folder is built with; None for those of each segment."""
    try:
        return read_build_statistics(statistics_path(folder))
    except FileNotFoundError:
        return None


def expected_languages(folder: Path) -> dict[str, float] | None:
    """Return the languages of the collection that an index folder is a shard of; None if it is no shard."""
    statistics = folder_statistics(folder)
    return statistics.languages if statistics is not None else None
