"""What selection needs to know of the candidates of a shard, read where they are: a row of 24 bytes for each.

bytes  0 to 7    fingerprint of the name of the host
       8 to 15   simhash of the main content; 0 where it is not stored, or the text is too short for one
       16 to 19  bytes of the text
       20 to 21  flags of the page
       22        number of the language
       23        1
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.hashing import fingerprint_text
from periplus.index import Index, Segment
from periplus.publish import PUBLISHED_HOST
from periplus.search.presentation.result_selection import MIN_SIMHASH_BYTES
from periplus.search.retrieve import RetrievedCandidates

__all__ = ["CANDIDATE", "CandidateColumnReader", "CandidateRows", "check_rows", "view_words"]

CANDIDATE: Final = np.dtype(
    [
        ("host", "<u8"),
        ("simhash", "<u8"),
        ("length", "<u4"),
        ("flags", "<u2"),
        ("language", "u1"),
        ("is_read", "u1"),
    ]
)
"""A row as numbers."""
CandidateRows = npt.NDArray[Any]
"""Of `CANDIDATE`."""


def check_rows(data: npt.NDArray[np.uint8], count: int) -> None:
    """Raise `BadInput` if rows that have travelled as bytes are not so many."""
    if data.shape != (count, CANDIDATE.itemsize):
        raise BadInput("The columns of candidates cannot be read.")


def view_words(rows: CandidateRows) -> npt.NDArray[np.uint64]:
    """Return rows as three words each, as `kernels.selection` reads them."""
    words: npt.NDArray[np.uint64] = rows.view(np.uint64).reshape(len(rows), 3)
    return words


class CandidateColumnReader:
    """Reads what selection needs; what was read once is kept, as long as the segment. Threads may share it."""

    def __init__(self) -> None:
        self._rows: dict[str, CandidateRows] = {}
        """By segment, a row for each document, of zeros until it was read."""

    def forget_others(self, names: Iterable[str]) -> None:
        """Forget segments that no generation has any more; names: of those that one has."""
        present = set(names)
        self._rows = {name: rows for name, rows in self._rows.items() if name in present}

    def read(self, index: Index, retrieved: RetrievedCandidates) -> npt.NDArray[np.uint8]:
        """Return the rows of candidates, then of the nearest documents, then of the home page, as bytes."""
        near, home = retrieved.nearest, retrieved.home_page
        of_segment, documents = retrieved.segments, retrieved.documents
        if near is not None:
            of_segment = np.concatenate((of_segment, near.segments))
            documents = np.concatenate((documents, near.documents))
        if home is not None:
            of_segment = np.concatenate((of_segment, np.array([home.segment], np.int32)))
            documents = np.concatenate((documents, np.array([home.document], np.int32)))
        rows = self.rows(index, of_segment, documents)
        return rows.view(np.uint8).reshape(len(rows), CANDIDATE.itemsize)

    def rows(self, index: Index, of_segment: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]) -> CandidateRows:
        """Return the rows of some documents, by segment and number."""
        segments = index.segments
        if len(segments) == 1:
            return self._read_segment(segments[0], documents)
        rows = np.zeros(len(documents), CANDIDATE)
        for number in set(of_segment.tolist()):
            own = of_segment == number
            rows[own] = self._read_segment(segments[number], documents[own])
        return rows

    def set_simhashes(
        self, segment: Segment, documents: npt.NDArray[np.int64], simhashes: npt.NDArray[np.uint64]
    ) -> None:
        """Record simhashes of documents of which none is stored, once their texts were read."""
        table = self._table(segment)
        is_long = (table["is_read"][documents] != 0) & (table["length"][documents] >= MIN_SIMHASH_BYTES)
        table["simhash"][documents[is_long]] = simhashes[is_long]

    def _table(self, segment: Segment) -> CandidateRows:
        table = self._rows.get(segment.name)
        if table is None:  # The system gives memory to the parts that are written to.
            table = self._rows[segment.name] = np.zeros(segment.documents, CANDIDATE)
        return table

    def _read_segment(self, segment: Segment, documents: npt.NDArray[np.int32]) -> CandidateRows:
        table = self._table(segment)
        rows: CandidateRows = table.take(documents)
        if not rows["is_read"].all():
            _fill(table, segment, documents[rows["is_read"] == 0].astype(np.int64))
            rows = table.take(documents)
        return rows


def _fill(table: CandidateRows, segment: Segment, documents: npt.NDArray[np.int64]) -> None:
    """Read some documents of a segment."""
    spans = segment.stored_texts.spans(documents)
    numbers = segment.column("host")[documents].tolist()
    names = {number: segment.string("hosts", number) for number in set(numbers)}
    hosts = {number: fingerprint_text(name) for number, name in names.items()}
    has_none = np.array([names[number] == PUBLISHED_HOST for number in numbers], np.bool_)
    rows = np.zeros(len(documents), CANDIDATE)
    rows["host"] = np.array([hosts[number] for number in numbers], np.uint64)
    rows["host"][has_none] = segment.column("key")[documents[has_none]]  # no host in common
    rows["length"] = spans[:, 2] - spans[:, 1]
    rows["simhash"] = np.where(rows["length"] >= MIN_SIMHASH_BYTES, segment.simhashes[documents], np.uint64(0))
    rows["flags"] = segment.column("flags")[documents]
    rows["language"] = segment.column("language")[documents]
    rows["is_read"] = 1
    table[documents] = rows
