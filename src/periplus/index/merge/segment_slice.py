"""Slices: some documents of segments as a segment of their own, with exactly the scores that they have there.

A merge computes impacts by the collection statistics of the folder, so documents keep theirs. What a segment learns
from all its texts, names of documents and who mentions them, is taken over and not learned again from the few texts of
a slice: another site can answer for these documents as their own site does.
"""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

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
from periplus.index.vocabulary.name_file import NameColumns, name_columns, select_names, write_name_file
from periplus.settings import IndexSettings

__all__ = ["replace_index", "write_slice"]

Numbers = npt.NDArray[np.int64]


def write_slice(folder: Path, segments: Sequence[Segment], settings: IndexSettings) -> list[Numbers]:
    """Write the live documents of segments as one; return for each the new numbers of its documents, -1 for others.

    The parent of `folder` must have the collection statistics that the segments were built with.
    """
    maps = merge_segments(folder, segments, settings)
    documents = sum(int(np.count_nonzero(numbers >= 0)) for numbers in maps)
    mentions = np.zeros(documents, np.int32)
    parts = [name_columns(None)]
    for segment, numbers in zip(segments, maps, strict=True):
        file = segment.files.get("names")
        if file is None:
            continue
        own = np.flatnonzero(numbers >= 0)
        mentions[numbers[own]] = np.asarray(file["mentions"])[own]
        names = name_columns(file)
        of_document = numbers[names.document]
        rows = np.flatnonzero(of_document >= 0)
        part = select_names(names, rows)
        parts.append(part._replace(document=of_document[rows].astype(np.int32)))
    columns = NameColumns(*map(np.concatenate, zip(*parts, strict=True)))
    order = np.argsort(columns.key, kind="stable")
    write_name_file(folder, select_names(columns, order), mentions)
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
