"""Completions of what somebody types: titles and host names of the index itself, never anybody's queries.

Each segment has its own table, made once in the background because segments never change: the first 24 bytes of every
title, in order (also from its second to fourth word on), so that all titles with a beginning lie side by side. The best
of a stretch are found by the maxima of blocks. A beginning that leads nowhere is tried with one letter amiss.
"""

import threading
import unicodedata
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment

__all__ = ["Suggester", "fold"]

_WIDTH: Final = 24
_STARTS: Final = 4
"""Words of a title at which a completion may begin."""
_BLOCK: Final = 256
_LONGEST: Final = 120
_LATE: Final = 0.5
"""What a completion counts that begins within a title."""
_MENDED: Final = 0.3
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789 -"


class _Table(NamedTuple):
    """Entries of one segment, ordered by how they begin."""

    keys: npt.NDArray[np.bytes_]
    source: npt.NDArray[np.int32]
    """The document of each entry; hosts are numbered below -1."""
    worth: npt.NDArray[np.float32]
    highest: npt.NDArray[np.float32]
    """The highest worth of each block of entries."""


def fold(text: str) -> str:
    """Give a text as completions are compared: without case, accents and double spaces."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(text.casefold().split())


class Suggester:
    """Completes beginnings from one generation of the index."""

    def __init__(self, index: Index, before: "Suggester | None" = None) -> None:
        self._segments = {segment.name: segment for segment in index.segments}
        known = before._tables if before else {}
        self._tables: dict[str, _Table] = {name: known[name] for name in self._segments if name in known}
        self._lock = threading.Lock()
        missing = [segment for name, segment in self._segments.items() if name not in self._tables]
        self._maker = threading.Thread(target=self._make, args=(missing,), daemon=True)
        if missing:
            self._maker.start()

    def ready(self) -> None:
        """Wait until all of the index can be completed from."""
        if self._maker.is_alive():
            self._maker.join()

    def _make(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            self._tables[segment.name] = make_table(segment)

    def suggest(self, words: str, size: int) -> tuple[tuple[str, float], ...]:
        """Give up to `size` completions of `words`, the most fitting first."""
        start = fold(words[:_LONGEST])
        if len(start) < 2 or size < 1:
            return ()
        found = self._best([start], size, 1.0)
        if not found:
            found = self._best(_mended(start), size, _MENDED)
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return tuple(ranked[:size])

    def corrections(self, words: str) -> tuple[str, ...]:
        """Give titles that may have been meant by words that found nothing."""
        start = fold(words[:_LONGEST])
        found = self._best(_mended(start), 3, _MENDED) if 4 <= len(start) <= _WIDTH else {}
        return tuple(sorted(found, key=lambda text: -found[text])[:3])

    def _best(self, starts: list[str], size: int, share: float) -> dict[str, float]:
        """Find the best completions of any of some beginnings."""
        found: dict[str, float] = {}
        encoded = [start.encode("utf-8", "replace") for start in starts]
        for name, table in list(self._tables.items()):
            segment = self._segments[name]
            for place in self._places(table, encoded, 3 * size):
                text = _text(segment, int(table.source[place]))
                whole = len(encoded) > 1 or encoded[0] in fold(text).encode("utf-8", "replace")
                alive = table.source[place] < 0 or segment.alive[table.source[place]]
                if text and whole and alive:
                    found[text] = max(found.get(text, 0.0), share * float(table.worth[place]))
        return found

    def _places(self, table: _Table, starts: list[bytes], most: int) -> list[int]:
        cut = sorted({start[:_WIDTH] for start in starts if start})
        if not cut or not len(table.keys):
            return []
        begins = np.searchsorted(table.keys, np.array(cut, f"S{_WIDTH}"))
        after = [start[: _WIDTH - 1] + b"\xff" if len(start) == _WIDTH else start + b"\xff" for start in cut]
        ends = np.searchsorted(table.keys, np.array(after, f"S{_WIDTH}"))
        places: list[int] = []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            if begin < end:
                places += _highest(table, begin, end, most)
        return places


def make_table(segment: Segment) -> _Table:
    """Make the table of a segment."""
    static = np.asarray(segment.column("static"))
    keys: list[bytes] = []
    source: list[int] = []
    worth: list[float] = []
    seen: set[str] = set()
    for document, title in enumerate(segment.strings("title")):
        folded = fold(title[:_LONGEST])
        if not folded or folded in seen or "://" in folded:
            continue
        seen.add(folded)
        words = folded.split(" ")
        own = 0.2 + 0.8 * float(static[document])
        for number in range(min(_STARTS, len(words))):
            if number == 0 or len(words[number]) > 3:
                keys.append(" ".join(words[number:]).encode("utf-8", "replace")[:_WIDTH])
                source.append(document)
                worth.append(own if number == 0 else own * _LATE)
    for number, host in enumerate(segment.strings("hosts")):
        keys.append(host.removeprefix("www.").encode("utf-8", "replace")[:_WIDTH])
        source.append(-2 - number)
        worth.append(0.9)
    return _ordered(np.array(keys, f"S{_WIDTH}"), np.array(source, np.int32), np.array(worth, np.float32))


def _ordered(keys: npt.NDArray[np.bytes_], source: npt.NDArray[np.int32], worth: npt.NDArray[np.float32]) -> _Table:
    order = np.argsort(keys, kind="stable")
    worth = worth[order]
    padded = np.zeros(-(-len(worth) // _BLOCK) * _BLOCK, np.float32)
    padded[: len(worth)] = worth
    return _Table(keys[order], source[order], worth, padded.reshape(-1, _BLOCK).max(axis=1, initial=0))


def _highest(table: _Table, begin: int, end: int, most: int) -> list[int]:
    """Give the places of the highest worth between `begin` and `end`: they are in the blocks of the highest maxima."""
    first, last = -(-begin // _BLOCK), end // _BLOCK
    if last - first <= most:
        places = np.arange(begin, end)
    else:
        blocks = first + np.argpartition(-table.highest[first:last], most)[:most]
        inside = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
        places = np.concatenate([np.arange(begin, first * _BLOCK), inside, np.arange(last * _BLOCK, end)])
    order = np.argsort(-table.worth[places], kind="stable")[:most]
    return [int(place) for place in places[order]]


def _text(segment: Segment, source: int) -> str:
    text = segment.string("title", source) if source >= 0 else segment.string("hosts", -2 - source)
    return " ".join(text.split())[:_LONGEST].removeprefix("www." if source < 0 else "\0")


def _mended(start: str) -> list[str]:
    """Give a beginning with one letter left out, added, changed or swapped; its first letter is taken as right."""
    raw = start.encode("utf-8", "replace")
    if not 4 <= len(raw) <= _WIDTH or not raw.isascii():
        return []
    letters = [bytes([letter]) for letter in _LETTERS]
    out = {raw[:n] + raw[n + 1 :] for n in range(1, len(raw))}
    out |= {raw[:n] + raw[n + 1 : n + 2] + raw[n : n + 1] + raw[n + 2 :] for n in range(len(raw) - 1)}
    out |= {raw[:n] + letter + raw[n + 1 :] for n in range(1, len(raw)) for letter in letters}
    out |= {raw[:n] + letter + raw[n:] for n in range(1, len(raw) + 1) for letter in letters}
    return [found.decode() for found in out - {raw}]
