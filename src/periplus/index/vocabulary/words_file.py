"""The file `words.arrays` of a segment: words as they are written, completions, and names of sites."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index.segment import Segment
from periplus.index.vocabulary.completions import carried_on, completion_arrays, name_documents, site_arrays
from periplus.index.vocabulary.surface_forms import Counted, join_counted, vocabulary_arrays

__all__ = ["merge_words", "read_counted", "write_words"]

_TYPES = {
    "words": np.uint8,
    "pair_key": np.uint32,
    "pair_count": np.uint16,
    "numbers": np.int64,
    "complete_text": np.uint8,
    "complete_start": np.uint32,
    "complete_source": np.int32,
    "complete_worth": np.uint8,
    "complete_order": np.uint32,
    "complete_rank": np.uint8,
    "complete_peak": np.uint8,
    "site_key": np.uint64,
    "site_document": np.int32,
}


def write_words(folder: Path, counted: Counted, said: Iterable[tuple[int, bytes]]) -> None:
    """Write the file of a segment whose documents are written; `said` is what links say about them."""
    columns = ArrayFile(folder / "documents.arrays", "documents")
    arrays = vocabulary_arrays(counted) | completion_arrays(name_documents(columns, said)) | site_arrays(columns)
    write_arrays(folder / "words.arrays", "words", arrays)


def merge_words(folder: Path, segments: Sequence[Segment], numbers: Sequence[npt.NDArray[np.int64]]) -> None:
    """Write the file of a segment made of others; `numbers` says where the documents of each went (-1: nowhere)."""
    have = [
        (segment.files["words"], new)
        for segment, new in zip(segments, numbers, strict=True)
        if "words" in segment.files
    ]
    said = itertools.chain.from_iterable(carried_on(file, new) for file, new in have)
    write_words(folder, join_counted([read_counted(file) for file, _ in have]), said)


def read_counted(file: ArrayFile) -> Counted:
    """Give what was counted in a segment; raise `CorruptFile` where its arrays are none of ours."""
    for name, kind in _TYPES.items():
        if file[name].dtype != kind or file[name].ndim != 1:
            raise CorruptFile(f"{file.path} has an impossible array '{name}'.")
    number, sampled = file["numbers"].tolist()
    return Counted(file["words"], number, file["pair_key"], file["pair_count"].astype(np.int32), sampled)
