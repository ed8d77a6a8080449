"""The rule sets that count for a query, resolved for the segments of an index.

What rules make of a segment is resolved once and cached, as long as the segment is open. A large segment may take
longer than a query has time for: then the query is answered in part, and the next one goes on where it stopped.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from periplus.accel.pointers import PinnedArrays, pin
from periplus.index import Segment
from periplus.index.kernels.inversion import BLOCK
from periplus.index.kernels.postings_reader import PostingsReader
from periplus.result_rules import kernels
from periplus.result_rules.rule_index import RuleIndex, index_rules
from periplus.result_rules.rule_records import MAX_STRENGTH, RuleSet

__all__ = ["ActiveRules", "forget_resolved", "strength_factor"]

_STEPS: Final = 3.0
"""Strengths that double a score."""
_CHUNK: Final = 1 << 13
"""Documents that are looked at between two looks at the clock."""
_CHUNK_WORK: Final = 1 << 25
"""Work units of comparing patterns in one turn."""
_MOST_WORK: Final = 4_000
"""Work units of one segment for each of its documents; patterns beyond that do not count."""
_LEAST_WORK: Final = 1 << 28
_MOST_BYTES: Final = 64 << 20
"""Memory for what rules make of one segment."""
_MAX_FACTOR: Final = 16.0

Codes = npt.NDArray[np.uint16]
Late = Callable[[], bool]


def strength_factor(strength: int) -> float:
    """Return what scores are multiplied by to raise them; to lower them they are divided by it."""
    return float(2.0 ** (strength / _STEPS))


_FACTORS: Final = np.array(
    [
        [
            strength_factor(raised) if raised else 1.0 / strength_factor(lowered) if lowered else 1.0
            for lowered in range(16)
        ]
        for raised in range(16)
    ],
    np.float32,
)
"""By how much a page is raised and lowered; raising counts if both apply."""
assert len(_FACTORS) > MAX_STRENGTH


class _Resolution:
    """What one rule set makes of one segment."""

    def __init__(self, segment: Segment, index: RuleIndex) -> None:
        self._index = index
        hosts = np.zeros(len(segment.table("hosts")[0]) - 1, np.uint16)
        if len(index.host_keys):
            kernels.mark_hosts(*segment.table("hosts"), index.host_keys, index.host_codes, hosts)
        column = segment.column("host").astype(np.int64)
        self.codes: Codes = hosts[column]
        self._hosts = column if len(column) > 1 else column[:1]
        self._sites = index.site_patterns(segment.strings("hosts")) if len(index.patterns.codes) else None
        self._next = 0 if index.reads_urls else segment.documents
        self._work_left = max(_LEAST_WORK, _MOST_WORK * segment.documents)

    def advance(self, segment: Segment, late: Late) -> bool:
        """Look at further documents until it is late; return whether all have been looked at."""
        start, blob = segment.table("url")
        while self._next < segment.documents:
            if late():
                return False
            stop = min(segment.documents, self._next + _CHUNK)
            if self._sites is not None and self._work_left > 0:
                most = min(_CHUNK_WORK, self._work_left)
                stop, work = kernels.mark_urls(
                    start, blob, self._hosts, *self._sites, self._index.patterns, self._next, stop, most, self.codes
                )
                self._work_left -= work
            if self._index.expressions is not None:
                self._mark_expressions(start, blob, stop)
            self._next = stop
        return True

    def _mark_expressions(self, start: npt.NDArray[np.int64], blob: npt.NDArray[np.uint8], stop: int) -> None:
        automaton, codes = self._index.expressions, self._index.expression_codes
        assert automaton is not None
        raw, base = blob[start[self._next] : start[stop]].tobytes(), int(start[self._next])
        bounds = (start[self._next : stop + 1] - base).tolist()
        for document in range(self._next, stop):
            number = document - self._next
            for rule in automaton.Match(raw[bounds[number] : bounds[number + 1]]) or ():
                self.codes[document] = kernels.merge_codes(int(self.codes[document]), codes[rule])

    def blocked(self) -> npt.NDArray[np.bool_]:
        """Return which documents are blocked."""
        allowed = (self.codes & kernels.ALLOWED) != 0
        blocked: npt.NDArray[np.bool_] = ((self.codes & kernels.BLOCKED) != 0) & ~allowed
        return blocked | (self.codes == 0) if self._index.blocks_others else blocked

    def factors(self) -> npt.NDArray[np.float32]:
        """Return what scores are multiplied by; empty where no document is raised or lowered."""
        if not self._index.scores or not (self.codes >> kernels.RAISE_SHIFT).any():
            return np.zeros(0, np.float32)
        factors: npt.NDArray[np.float32] = _FACTORS[
            (self.codes >> kernels.RAISE_SHIFT) & 15, (self.codes >> kernels.LOWER_SHIFT) & 15
        ]
        return factors


class _SegmentRules:
    """What all rule sets of a query make of a segment."""

    def __init__(self, segment: Segment, rules: "ActiveRules") -> None:
        self.lock = threading.Lock()
        self._open = [_Resolution(segment, index_rules(own)) for own in rules.sets]
        self._scores = not rules.blocks_only
        self.blocked: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.factors: npt.NDArray[np.float32] = np.zeros(0, np.float32)
        self._block_factors = self.factors
        self._postings: tuple[npt.NDArray[np.uint64], PinnedArrays[PostingsReader]] | None = None
        self.is_complete = False

    @property
    def bytes(self) -> int:
        """Memory that it takes, about."""
        return 16 * len(self.blocked) + 4 * len(self.factors) + 1

    def advance(self, segment: Segment, late: Late) -> bool:
        """Resolve further documents until it is late; return whether all are resolved."""
        with self.lock:
            if not self.is_complete and all(own.advance(segment, late) for own in self._open):
                self._join(segment.documents)
            return self.is_complete

    def _join(self, documents: int) -> None:
        self.blocked = np.zeros(documents, np.bool_)
        for own in self._open:
            self.blocked |= own.blocked()
            factors = own.factors() if self._scores else self.factors[:0]
            if len(factors):
                self.factors = self.factors * factors if len(self.factors) else factors
        if len(self.factors):
            self.factors = np.clip(self.factors, 1 / _MAX_FACTOR, _MAX_FACTOR).astype(np.float32)
            blocks = np.zeros(-(-documents // BLOCK) * BLOCK, np.float32)
            blocks[:documents] = np.where(self.blocked, np.float32(1 / _MAX_FACTOR), self.factors)
            self._block_factors = blocks.reshape(-1, BLOCK).max(axis=1)
        self._open, self.is_complete = [], True

    def postings(self, segment: Segment) -> PinnedArrays[PostingsReader]:
        """Return the postings of the segment, as if blocked documents were deleted."""
        last = self._postings
        if last is None or last[0] is not segment.live:
            blocked = np.zeros(len(segment.live) * BLOCK, np.uint8)
            blocked[: segment.documents] = self.blocked
            live = segment.live & ~np.packbits(blocked, bitorder="little").view(np.uint64)
            pinned = pin(segment.postings._replace(live=live, factor=self.factors, block_factor=self._block_factors))
            last = self._postings = segment.live, pinned
        return last[1]


class _Cache:
    """What was resolved last, by segment and rule sets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._segments: WeakKeyDictionary[Segment, OrderedDict[tuple[object, ...], _SegmentRules]] = WeakKeyDictionary()

    def get(self, segment: Segment, rules: "ActiveRules") -> _SegmentRules:
        with self._lock:
            own = self._segments.setdefault(segment, OrderedDict())
            found = own.get(rules.key)
            if found is not None:
                own.move_to_end(rules.key)
                return found
        made = _SegmentRules(segment, rules)
        with self._lock:
            found = own.setdefault(rules.key, made)
            while len(own) > 1 and sum(item.bytes for item in own.values()) > _MOST_BYTES:
                own.popitem(last=False)
            return found

    def clear(self) -> None:
        with self._lock:
            self._segments.clear()


