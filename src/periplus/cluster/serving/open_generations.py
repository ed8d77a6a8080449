"""The generations of the index that a shard server has open: a new one beside the old, closed when nobody uses it."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from periplus.cluster.serving.shard_messages import GenerationHealth
from periplus.errors import BadInput, NothingHere

__all__ = ["OpenGenerations"]

Result = TypeVar("Result")
_MAX_OPEN: Final = 4
_GRACE_SECONDS: Final = 5.0
"""Time without a request after which a generation that is to be closed is closed: brokers may not know of the next."""


class _Generation:
    """One generation, and who uses it."""

    def __init__(self, shard: Any, close: Callable[[], None]) -> None:
        self.shard, self.close = shard, close
        self.running = 0
        self.last_used = time.monotonic()
        self.closing = False


class OpenGenerations:
    """Generations by number. Opening one takes long, and holds up nothing else."""

    def __init__(
        self, open_shard: Callable[[Path, int, int], tuple[Any, Callable[[], None]]], grace: float = _GRACE_SECONDS
    ) -> None:
        """open_shard: opens the shard in a folder, of a generation and position; returns it and what closes it."""
        self._open_shard, self._grace = open_shard, grace
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._generations: dict[int, _Generation] = {}

    def open(self, generation: int, folder: Path, position: int) -> None:
        """Open a generation; nothing happens if it is open. Raise `NothingHere` if the folder has no index."""
        with self._opening:
            with self._lock:
                present = self._generations.get(generation)
                if present is not None:
                    present.closing = False
                    return
                if len(self._generations) >= _MAX_OPEN:
                    raise BadInput(f"{_MAX_OPEN} generations are open already.", "Close one of them.")
            shard, close = self._open_shard(folder, generation, position)
            with self._lock:
                self._generations[generation] = _Generation(shard, close)

    def close(self, generation: int) -> None:
        """Close a generation once it was not used for a while; the last one stays open."""
        with self._lock:
            open_ones = [number for number, one in self._generations.items() if not one.closing]
            if generation in open_ones and len(open_ones) == 1:
                raise BadInput(f"Generation {generation} is the only one.", "Open another before closing it.")
            if generation in self._generations:
                self._generations[generation].closing = True

    def run(self, generation: int, use: Callable[[Any], Result]) -> Result:
        """Return what a function returns for the shard of a generation, which stays open meanwhile.

        Raise `NothingHere` if it is not open.
        """
        with self._lock:
            current = self._generations.get(generation)
            if current is None:
                raise NothingHere(f"Generation {generation} is not open.", "Ask by the newest serving table.")
            current.running += 1
        try:
            return use(current.shard)
        finally:
            with self._lock:
                current.running -= 1
                current.last_used = time.monotonic()

    def sweep(self) -> None:
        """Close what is to be closed and is not used any more."""
        now = time.monotonic()
        with self._lock:
            idle = [
                number
                for number, one in self._generations.items()
                if one.closing and not one.running and now - one.last_used >= self._grace
            ]
            closed = [self._generations.pop(number) for number in idle]
        for one in closed:
            one.close()

    def shards(self) -> list[Any]:
        """Return the shards of all generations."""
        with self._lock:
            return [one.shard for one in self._generations.values()]

    def close_all(self) -> None:
        """Close all generations."""
        with self._lock:
            generations = list(self._generations.values())
            self._generations.clear()
        for one in generations:
            one.close()

    def health(self) -> tuple[GenerationHealth, ...]:
        """Return what is open."""
        with self._lock:
            return tuple(
                GenerationHealth(number, one.shard.documents, one.shard.commit, one.running, one.closing)
                for number, one in sorted(self._generations.items())
            )
