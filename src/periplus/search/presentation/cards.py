"""Knowledge cards: facts that a page states about itself, shown when the query names it."""

import re
import threading
from pathlib import Path
from typing import Final

from periplus.errors import DataError, PeriplusError
from periplus.records import Card, FetchRecord, Hit, Page
from periplus.search.presentation.card_types import FACT_LABELS, card_type, wanted_facts
from periplus.search.presentation.snippets import NO_ANSWER, limit_snippet
from periplus.search.suggester import fold
from periplus.settings import StoreSettings
from periplus.store import PageStore, WarcPage
from periplus.supervision import supervise_once

__all__ = ["CardReader", "may_have_card", "names_page"]

_MOST: Final = 8
_FEWEST: Final = 2
_LONGEST: Final = 160
_MAX_VALUES: Final = 3
_REPEATED: Final = 2
_LONGEST_TEXT: Final = 320
_MAYBE_CUT: Final = 250
"""Characters from which on a preview may have been cut in a word."""
_SHORTEST_TEXT: Final = 60
"""Characters that whole sentences have at least, to be shown instead of a piece of more."""
_ENDS: Final = tuple('.!?…。！？"”»)')
_SENTENCE_END: Final = re.compile(r"(\w{3,}[.!?][\"”»)]?) (?=[^a-z])")
_SHOWN_ANYWAY: Final = frozenset(
    ["type", "@type", "name", "headline", "description", "datepublished", "datemodified", "url", "image", "sku"]
)
"""Facts that the result shows anyway."""
_PARTS: Final = re.compile(r"\s+[|–—-]\s+|\s*[|,:(]\s*")


def names_page(words: str, title: str) -> bool:
    """Return whether a query names a page: it is its title, or the part before the name of the site."""
    query, name = sorted(fold(words).split()), fold(title)
    if not query or query[0] not in name:  # Most do not: they have a sign, or a word that the title lacks.
        return False
    return query in (sorted(name.split()), sorted(fold(_PARTS.split(title)[0]).split()))


def may_have_card(words: str, hit: Hit) -> bool:
    """Return whether a result may have a card: a query names it, and it is a page, which may state facts.

    A document that was sent states none, and is not looked up: while many arrive, the store would be read first.
    """
    return not hit.own_fields and names_page(words, hit.title)


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

    def latest_record(self, key: int) -> FetchRecord | None:
        """Return the newest record of a page, whatever its outcome, waiting until the store is open."""
        if self._store is None:
            self._open()
        try:
            return self._store.find_latest(key) if self._store is not None else None
        except DataError:
            return None

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
    """Return the facts of a page that are worth showing, those of its type first; None when they are too few."""
    kind = card_type(tuple(value for name, value in page.facts if name in ("type", "@type")))
    wanted = wanted_facts(kind)
    stated: dict[str, list[str]] = {}
    for name, value in page.facts:
        if 0 < len(value) <= _LONGEST and ":" not in name:
            stated.setdefault(name, []).append(value)
    chosen = {name: stated[name] for name in wanted if name in stated}
    chosen |= {
        name: values for name, values in stated.items() if name.lower() not in _SHOWN_ANYWAY and name not in chosen
    }
    facts = [(FACT_LABELS.get(name, name), _join(values)) for name, values in chosen.items()][:_MOST]
    if len(facts) < _FEWEST:
        return None
    image = next((media.url for media in page.media if media.kind == "image"), "")
    return Card(page.title, page.url, _describe(page, facts), tuple(facts), kind, image)


def _join(values: list[str]) -> str:
    """Return several values of one fact as a list, without repetitions."""
    distinct = list(dict.fromkeys(values))[:_MAX_VALUES]
    joined = ", ".join(distinct)
    return joined if len(joined) <= _LONGEST else distinct[0]


def _describe(page: Page, facts: list[tuple[str, str]]) -> str:
    """Return what the page says of its subject in prose, unless that only repeats the facts."""
    for text in (page.description, page.preview):
        text = " ".join(text.split())
        if not text or _repeats(text, facts):
            continue
        pieces, _ = limit_snippet(((text, False),), NO_ANSWER, page.flags)
        return _shorten("".join(piece for piece, _ in pieces))
    return ""


def _shorten(text: str) -> str:
    """Return the sentences of a text that fit, or the words of a first one that is too long."""
    if len(text) < _MAYBE_CUT or (len(text) <= _LONGEST_TEXT and text[-1] in _ENDS):
        return text
    whole = _SENTENCE_END.sub(r"\1\n", text[:_LONGEST_TEXT]).rpartition("\n")[0]
    if len(whole) >= _SHORTEST_TEXT:
        return " ".join(whole.split("\n"))
    return text[: _LONGEST_TEXT - 1].rpartition(" ")[0].rstrip(" ,;:") + "…"


def _repeats(text: str, facts: list[tuple[str, str]]) -> bool:
    """Return whether a text has the values of two facts or more, as a table has that was read as prose."""
    folded = fold(text)
    return sum(len(value) > 1 and fold(value) in folded for _, value in facts) >= _REPEATED
