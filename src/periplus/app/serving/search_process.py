"""Expensive queries in a process of their own, so that they share no interpreter with ordinary ones.

Threads of one process wait for each other's Python code, however low their priority is. So a searcher of a server hands
what runs in the lane of expensive queries to a child process. It is started when the first such query comes, and ends
by itself when none has come for some minutes; until it is ready, or when it fails, queries run here.
"""

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.priority import LOWEST, lower_priority
from periplus.errors import Overloaded, PeriplusError
from periplus.records import Query, ResultPage, SearchLimits
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.supervision import die_with_parent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

__all__ = ["IsolatingSearcher", "SearchProcess", "warm_up"]

_WARM_UP: Final = ("first", '"of the" firsst NEAR second', "firs* 1..2 site:first.test/first -second")
"""Queries that together need every kernel of a search."""
_REFRESH_SECONDS: Final = 0.2
_IDLE_SECONDS: Final = 600.0
_RESTART_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 1.0
"""Time beyond the limits of a query after which its process is killed."""


def warm_up(searcher: Searcher) -> None:
    """Run some searches that load kernels, then exempt what is there from garbage collection.

    A full collection traverses everything that was loaded, and no thread runs meanwhile: it took 60 ms, in the middle
    of some search. It finds next to nothing, so that there is none before the exemption either.
    """
    for words in _WARM_UP:
        searcher.search(Query(words, explain=words != _WARM_UP[0]))
    gc.freeze()


class IsolatingSearcher(Searcher):
    """A searcher that runs expensive queries, those with a limit of time and none of cost, in another process."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder, settings)
        self._process = SearchProcess(folder, settings)

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Return the answer to a query; raise `Overloaded` if the other process does not answer in time."""
        if limits is not None and limits.cost == float("inf") and limits.seconds < float("inf"):
            page = self._process.search(query, limits)
            if page is not None:
                return page
        return super().search(query, limits)


class SearchProcess:
    """A child process with a searcher of its own, which answers one query at a time."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._arguments = (folder, settings)
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._ready = False
        self._started = -_RESTART_SECONDS

    def search(self, query: Query, limits: SearchLimits) -> ResultPage | None:
        """Return the answer of the process; None if it is not ready, busy or gone."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._ask(query, limits) if self._is_ready() else None
        except (OSError, EOFError):
            self.close()
            return None
        finally:
            self._lock.release()

    def _is_ready(self) -> bool:
        """Return whether the process answers; start it if there is none."""
        if self._connection is None:
            if time.monotonic() - self._started >= _RESTART_SECONDS:
                self._start()
            return False
        if not self._ready and self._connection.poll(0):
            self._ready = self._connection.recv() == "ready"
        return self._ready

    def _start(self) -> None:
        self._started = time.monotonic()
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_answer, args=(os.getpid(), *self._arguments, other), daemon=True)
        self._process.start()
        other.close()  # so that its end is noticed

    def _ask(self, query: Query, limits: SearchLimits) -> ResultPage:
        assert self._connection is not None
        self._connection.send((query, limits))
        if not self._connection.poll(limits.seconds + _GRACE_SECONDS):
            self.close()
            raise Overloaded("The search took too long.", "Try a simpler query.")
        answer = self._connection.recv()
        if isinstance(answer, PeriplusError):
            raise answer
        assert isinstance(answer, ResultPage)
        return answer

    def close(self) -> None:
        """End the process."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join(_GRACE_SECONDS)
        self._connection, self._process, self._ready = None, None, False


def _answer(parent: int, folder: Path, settings: Settings, connection: "Connection") -> None:
    """Answer queries in the child process until the parent is gone, or none has come for some minutes."""
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority(LOWEST)
    with contextlib.suppress(OSError, EOFError, PeriplusError):  # without an answer, the parent answers itself
        searcher = Searcher.open(folder, settings)
        warm_up(searcher)
        connection.send("ready")
        refreshed = time.monotonic()
        while connection.poll(_IDLE_SECONDS):
            query, limits = connection.recv()
            try:
                if time.monotonic() - refreshed > _REFRESH_SECONDS:
                    searcher.refresh()
                    refreshed = time.monotonic()
                answer: ResultPage | PeriplusError = searcher.search(query, limits)
            except PeriplusError as error:
                answer = error
            connection.send(answer)
