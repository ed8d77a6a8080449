"""The priority of processes: searches that are served on the same machine go before crawls, builds and embedding."""

import contextlib
import os
from typing import Final

__all__ = ["LOWEST", "lower_priority"]

_NICE: Final = 5
LOWEST: Final = 10
"""For work that nobody waits for."""


def lower_priority(nice: int = _NICE) -> None:
    """Lower the priority of this process, unless it is as low already; an idle machine does not notice it."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(nice, os.getpriority(os.PRIO_PROCESS, 0)))
