"""Repeated blocks of sites, learned over their pages: what many pages of a host have is not the content of any.

Blocks are lines of text. A build counts them in the order of its batches, each batch as a whole before its documents
are made; what was learned is stored in the index folder, in `blocks.arrays`, for later builds and for live indexing,
which uses it and adds nothing. The file is optional: without it, nothing was learned.
"""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.hashing import fingerprint_text
from periplus.index.document_fields import MIN_MAIN, Document, Field
from periplus.index.kernels import repeated_lines as kernel

__all__ = ["SiteBlocks", "blocks_path", "check_blocks"]

_KIND: Final = "blocks"
_FORMAT: Final = 1
_SLOTS: Final = 1 << 20
_MAX_STORED: Final = _SLOTS // 4
"""Entries that are stored, those of the most pages first."""
_MIN_STORED: Final = 3
"""Pages from which on an entry is stored."""
_SEEN_BYTES: Final = 1 << 22
"""Size of the set of pages that were counted: a page that is fetched again counts once."""


def blocks_path(folder: Path) -> Path:
    """Return the path of the file in an index folder."""
    return folder / "blocks.arrays"


def check_blocks(folder: Path) -> None:
    """Raise `CorruptFile` if there is a file and it is damaged."""
    if blocks_path(folder).exists():
        _read(blocks_path(folder))


class SiteBlocks:
    """The lines that pages of each site have, and how many pages have each."""

    def __init__(self, folder: Path | None = None, *, fixed: bool = False, slots: int = _SLOTS) -> None:
        """Begin with what an index folder has learned; a damaged file counts as absent. With `fixed`, learn no more."""
        self._fixed = fixed
        self._table = kernel.make_table(slots)
        self._seen = np.zeros(_SEEN_BYTES, np.uint8)
        self._next_page = 1
        if folder is not None and blocks_path(folder).exists():
            try:
                self._insert(*_read(blocks_path(folder)))
            except CorruptFile:
                self._table = kernel.make_table(slots)

    def mark_counted(self, keys: Iterable[npt.NDArray[np.uint64]]) -> None:
        """Note that pages with these keys were counted before."""
        for some in keys:
            kernel.mark_pages(some, self._seen)

    def learn(self, documents: Sequence[Document]) -> list[Document]:
        """Count the lines of documents, and return the documents as `split` does."""
        chosen = [document for document in documents if document.has_main and not self._fixed]
        if chosen:
            is_new = kernel.mark_pages(np.array([document.key for document in chosen], np.uint64), self._seen)
            texts = [b"\n".join(document.fields[Field.BODY :]) for document in chosen]
            data, bounds = _join(texts)
            kernel.count_lines(data, bounds, _scopes(chosen), is_new, self._next_page, self._table)
            self._next_page += len(chosen)
            self._prune()
        return self.split(documents)

    def split(self, documents: Sequence[Document]) -> list[Document]:
        """Return documents whose repeated lines are boilerplate, unless that leaves a page without text."""
        rows = [row for row, document in enumerate(documents) if document.has_main]
        changed = list(documents)
        if not rows or not self._table.used[0]:
            return changed
        chosen = [documents[row] for row in rows]
        data, bounds = _join([document.fields[Field.BODY] for document in chosen])
        parts = kernel.split_lines(data, bounds[:-1], bounds[1:], _scopes(chosen), MIN_MAIN, self._table)
        own, repeated = parts.own.tobytes(), parts.repeated.tobytes()
        ends = zip(parts.own_end.tolist(), parts.repeated_end.tolist(), strict=True)
        spans = itertools.pairwise([(0, 0), *ends])
        for row, ((own_begin, repeated_begin), (own_end, repeated_end)) in zip(rows, spans, strict=True):
            if repeated_end > repeated_begin:
                changed[row] = _move(documents[row], own[own_begin:own_end], repeated[repeated_begin:repeated_end])
        return changed

    def save(self, folder: Path) -> "SiteBlocks":
        """Store the lines of several pages, as many as there is room for; return what was stored, fixed."""
        keys, counts = self._entries(_MIN_STORED)
        most = np.argsort(-counts.astype(np.int64), kind="stable")[:_MAX_STORED]
        most = most[np.argsort(keys[most])]
        if len(most) or blocks_path(folder).exists():
            arrays: dict[str, npt.NDArray[Any]] = {"key": keys[most], "count": counts[most]}
            write_arrays(blocks_path(folder), _KIND, arrays, format=_FORMAT)
        return SiteBlocks(folder, fixed=True)

    def _prune(self) -> None:
        """Forget the lines of the fewest pages once half of the slots are in use."""
        least = 1
        while 2 * int(self._table.used[0]) > len(self._table.entries):
            keys, counts = self._entries(least + 1)
            self._table = kernel.make_table(len(self._table.entries))
            self._insert(keys, counts)
            least *= 2

    def _entries(self, least: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
        """Return keys and counts of the entries with at least so many pages."""
        counts = (self._table.entries[:, kernel.COUNT] & kernel.COUNT_MASK).astype(np.uint32)
        rows = np.flatnonzero(counts >= least)
        return self._table.entries[rows, kernel.KEY], counts[rows]

    def _insert(self, keys: npt.NDArray[np.uint64], counts: npt.NDArray[np.uint32]) -> None:
        kernel.insert_entries(keys, counts, self._table)


def _read(path: Path) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
    """Return keys and counts; raise `CorruptFile` for what cannot be."""
    file = ArrayFile(path, _KIND, format=_FORMAT)
    file.check()
    keys, counts = file["key"], file["count"]
    if keys.dtype != np.uint64 or counts.dtype != np.uint32 or keys.shape != counts.shape or keys.ndim != 1:
        raise CorruptFile(f"{path} has arrays that do not fit each other.")
    return keys, counts


def _join(texts: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=bounds[1:])
    return np.frombuffer(b"".join(texts) or b"\0", np.uint8), bounds


def _scopes(documents: Sequence[Document]) -> npt.NDArray[np.uint64]:
    """Return hashes of the host of each document, and of its host with the first folder of its path."""
    names: dict[str, int] = {}
    rows = np.empty((len(documents), kernel.SCOPES), np.uint64)
    for row, document in enumerate(documents):
        folder = (
            document.url.partition("://")[2].partition("/")[2].partition("?")[0].rpartition("/")[0].partition("/")[0]
        )
        for scope, name in enumerate((document.host, f"{document.host}/{folder}/")):
            if name not in names:
                names[name] = fingerprint_text(name)
            rows[row, scope] = names[name]
    return rows


def _move(document: Document, own: bytes, repeated: bytes) -> Document:
    """Return a document with another body, and more boilerplate; repeated headings are none of its own."""
    fields = list(document.fields)
    lines = set(repeated.split(b"\n"))
    if fields[Field.HEADING]:
        fields[Field.HEADING] = b"\n".join(line for line in fields[Field.HEADING].split(b"\n") if line not in lines)
    fields[Field.BODY] = own
    fields[Field.BOILERPLATE] = b"\n".join(filter(None, (fields[Field.BOILERPLATE], repeated)))
    return document._replace(fields=tuple(fields))
