"""Run a fake web in the background: in a thread for tests, in a separate process for crawls."""

import asyncio
import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from periplus.errors import MissingPart, PeriplusError
from periplus.fakeweb.fake_web import FakeWeb
from periplus.fakeweb.fake_web_plan import FakeWebPlan
from periplus.fakeweb.server.listener import bind_addresses, serve
from periplus.fakeweb.server.request_log import RequestCounts, RequestLog
from periplus.files import write_atomically

__all__ = ["FakeWebProcess", "FakeWebServer", "run_in_process", "run_in_thread"]

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 5.0


class FakeWebServer:
    """A web served by a thread of this process."""

    def __init__(self, web: FakeWeb, port: int, log: RequestLog) -> None:
        self.web = web
        self.port = port
        self._log = log

    def hosts_file_text(self) -> str:
        """Return the lines 'ADDRESS:PORT NAME' for the crawler."""
        return self.web.hosts_file_text(self.port)

    def write_hosts_file(self, path: Path) -> None:
        """Write these lines to a file."""
        write_atomically(path, self.hosts_file_text().encode())

    def requests(self) -> RequestCounts:
        """Return the requests so far."""
        return self._log.read()

    def advance(self, ticks: int = 1) -> None:
        """Advance the time of the web."""
        self.web.advance(ticks)


@contextlib.contextmanager
def run_in_thread(web: FakeWeb, port: int = 0, *, log: bool = False) -> Iterator[FakeWebServer]:
    """Serve `web` from a thread while the block runs; with `log` every request is recorded."""
    sockets, actual_port = bind_addresses([address for _, address in web.hosts], port)
    requests = RequestLog(keep=log)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=_run_loop, args=(loop, serve(web, sockets, requests, stop)), daemon=True)
    thread.start()
    try:
        yield FakeWebServer(web, actual_port, requests)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(_STOP_SECONDS)


def _run_loop(loop: asyncio.AbstractEventLoop, job: Any) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(job)
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    finally:
        loop.close()


class FakeWebProcess:
    """A web served by another process."""

    def __init__(self, port: int, hosts: str, seeds: tuple[str, ...], pipe: Connection) -> None:
        self.port = port
        self.seeds = seeds
        self._hosts = hosts
        self._pipe = pipe

    def hosts_file_text(self) -> str:
        """Return the lines 'ADDRESS:PORT NAME' for the crawler."""
        return self._hosts

    def requests(self) -> RequestCounts:
        """Return the requests so far."""
        answer = self._call(("requests", 0))
        assert isinstance(answer, RequestCounts)
        return answer

    def advance(self, ticks: int = 1) -> None:
        """Advance the time of the web."""
        self._call(("advance", ticks))

    def _call(self, command: tuple[str, int]) -> object:
        try:
            self._pipe.send(command)
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            raise MissingPart("The process that serves the fake web has ended.", "Start it again.") from error


@contextlib.contextmanager
def run_in_process(
    plan: FakeWebPlan, hosts_file: Path | None = None, port: int = 0, *, log: bool = False
) -> Iterator[FakeWebProcess]:
    """Serve the web of a plan from a separate process while the block runs.

    When the block begins, the server is listening and `hosts_file`, if given, has been written.
    """
    context = multiprocessing.get_context("spawn")
    parent_pipe, child_pipe = context.Pipe()
    process = context.Process(target=_serve_in_child, args=(plan, port, log, child_pipe), daemon=True)
    process.start()
    child_pipe.close()
    try:
        yield _await_ready(parent_pipe, hosts_file)
    finally:
        parent_pipe.close()
        process.join(_STOP_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()


def _await_ready(pipe: Connection, hosts_file: Path | None) -> FakeWebProcess:
    """Wait until the other process reports where it listens, or why it cannot."""
    try:
        first = pipe.recv() if pipe.poll(_START_SECONDS) else None
    except (EOFError, OSError):
        first = None
    if isinstance(first, PeriplusError):
        raise first
    if first is None:
        raise MissingPart("The process that should serve the fake web did not start.", "Try again with fewer pages.")
    port, hosts, seeds = first
    if hosts_file is not None:
        write_atomically(hosts_file, hosts.encode())
    return FakeWebProcess(port, hosts, seeds, pipe)


def _serve_in_child(plan: FakeWebPlan, port: int, log: bool, pipe: Connection) -> None:
    """Serve in this process until the pipe is closed; SIGINT is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        web = FakeWeb(plan)
        with run_in_thread(web, port, log=log) as server:
            pipe.send((server.port, server.hosts_file_text(), web.seeds))
            _answer_parent(server, pipe)
    except PeriplusError as error:
        pipe.send(error)


def _answer_parent(server: FakeWebServer, pipe: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            command, ticks = pipe.recv()
            if command == "advance":
                server.advance(ticks)
            pipe.send(server.requests() if command == "requests" else None)
