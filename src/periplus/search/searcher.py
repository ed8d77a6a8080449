"""The searcher: parse, rank, dress the hits."""

import threading
import time
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from periplus.errors import NothingHere
from periplus.index import Field, Index
from periplus.kernels import invert
from periplus.query import Prepared, parse
from periplus.rank import Ranker
from periplus.records import Candidates, Hit, Query, ResultPage
from periplus.search.snippets import make_snippet
from periplus.settings import Settings
from periplus.text import LANGUAGES
from periplus.url import trail

__all__ = ["CachedPage", "SearchStatistics", "Searcher"]

_PLACE: Final = (1 << invert.FIELD_SHIFT) - 1


class SearchStatistics(msgspec.Struct, frozen=True):
    """How much there is to search."""

    documents: int
    hosts: int
    newest: float
    """Unix time of the latest fetch, 0 if there is none."""
    bytes: int


class CachedPage(msgspec.Struct, frozen=True):
    """The kept text of one page."""

    url: str
    when: float
    title: str
    text: str
    language: str = ""


class _Open:
    """One generation of the index and what belongs to it."""

    def __init__(self, index: Index, settings: Settings) -> None:
        self.index = index
        self.ranker = Ranker(index, settings.rank)
        figures = index.statistics()
        self.statistics = SearchStatistics(figures.documents, figures.hosts, figures.newest, figures.bytes)


class Searcher:
    """Answers queries over the index of a data folder."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder / "index"
        self._settings = settings
        self._lock = threading.Lock()
        self._open: _Open | None = None
        self.refresh()

    @classmethod
    def open(cls, folder: Path, settings: Settings, *, may_be_empty: bool = False) -> "Searcher":
        """Open the index of a data folder; without one, raise `NothingHere` unless it may be empty."""
        searcher = cls(folder, settings)
        if searcher._open is None and not may_be_empty:
            Index.open(searcher._folder)
        return searcher

    def refresh(self) -> bool:
        """Open the newest generation of the index if it is another; say whether it was."""
        with self._lock:
            try:
                if self._open is not None and not self._open.index.changed():
                    return False
                before = self._open.index if self._open else None
                self._open = _Open(Index.open(self._folder, before=before), self._settings)
            except NothingHere:
                return False
            return True

    def statistics(self) -> SearchStatistics:
        """Say how much there is to search."""
        opened = self._open
        return opened.statistics if opened else SearchStatistics(0, 0, 0.0, 0)

    def search(self, query: Query) -> ResultPage:
        """Answer a query. Any words will do; nothing found is an answer too."""
        began = time.perf_counter()
        opened, parsed = self._open, parse(query.words)
        most = self._settings.search.max_results
        start, size = max(0, query.start), max(0, min(query.size, most))
        if opened is None or parsed.tree is None:
            documents = opened.index.documents if opened else 0
            return ResultPage(query, (), 0, True, False, time.perf_counter() - began, documents, parsed.notes)
        prepared = opened.ranker.prepare(parsed.tree, parsed.notes)
        budget = self._settings.search.budget_ms / 1000
        found = opened.ranker.rank(prepared, min(start + size, most), budget)
        hits = tuple(
            self._hit(opened, prepared, found, row, query.explain)
            for row in range(start, min(start + size, len(found.documents)))
        )
        notes = prepared.notes
        if start + size > most and found.total > most:
            notes += (f"Only the first {most:,} results are shown.",)
        seconds = time.perf_counter() - began
        return ResultPage(query, hits, found.total, found.exact, found.partial, seconds, opened.index.documents, notes)

    def _hit(self, opened: _Open, prepared: Prepared, found: Candidates, row: int, explain: bool) -> Hit:
        number, document = int(found.segments[row]), int(found.documents[row])
        segment = opened.index.segments[number]
        url = segment.string("url", document)
        places, missing = [], []
        for word in prepared.words:
            known = [place for term in word.terms if (place := segment.find(term))]
            at = [segment.positions(place, document)[0] for place in known]
            joined = np.concatenate([np.zeros(0, np.int64), *at])
            if len(joined) == 0:
                missing.append(word.word)
            places.append(joined[joined >> invert.FIELD_SHIFT == Field.BODY] & _PLACE)
        weights = [max(word.weight, 0.01) for word in prepared.words]
        return Hit(
            url=url,
            title=segment.string("title", document),
            snippet=make_snippet(segment.text(document), places, weights, self._settings.search.snippet_chars),
            trail=trail(url),
            score=float(found.scores[row]),
            key=int(segment.column("key")[document]),
            language=LANGUAGES[int(segment.column("language")[document])],
            fetched=float(segment.column("fetched")[document]),
            kind=segment.string("kinds", int(segment.column("kind")[document])),
            missing=tuple(missing),
            reasons=opened.ranker.explain(prepared, number, document) if explain else (),
        )

    def cached(self, key: int) -> CachedPage | None:
        """Give the kept text of the page with this key, if it is in the index."""
        opened = self._open
        for segment in opened.index.segments if opened and 0 <= key < 1 << 64 else ():
            for document in np.flatnonzero((segment.column("key") == np.uint64(key)) & segment.alive).tolist():
                return CachedPage(
                    segment.string("url", document),
                    float(segment.column("fetched")[document]),
                    segment.string("title", document),
                    segment.text(document).decode("utf-8", "replace"),
                    LANGUAGES[int(segment.column("language")[document])],
                )
        return None
