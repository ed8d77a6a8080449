"""Slices as messages: the indexed form of some documents of a site, as another site needs it to answer for them."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput, CorruptFile, DataError
from periplus.index import BuildStatistics, Index, Segment, folder_statistics, write_build_statistics, write_slice
from periplus.search import decode_record, encode_record
from periplus.settings import IndexSettings
from periplus.store import compress, decompress

__all__ = [
    "MAX_SLICE_BYTES",
    "MAX_SLICE_DOCUMENTS",
    "DocumentSlice",
    "decode_slice",
    "encode_slice",
    "make_slice",
    "unpack_slice",
]

MAX_SLICE_BYTES: Final = 1 << 28
MAX_SLICE_DOCUMENTS: Final = 10_000
_FILES: Final = frozenset(
    f"{part}.arrays"
    for part in ("lexicon", "postings", "documents", "text", "words", "extras", "static_vectors", "names", "own_fields")
)

Numbers = npt.NDArray[np.int64]


class DocumentSlice(NamedTuple):
    """Some documents of a site in its index format."""

    site: str
    generation: int
    segments: tuple[str, ...]
    """Names of the segments of the site that the documents are from. A segment never changes."""
    owners: npt.NDArray[np.int32]
    """By document of the slice: the number of its segment in `segments` ..."""
    numbers: Numbers
    """... and its number there."""
    statistics: BuildStatistics
    """The collection statistics that they are built with."""
    files: tuple[tuple[str, bytes], ...]
    """The files of the slice, which is a segment."""


def make_slice(site: str, index: Index, keys: Sequence[int], settings: IndexSettings) -> DocumentSlice:
    """Return the documents with some keys that the index has; raise `BadInput` for too many.

    Without collection statistics scores of one site say nothing at another: then it is `BadInput`, too.
    """
    statistics = folder_statistics(index.folder)
    if len(keys) > MAX_SLICE_DOCUMENTS:
        raise BadInput("Too many documents are asked for at once.")
    if statistics is None:
        raise BadInput("The index of this site was built without the statistics of the federation.")
    wanted = np.array(sorted(set(keys)), np.uint64)
    with tempfile.TemporaryDirectory(prefix="periplus-slice-") as folder:
        parent = Path(folder)
        write_build_statistics(parent / "collection.json", statistics)
        parts = []
        for segment in index.segments:
            chosen = segment.is_live & np.isin(segment.column("key"), wanted)
            if chosen.any():
                parts.append(Segment(index.folder / segment.name, np.flatnonzero(~chosen), verify=False))
        maps = write_slice(parent / "slice", parts, settings) if parts else []
        owners, numbers = _origins(maps)
        files = tuple((path.name, path.read_bytes()) for path in sorted((parent / "slice").glob("*.arrays")))
    names = tuple(segment.name for segment in parts)
    return DocumentSlice(site, index.manifest.generation, names, owners, numbers, statistics, files)


def _origins(maps: Sequence[Numbers]) -> tuple[npt.NDArray[np.int32], Numbers]:
    """Return the segment and number that each document of a slice comes from."""
    count = sum(int(np.count_nonzero(numbers >= 0)) for numbers in maps)
    owners, origins = np.zeros(count, np.int32), np.zeros(count, np.int64)
    for number, new in enumerate(maps):
        own = np.flatnonzero(new >= 0)
        owners[new[own]], origins[new[own]] = number, own
    return owners, origins


def encode_slice(documents: DocumentSlice) -> bytes:
    """Return a slice as a compressed message."""
    data = encode_record(documents)
    if len(data) > MAX_SLICE_BYTES:
        raise BadInput("The documents asked for are too large for one message.")
    return compress(data)


def decode_slice(data: bytes, site: str) -> DocumentSlice:
    """Return the slice that a site sent; raise `BadInput` for anything else."""
    try:
        documents = decode_record(decompress(data, MAX_SLICE_BYTES), DocumentSlice)
        documents.statistics.check()
    except (msgspec.MsgspecError, CorruptFile) as error:
        raise BadInput(f"The documents of {site[:40]} cannot be read: {error}") from None
    count = len(documents.owners)
    sound = (
        documents.site == site
        and count <= MAX_SLICE_DOCUMENTS
        and documents.owners.ndim == documents.numbers.ndim == 1
        and len(documents.numbers) == count
        and bool(((documents.owners >= 0) & (documents.owners < len(documents.segments))).all())
        and bool((documents.numbers >= 0).all())
        and {name for name, _ in documents.files} <= _FILES
        and len({name for name, _ in documents.files}) == len(documents.files)
    )
    if not sound:
        raise BadInput(f"The documents of {site[:40]} are not what a site sends.")
    return documents


def unpack_slice(documents: DocumentSlice, folder: Path) -> Segment:
    """Write a slice into a folder that does not exist, and open it; raise `BadInput` if its files are damaged."""
    folder.mkdir(parents=True)
    for name, data in documents.files:
        (folder / name).write_bytes(data)
    try:
        segment = Segment(folder)
    except (DataError, ValueError, KeyError) as error:
        raise BadInput(f"The documents of {documents.site[:40]} are damaged: {error}") from None
    if segment.documents != len(documents.owners):
        raise BadInput(f"The documents of {documents.site[:40]} are not as many as it says.")
    return segment
