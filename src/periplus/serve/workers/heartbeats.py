"""Heartbeats of server processes: counters in shared memory by which their supervisor sees that they make progress.

A worker adds to one counter from its event loop, and to another while its searches come to an end. The supervisor adds
up the time in which it saw a counter stand still. Time in which it was stopped itself does not count: whoever stops the
whole group (Ctrl-Z) stops the workers as well.
"""

import mmap
import struct
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Beats", "Heartbeats", "ProgressWatch"]

_SLOT: Final = struct.Struct("=QQQ")
"""Of each worker: whether it is ready, beats of its event loop, beats of its searches."""
_MAX_STEP_SECONDS: Final = 1.0
"""Time between two looks of the supervisor that counts."""


class Beats(NamedTuple):
    """The counters of one worker."""

    ready: int
    loop: int
    searches: int


class Heartbeats:
    """The counters of all workers, in a file that all map into memory."""

    def __init__(self, path: Path, count: int, *, create: bool = False) -> None:
        if create:
            path.write_bytes(bytes(_SLOT.size * count))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _SLOT.size * count)

    def read(self, number: int) -> Beats:
        """Return the counters of a worker."""
        return Beats(*_SLOT.unpack_from(self._memory, _SLOT.size * number))

    def reset(self, number: int) -> None:
        """Set the counters of a worker to 0, before it starts."""
        _SLOT.pack_into(self._memory, _SLOT.size * number, 0, 0, 0)

    def set_ready(self, number: int) -> None:
        """Record that a worker answers requests."""
        beats = self.read(number)
        _SLOT.pack_into(self._memory, _SLOT.size * number, 1, beats.loop + 1, beats.searches + 1)

    def beat(self, number: int, searches: bool) -> None:
        """Record that the event loop of a worker runs, and that its searches come to an end, if they do."""
        beats = self.read(number)
        _SLOT.pack_into(self._memory, _SLOT.size * number, beats.ready, beats.loop + 1, beats.searches + searches)


class ProgressWatch:
    """Judges by its heartbeats whether one worker is stuck. Time is an argument."""

    def __init__(self, start_seconds: float, loop_seconds: float, search_seconds: float, now: float) -> None:
        """Watch a worker from its start on. The limits are those of starting, its event loop and its searches."""
        self._limits = (start_seconds, loop_seconds, search_seconds)
        self._beats = Beats(0, 0, 0)
        self._still = [0.0, 0.0, 0.0]
        self._now = now

    def check(self, beats: Beats, now: float) -> str:
        """Return what is stuck at this time: 'start', 'event loop', 'searches', or '' if nothing is."""
        step = max(0.0, min(_MAX_STEP_SECONDS, now - self._now))
        self._now = now
        for number, (before, current) in enumerate(zip(self._beats, beats, strict=True)):
            moved = current != before or (number == 0 and current)
            self._still[number] = 0.0 if moved else self._still[number] + step
        self._beats = beats
        if not beats.ready:
            return "start" if self._still[0] > self._limits[0] else ""
        if self._still[1] > self._limits[1]:
            return "event loop"
        return "searches" if self._still[2] > self._limits[2] else ""
