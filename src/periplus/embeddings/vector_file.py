"""The vectors of one segment, in a checksummed file: `index/meaning/SEGMENT.arrays`.

    prints   u64 (documents)          fingerprint of the text that was embedded, and how; 0: none
    start    i64 (documents + 1)      offset of each document's passages in `rows`
    rows     i32 (passages)           their rows in `vectors`
    vectors  i8  (passages, width)    in the order of lists
    scales   f32 (passages)
    owners   i32 (passages)           the document of each row
    centres  f32 (lists, width), list_start i64 (lists + 1)

Segments are immutable, so a file is only rewritten to add documents. The note `segment` is the fingerprint of the
segment's keys, which distinguishes another segment of the same name.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.embeddings import kernels
from periplus.errors import CorruptFile, DataError
from periplus.hashing import fingerprint
from periplus.index import Segment

__all__ = [
    "FOLDER",
    "PassageVectors",
    "VectorFile",
    "cluster_vectors",
    "open_vectors",
    "read_vectors",
    "segment_fingerprint",
    "vector_path",
    "write_vectors",
]

FOLDER: Final = "meaning"
_KIND: Final = "vectors"
_FORMAT: Final = 1
"""The format number, raised whenever the contents change."""
_TYPES: Final = {
    "prints": (np.uint64, 1),
    "start": (np.int64, 1),
    "rows": (np.int32, 1),
    "vectors": (np.int8, 2),
    "scales": (np.float32, 1),
    "owners": (np.int32, 1),
    "centres": (np.float32, 2),
    "list_start": (np.int64, 1),
}
"""The type and the number of dimensions of each array."""
_MAX_ONE_LIST: Final = 50_000
"""Up to this many passages are one list: comparing all of them takes two milliseconds or less."""
_KMEANS_ROUNDS: Final = 6
_SAMPLE_PER_LIST: Final = 64
"""Passages per list in the sample from which the lists are learned."""


class PassageVectors(NamedTuple):
    """Quantised vectors of a document's passages."""

    vectors: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]


class VectorFile(NamedTuple):
    """An open vector file."""

    store: kernels.VectorStore
    fingerprints: npt.NDArray[np.uint64]
    document_count: int
    """Documents that have vectors."""
    recipe: str
    complete: bool
    """Whether every document that the model supports has vectors."""
    segment: str
    """Identifies the documents of its segment, see `segment_fingerprint`."""


def vector_path(folder: Path, segment: str) -> Path:
    """Return the path of a segment's vectors in an index folder."""
    return folder / FOLDER / f"{segment}.arrays"


def segment_fingerprint(segment: Segment) -> str:
    """Return a fingerprint of the documents of a segment."""
    return f"{fingerprint(np.ascontiguousarray(segment.column('key')).view(np.uint8).data):016x}"


def open_vectors(path: Path, segment: Segment | None = None, recipe: str = "") -> VectorFile | None:
    """Open and check a vector file; None if it is missing, damaged, or of another segment or recipe."""
    try:
        file = read_vectors(path)
    except DataError:
        return None
    if recipe and file.recipe != recipe:
        return None
    return None if segment and file.segment != segment_fingerprint(segment) else file


def read_vectors(path: Path) -> VectorFile:
    """Open and check a vector file; raise `CorruptFile` if it is damaged."""
    file = ArrayFile(path, _KIND, format=_FORMAT)
    file.check()
    store = kernels.VectorStore(*(file[name] for name in kernels.VectorStore._fields))
    fingerprints = file["prints"]
    for name, (kind, dimensions) in _TYPES.items():
        if file[name].dtype != kind or file[name].ndim != dimensions:
            raise CorruptFile(f"{path} has an invalid array '{name}'.", "Compute them again: periplus index embed.")
    if not _has_valid_offsets(store, len(fingerprints)):
        raise CorruptFile(f"{path} has offsets outside of its arrays.")
    count = int(np.count_nonzero(np.diff(store.start)))
    recipe, segment = str(file.notes.get("recipe", "")), str(file.notes.get("segment", ""))
    return VectorFile(store, fingerprints, count, recipe, bool(file.notes.get("whole")), segment)


