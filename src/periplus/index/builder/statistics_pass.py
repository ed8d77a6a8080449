"""Gathers the statistics of the pages of one shard before its index is built, from a sample of them."""

import heapq
from collections.abc import Iterable
from typing import Final

import numpy as np

from periplus.index.builder.document_batches import (
    DocumentSignals,
    NullDocumentSignals,
    document_from_record,
    withdraws_document,
)
from periplus.index.builder.page_languages import identify_languages
from periplus.index.collection.build_statistics import BuildStatistics
from periplus.index.document_fields import Document, Field
from periplus.index.site_languages import SiteLanguages
from periplus.records import FetchRecord
from periplus.text import LANGUAGES, WordTable, language_number

__all__ = ["gather_build_statistics"]

_SAMPLE: Final = 20_000
"""Documents that are read: the mean length of their bodies is known to one or two per cent."""


def gather_build_statistics(
    records: Iterable[FetchRecord], signals: DocumentSignals | None = None, sample: int = _SAMPLE
) -> BuildStatistics:
    """Return the statistics of the documents of records, of which the last one of a URL counts.

    Those with the lowest fingerprints are read, `sample` at most: which they are does not depend on their order.
    """
    chosen = _Sample(max(1, sample))
    for record in records:
        document = document_from_record(record, signals or NullDocumentSignals())
        if document is not None:
            chosen.add(document)
        elif withdraws_document(record):
            chosen.withdraw(record.key)
    documents = identify_languages(chosen.documents(), SiteLanguages())
    scale = chosen.count / max(1, len(documents))
    lengths = _count_words(documents)
    languages: dict[str, float] = {}
    for document in documents:
        language = LANGUAGES[language_number(document.language)]
        languages[language] = languages.get(language, 0.0) + scale
    return BuildStatistics(
        1,
        0,
        chosen.count,
        tuple((lengths.sum(axis=0) * scale).tolist()),
        tuple(((lengths > 0).sum(axis=0) * scale).tolist()),
        dict(sorted(languages.items())),
    )


class _Sample:
    """The documents with the lowest keys, and how many there are in all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._chosen: dict[int, Document] = {}
        self._highest: list[int] = []
        self._keys: set[int] = set()

    @property
    def count(self) -> int:
        """How many documents there are."""
        return len(self._keys)

    def add(self, document: Document) -> None:
        """Add a document, or replace that of the same page."""
        self._keys.add(document.key)
        if document.key in self._chosen:
            self._chosen[document.key] = document
        elif len(self._chosen) < self._most or document.key < -self._highest[0]:
            self._chosen[document.key] = document
            heapq.heappush(self._highest, -document.key)
            while len(self._chosen) > self._most:
                self._chosen.pop(-heapq.heappop(self._highest), None)

    def withdraw(self, key: int) -> None:
        """Remove the document of a page."""
        self._keys.discard(key)
        if self._chosen.pop(key, None) is not None:
            self._highest = [-other for other in self._chosen]
            heapq.heapify(self._highest)

    def documents(self) -> list[Document]:
        """Return those chosen, by key."""
        return [self._chosen[key] for key in sorted(self._chosen)]


def _count_words(documents: list[Document]) -> np.ndarray:
    """Return the words of each document by field."""
    table = WordTable()
    texts = [text for document in documents for text in document.fields]
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    numbers = np.array([language_number(document.language) for document in documents], np.uint8)
    lengths = table.split(b"".join(texts), bounds, np.repeat(numbers, len(Field))).lengths
    return lengths.reshape(len(documents), len(Field)).astype(np.float64)
