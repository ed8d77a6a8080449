"""Verify vectors: all checksums and offsets, and that they were made from the texts of their segment.

A search ignores damaged files, so they never cause an error there. `remove_damaged_vectors` removes them, and the next
run of `periplus index embed` makes them again.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from periplus.embeddings import kernels
from periplus.embeddings.embedding_log import LOG_NAME, find_log_faults, repair_log
from periplus.embeddings.passages import source_fingerprint, truncate_source
from periplus.embeddings.vector_file import FOLDER, VectorFile, read_vectors, segment_fingerprint
from periplus.errors import PeriplusError
from periplus.files import disk_errors, lock_folder
from periplus.index import Index, Segment
from periplus.settings import EmbeddingSettings

__all__ = ["check_vectors", "remove_damaged_vectors"]

_BATCH: Final = 1 << 16
"""Vectors whose length is checked at a time."""
_TOLERANCE: Final = 0.05
"""Allowed deviation of a vector's length from 1, due to quantisation."""

Progress = Callable[[str, int, int], None]


def check_vectors(folder: Path, progress: Progress = lambda stage, done, total: None) -> list[str]:
    """Read all vectors of the index `folder`; return a line for each fault."""
    faults = find_log_faults(folder / FOLDER / LOG_NAME)
    return faults + [fault for _, fault in _find_faults(folder, progress)]


def remove_damaged_vectors(folder: Path, progress: Progress = lambda stage, done, total: None) -> list[str]:
    """Remove damaged vector files, so that they are computed again; return a line for each fault."""
    if not (folder / FOLDER).is_dir():
        return []
    with lock_folder(folder / FOLDER, "embed"):
        faults = find_log_faults(folder / FOLDER / LOG_NAME)
        if faults:
            repair_log(folder / FOLDER / LOG_NAME)
        for path, fault in list(_find_faults(folder, progress)):
            faults.append(fault)
            with disk_errors(path):
                path.unlink(missing_ok=True)
    return faults


def _find_faults(folder: Path, progress: Progress) -> Iterator[tuple[Path, str]]:
    """Yield each damaged vector file and its fault."""
    paths = sorted((folder / FOLDER).glob("seg-*.arrays"))
    segments = _open_segments(folder) if paths else {}
    for number, path in enumerate(paths):
        progress("checking vectors", number, len(paths))
        if fault := _find_fault(path, segments.get(path.stem)):
            yield path, fault


def _open_segments(folder: Path) -> Mapping[str, Segment]:
    """Return the segments by name; none of an index that cannot be opened, which is reported elsewhere."""
    try:
        return {segment.name: segment for segment in Index.open(folder, verify=False).segments}
    except PeriplusError:
        return {}


def _find_fault(path: Path, segment: Segment | None) -> str:
    """Return what is wrong with a vector file; '' if nothing is."""
    try:
        file = read_vectors(path)
    except PeriplusError as error:
        return str(error)
    rules = _check_rules(file)
    # The vectors of a merged segment remain until the segments that took over its documents have copied them.
    if segment is not None:
        rules["vectors belong to the segment"] = file.segment == segment_fingerprint(segment)
    if not (broken := [rule for rule, holds in rules.items() if not holds]) and segment is not None:
        broken = ["vectors were made from the present text"] * (not _matches_text(file, segment))
    return f"{path}: broken: {', '.join(broken)}" if broken else ""


def _check_rules(file: VectorFile) -> dict[str, bool]:
    """Return, for each rule, whether a file keeps it."""
    store, rows = file.store, len(file.store.rows)
    counts = np.diff(store.start)
    owners = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return {
        "every row has one owner": bool((np.bincount(store.rows, minlength=rows) == 1).all()),
        "rows and owners agree": np.array_equal(store.owners[store.rows], owners),
        "documents with vectors have a fingerprint": np.array_equal(file.fingerprints != 0, counts > 0),
        "centres are finite": bool(np.isfinite(store.centres).all()),
        "vectors have length 1": _has_unit_vectors(store),
    }


def _has_unit_vectors(store: kernels.VectorStore) -> bool:
    for at in range(0, len(store.vectors), _BATCH):
        part = store.vectors[at : at + _BATCH].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part)) * store.scales[at : at + _BATCH]
        if not (np.abs(lengths - 1) < _TOLERANCE).all():
            return False
    return True


def _matches_text(file: VectorFile, segment: Segment) -> bool:
    """Return whether the fingerprints are those of the documents' texts."""
    try:
        words, _, passages = (int(number) for number in file.recipe.split("/")[1:4])
    except ValueError:
        return False
    settings = EmbeddingSettings(passage_tokens=words, passages=passages)
    for document in np.flatnonzero(file.fingerprints).tolist():
        title, text = truncate_source(segment.string("title", document), segment.text(document), settings)
        if source_fingerprint(title, text, file.recipe) != int(file.fingerprints[document]):
            return False
    return True
