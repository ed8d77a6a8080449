"""Knowledge cards: facts that a page states about itself, shown when the query names it."""

import re
import threading
from pathlib import Path
from typing import Final

from periplus.errors import DataError, PeriplusError
from periplus.records import Card, FetchRecord, Page
from periplus.search.presentation.snippets import NO_ANSWER, limit_snippet
from periplus.search.suggester import fold
from periplus.settings import StoreSettings
from periplus.store import PageStore, WarcPage
from periplus.supervision import supervise_once

__all__ = ["CardReader", "names_page"]

_MOST: Final = 8
_FEWEST: Final = 2
_LONGEST: Final = 160
_LONGEST_TEXT: Final = 320
_SHOWN_ANYWAY: Final = frozenset(
    ["@type", "name", "headline", "description", "datepublished", "datemodified", "url", "image"]
)
"""Facts that the result shows anyway."""
_PARTS: Final = re.compile(r"\s+[|–—-]\s+|\s*[|,:(]\s*")


def names_page(words: str, title: str) -> bool:
    """Return whether a query names a page: it is its title, or the part before the name of the site."""
    query = sorted(fold(words).split())
    return bool(query) and query in (sorted(fold(title).split()), sorted(fold(_PARTS.split(title)[0]).split()))


class CardReader:
    """Looks pages up in the page store. Opening a large store takes long; there are no cards until it is open."""

    def __init__(self, folder: Path, settings: StoreSettings) -> None:
        self._folder = folder / "store"
        self._settings = settings
        self._store: PageStore | None = None
        self._opening: threading.Thread | None = None
        self._lock = threading.Lock()

    def fetch_record(self, key: int) -> FetchRecord | None:
        """Return the newest fetch of a page, waiting until the store is open."""
        if self._store is None:
            self._open()
        return self._find(key)

    def known_record(self, key: int) -> FetchRecord | None:
        """Return the newest fetch of a page if the store is open; if not, begin to open it."""
        self._begin_to_open()
        return self._find(key)

    def response(self, key: int) -> WarcPage | None:
        """Return the stored response of the newest fetch of a page, waiting until the store is open."""
        record = self.fetch_record(key)
        try:
            return self._store.read_response(record) if record is not None and self._store is not None else None
        except (PeriplusError, OSError):
            return None

    def card(self, key: int) -> Card | None:
        """Return the card of a page, if it states enough facts; None until the store is open."""
        self._begin_to_open()
        record = self._find(key)
        return make_card(record.page) if record is not None and record.page is not None else None

    def _begin_to_open(self) -> None:
        """Open the store in another thread, unless it is open."""
        with self._lock:
            if self._store is None and self._opening is None and self._folder.is_dir():
                self._opening = threading.Thread(target=supervise_once("page store", self._open), daemon=True)
                self._opening.start()

    def ready(self) -> None:
        """Wait until the store is open."""
        if self._opening is not None:
            self._opening.join()

    def _open(self) -> None:
        try:
            store = PageStore.open(self._folder, self._settings)
            store.find(0)  # This builds the table of keys, which takes long.
        except DataError:
            self._opening = None
        except BaseException:
            self._opening = None  # the next card tries again
            raise
        else:
            self._store = store

    def _find(self, key: int) -> FetchRecord | None:
        try:
            return self._store.find(key) if self._store is not None else None
        except DataError:
            return None


def make_card(page: Page) -> Card | None:
    """Return the facts of a page that are worth showing; None when they are too few."""
    chosen: dict[str, str] = {}
    for name, value in page.facts:
        repeated = ":" in name or name.lower() in _SHOWN_ANYWAY or name in chosen
        if not repeated and 0 < len(value) <= _LONGEST and len(chosen) < _MOST:
            chosen[name] = value
    if len(chosen) < _FEWEST:
        return None
    text = " ".join((page.preview or page.description).split())
    pieces, _ = limit_snippet(((text, False),), NO_ANSWER, page.flags)
    text = "".join(piece for piece, _ in pieces)
    text = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1].rpartition(" ")[0] + "…"
    return Card(page.title, page.url, text, tuple(chosen.items()))
