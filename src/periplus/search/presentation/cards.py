"""Knowledge cards: what a page that the query names states about itself, out of the page store."""

import re
import threading
from pathlib import Path
from typing import Final

from periplus.errors import DataError
from periplus.records import Card, FetchRecord, Page
from periplus.search.suggester import fold
from periplus.settings import StoreSettings
from periplus.store import PageStore

__all__ = ["Cards", "is_named"]

_MOST: Final = 8
_FEWEST: Final = 2
_LONGEST: Final = 160
_LONGEST_TEXT: Final = 320
_DULL: Final = frozenset(["@type", "name", "headline", "description", "datepublished", "datemodified", "url", "image"])
"""What the result says anyway."""
_PARTS: Final = re.compile(r"\s+[|–—-]\s+|\s*[|,:(]\s*")


def is_named(words: str, title: str) -> bool:
    """Say whether a query names a page: it is its title, or what comes before the name of the site."""
    asked = sorted(fold(words).split())
    return bool(asked) and asked in (sorted(fold(title).split()), sorted(fold(_PARTS.split(title)[0]).split()))


class Cards:
    """Looks pages up in the store. The first time takes long on a large store: until then, there are no cards."""

    def __init__(self, folder: Path, settings: StoreSettings) -> None:
        self._folder = folder / "store"
        self._settings = settings
        self._store: PageStore | None = None
        self._opening: threading.Thread | None = None
        self._lock = threading.Lock()

    def visit(self, key: int) -> FetchRecord | None:
        """Give the newest visit of a page, waiting for the store if need be."""
        if self._store is None:
            self._open()
        return self._find(key)

    def card(self, key: int) -> Card | None:
        """Give the card of a page, if it states enough; never wait."""
        if self._store is None:
            with self._lock:
                if self._opening is None and self._folder.is_dir():
                    self._opening = threading.Thread(target=self._open, daemon=True)
                    self._opening.start()
            return None
        visit = self._find(key)
        return make_card(visit.page) if visit is not None and visit.page is not None else None

    def ready(self) -> None:
        """Wait until there are cards."""
        if self._opening is not None:
            self._opening.join()

    def _open(self) -> None:
        try:
            store = PageStore.open(self._folder, self._settings)
            store.find(0)  # this makes the table of keys, which takes long
        except DataError:
            self._opening = None
        else:
            self._store = store

    def _find(self, key: int) -> FetchRecord | None:
        try:
            return self._store.find(key) if self._store is not None else None
        except DataError:
            return None


def make_card(page: Page) -> Card | None:
    """Choose what a page states that is worth showing; None when it is too little."""
    chosen: dict[str, str] = {}
    for name, value in page.facts:
        known = ":" in name or name.lower() in _DULL or name in chosen
        if not known and 0 < len(value) <= _LONGEST and len(chosen) < _MOST:
            chosen[name] = value
    if len(chosen) < _FEWEST:
        return None
    text = " ".join((page.preview or page.description).split())
    text = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1].rpartition(" ")[0] + "…"
    return Card(page.title, page.url, text, tuple(chosen.items()))
