"""Which candidates become results, and in what order: safe search, near-duplicates folded, hosts taking turns.

The order is that of the ranking, but for this: a page that says nearly the same as a better one is folded into it, and
of ten results at most a few come from one host as long as others have some. Pages that nobody trusted links to come
behind all others. Windows of ten are counted from the first result whatever page is asked for, so that pages of results
always join.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.records import PageFlag

__all__ = ["ADULT", "DECEIVES", "ENOUGH", "Arranged", "Look", "Resemblance", "arrange", "hidden_flags"]

ADULT: Final = int(PageFlag.ADULT)
DECEIVES: Final = int(PageFlag.ADULT | PageFlag.STUFFED | PageFlag.HIDDEN | PageFlag.LINK_FARM | PageFlag.UNTRUSTED)
_WINDOW: Final = 10
_AHEAD: Final = 40
"""Results of crowded hosts that may wait; with more, they are let in."""
ENOUGH: Final = 200
"""Bytes of text below which only equal texts are near-duplicates: a few words are soon alike."""


class Resemblance(NamedTuple):
    """What near-duplicates are told by."""

    simhash: int
    length: int
    exact: int
    """Fingerprint of the whole text."""

    def like(self, other: "Resemblance", bits: int) -> bool:
        """Say whether two pages say nearly the same."""
        if not self.length or not other.length:
            return False
        if min(self.length, other.length) < ENOUGH:
            return self.exact == other.exact
        near = abs(self.length - other.length) * 4 <= max(self.length, other.length)
        return near and (self.simhash ^ other.simhash).bit_count() <= bits


class Look(NamedTuple):
    """How a candidate is looked at: its host, and what it resembles."""

    host: Callable[[int], Hashable]
    resemblance: Callable[[int], Resemblance]


class Arranged(NamedTuple):
    """Rows of candidates in the order of results."""

    rows: list[int]
    similar: dict[int, list[int]]
    """Rows that were folded into a row."""
    hidden: int
    looked: int


def hidden_flags(safe: int) -> int:
    """Give the flags that safe search leaves out."""
    return (0, ADULT, DECEIVES)[max(0, min(safe, 2))]


def arrange(flags: npt.NDArray[np.int64], look: Look, wanted: int, barred: int, per_host: int, bits: int) -> Arranged:
    """Put the first `wanted` results in order; `flags` are those of the candidates, best first."""
    barred_rows = (flags & barred) != 0
    lifted = (flags & int(PageFlag.UNTRUSTED)) != 0
    folds = _Folds(look, bits)
    rows: list[int] = []
    waiting: deque[int] = deque()
    # Hosts take turns among those that are trusted; a farm has many hosts, and would take every turn.
    for part in (~barred_rows & ~lifted, ~barred_rows & lifted):
        source, window = iter(np.flatnonzero(part).tolist()), [0]
        while window and len(rows) < wanted:
            window = _fill(source, waiting, look, folds, per_host, min(_WINDOW, wanted - len(rows)))
            rows += window
    return Arranged(rows, folds.similar, int(barred_rows.sum()), len(flags))


class _Folds:
    """Remembers what the results so far say, and which others say nearly the same."""

    def __init__(self, look: Look, bits: int) -> None:
        self._look = look
        self._bits = bits
        self._known: list[tuple[int, Resemblance]] = []
        self.similar: dict[int, list[int]] = {}

    def folds(self, row: int) -> bool:
        """Say whether a row says nearly what an earlier one says, and note it."""
        if self._bits < 0:
            return False
        own = self._look.resemblance(row)
        twin = next((before for before, its in self._known if own.like(its, self._bits)), None)
        if twin is None:
            self._known.append((row, own))
            return False
        self.similar.setdefault(twin, []).append(row)
        return True


def _fill(source: Iterator[int], waiting: deque[int], look: Look, folds: _Folds, per_host: int, room: int) -> list[int]:
    """Fill a window: those that waited first, then new ones; what would crowd it waits for the next.

    Only what is let in is compared with others: that reads its text, and those that wait may never be asked for.
    """
    window: list[int] = []
    counts: dict[Hashable, int] = {}

    def crowds(row: int) -> bool:
        if not per_host:
            return False
        host = look.host(row)
        if counts.get(host, 0) >= per_host:
            return True
        if not folds.folds(row):
            counts[host] = counts.get(host, 0) + 1
            window.append(row)
        return False

    def enter(row: int) -> None:
        if not folds.folds(row):
            window.append(row)

    for _ in range(len(waiting)):
        row = waiting.popleft()
        if len(window) >= room or crowds(row):
            waiting.append(row)
    while len(window) < room and len(waiting) < _AHEAD and (row := next(source, -1)) >= 0:
        if not per_host:
            enter(row)
        elif crowds(row):
            waiting.append(row)
    while len(window) < room and waiting:
        enter(waiting.popleft())
    return window
