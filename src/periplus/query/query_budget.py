"""What one query may cost: bounds of its shape, work units that kernels charge, and one deadline for the whole path."""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["LIMITS", "UNBOUNDED_WORK", "QueryBudget", "QueryLimits"]

UNBOUNDED_WORK: Final = 1 << 62


class QueryLimits(NamedTuple):
    """Bounds of one query, whatever time there is for it."""

    words: int = 256
    """Plain words of one sequence; of these the rarest become leaves."""
    parts: int = 64
    """Operands of AND, OR and NOT together."""
    filters: int = 16
    """Sites, languages, content types, dates, links, prefixes and ranges, together; equal ones count once."""
    links: int = 8
    """Lookups among the backlinks."""
    phrases: int = 16
    """Phrases and NEAR chains."""
    phrase_words: int = 64
    """Words of all phrases and NEAR chains together."""
    prefix_terms: int = 256
    """Terms that one prefix stands for, the most frequent ones."""
    range_terms: int = 1_024
    """Terms that one range of numbers stands for, the most frequent ones."""
    expansions: int = 2_048
    """Terms that all prefixes and ranges of a query stand for together."""


LIMITS: Final = QueryLimits()


class QueryBudget:
    """The time and the work that are left to one query. Every stage of it charges the same budget.

    A work unit is about one posting or position that is decoded. Stages ask `late` before they begin what can be left
    out; kernels return after a bounded number of units, so that it is asked often enough.
    """

    def __init__(
        self,
        seconds: float = float("inf"),
        work: int = UNBOUNDED_WORK,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._deadline = clock() + seconds
        self.work_left = work
        self.spent = 0
        self.skipped: dict[str, None] = {}

    def seconds_left(self) -> float:
        """Return the seconds until the deadline, below 0 after it."""
        return self._deadline - self._clock()

    def charge(self, work: int) -> None:
        """Record work units that were done."""
        self.spent += work
        self.work_left -= work

    def late(self, work: int = 0) -> bool:
        """Charge some work units; return whether the time or the work of the query is used up."""
        self.charge(work)
        return self.work_left <= 0 or self._clock() > self._deadline

    def skips(self, stage: str) -> bool:
        """Return whether an optional stage has to be left out, and record that it was."""
        if not self.late():
            return False
        self.skipped[stage] = None
        return True
