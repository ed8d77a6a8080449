"""The file `words.arrays` of a segment: surface forms of words, completions, names of sites."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index.segment import Segment
from periplus.index.segment_file import SegmentFile
from periplus.index.vocabulary.completions import collect_texts, completion_arrays, site_arrays, stored_link_texts
from periplus.index.vocabulary.surface_forms import VocabularyStatistics, merge_statistics, vocabulary_arrays

__all__ = ["merge_words", "read_statistics", "write_words"]

_ARRAY_TYPES = {
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


def write_words(folder: Path, statistics: VocabularyStatistics, link_texts: Iterable[tuple[int, bytes]]) -> None:
    """Write the file of a segment whose documents are written, given anchor texts of documents."""
    columns = SegmentFile(folder / "documents.arrays", "documents")
    arrays = (
        vocabulary_arrays(statistics) | completion_arrays(collect_texts(columns, link_texts)) | site_arrays(columns)
    )
    write_arrays(folder / "words.arrays", "words", arrays)


def merge_words(folder: Path, segments: Sequence[Segment], numbers: Sequence[npt.NDArray[np.int64]]) -> None:
    """Write the file of a merged segment; `numbers` has the new numbers of the documents of each (-1: deleted)."""
    files = [
        (segment.files["words"], new)
        for segment, new in zip(segments, numbers, strict=True)
        if "words" in segment.files
    ]
    link_texts = itertools.chain.from_iterable(stored_link_texts(file, new) for file, new in files)
    write_words(folder, merge_statistics([read_statistics(file) for file, _ in files]), link_texts)


def read_statistics(file: ArrayFile) -> VocabularyStatistics:
    """Return the statistics of a segment; raise `CorruptFile` if an array has another type or shape."""
    for name, kind in _ARRAY_TYPES.items():
        if file[name].dtype != kind or file[name].ndim != 1:
            raise CorruptFile(f"{file.path} has an invalid array '{name}'.")
    number, sampled = file["numbers"].tolist()
    return VocabularyStatistics(file["words"], number, file["pair_key"], file["pair_count"].astype(np.int32), sampled)
