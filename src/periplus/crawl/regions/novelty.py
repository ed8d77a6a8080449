"""How much of a page is new to its site: a sketch of the shingles of all pages of each registered domain.

A sketch keeps the shingles whose hash is below a limit. When it is full, the limit is halved: it stays a fair sample of
all shingles ever seen, whatever the size of the site. Memory is bounded by the slots of all sketches together.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from periplus.crawl.regions import kernels
from periplus.records import Page
from periplus.url import registered_domain

__all__ = ["MAX_OWN_WORDS", "MAX_TEXT", "Novelty", "NoveltyIndex", "PageShingles"]

_ALL: Final = 2**64 - 1
_MIN_SLOTS: Final = 256
_MAX_SLOTS: Final = 1 << 16
_FAIR_SLOTS: Final = 1 << 10
"""Slots of one sketch, of which half are used: at most, and if there are many sites."""
_MAX_TOTAL: Final = 1 << 21
"""Slots of all sketches: 16 MB. Beyond it, the site that was visited least lately starts anew."""
MAX_TEXT: Final = 10_000
"""Bytes of a page's text that are compared."""
MAX_OWN_WORDS: Final = 24
_WORD: Final = re.compile(r"[^\W_]+")


class Novelty(NamedTuple):
    """What a page has that its site did not have before."""

    shingles: float
    """Shingles that are new, estimated from the sample."""
    sampled: int
    """Shingles of the page in the sample: if they are few, none of them may be new by chance."""
    mark: int
    """A fingerprint of all shingles in any order."""


class PageShingles(NamedTuple):
    """The shingles of a page, which are made ahead as they depend on the page alone. They are used once."""

    page: Page
    shingles: npt.NDArray[np.uint64]
    mark: int
    """A fingerprint of all of them in any order."""


class _SpareTables:
    """Hash tables that sketches have outgrown, one of each size: they cost no page faults when they are used again."""

    def __init__(self) -> None:
        self._tables: dict[int, npt.NDArray[np.uint64]] = {}

    def take(self, slots: int) -> npt.NDArray[np.uint64]:
        """Return an empty table."""
        table = self._tables.pop(slots, None)
        if table is None:
            return np.zeros(slots, np.uint64)
        table.fill(0)
        return table

    def put(self, table: npt.NDArray[np.uint64]) -> None:
        """Keep a table to which there are no other references."""
        self._tables[len(table)] = table


class _Sketch:
    """The sampled shingles of one site, in a hash table."""

    def __init__(self, limit: int = _ALL, shingles: npt.NDArray[np.uint64] | None = None) -> None:
        self.limit = limit
        self._counts = np.zeros(3, np.int64)
        shingles = np.zeros(0, np.uint64) if shingles is None else shingles
        self._table = np.zeros(max(_MIN_SLOTS, 1 << (2 * len(shingles)).bit_length()), np.uint64)
        kernels.rehash(shingles, np.uint64(_ALL), self._table, self._counts)

    @property
    def slots(self) -> int:
        """The size of the table."""
        return len(self._table)

    def shingles(self) -> npt.NDArray[np.uint64]:
        """Return all shingles of the sample."""
        shingles = np.empty(int(self._counts[2]), np.uint64)
        kernels.list_shingles(self._table, shingles)
        return shingles

    def observe(self, page: Page, ahead: PageShingles | None, max_slots: int, spare: _SpareTables) -> Novelty:
        """Enter the shingles of a page, which may have been made ahead; return how many were new."""
        limit, counts = np.uint64(self.limit), self._counts
        before = counts.tolist()
        if ahead is not None:
            mark = ahead.mark
            kernels.enter_shingles(ahead.shingles, limit, self._table, counts)
        elif page.url.isascii() and "%" not in page.url:
            own_url, data = np.frombuffer(page.url.encode(), np.uint8), np.frombuffer(_text_of(page), np.uint8)
            mark = int(kernels.observe_page(own_url, MAX_OWN_WORDS, data, limit, self._table, counts))
        else:
            data = np.frombuffer(_text_of(page), np.uint8)
            mark = int(kernels.observe(data, _own_words(page.url), limit, self._table, counts))
        sampled, new, entries = counts.tolist()
        novelty = Novelty((new - before[1]) / (self.limit / _ALL), sampled - before[0], mark)
        while entries > self.slots // 2:
            if self.slots < max_slots:
                self._rehash(_ALL, spare.take(self.slots * 2), spare)
            else:
                self.limit //= 2
                self._rehash(self.limit, spare.take(self.slots), spare)
            entries = int(self._counts[2])
        return novelty

    def _rehash(self, limit: int, table: npt.NDArray[np.uint64], spare: _SpareTables) -> None:
        """Enter the shingles below a limit in an empty table, which takes the place of the former one."""
        kernels.rehash(self._table, np.uint64(limit), table, self._counts)
        spare.put(self._table)
        self._table = table


