"""The priority of processes: searches that are served on the same machine go before crawls and builds."""

import contextlib
import os
from typing import Final

__all__ = ["lower_priority"]

_NICE: Final = 5


def lower_priority() -> None:
    """Lower the priority of this process, unless it is as low already; an idle machine does not notice it."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
