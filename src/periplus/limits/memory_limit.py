"""The memory limit: when the crawl pauses and caches are emptied."""

import os
from collections.abc import Callable
from typing import Final

from periplus.limits.process_memory import tree_memory
from periplus.settings import LimitSettings

__all__ = ["MemoryLimit"]

_NEAR: Final = 0.9
"""Share of the limit at which the crawl pauses."""
_CLEAR: Final = 0.8
"""Share below which it resumes."""


class MemoryLimit:
    """The limit of the memory of a process and all that it starts."""

    def __init__(
        self, settings: LimitSettings, root: int = 0, measure: Callable[[int, float], int] = tree_memory
    ) -> None:
        self.limit = settings.memory_mb * 1_000_000
        """In bytes; 0 is none."""
        self._root = root or os.getpid()
        self._measure = measure
        self._pausing = False

    def used(self) -> int:
        """Return the memory that is used; 0 if there is no limit, since it is not measured then."""
        return self._measure(self._root, self.limit * _CLEAR) if self.limit else 0

    def pause_reason(self) -> str:
        """Return why a crawl should pause, as a sentence; '' if there is enough memory.

        Once it was given, a reason remains until there is clearly more memory.
        """
        if not self.limit:
            return ""
        used = self.used()
        self._pausing = used >= self.limit * (_CLEAR if self._pausing else _NEAR)
        if not self._pausing:
            return ""
        return f"All processes use {used / 1e6:,.0f} MB of the {self.limit / 1e6:,.0f} MB of limits.memory_mb."