class NoveltyIndex:
    """Sketches by registered domain, those of the sites that were visited last."""

    def __init__(self) -> None:
        self._sketches: dict[str, _Sketch] = {}
        self._spare = _SpareTables()
        self._slots = 0
        self._ahead: dict[int, PageShingles] = {}
        """Shingles that are made already, by the `id` of their page, which they hold."""

    def expect(self, shingles: Iterable[PageShingles]) -> None:
        """Set the shingles of pages that are observed soon, in place of those that were expected before."""
        self._ahead = {id(made.page): made for made in shingles}

    def observe(self, host: str, page: Page) -> Novelty:
        """Enter a page; return what is new in it."""
        domain = registered_domain(host)
        sketch = self._sketches.pop(domain, None)
        if sketch is None:
            sketch = _Sketch()
        else:
            self._slots -= sketch.slots
        fair = min(_MAX_SLOTS, max(_FAIR_SLOTS, _MAX_TOTAL // (1 + len(self._sketches))))
        novelty = sketch.observe(page, self._ahead.pop(id(page), None), fair, self._spare)
        self._sketches[domain] = sketch
        self._slots += sketch.slots
        while self._slots > _MAX_TOTAL and len(self._sketches) > 1:
            self._slots -= self._sketches.pop(next(iter(self._sketches))).slots
        return novelty

    def is_sampled(self, host: str) -> bool:
        """Return whether the sketch of a host's site has a part of its shingles only."""
        sketch = self._sketches.get(registered_domain(host))
        return sketch is not None and sketch.limit < _ALL

    def dump(self) -> dict[str, bytes]:
        """Return all sketches as bytes: the limit, then the shingles."""
        return {
            domain: np.uint64(sketch.limit).astype("<u8").tobytes() + sketch.shingles().astype("<u8").tobytes()
            for domain, sketch in self._sketches.items()
        }

    def load(self, sketches: dict[str, bytes]) -> None:
        """Restore what `dump` returned."""
        self._sketches.clear()
        for domain, data in sketches.items():
            numbers = np.frombuffer(data, "<u8")
            if len(numbers):
                self._sketches[domain] = _Sketch(int(numbers[0]), numbers[1:].astype(np.uint64))
        self._slots = sum(sketch.slots for sketch in self._sketches.values())


def _text_of(page: Page) -> bytes:
    """Return title and main content, or the whole text of a page without one."""
    text, spans = page.text, page.main
    parts, left = [page.title], MAX_TEXT
    for begin, end in zip(spans[::2], spans[1::2], strict=False) if spans else ((0, len(text)),):
        parts.append(text[begin : min(end, begin + left)])
        left -= len(parts[-1]) + 1
        if left <= 0:
            break
    return "\n".join(parts).encode("utf-8", "replace")[:MAX_TEXT]


def _own_words(url: str) -> npt.NDArray[np.uint64]:
    """Return the hashes of the words of a URL that is not in ASCII, or not plainly."""
    text = unquote(url)
    found = _WORD.findall(text.lower()) if text.isascii() else [word.lower() for word in _WORD.findall(text)]
    words = dict.fromkeys(found)
    encoded = " ".join(list(words)[:MAX_OWN_WORDS]).encode("utf-8", "replace")
    hashes: npt.NDArray[np.uint64] = kernels.hash_words(np.frombuffer(encoded, np.uint8), MAX_OWN_WORDS)
    return hashes
