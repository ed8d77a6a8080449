"""The terms of documents in rare languages: a planner asks of each word whether any of these documents has it.

A language that is rare in a collection is rare in each of its segments. So the dictionary of a segment has the terms of
its languages of few documents, as sorted hashes of term and language.
"""

from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from periplus.index.kernels import postings_scan
from periplus.index.segment import Segment
from periplus.text.kernels import word_table

__all__ = ["MAX_RARE", "hash_terms", "read_language_terms"]

MAX_RARE: Final = 32
"""Documents of a language up to which it is rare."""
_CHUNK: Final = 1 << 15
"""Terms that are looked up together."""
_FACTOR: Final = 0x9E3779B97F4A7C15
_MASK: Final = (1 << 64) - 1

Hashes = npt.NDArray[np.uint64]
_READ: WeakKeyDictionary[Segment, Hashes] = WeakKeyDictionary()
"""What was read of segments, which never change."""


def hash_terms(terms: Sequence[bytes], language: int) -> Hashes:
    """Return what identifies terms in documents of a language."""
    start = np.zeros(len(terms) + 1, np.int64)
    np.cumsum([len(term) for term in terms], out=start[1:])
    hashes: Hashes = word_table.hash_words(np.frombuffer(b"".join(terms) or b"\0", np.uint8), start)
    return hashes ^ np.uint64((language + 1) * _FACTOR & _MASK)


def read_language_terms(segment: Segment) -> Hashes:
    """Return the terms of the documents of a segment that are in languages of few documents, as sorted hashes."""
    hashes = _READ.get(segment)
    if hashes is None:
        hashes = _READ[segment] = _read(segment)
    return hashes


def _read(segment: Segment) -> Hashes:
    languages = np.unique(segment.column("language")).tolist()
    if "second_language" in segment.columns:
        languages = sorted({*languages, *np.unique(segment.column("second_language")).tolist()})
    documents = {number: segment.documents_in_languages(frozenset((number,))) for number in languages}
    rare = {number: found for number, found in documents.items() if 0 < len(found) <= MAX_RARE}
    if not rare:
        return np.zeros(0, np.uint64)
    table = segment.valid_terms()
    every = np.unique(np.concatenate(list(rare.values())))
    parts = [np.zeros(0, np.uint64)]
    for first in range(0, len(table.frequency), _CHUNK):
        bounds = table.start[first : first + _CHUNK + 1]
        names = [table.blob[a:b].tobytes() for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
        rows = segment.find_terms(names)
        near = np.flatnonzero(_have(segment, rows, every))  # Nearly no term is in any of them.
        for number, found in rare.items():
            own = near[_have(segment, rows[near], found)]
            parts.append(hash_terms([names[row] for row in own.tolist()], number))
    return np.unique(np.concatenate(parts))


def _have(segment: Segment, rows: npt.NDArray[np.int64], documents: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return of each term, by its dictionary row, whether any of some documents has it."""
    present: npt.NDArray[np.bool_] = postings_scan.any_document_has(
        segment.pinned_postings.addresses,
        rows,
        np.zeros(len(rows), np.int64),
        documents.astype(np.int32),
        np.array([0, len(documents)], np.int64),
    )
    return present
