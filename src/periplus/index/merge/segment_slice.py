"""Slices: some documents of segments as a segment of their own, with exactly the scores that they have there.

A merge computes impacts by the collection statistics of the folder, so documents keep theirs. What a segment learns
from all its texts, names of documents and who mentions them, is taken over and not learned again from the few texts of
a slice: another site can answer for these documents as their own site does.
"""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.errors import NothingHere
from periplus.index.index_manifest import (
    FORMAT,
    Manifest,
    SegmentEntry,
    commit,
    next_number,
    read_manifest,
)
from periplus.index.merge.segment_merger import merge_segments
from periplus.index.segment import Segment
from periplus.index.segment_file import write_segment_file
from periplus.settings import IndexSettings

__all__ = ["replace_index", "write_slice"]

_COLUMNS = {"name_key": np.uint64, "name_document": np.int32, "name_kind": np.uint8, "name_weight": np.uint8}

Numbers = npt.NDArray[np.int64]


def write_slice(folder: Path, segments: Sequence[Segment], settings: IndexSettings) -> list[Numbers]:
    """Write the live documents of segments as one; return for each the new numbers of its documents, -1 for others.

    The parent of `folder` must have the collection statistics that the segments were built with.
    """
    maps = merge_segments(folder, segments, settings)
    documents = sum(int(np.count_nonzero(numbers >= 0)) for numbers in maps)
    mentions = np.zeros(documents, np.int32)
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [np.zeros(0, kind)] for name, kind in _COLUMNS.items()}
    for segment, numbers in zip(segments, maps, strict=True):
        file = segment.files.get("names")
        if file is None:
            continue
        own = np.flatnonzero(numbers >= 0)
        mentions[numbers[own]] = np.asarray(file["mentions"])[own]
        of_document = numbers[np.asarray(file["name_document"]).astype(np.int64)]
        rows = np.flatnonzero(of_document >= 0)
        for name in _COLUMNS:
            parts[name].append(np.asarray(file[name])[rows] if name != "name_document" else of_document[rows])
    columns = {name: np.concatenate(parts[name]).astype(kind) for name, kind in _COLUMNS.items()}
    order = np.argsort(columns["name_key"], kind="stable")
    arrays: dict[str, npt.NDArray[Any]] = {name: column[order] for name, column in columns.items()}
    write_segment_file(folder, "names", arrays | {"mentions": mentions}, packed=("mentions",))
    return maps


def replace_index(folder: Path, segments: Sequence[Segment], settings: IndexSettings) -> list[Numbers]:
    """Write the live documents of segments as the only segment of an index folder, and commit it; return as above.

    The segments may be those of the folder itself, which are removed; collection statistics of the folder stay.
    """
    try:
        before = read_manifest(folder)
    except NothingHere:
        before = None
    number = next_number(folder, before)
    name = f"seg-{number:06}-0000"
    maps = write_slice(folder / name, segments, settings)
    documents = sum(int(np.count_nonzero(numbers >= 0)) for numbers in maps)
    commit(folder, Manifest(FORMAT, number, (SegmentEntry(name, documents),), 0, time.time()), [np.zeros(0, np.int64)])
    for entry in before.segments if before is not None else ():
        shutil.rmtree(folder / entry.name, ignore_errors=True)
    return maps
