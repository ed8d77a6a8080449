"""What many have asked for, as far as it may be told: titles, link texts and hosts only.

A query is counted only if it is, word for word, a text that the index offers anyway; so nothing that somebody typed can
come out that is not public already. Counts live in memory, know no person, no address and no time, fade, and are of no
use until a text has been asked for a number of times that the operator sets (`search.popular_after`; 0 is off).
"""

import bisect
import math
import threading
from typing import Final

__all__ = ["Popular"]

_MOST: Final = 10_000
"""Texts that are counted at once; then all counts are halved, and what falls to nothing is let go."""
_NEAR: Final = 256
"""Texts with one beginning that are looked at."""
_FULL: Final = 1_000
"""Asked so often, a text is worth as much as can be."""


class Popular:
    """Counts of texts that were asked for. May be used from many threads."""

    def __init__(self, after: int) -> None:
        self.after = after
        self._counts: dict[bytes, int] = {}
        self._order: list[bytes] = []
        self._lock = threading.Lock()

    def count(self, text: bytes) -> None:
        """Count a folded text of the index."""
        with self._lock:
            if text not in self._counts:
                bisect.insort(self._order, text)
            self._counts[text] = self._counts.get(text, 0) + 1
            if len(self._counts) > _MOST:
                self._fade()

    def _fade(self) -> None:
        self._counts = {text: count // 2 for text, count in self._counts.items() if count > 1}
        self._order = sorted(self._counts)

    def beginning(self, typed: bytes, size: int) -> list[tuple[bytes, float]]:
        """Give texts that begin so and have been asked for often enough, with what that is worth, up to 1."""
        with self._lock:
            at = bisect.bisect_left(self._order, typed)
            near = [text for text in self._order[at : at + _NEAR] if text.startswith(typed)]
            often = [(self._counts[text], text) for text in near if self._counts[text] >= self.after]
        best = sorted(often, reverse=True)[:size]
        return [(text, min(1.0, 0.5 + 0.5 * math.log1p(count) / math.log1p(_FULL))) for count, text in best]
