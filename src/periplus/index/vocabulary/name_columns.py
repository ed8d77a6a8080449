"""What names are learned from, as columns, and the keys under which they are stored."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.vocabulary.kernels import name_words
from periplus.text import LANGUAGES, WordTable, is_stop_word

__all__ = ["NameScan", "Numbers", "SegmentNames", "SegmentTitles", "name_keys"]

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


def name_keys(
    data: bytes, bounds: Numbers, languages: npt.NDArray[np.uint8], *, stems: bool = False
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the name key of each text, and that without a stop word at its beginning; stems: of stemmed words."""
    table = WordTable()
    tokens = table.split(data, bounds, languages)
    firsts = np.cumsum(tokens.lengths, dtype=np.int64) - tokens.lengths
    words = table.words()
    codes = table.languages()
    is_stop = np.array(
        [
            is_stop_word(word.decode("utf-8", "replace"), LANGUAGES[int(code)])
            for word, code in zip(words, codes, strict=True)
        ]
        + [False],
        np.bool_,
    )
    skipped = np.zeros(len(tokens.lengths), np.int32)
    long = np.flatnonzero(tokens.lengths > 1)
    skipped[long] = is_stop[tokens.words[firsts[long]]]
    parts = table.terms() if stems else words
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=start[1:])
    blob = np.frombuffer(b"".join(parts), np.uint8)
    whole = name_words.hash_names(blob, start, tokens.words, tokens.lengths, np.zeros_like(skipped))
    return whole, name_words.hash_names(blob, start, tokens.words, tokens.lengths, skipped)