def _has_valid_offsets(store: kernels.VectorStore, documents: int) -> bool:
    """Return whether all offsets lie within their arrays; kernels do not check them."""
    rows = len(store.vectors)
    shapes = len(store.scales) == len(store.owners) == len(store.rows) == rows and len(store.start) == documents + 1
    lists = len(store.centres) == len(store.list_start) - 1 and store.centres.shape[1:] == store.vectors.shape[1:]
    return bool(
        shapes
        and lists
        and _is_ascending(store.start, rows)
        and _is_ascending(store.list_start, rows)
        and (not rows or (store.rows.min() >= 0 and store.rows.max() < rows))
        and (not rows or (store.owners.min() >= 0 and store.owners.max() < documents))
    )


def _is_ascending(start: npt.NDArray[np.int64], end: int) -> bool:
    return bool(len(start) and start[0] == 0 and start[-1] == end and (np.diff(start) >= 0).all())


def write_vectors(
    path: Path,
    segment: Segment,
    recipe: str,
    fingerprints: npt.NDArray[np.uint64],
    parts: Sequence[PassageVectors | None],
    *,
    complete: bool,
) -> VectorFile:
    """Write the vectors of a segment; `parts` has those of each document, `complete` means that no more will follow."""
    counts = np.array([len(part.scales) if part is not None else 0 for part in parts], np.int64)
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(counts, out=start[1:])
    present = [part for part in parts if part is not None]
    width = present[0].vectors.shape[1] if present else 1
    rows_in_order = np.concatenate([part.vectors for part in present]) if present else np.zeros((0, width), np.int8)
    scales = np.concatenate([part.scales for part in present]) if present else np.zeros(0, np.float32)
    owners = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    centres, lists = cluster_vectors(rows_in_order)
    order = np.argsort(lists, kind="stable")
    rows = np.empty(len(order), np.int32)
    rows[order] = np.arange(len(order), dtype=np.int32)
    list_start = np.zeros(len(centres) + 1, np.int64)
    np.cumsum(np.bincount(lists, minlength=len(centres)), out=list_start[1:])
    store = kernels.VectorStore(rows_in_order[order], scales[order], owners[order], start, rows, centres, list_start)
    used = np.where(counts > 0, fingerprints, 0).astype(np.uint64)
    notes = {"recipe": recipe, "segment": segment_fingerprint(segment), "whole": complete}
    write_arrays(path, _KIND, {**store._asdict(), "prints": used}, notes, format=_FORMAT)
    written = open_vectors(path, segment, recipe)
    if written is None:
        raise CorruptFile(f"{path} was written, but cannot be read back.", "Check the disk.")
    return written


def cluster_vectors(vectors: npt.NDArray[np.int8]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return centres and the list of each vector (k-means by direction); few vectors are one list."""
    count, width = vectors.shape
    if count <= _MAX_ONE_LIST:
        return np.zeros((1, width), np.float32), np.zeros(count, np.int64)
    size = round(count**0.5)
    chance = np.random.default_rng(count)
    sample = vectors[np.sort(chance.choice(count, min(count, size * _SAMPLE_PER_LIST), replace=False))]
    centres = _normalise(sample[chance.choice(len(sample), size, replace=False)].astype(np.float32))
    for _ in range(_KMEANS_ROUNDS):
        nearest = np.empty(len(sample), np.int32)
        kernels.assign_centres(sample, centres, nearest)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, sample)
        nonempty = np.bincount(nearest, minlength=size) > 0
        centres[nonempty] = _normalise(sums[nonempty])
    lists = np.empty(count, np.int32)
    kernels.assign_centres(vectors, centres, lists)
    return centres, lists.astype(np.int64)


def _normalise(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: npt.NDArray[np.float32] = (rows / np.maximum(lengths, 1e-9)).astype(np.float32)
    return units
