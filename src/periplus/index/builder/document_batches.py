"""Turns fetch records into batches of documents, and collects which documents were withdrawn."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from periplus.index.builder.feed_dates import FeedDates
from periplus.index.builder.page_languages import identify_languages
from periplus.index.builder.site_blocks import SiteBlocks
from periplus.index.document_fields import Document, make_document
from periplus.index.site_languages import SiteLanguages
from periplus.records import LIST_KIND, FetchRecord, Outcome

__all__ = [
    "DocumentBatcher",
    "DocumentSignals",
    "NullDocumentSignals",
    "Progress",
    "add_flags",
    "document_from_record",
    "withdraws_document",
]

_PROGRESS_INTERVAL: Final = 500
"""Records between two reports of progress."""
_DOCUMENT_OVERHEAD: Final = 600
"""Bytes that a document counts besides its text: as objects, short pages take more memory than their text."""

Progress = Callable[[str, int, int], None]


class DocumentSignals(Protocol):
    """What a build knows of pages from other pages: static ranks, anchor text, canonical pages."""

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Return the static rank, 0 to 1, of each page."""
        ...

    def flags(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Return the flags of `records.PageFlag` that follow from links to each page."""
        ...

    def anchors(self, key: int) -> str:
        """Return the anchor text of links to a page, one text a line."""
        ...

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return the page that represents each page: itself, or the one that its canonical link names."""
        ...


class NullDocumentSignals:
    """No signals: all static ranks are 0, and there is no anchor text."""

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Return 0 for all."""
        return np.zeros(len(keys), np.float32)

    def flags(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Return no flags."""
        return np.zeros(len(keys), np.uint16)

    def anchors(self, key: int) -> str:
        """Return no text."""
        return ""

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return each page itself."""
        return keys


def document_from_record(record: FetchRecord, signals: DocumentSignals) -> Document | None:
    """Return the document of a record; None if it has no page, or one that is `noindex` or a duplicate of another.

    Its language is the one that the page declares; `identify_languages` replaces it, for many documents at once.
    """
    page = record.page
    if record.outcome is not Outcome.OK or page is None or page.noindex or record.duplicate_of:
        return None
    return make_document(record, page.language, signals.anchors(record.key))


def add_flags(documents: list[Document], flags: npt.NDArray[np.uint16]) -> list[Document]:
    """Return documents with more flags, an element of `flags` for each."""
    if not flags.any():
        return documents
    pairs = zip(documents, flags.tolist(), strict=True)
    return [document._replace(flags=document.flags | more) if more else document for document, more in pairs]


def withdraws_document(record: FetchRecord) -> bool:
    """Return whether a record without a document withdraws an earlier one: the page is gone, hidden or a duplicate."""
    return record.outcome is Outcome.GONE or record.outcome is Outcome.OK


class DocumentBatcher:
    """Makes batches of documents from fetch records, of which the last one of a URL counts."""

    def __init__(
        self,
        signals: DocumentSignals,
        max_bytes: int,
        progress: Progress = lambda stage, done, total: None,
        feeds: FeedDates | None = None,
        blocks: SiteBlocks | None = None,
        sites: SiteLanguages | None = None,
    ) -> None:
        self._signals = signals
        self._max_bytes = max_bytes
        self.progress = progress
        self.feeds = feeds or FeedDates()
        """What feeds have listed, also pages of earlier batches: see `late_dates`."""
        self.blocks = blocks or SiteBlocks()
        """Repeated blocks of sites, learned with every batch."""
        self._sites = sites or SiteLanguages()
        self.seen = 0
        """How many records were read."""
        self.withdrawn: set[int] = set()
        """Keys of pages that were withdrawn and not added again."""

    def batches(self, records: Iterable[FetchRecord]) -> Iterator[list[Document]]:
        """Yield batches of documents, of about `max_bytes` of text each."""
        batch: dict[int, Document] = {}
        size = 0
        for record in records:
            self.seen += 1
            if self.seen % _PROGRESS_INTERVAL == 0:
                self.progress("indexing pages", self.seen, 0)
            document = document_from_record(record, self._signals)
            page = record.page
            if page is not None and (page.feeds or page.kind == LIST_KIND):  # This runs for every page.
                self.feeds.read_record(record)
            if document is not None:
                batch[record.key] = document
                if self.withdrawn:
                    self.withdrawn.discard(record.key)
                size += _DOCUMENT_OVERHEAD + sum(map(len, document.fields))
            elif withdraws_document(record):
                batch.pop(record.key, None)
                self.withdrawn.add(record.key)
            if size >= self._max_bytes:
                yield self._complete(batch)
                batch, size = {}, 0
        if batch:
            yield self._complete(batch)

    def _complete(self, batch: dict[int, Document]) -> list[Document]:
        """Return the documents of a batch with their languages and dates."""
        return identify_languages(self.blocks.learn(self.feeds.date_documents(batch.values())), self._sites)
