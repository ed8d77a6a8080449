"""Stored fields: what results show of a document whatever the query, and what was read of documents before."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from periplus.index import Segment
from periplus.records import PageFlag
from periplus.search.presentation.result_selection import ContentSignature
from periplus.text import LANGUAGES
from periplus.url import make_breadcrumbs

__all__ = ["NOARCHIVE_NOTE", "DocumentCache", "StoredFields", "cached_text", "read_stored_fields"]

NOARCHIVE_NOTE: Final = "The page asks search engines not to show copies of it (noarchive)."

_MAX_CACHED: Final = 50_000


class StoredFields(NamedTuple):
    """What results show of a document whatever the query."""

    url: str
    title: str
    breadcrumbs: tuple[str, ...]
    key: int
    language: str
    fetched: float
    kind: str
    day: int
    flags: int
    own_fields: str
    """JSON, of a document that was sent; '' for others."""


class DocumentCache:
    """What was read of documents before, by segment and number: segments never change. Threads may share it."""

    def __init__(self) -> None:
        self.signatures: dict[tuple[str, int], ContentSignature] = {}
        self.fields: dict[tuple[str, int], StoredFields] = {}

    def trim(self) -> None:
        """Empty a table that has grown too large."""
        for table in (self.signatures, self.fields):
            if len(table) > _MAX_CACHED:
                table.clear()


def read_stored_fields(segment: Segment, documents: Sequence[int]) -> list[StoredFields]:
    """Return the stored fields of some documents of a segment."""
    numbers = np.array(documents, np.int64)
    urls = segment.strings_of("url", numbers)
    columns = [segment.column(name)[numbers].tolist() for name in ("key", "language", "fetched", "day", "flags")]
    rows = zip(
        urls,
        segment.strings_of("title", numbers),
        segment.strings_of("kinds", segment.column("kind")[numbers].astype(np.int64)),
        [segment.own_fields.source(document).decode("utf-8", "replace") for document in documents],
        *columns,
        strict=True,
    )
    return [
        StoredFields(url, title, make_breadcrumbs(url), key, LANGUAGES[language], fetched, kind, day, flags, own)
        for url, title, kind, own, key, language, fetched, day, flags in rows
    ]


def cached_text(segment: Segment, document: int) -> str:
    """Return the text of a document for its cached copy; a note if the page asks not to be shown from a cache."""
    if int(segment.column("flags")[document]) & PageFlag.NOARCHIVE:
        return NOARCHIVE_NOTE
    return segment.text(document).decode("utf-8", "replace")
