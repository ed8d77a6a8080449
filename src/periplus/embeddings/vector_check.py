"""Verify vectors: all checksums and offsets, and that they were made from the texts of their segment.

A search ignores damaged files, so they never cause an error there. `remove_damaged_vectors` removes them, and the next
run of `periplus index embed` makes them again.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from periplus.embeddings import kernels
from periplus.embeddings.embedding_log import NAME, log_faults, mend_log
from periplus.embeddings.passages import print_of, source
from periplus.embeddings.vector_file import FOLDER, VectorFile, read_vectors, segment_fingerprint
from periplus.errors import PeriplusError
from periplus.files import disk_errors, lock_folder
from periplus.index import Index, Segment
from periplus.settings import EmbeddingSettings

__all__ = ["check_vectors", "remove_damaged_vectors"]

_STRETCH: Final = 1 << 16
"""Vectors whose length is looked at at once."""
_OFF: Final = 0.05
"""What the length of a vector, 1, may be off by: bytes are not exact."""

Progress = Callable[[str, int, int], None]


def check_vectors(folder: Path, progress: Progress = lambda stage, done, total: None) -> list[str]:
    """Read all vectors of the index `folder`; give a line for each fault, none if all are sound or there are none."""
    faults = log_faults(folder / FOLDER / NAME)
    return faults + [fault for _, fault in _faulty(folder, progress)]


def remove_damaged_vectors(folder: Path, progress: Progress = lambda stage, done, total: None) -> list[str]:
    """Remove files of vectors that have faults, so that they are made again; give the faults."""
    if not (folder / FOLDER).is_dir():
        return []
    with lock_folder(folder / FOLDER, "embed"):
        faults = log_faults(folder / FOLDER / NAME)
        if faults:
            mend_log(folder / FOLDER / NAME)
        for path, fault in list(_faulty(folder, progress)):
            faults.append(fault)
            with disk_errors(path):
                path.unlink(missing_ok=True)
    return faults


def _faulty(folder: Path, progress: Progress) -> Iterator[tuple[Path, str]]:
    """Give each file of vectors that has a fault, and what it is."""
    paths = sorted((folder / FOLDER).glob("seg-*.arrays"))
    segments = _segments(folder) if paths else {}
    for number, path in enumerate(paths):
        progress("checking vectors", number, len(paths))
        if fault := _fault(path, segments.get(path.stem)):
            yield path, fault


def _segments(folder: Path) -> Mapping[str, Segment]:
    """Give the segments by name; none of an index that cannot be opened, which is said elsewhere."""
    try:
        return {segment.name: segment for segment in Index.open(folder, verify=False).segments}
    except PeriplusError:
        return {}


def _fault(path: Path, segment: Segment | None) -> str:
    """Say what is wrong with a file of vectors; '' if nothing is."""
    try:
        file = read_vectors(path)
    except PeriplusError as error:
        return str(error)
    rules = _rules(file)
    # A segment that is gone leaves its vectors behind, for those that took its documents over.
    if segment is not None:
        rules["they are of this segment"] = file.segment == segment_fingerprint(segment)
    if not (broken := [rule for rule, holds in rules.items() if not holds]) and segment is not None:
        broken = ["they were made of the text that is there"] * (not _of_this_text(file, segment))
    return f"{path}: broken: {', '.join(broken)}" if broken else ""


def _rules(file: VectorFile) -> dict[str, bool]:
    """Say which rules hold for the numbers of a file."""
    store, rows = file.store, len(file.store.rows)
    counts = np.diff(store.start)
    owners = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return {
        "every row has one owner": bool((np.bincount(store.rows, minlength=rows) == 1).all()),
        "rows and owners agree": np.array_equal(store.owners[store.rows], owners),
        "what has vectors has a print": np.array_equal(file.prints != 0, counts > 0),
        "centres are numbers": bool(np.isfinite(store.centres).all()),
        "vectors have length 1": _unit(store),
    }


def _unit(store: kernels.Store) -> bool:
    for at in range(0, len(store.vectors), _STRETCH):
        part = store.vectors[at : at + _STRETCH].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part)) * store.scales[at : at + _STRETCH]
        if not (np.abs(lengths - 1) < _OFF).all():
            return False
    return True


def _of_this_text(file: VectorFile, segment: Segment) -> bool:
    """Say whether the prints are those of the documents' texts."""
    try:
        words, _, passages = (int(number) for number in file.recipe.split("/")[1:4])
    except ValueError:
        return False
    settings = EmbeddingSettings(passage_tokens=words, passages=passages)
    for document in np.flatnonzero(file.prints).tolist():
        title, text = source(segment.string("title", document), segment.text(document), settings)
        if print_of(title, text, file.recipe) != int(file.prints[document]):
            return False
    return True
