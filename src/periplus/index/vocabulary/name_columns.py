"""What names are learned from, as columns, and the keys under which they are stored."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.vocabulary.kernels import name_words
from periplus.text import WordTable, analyse_words

__all__ = ["NameKeys", "NameScan", "Numbers", "SegmentNames", "SegmentTitles", "name_keys", "sort_rows"]

Numbers = npt.NDArray[np.int64]


class SegmentTitles(NamedTuple):
    """The titles of a segment, and where their names are."""

    blob: npt.NDArray[np.uint8]
    start: Numbers
    end: Numbers
    """Where the name ends: brackets and what is behind separators are left out."""
    inner: Numbers
    """Where the words in brackets begin."""
    entry: npt.NDArray[np.int32]
    """The number of the name, the same for all titles that have it; -1 for none."""
    size: npt.NDArray[np.int32]
    edges: npt.NDArray[np.uint64]
    """Hashes of the first and the last word."""


class SegmentNames(NamedTuple):
    """Names: key, document, kind, and the probability that the document is meant."""

    key: npt.NDArray[np.uint64]
    document: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    weight: npt.NDArray[np.float32]


class NameScan(NamedTuple):
    """What the bodies say of names."""

    mentions: npt.NDArray[np.int32]
    entries: npt.NDArray[np.int32]
    """By name: documents that have it."""
    word_documents: npt.NDArray[np.int32]
    edges: npt.NDArray[np.int32]
    """By title: numbers of its first and last word."""
    alias_entry: npt.NDArray[np.int32]
    alias_document: npt.NDArray[np.int32]
    alias_kind: npt.NDArray[np.uint8]
    alias_data: bytes
    alias_sizes: Numbers


class NameKeys(NamedTuple):
    """Keys of texts that may be names: of their words, and of their stems."""

    words: npt.NDArray[np.uint64]
    bare_words: npt.NDArray[np.uint64]
    """Without a stop word at its beginning."""
    stems: npt.NDArray[np.uint64]
    bare_stems: npt.NDArray[np.uint64]


def name_keys(data: bytes, bounds: Numbers, languages: npt.NDArray[np.uint8], *, stems: bool = False) -> NameKeys:
    """Return the name keys of each text; those of stems only if they are asked for."""
    table = WordTable()
    tokens = table.split(data, bounds, languages)
    firsts = np.cumsum(tokens.lengths, dtype=np.int64) - tokens.lengths
    analysed = analyse_words(table)
    skipped, none = np.zeros((2, len(tokens.lengths)), np.int32)
    long = np.flatnonzero(tokens.lengths > 1)
    skipped[long] = analysed.is_stop[tokens.words[firsts[long]]]
    texts = [table.as_arrays(), (analysed.blob, analysed.start)] if stems else [table.as_arrays()]
    keys = [
        name_words.hash_names(blob, start, tokens.words, tokens.lengths, words)
        for blob, start in texts
        for words in (none, skipped)
    ]
    return NameKeys(*keys, *([np.zeros(0, np.uint64)] * (4 - len(keys))))


def sort_rows(hashes: npt.NDArray[np.uint64], *columns: npt.NDArray[Any]) -> Numbers:
    """Return the order of rows by hashes, then by columns, as `numpy.lexsort` does, which sorts all rows by each."""
    order = np.argsort(hashes)
    in_order = hashes[order]
    same = in_order[1:] == in_order[:-1]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    rows = np.sort(order[tied])
    order[tied] = rows[np.lexsort((*(column[rows] for column in reversed(columns)), hashes[rows]))]
    return order
