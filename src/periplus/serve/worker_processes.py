"""Several processes that answer at one address, each with its own eyes on the same memory-mapped index."""

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from periplus.errors import PeriplusError
from periplus.serve.actions import Actions
from periplus.serve.api_keys import Keys
from periplus.serve.application import make_app
from periplus.serve.protocols import SearcherLike
from periplus.serve.server import Running, free_address
from periplus.settings import ServeSettings

__all__ = ["Opened", "run_processes"]

_LOOK_SECONDS: Final = 0.2
_READY_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0
_RESTS: Final = (0.0, 1.0, 5.0, 30.0)
"""Seconds to wait before a process that died is started again, by how often that happened lately."""


class Opened(NamedTuple):
    """What a process serves with."""

    searcher: SearcherLike
    actions: Actions
    keys: Keys


def run_processes(
    opener: Callable[..., Opened],
    arguments: tuple[Any, ...],
    settings: ServeSettings,
    on_ready: Callable[[str], None],
    opened: Opened | None = None,
) -> None:
    """Serve with `settings.workers` processes until Ctrl-C or SIGTERM; one that dies is replaced.

    opener: a function of some module, called with `arguments` in each process; opened: what it gave in this one, which
    the processes then share from the start where they can. No thread may run yet.
    """
    count = settings.workers or os.cpu_count() or 1
    address, port = free_address(settings.host, settings.port)
    threads = settings.threads or max(1, (os.cpu_count() or 1) // count)
    settings = msgspec.structs.replace(settings, port=port, threads=threads)
    with tempfile.TemporaryDirectory(prefix="periplus-") as figures:
        team = _Team(count, (settings, address, figures, count), partial(opener, *arguments), opened)
        with _stopping_on_signals(team):
            team.start()
            if team.wait_until_ready():
                on_ready(f"http://{f'[{address}]' if ':' in address else address}:{port}/")
            team.look_after()
        team.end()
        if team.failure:
            raise PeriplusError(team.failure)


class _Team:
    """The processes, by number."""

    def __init__(self, count: int, given: tuple[Any, ...], opener: Callable[[], Opened], opened: Opened | None) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._given = given
        self._opener = opener
        self._opened = opened if sys.platform == "linux" else None
        self._ready = [self._context.Event() for _ in range(count)]
        self._members: list[BaseProcess | None] = [None] * count
        self._fell: list[list[float]] = [[] for _ in range(count)]
        self.stopping = threading.Event()
        self.failure = ""

    def start(self) -> None:
        """Start all of them: as forks of this process, which has everything open, or else anew.

        Later this process has threads, which a fork would lack and whose locks it would have: those that replace others
        begin anew.
        """
        begun = multiprocessing.get_context("fork") if self._opened is not None else self._context
        for number in range(len(self._members)):
            self._start(number, begun, self._opened)
        self._opened = None

    def _start(self, number: int, context: Any, opened: Opened | None) -> None:
        given = (number, os.getpid(), self._ready[number], self._opener, opened, *self._given)
        member = context.Process(target=_work, args=given, name=f"periplus-serve-{number}")
        member.start()
        self._members[number] = member

    def wait_until_ready(self) -> bool:
        """Wait until all of them answer; say whether they do."""
        deadline = time.monotonic() + _READY_SECONDS
        while not self.stopping.is_set() and time.monotonic() < deadline:
            if all(ready.wait(0.02) for ready in self._ready):
                return True
            if any(member and member.exitcode for member in self._members):
                self.failure = "A process that should answer ended at once. See above."
                self.stopping.set()
        return False

    def look_after(self) -> None:
        """Replace those that die, until told to stop."""
        while not self.stopping.wait(_LOOK_SECONDS):
            for number, member in enumerate(self._members):
                if member is not None and not member.is_alive() and self._may_rise(number):
                    self._start(number, self._context, None)

    def _may_rise(self, number: int) -> bool:
        """Say whether a process that died may be started again now: later each time, if it keeps dying."""
        now, fell = time.monotonic(), self._fell[number]
        while fell and now - fell[0] > 2 * _RESTS[-1]:
            fell.pop(0)
        if fell and now - fell[-1] < _RESTS[min(len(fell), len(_RESTS) - 1)]:
            return False
        fell.append(now)
        return True

    def end(self) -> None:
        """Let all of them answer what they have and end; those that do not are killed."""
        members = [member for member in self._members if member is not None]
        for member in members:
            member.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for member in members:
            member.join(max(0.1, deadline - time.monotonic()))
            if member.is_alive():
                member.kill()
                member.join()


@contextlib.contextmanager
def _stopping_on_signals(team: _Team) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: team.stopping.set()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _work(
    number: int,
    parent: int,
    ready: Any,
    opener: Callable[[], Opened],
    opened: Opened | None,
    settings: ServeSettings,
    address: str,
    figures: str,
    count: int,
) -> None:
    """Serve in a child process; Ctrl-C is the parent's, which ends this one in good order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    opened = opened or opener()
    app = make_app(opened.searcher, settings, opened.actions, opened.keys, (Path(figures), number), count)
    running = Running(app, settings, address, settings.port)
    running.run(lambda _: ready.set(), numbers=(signal.SIGTERM,))


def _watch_parent(parent: int) -> None:
    """End when the parent is gone: a child that nobody looks after should not hold the port."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)
