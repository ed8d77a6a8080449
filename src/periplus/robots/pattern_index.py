"""Rules with wildcards, indexed by a rare piece of each, so that a check tries few of them.

A pattern matches only a path that contains each of its pieces. For every pattern the rarest run of up to four bytes of
its pieces is chosen, and the pattern is tried only where that run occurs in the path. Of a file that is made to defeat
this, so that thousands of patterns nearly match one path, a fixed number is tried; then the path counts as disallowed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

__all__ = ["Pattern", "PatternIndex"]

_MAX_GRAM: Final = 4
_MAX_TRIED: Final = 1_000
"""Patterns that one check tries at most."""
_FEW: Final = 32
"""So many patterns are tried one after the other; more are indexed."""


class Pattern(NamedTuple):
    """A rule with wildcards, split: what the path starts with, contains in this order, and ends with."""

    priority: int
    allow: bool
    first: bytes
    middle: tuple[bytes, ...]
    last: bytes | None
    """None: anything may follow."""

    def matches(self, path: bytes) -> bool:
        """Return whether the pattern matches `path`."""
        if not path.startswith(self.first):
            return False
        offset = len(self.first)
        for piece in self.middle:
            offset = path.find(piece, offset)
            if offset < 0:
                return False
            offset += len(piece)
        return self.last is None or (path.endswith(self.last) and len(path) - len(self.last) >= offset)

    def grams(self) -> Iterator[bytes]:
        """Return the runs of up to four bytes that every matching path contains."""
        for piece in (self.first, *self.middle, self.last or b""):
            if len(piece) <= _MAX_GRAM:
                yield piece
            else:
                yield from (piece[start : start + _MAX_GRAM] for start in range(len(piece) - _MAX_GRAM + 1))


class PatternIndex:
    """Patterns in the order of their precedence: longest first, Allow before Disallow."""

    __slots__ = ("_gram_lengths", "_patterns", "_rows_of_gram")

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._patterns = sorted(patterns, key=lambda pattern: (-pattern.priority, not pattern.allow))
        self._rows_of_gram: dict[bytes, list[int]] = {}
        if len(self._patterns) > _FEW:
            counts = Counter(gram for pattern in self._patterns for gram in set(pattern.grams()))
            for row, pattern in enumerate(self._patterns):
                rarest = min(filter(None, pattern.grams()), key=lambda gram: (counts[gram], -len(gram)))
                self._rows_of_gram.setdefault(rarest, []).append(row)
        self._gram_lengths = sorted({len(gram) for gram in self._rows_of_gram})

    def __len__(self) -> int:
        """Return the number of patterns."""
        return len(self._patterns)

    def decide(self, path: bytes, priority: int, allow: bool) -> bool:
        """Return whether the path is allowed, where the longest rule without wildcards has this verdict."""
        for tried, row in enumerate(self._candidates(path)):
            pattern = self._patterns[row]
            if pattern.priority < priority or (pattern.priority == priority and allow):
                break
            if tried >= _MAX_TRIED:
                return False
            if pattern.matches(path):
                return pattern.allow
        return allow

    def _candidates(self, path: bytes) -> Iterable[int]:
        """Return the rows of the patterns that may match, in order."""
        if len(self._patterns) <= _FEW:
            return range(len(self._patterns))
        rows: list[int] = []
        for length in self._gram_lengths:
            for gram in {path[start : start + length] for start in range(len(path) - length + 1)}:
                rows += self._rows_of_gram.get(gram, ())
        rows.sort()
        return rows
