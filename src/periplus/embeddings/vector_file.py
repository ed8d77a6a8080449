"""The vectors of one segment, in one checksummed file beside the segments: `index/meaning/SEGMENT.arrays`.

    prints   u64 (documents)          what was embedded of each document, and how; 0: nothing
    start    i64 (documents + 1)      where each document's passages begin in `rows`
    rows     i32 (passages)           their rows in `vectors`
    vectors  i8  (passages, width)    in the order of lists
    scales   f32 (passages)
    owners   i32 (passages)           the document of each row
    centres  f32 (lists, width), list_start i64 (lists + 1)

A segment never changes, so its vectors are written once, or again with more documents. The note `segment` is the
fingerprint of the segment's keys: a file that belongs to another segment of the same name is not taken for its own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.embeddings import kernels as vectors
from periplus.errors import CorruptFile, DataError
from periplus.hashing import fingerprint
from periplus.index import Segment

__all__ = [
    "FOLDER",
    "VectorFile",
    "Vectors",
    "make_lists",
    "open_vectors",
    "read_vectors",
    "segment_fingerprint",
    "vector_path",
    "write_vectors",
]

FOLDER: Final = "meaning"
_KIND: Final = "vectors"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes."""
_ALONE: Final = 50_000
"""Up to this many passages, all are compared: two milliseconds or less."""
_ROUNDS: Final = 6
_SAMPLE: Final = 64
"""Passages for each list that the lists are learned from."""


class Vectors(NamedTuple):
    """Vectors of passages, cut to bytes."""

    vectors: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]


class VectorFile(NamedTuple):
    """An open file of vectors."""

    store: vectors.Store
    prints: npt.NDArray[np.uint64]
    covered: int
    """Documents that have vectors."""
    recipe: str
    whole: bool
    """Whether every document that the model can read has vectors."""
    segment: str
    """Which documents its segment has, see `segment_fingerprint`."""


def vector_path(folder: Path, segment: str) -> Path:
    """Say where the vectors of a segment of an index folder are."""
    return folder / FOLDER / f"{segment}.arrays"


def segment_fingerprint(segment: Segment) -> str:
    """Fingerprint which documents a segment has."""
    return f"{fingerprint(np.ascontiguousarray(segment.column('key')).view(np.uint8).data):016x}"


def open_vectors(path: Path, segment: Segment | None = None, recipe: str = "") -> VectorFile | None:
    """Open and check a file of vectors; None if there is none for this segment, by this recipe, or it is damaged."""
    try:
        file = read_vectors(path)
    except DataError:
        return None
    if recipe and file.recipe != recipe:
        return None
    return None if segment and file.segment != segment_fingerprint(segment) else file


def read_vectors(path: Path) -> VectorFile:
    """Open and check a file of vectors; `CorruptFile` says what is wrong with it."""
    file = ArrayFile(path, _KIND, format=_FORMAT)
    file.check()
    store = vectors.Store(*(file[name] for name in vectors.Store._fields))
    prints = file["prints"]
    if not _fits(store, len(prints)):
        raise CorruptFile(f"{path} has numbers that point out of its arrays.")
    covered = int(np.count_nonzero(np.diff(store.start)))
    known, own = str(file.notes.get("recipe", "")), str(file.notes.get("segment", ""))
    return VectorFile(store, prints, covered, known, bool(file.notes.get("whole")), own)


def _fits(store: vectors.Store, documents: int) -> bool:
    """Say whether no number points out of its array: what kernels read without looking."""
    rows = len(store.vectors)
    shapes = len(store.scales) == len(store.owners) == len(store.rows) == rows and len(store.start) == documents + 1
    lists = len(store.centres) == len(store.list_start) - 1 and store.centres.shape[1:] == store.vectors.shape[1:]
    return bool(
        shapes
        and lists
        and _climbs(store.start, rows)
        and _climbs(store.list_start, rows)
        and (not rows or (store.rows.min() >= 0 and store.rows.max() < rows))
        and (not rows or (store.owners.min() >= 0 and store.owners.max() < documents))
    )


def _climbs(start: npt.NDArray[np.int64], end: int) -> bool:
    return bool(start[0] == 0 and start[-1] == end and (np.diff(start) >= 0).all())


def write_vectors(
    path: Path,
    segment: Segment,
    recipe: str,
    prints: npt.NDArray[np.uint64],
    parts: Sequence[Vectors | None],
    *,
    whole: bool,
) -> VectorFile:
    """Write the vectors of a segment: `parts` has those of each document, `whole` says that no more are to come."""
    counts = np.array([len(part.scales) if part is not None else 0 for part in parts], np.int64)
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(counts, out=start[1:])
    held = [part for part in parts if part is not None]
    width = held[0].vectors.shape[1] if held else 1
    laid = np.concatenate([part.vectors for part in held]) if held else np.zeros((0, width), np.int8)
    scales = np.concatenate([part.scales for part in held]) if held else np.zeros(0, np.float32)
    owners = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    centres, lists = make_lists(laid)
    order = np.argsort(lists, kind="stable")
    rows = np.empty(len(order), np.int32)
    rows[order] = np.arange(len(order), dtype=np.int32)
    list_start = np.zeros(len(centres) + 1, np.int64)
    np.cumsum(np.bincount(lists, minlength=len(centres)), out=list_start[1:])
    store = vectors.Store(laid[order], scales[order], owners[order], start, rows, centres, list_start)
    kept = np.where(counts > 0, prints, 0).astype(np.uint64)
    notes = {"recipe": recipe, "segment": segment_fingerprint(segment), "whole": whole}
    write_arrays(path, _KIND, {**store._asdict(), "prints": kept}, notes, format=_FORMAT)
    written = open_vectors(path, segment, recipe)
    if written is None:
        raise CorruptFile(f"{path} was not written as it should be.", "Check the disk.")
    return written


def make_lists(laid: npt.NDArray[np.int8]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Part passages into lists of neighbours (k-means over directions); few passages are one list."""
    count, width = laid.shape
    if count <= _ALONE:
        return np.zeros((1, width), np.float32), np.zeros(count, np.int64)
    size = round(count**0.5)
    chance = np.random.default_rng(count)
    sample = laid[np.sort(chance.choice(count, min(count, size * _SAMPLE), replace=False))]
    centres = _unit(sample[chance.choice(len(sample), size, replace=False)].astype(np.float32))
    for _ in range(_ROUNDS):
        nearest = np.empty(len(sample), np.int32)
        vectors.assign(sample, centres, nearest)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, sample)
        there = np.bincount(nearest, minlength=size) > 0
        centres[there] = _unit(sums[there])
    lists = np.empty(count, np.int32)
    vectors.assign(laid, centres, lists)
    return centres, lists.astype(np.int64)


def _unit(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: npt.NDArray[np.float32] = (rows / np.maximum(lengths, 1e-9)).astype(np.float32)
    return units
