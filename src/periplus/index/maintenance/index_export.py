"""Exports collection statistics and terms: the document frequency of each term, and the bound of its impacts.

With these, another site weighs terms alike, and can tell whether this one can have a better result.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.files import write_atomically
from periplus.index.document_fields import FIELD_NAMES
from periplus.index.index_reader import Index
from periplus.index.kernels import inversion, postings_merge
from periplus.index.merge.segment_merger import read_terms
from periplus.store import compress

__all__ = ["CollectionStatistics", "TermBound", "export_index"]

_FORMAT: Final = 2
"""Since 2, the fields have boilerplate among them."""
_CHUNK_BYTES: Final = 1 << 20


class CollectionStatistics(msgspec.Struct, frozen=True):
    """The first line of an export: the collection that its terms are from."""

    format: int
    generation: int
    documents: int
    """That are not deleted."""
    indexed: int
    """Including deleted ones that are not merged away yet, which frequencies count, too."""
    terms: int
    tokens: dict[str, int]
    """By field."""
    languages: dict[str, int]
    levels: int = inversion.MAX_IMPACT
    """An impact of this is a term weight of 1."""


class TermBound(msgspec.Struct, frozen=True, array_like=True):
    """One term: its UTF-8 form, documents that have it, its highest impact."""

    term: str
    frequency: int
    max_impact: int


def export_index(index: Index, path: Path) -> CollectionStatistics:
    """Write statistics and sorted terms to `path`: JSON lines, compressed if it ends in .zst; or a file of .arrays."""
    terms, frequency, highest = _merge_terms(index)
    tokens = np.zeros(len(FIELD_NAMES), np.int64)
    for segment in index.segments:
        lengths = segment.column("length")
        tokens[: len(lengths)] += lengths  # Old segments have no boilerplate.
    statistics = CollectionStatistics(
        _FORMAT,
        index.manifest.generation,
        index.documents,
        sum(segment.documents for segment in index.segments),
        len(terms),
        dict(zip(FIELD_NAMES, tokens.tolist(), strict=True)),
        index.languages,
    )
    if path.suffix == ".arrays":
        starts = np.zeros(len(terms) + 1, np.int64)
        np.cumsum([len(term) for term in terms], out=starts[1:])
        arrays: dict[str, npt.NDArray[Any]] = {
            "term_blob": np.frombuffer(b"".join(terms), np.uint8),
            "term_start": starts,
            "frequency": frequency,
            "max_impact": highest,
        }
        write_arrays(path, "bounds", arrays, msgspec.to_builtins(statistics))
    else:
        bounds = zip(terms, frequency.tolist(), highest.tolist(), strict=True)
        rows = (TermBound(term.decode("utf-8", "replace"), n, highest_impact) for term, n, highest_impact in bounds)
        lines = _lines(statistics, rows)
        write_atomically(path, b"".join(map(compress, lines) if path.suffix == ".zst" else lines))
    return statistics


def _lines(statistics: CollectionStatistics, rows: Iterator[TermBound]) -> Iterator[bytes]:
    """Yield all lines, in chunks of about a megabyte."""
    buffer = io.BytesIO()
    buffer.write(msgspec.json.encode(statistics) + b"\n")
    for row in rows:
        buffer.write(msgspec.json.encode(row) + b"\n")
        if buffer.tell() >= _CHUNK_BYTES:
            yield buffer.getvalue()
            buffer = io.BytesIO()
    yield buffer.getvalue()


def _merge_terms(index: Index) -> tuple[list[bytes], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return all terms in order, their frequencies summed over segments, and their highest impacts."""
    dictionaries = [segment.valid_terms() for segment in index.segments]
    term_lists = [read_terms(terms) for terms in dictionaries]
    all_terms = sorted(set().union(*term_lists))
    numbers = {term: number for number, term in enumerate(all_terms)}
    frequency, highest = np.zeros(len(all_terms), np.int64), np.zeros(len(all_terms), np.uint8)
    for segment, terms, own_terms in zip(index.segments, dictionaries, term_lists, strict=True):
        at = np.fromiter((numbers[term] for term in own_terms), np.int64, len(own_terms))
        frequency[at] += terms.frequency
        highest[at] = np.maximum(highest[at], postings_merge.max_impacts(segment.postings, terms))
    return all_terms, frequency, highest
