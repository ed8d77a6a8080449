"""Completions of what somebody types: titles, link texts and hosts of the index, and what many have asked.

Each segment brings a table with it, written when the segment was, so that nothing has to be made at the start: see
docs/formats/segment.md. A beginning that leads nowhere is tried with one letter amiss. Nobody's queries are offered;
but a text that is offered anyway may be raised by how often it is asked for: see `popular`.
"""

import threading
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import DataError
from periplus.index import LINK_TEXT_FLAG, Index, Segment
from periplus.index.vocabulary.kernels import completion_table
from periplus.signals import PopularQueries
from periplus.supervision import supervise_once
from periplus.text import split_text

__all__ = ["Completion", "Completions", "Suggester", "fold"]

_LONGEST: Final = 120
_MOST: Final = 24
"""Completions that are looked at for each segment, though fewer are asked for: pages may be dead, or texts the same."""
_MENDED: Final = 0.3
"""What a completion counts where a letter was amiss."""
_SHORTEST_MENDED: Final = 4


class Completion(NamedTuple):
    """A completion: its folded text, how it is shown, and its weight up to 1."""

    key: bytes
    text: str
    weight: float


class Completions(NamedTuple):
    """Completions that begin as typed; and, only where there are none of these, those with a letter amiss."""

    exact: tuple[Completion, ...]
    fuzzy: tuple[Completion, ...]


class _CompletionTable(NamedTuple):
    """The completions of one segment."""

    segment: Segment
    table: completion_table.CompletionTable
    start: npt.NDArray[np.uint32]
    source: npt.NDArray[np.int32]


