"""Terms and statistics for others: how often each term occurs, and the most it can add to a score.

Another site needs no more to weigh words alike, and to know which of us can have the best answers.
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

__all__ = ["Collection", "TermBound", "export_index"]

_CHUNK: Final = 1 << 20


class Collection(msgspec.Struct, frozen=True):
    """The first line of an export: what the terms after it are terms of."""

    format: int
    generation: int
    documents: int
    """That can be found."""
    indexed: int
    """With those that are dead and not yet merged away, which frequencies count too."""
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


def export_index(index: Index, path: Path) -> Collection:
    """Write statistics and terms in order to `path`: lines of JSON; .zst compresses them, .arrays is an array file."""
    terms, frequency, highest = _merged(index)
    tokens = np.zeros(len(FIELD_NAMES), np.int64)
    for segment in index.segments:
        tokens += segment.column("length")
    about = Collection(
        1,
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
        write_arrays(path, "bounds", arrays, msgspec.to_builtins(about))
    else:
        bounds = zip(terms, frequency.tolist(), highest.tolist(), strict=True)
        rows = (TermBound(term.decode("utf-8", "replace"), n, most) for term, n, most in bounds)
        lines = _lines(about, rows)
        write_atomically(path, b"".join(map(compress, lines) if path.suffix == ".zst" else lines))
    return about


def _lines(about: Collection, rows: Iterator[TermBound]) -> Iterator[bytes]:
    """Give all lines, in pieces of about a megabyte."""
    buffer = io.BytesIO()
    buffer.write(msgspec.json.encode(about) + b"\n")
    for row in rows:
        buffer.write(msgspec.json.encode(row) + b"\n")
        if buffer.tell() >= _CHUNK:
            yield buffer.getvalue()
            buffer = io.BytesIO()
    yield buffer.getvalue()


def _merged(index: Index) -> tuple[list[bytes], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Give all terms in order, with frequencies summed and impacts at their highest over segments."""
    held = [segment.terms() for segment in index.segments]
    own = [read_terms(terms) for terms in held]
    every = sorted(set().union(*own))
    numbers = {term: number for number, term in enumerate(every)}
    frequency, highest = np.zeros(len(every), np.int64), np.zeros(len(every), np.uint8)
    for segment, terms, names in zip(index.segments, held, own, strict=True):
        at = np.fromiter((numbers[term] for term in names), np.int64, len(names))
        frequency[at] += terms.frequency
        highest[at] = np.maximum(highest[at], postings_merge.max_impacts(segment.postings, terms))
    return every, frequency, highest
