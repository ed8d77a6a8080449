"""Visits to batches of documents: what may be found, and what may be found no longer."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from periplus.index.builder.feed_dates import Feeds
from periplus.index.document_fields import Document, read_document
from periplus.records import FetchRecord, Outcome
from periplus.text import detect_language

__all__ = ["Gathering", "Progress", "Signals", "Silence", "read_visit", "warn", "withdraws"]

_REPORT_EVERY: Final = 500
_SAMPLE: Final = 600
_EACH: Final = 150
"""What a document takes besides its text, in bytes of text: many short pages fill memory too."""

Progress = Callable[[str, int, int], None]


class Signals(Protocol):
    """What is known of pages from outside them."""

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Give the static rank, 0 to 1, of each page."""
        ...

    def flags(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Give what links warn of, of `records.PageFlag`."""
        ...

    def anchors(self, key: int) -> str:
        """Give the text of links to a page."""
        ...

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Give, for each page, the page that stands for it: itself, or the one its canonical link names."""
        ...


class Silence:
    """No signals: every page ranks alike, and no link says anything."""

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Give 0 for all."""
        return np.zeros(len(keys), np.float32)

    def flags(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Warn of nothing."""
        return np.zeros(len(keys), np.uint16)

    def anchors(self, key: int) -> str:
        """Give nothing."""
        return ""

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Let every page stand for itself."""
        return keys


def read_visit(visit: FetchRecord, signals: Signals) -> Document | None:
    """Give the document of a page that may be found: read, not refused by the page itself, not a copy of another."""
    page = visit.page
    if visit.outcome is not Outcome.OK or page is None or page.noindex or visit.duplicate_of:
        return None
    language = page.language or detect_language(page.text[:_SAMPLE] or page.title)
    return read_document(visit, language, signals.anchors(visit.key))


def warn(documents: list[Document], flags: npt.NDArray[np.uint16]) -> list[Document]:
    """Add to documents what links warn of."""
    if not flags.any():
        return documents
    pairs = zip(documents, flags.tolist(), strict=True)
    return [document._replace(flags=document.flags | more) if more else document for document, more in pairs]


def withdraws(visit: FetchRecord) -> bool:
    """Say whether a visit that gives no document takes back what an earlier one gave: gone, hidden or a copy now."""
    return visit.outcome is Outcome.GONE or visit.outcome is Outcome.OK


class Gathering:
    """Batches of documents from visits, and what those visits withdrew. The last visit of a URL wins."""

    def __init__(
        self,
        signals: Signals,
        most: int,
        progress: Progress = lambda stage, done, total: None,
        feeds: Feeds | None = None,
    ) -> None:
        self._signals = signals
        self._most = most
        self.progress = progress
        self.feeds = feeds or Feeds()
        """What feeds have named: also pages of batches that are gone, see `late`."""
        self.seen = 0
        """Visits that have passed."""
        self.withdrawn: set[int] = set()
        """Keys of pages that are gone and did not come back."""

    def batches(self, visits: Iterable[FetchRecord]) -> Iterator[list[Document]]:
        """Gather documents until their text would take too much memory."""
        batch: dict[int, Document] = {}
        size = 0
        for visit in visits:
            self.seen += 1
            if self.seen % _REPORT_EVERY == 0:
                self.progress("indexing pages", self.seen, 0)
            document = read_visit(visit, self._signals)
            self.feeds.learn(visit)
            if document is not None:
                batch[visit.key] = document
                self.withdrawn.discard(visit.key)
                size += _EACH + sum(map(len, document.fields))
            elif withdraws(visit):
                batch.pop(visit.key, None)
                self.withdrawn.add(visit.key)
            if size >= self._most:
                yield list(map(self.feeds.mark, batch.values()))
                batch, size = {}, 0
        if batch:
            yield list(map(self.feeds.mark, batch.values()))