_CACHE: Final = _Cache()


def forget_resolved() -> None:
    """Forget what was resolved, to measure how long it takes."""
    _CACHE.clear()


class ActiveRules:
    """The rule sets that count for a query. A page is blocked if any set blocks it; factors are multiplied."""

    def __init__(self, sets: Sequence[RuleSet], *, blocks_only: bool = False) -> None:
        self.sets = tuple(sets)
        self.blocks_only = blocks_only
        """Whether pages are blocked only, and scores stay as they are."""
        self.key = (*(own.id for own in self.sets), blocks_only)

    @property
    def scores(self) -> bool:
        """Whether any page may be raised or lowered."""
        return not self.blocks_only and any(index_rules(own).scores for own in self.sets)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the sets."""
        return tuple(own.id for own in self.sets)

    def postings(self, segment: Segment, late: Late = lambda: False) -> PinnedArrays[PostingsReader] | None:
        """Return the postings of a segment without what is blocked; None if it is late before all is resolved."""
        own = _CACHE.get(segment, self)
        return own.postings(segment) if own.is_complete or own.advance(segment, late) else None

    def are_allowed(self, segment: Segment, documents: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Return which documents are not blocked; none of a segment that is not resolved yet."""
        own = _CACHE.get(segment, self)
        return ~own.blocked[documents] if own.is_complete else np.zeros(len(documents), np.bool_)

    def factors(self, segment: Segment, documents: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        """Return what the scores of documents are multiplied by."""
        own = _CACHE.get(segment, self)
        return own.factors[documents] if len(own.factors) else np.ones(len(documents), np.float32)
