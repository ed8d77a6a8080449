"""What planning needs of a segment, as arrays that travel: its terms, words and pairs, and names of documents."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.errors import CorruptFile
from periplus.index.collection.language_terms import read_language_terms
from periplus.index.kernels.term_dictionary import PAGE, TermDictionary
from periplus.index.segment import Segment
from periplus.index.vocabulary.name_file import name_columns
from periplus.index.vocabulary.surface_forms import VocabularyStatistics

__all__ = ["SegmentDictionary", "read_dictionary"]


class SegmentDictionary(NamedTuple):
    """Arrays of the files `lexicon`, `words` and `names` of a segment; empty where it has none."""

    name: str
    documents: int
    terms: int
    pages: npt.NDArray[np.uint8]
    page_start: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint8]
    word_count: int
    sampled: int
    """Documents in whose bodies pairs were counted."""
    pair_key: npt.NDArray[np.uint32]
    pair_count: npt.NDArray[np.uint16]
    name_key: npt.NDArray[np.uint64]
    name_document: npt.NDArray[np.int32]
    name_kind: npt.NDArray[np.uint8]
    name_weight: npt.NDArray[np.uint8]
    mentions: npt.NDArray[np.int32]
    language_terms: npt.NDArray[np.uint64]
    """Terms of documents in languages of few documents: see `language_terms`."""

    def packed_terms(self) -> TermDictionary:
        """Return the terms as a packed dictionary, without where postings are; raise `CorruptFile` for what cannot be.

        The record may come from another machine.
        """
        start, pages = np.ascontiguousarray(self.page_start), np.ascontiguousarray(self.pages)
        valid = (
            start.dtype == np.int64
            and pages.dtype == np.uint8
            and start.ndim == pages.ndim == 1
            and len(start) == -(-self.terms // PAGE) + 1
            and int(start[0]) == 0
            and int(start[-1]) == len(pages)
            and bool((np.diff(start) > 0).all())
        )
        if not valid:
            raise CorruptFile(f"The dictionary of segment {self.name[:40]} is damaged.")
        zeros = (np.zeros(len(start) - 1, np.int64) for _ in range(2))
        dictionary = TermDictionary(pages, start, *zeros)
        for array in dictionary:
            array.flags.writeable = False
        return dictionary

    def vocabulary(self) -> VocabularyStatistics:
        """Return its words and pairs."""
        counts = self.pair_count.astype(np.int32)
        return VocabularyStatistics(self.words, self.word_count, self.pair_key, counts, self.sampled)

    def check_names(self) -> None:
        """Raise `CorruptFile` if the names are not those of documents."""
        size = len(self.name_key)
        same = all(len(column) == size for column in (self.name_document, self.name_kind, self.name_weight))
        inside = not size or (int(self.name_document.min()) >= 0 and int(self.name_document.max()) < len(self.mentions))
        if not same or not inside or len(self.mentions) not in (0, self.documents):
            raise CorruptFile(f"The names of segment {self.name[:40]} are damaged.")


def read_dictionary(segment: Segment) -> SegmentDictionary:
    """Return what planning needs of a segment."""
    lexicon, words, names = segment.files["lexicon"], segment.files.get("words"), segment.files.get("names")
    word_count, sampled = words["numbers"].tolist() if words is not None else (0, 0)
    return SegmentDictionary(
        segment.name,
        segment.documents,
        segment.term_count,
        lexicon["pages"][: int(lexicon["page_start"][-1])],
        lexicon["page_start"],
        _array(words, "words", np.uint8),
        word_count,
        sampled,
        _array(words, "pair_key", np.uint32),
        _array(words, "pair_count", np.uint16),
        *name_columns(names),
        _array(names, "mentions", np.int32),
        read_language_terms(segment),
    )


def _array(file: ArrayFile | None, name: str, kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return an array of a part that a segment may lack; empty without it."""
    return file[name] if file is not None else np.zeros(0, kind)
