"""The memory of a process that is its own, not mapped from files, sampled while something runs (T5b)."""

import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_PAUSE = 0.05
"""Seconds between two samples."""


class OwnMemory:
    """Samples this process's own memory while it is entered; `peak_mb` and `grown_mb` are known afterwards."""

    def __init__(self) -> None:
        self.before_mb = self.peak_mb = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    @property
    def grown_mb(self) -> float:
        """By how much it exceeded what there was before, at most."""
        return self.peak_mb - self.before_mb

    def __enter__(self) -> Self:
        self.before_mb = self.peak_mb = _own_mb()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(_PAUSE):
            self.peak_mb = max(self.peak_mb, _own_mb())


def _own_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit("This system does not say how much memory is not mapped from files.")


def grown_mb(work: Callable[..., Any], *arguments: Any) -> float:
    """Return by how much the own memory of a process grows at most that does this and nothing before.

    The process is forked from this one, which must not have started threads.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_report_growth, args=(sender, work, *arguments))
    child.start()
    sender.close()
    try:
        grown: float = receiver.recv()
    except EOFError:
        raise SystemExit("A process whose memory was measured ended with an error.") from None
    finally:
        child.join()
    return grown


def _report_growth(sender: Connection, work: Callable[..., Any], *arguments: Any) -> None:
    with OwnMemory() as memory:
        work(*arguments)
    sender.send(memory.grown_mb)