def fold(text: str) -> str:
    """Return a text without case, accents and repeated spaces, as names are compared."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(text.casefold().split())


class Suggester:
    """Completes beginnings from one generation of the index."""

    def __init__(self, index: Index, before: "Suggester | None" = None, popular: PopularQueries | None = None) -> None:
        self._popular = popular
        known = before._tables if before else {}
        self._tables: dict[str, _CompletionTable] = {}
        for segment in index.segments:
            if "words" in segment.files:
                same = known.get(segment.name)
                self._tables[segment.name] = same._replace(segment=segment) if same else _open(segment)
        self._fruitless = b""
        """The last beginning without any completion, from which another word leads nowhere either."""
        # Spelling takes the words of all segments together, which takes a moment; nothing waits for it.
        self._is_superseded, self._rest_is_over = False, threading.Event()
        load = supervise_once("spelling", self._load_spelling)
        self._reader = threading.Thread(target=load, args=(index,), daemon=True)
        if before is not None:
            before._is_superseded = True
            before._rest_is_over.set()
        if index.spelling.stale:
            self._reader.start()

    def ready(self) -> None:
        """Wait until the words of the index are known to spelling too."""
        self._rest_is_over.set()
        if self._reader.is_alive():
            self._reader.join()

    def _load_spelling(self, index: Index) -> None:
        """Load the words of the index, unless there is a newer generation before it is time."""
        self._rest_is_over.wait(index.spelling.rest_seconds)
        if self._is_superseded:
            return
        try:
            index.spelling.load()
        except DataError:
            return  # Whoever checks the index will be told; searching goes on without corrections.

    def suggest(self, words: str, size: int) -> tuple[tuple[str, float], ...]:
        """Return up to `size` completions of `words`, the best first."""
        typed = _typed(words[:_LONGEST])
        if len(typed) < 2 or size < 1:
            return ()
        own = self.complete(words, size)
        found = {item.key: (item.text, item.weight) for item in own.exact or own.fuzzy}
        if self._popular:
            self._raise(found, typed, size)
        ranked = sorted(found.values(), key=lambda item: (-item[1], item[0]))
        return tuple(ranked[:size])

    def complete(self, words: str, size: int) -> Completions:
        """Return completions of `words` from the index alone, at least the best `size` of them."""
        typed = _typed(words[:_LONGEST])
        if len(typed) < 2 or size < 1:
            return Completions((), ())
        if typed[-1:] == b" " and typed[:-1] == self._fruitless:
            return Completions((), ())
        exact, count = self._best(typed, size, 1.0, amiss=False)
        fuzzy: dict[bytes, tuple[str, float]] = {}
        if not exact and len(typed) >= _SHORTEST_MENDED:
            fuzzy, amiss = self._best(typed, size, _MENDED, amiss=True)
            if not count and not amiss:
                self._fruitless = typed
        listed = [tuple(Completion(key, *item) for key, item in some.items()) for some in (exact, fuzzy)]
        return Completions(*listed)

    def record_queries(self, queries: Sequence[tuple[str, str]], now: float) -> None:
        """Count queries by visitor, those only that are completions of the index anyway."""
        if self._popular is None:
            return
        for words, visitor in queries:
            text = _typed(words[:_LONGEST].strip())
            if text and self._find(text):
                self._popular.count(text, visitor, now)
        self._popular.synchronize(now)

    def _find(self, text: bytes) -> tuple[str, float] | None:
        """Return the completion that equals a text."""
        best, worth = np.empty(1, np.int32), np.empty(1, np.int32)
        wanted = np.frombuffer(text + b"\n", np.uint8)
        found: dict[bytes, tuple[str, float]] = {}
        for table in self._tables.values():
            if completion_table.complete(table.table, wanted, best, worth):
                _add(found, table, int(best[0]), int(worth[0]) / 255)
        return found.get(text)

    def _raise(self, found: dict[bytes, tuple[str, float]], typed: bytes, size: int) -> None:
        """Raise completions that many have asked for, and add those that did not make it by rank."""
        assert self._popular
        for text, worth in self._popular.complete(typed, size):
            known = found.get(text) or self._find(text)
            if known:
                found[text] = (known[0], max(known[1], worth))

    def _best(
        self, typed: bytes, size: int, share: float, *, amiss: bool
    ) -> tuple[dict[bytes, tuple[str, float]], int]:
        """Find the best completions of all segments, by their folded text, and how many there are with deleted ones."""
        found: dict[bytes, tuple[str, float]] = {}
        looked_at = 0
        wanted = np.frombuffer(typed, np.uint8)
        most = max(_MOST, 3 * min(size, 100))
        best, worth = np.empty(most, np.int32), np.empty(most, np.int32)
        for table in self._tables.values():
            if amiss:
                count = completion_table.complete_fuzzy(table.table, wanted, best, worth)
            else:
                count = completion_table.complete(table.table, wanted, best, worth)
            looked_at += count
            own: dict[bytes, tuple[str, float]] = {}
            for entry, value in zip(best[:count].tolist(), worth[:count].tolist(), strict=True):
                _add(own, table, entry, share * value / 255)
                if len(own) >= size:
                    break
            for key, item in own.items():  # Each segment by itself: so it is on shards, too.
                if key not in found or found[key][1] < item[1]:
                    found[key] = item
        return found, looked_at


def _open(segment: Segment) -> _CompletionTable:
    words = segment.files["words"]
    table = completion_table.CompletionTable(*(words[f"complete_{name}"] for name in ("text", "order", "rank", "peak")))
    return _CompletionTable(segment, table, words["complete_start"], words["complete_source"])


def _typed(words: str) -> bytes:
    """Return typed text as completions are stored: folded words, and a space after a finished one."""
    folded = " ".join(split_text(words))
    return (folded + " " if folded and words[-1].isspace() else folded).encode("utf-8", "replace")


def _add(found: dict[bytes, tuple[str, float]], table: _CompletionTable, entry: int, worth: float) -> bool:
    """Add a completion unless its page is dead; say whether it is another one."""
    number = int(table.start.searchsorted(table.table.order[entry], side="right")) - 1
    source = int(table.source[number])
    if source >= 0 and not table.segment.is_live[source & ~LINK_TEXT_FLAG]:
        return False
    key = table.table.text[int(table.start[number]) : int(table.start[number + 1]) - 1].tobytes()
    before = found.get(key)
    if before is not None and before[1] >= worth:
        return False
    found[key] = (_shown(table.segment, source, key), worth)
    return before is None


def _shown(segment: Segment, source: int, folded: bytes) -> str:
    """Write a completion as its page does: titles and hosts as they are, link texts folded."""
    if source < 0:
        return segment.string("hosts", -2 - source).removeprefix("www.")
    if source >= LINK_TEXT_FLAG:
        return str(folded, "utf-8", "replace")
    return " ".join(segment.string("title", source).split())[:_LONGEST]
