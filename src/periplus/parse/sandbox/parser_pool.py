"""The pool of processes that parse documents, as a crawl uses it: documents go in, pages or faults come out.

    pool = ParserPool(settings)
    number = pool.submit(ParseJob(result, settings))
    for parsed in pool.poll(timeout): ...

Nothing here waits for a process, except `poll` for as long as it is told. A process that exceeds a limit, dies or sends
what cannot be a page is replaced; its document has a fault instead of a page. The processes start with the first
document and end with the pool, or with the process that has it, however that ends.
"""

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from periplus.errors import BadInput, ProcessFailed
from periplus.parse.sandbox.parse_job import COMMAND, KILL, REPORT, START, ParseJob, ParseReply
from periplus.parse.sandbox.worker_channel import Ticket, WorkerChannel
from periplus.records import Page
from periplus.settings import ParseSettings

__all__ = ["ParseObserver", "ParsedDocument", "ParserPool"]

_PROGRAM: Final = (
    "import os, sys; os.putenv('OPENBLAS_NUM_THREADS', '1'); sys.path[:] = {path!r}; "
    "from periplus.parse.sandbox.parser_server import main; main()"
)
_WALL_FACTOR: Final = 4.0
"""A document may take so many times `max_seconds` by the clock: other processes use the processor too."""
_SLOW_SECONDS: Final = 0.2
"""After which a document is reported as slow: few ordinary ones take so long."""
_MAX_ATTEMPTS: Final = 2
"""Of a document whose process was killed from outside, with little memory in use, or with the whole pool."""
_MAX_FAILURES: Final = 8
"""Consecutive failed starts after which the pool gives up."""
_START_SECONDS: Final = 300.0
"""For the server to start, and to compile kernels if it is the first to need them."""
_MAX_AUTOMATIC: Final = 4
_TICK: Final = 0.05
_CLOSE_SECONDS: Final = 5.0


class ParsedDocument(NamedTuple):
    """What became of a document."""

    number: int
    page: Page | None
    """None if there is a fault, or if no parser accepts the document."""
    fault: str
    image: bytes = b""
    """The thumbnail, if one was asked for."""


class ParseObserver(Protocol):
    """Is told before a document reaches a process, and when that takes long."""

    def started(self, number: int) -> None:
        """Record that a document is about to be parsed."""

    def slow(self, number: int) -> None:
        """Record that it is still being parsed after a while."""


class ParserPool:
    """Processes that parse, and the documents that wait for them."""

    def __init__(self, settings: ParseSettings, observer: ParseObserver | None = None) -> None:
        self._settings = settings
        self._observer = observer
        self._size = settings.processes or max(2, min(_MAX_AUTOMATIC, os.cpu_count() or 1))
        self._queue: deque[Ticket] = deque()
        self._workers: dict[int, WorkerChannel] = {}
        self._selector = selectors.DefaultSelector()
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._server_ready = False
        self._server_started = 0.0
        self._reports = bytearray()
        self._parsed: list[ParsedDocument] = []
        self._next_ticket = self._next_worker = 1
        self._failures = 0
        self._retry_at = 0.0
        self.replaced = 0
        """Processes that ended other than in the ordinary way."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def fileno(self) -> int:
        """Return a descriptor that is readable when `poll` has something to do."""
        return self._selector.fileno()

    def busy(self) -> int:
        """Return the number of documents that wait or are being parsed."""
        return len(self._queue) + sum(worker.ticket is not None for worker in self._workers.values())

    def mechanisms(self) -> tuple[str, ...]:
        """Return what limits the processes: 'rlimits', 'landlock', 'seccomp'; () before one has started."""
        return next((worker.mechanisms for worker in self._workers.values() if worker.mechanisms), ())

    def processes(self) -> list[int]:
        """Return the process identifier of the server, which is the parent of the others; [] if it does not run."""
        return [self._server.pid] if self._server is not None else []

    def submit(self, job: ParseJob) -> int:
        """Add a document; return its number, by which `poll` refers to it."""
        number, self._next_ticket = self._next_ticket, self._next_ticket + 1
        self._queue.append(Ticket(number, job))
        return number

    def parse(self, job: ParseJob) -> ParsedDocument:
        """Parse one document, and wait for it. No other document may be under way."""
        self.submit(job)
        while True:
            for parsed in self.poll(1.0):
                return parsed

    def poll(self, timeout: float = 0.0) -> list[ParsedDocument]:
        """Work for up to `timeout` seconds, or until a document is done; return what is done.

        Raise `ProcessFailed` if no process can be started.
        """
        end = time.monotonic() + timeout
        while True:
            self._assign()
            wait = max(0.0, end - time.monotonic())
            for key, events in self._selector.select(min(wait, _TICK) if self.busy() else 0.0):
                self._handle(key.data, events)
            self._check_times()
            self._assign()
            if self._parsed or not self.busy() or time.monotonic() >= end:
                parsed, self._parsed = self._parsed, []
                return parsed

    def close(self) -> list[int]:
        """End all processes; return the numbers of the documents that were being parsed."""
        unfinished = [worker.ticket.number for worker in self._workers.values() if worker.ticket is not None]
        self._queue.clear()
        self._stop_server()
        self._selector.close()
        return unfinished

    def _assign(self) -> None:
        """Hand waiting documents to idle processes; start more if there are too few."""
        if not self._queue:
            return
        for worker in self._workers.values():
            if self._queue and worker.is_idle:
                ticket = self._queue.popleft()
                if self._observer is not None:
                    self._observer.started(ticket.number)
                worker.assign(ticket)
                self._watch(worker)
        waiting = sum(worker.mechanisms is None for worker in self._workers.values())
        if len(self._queue) > waiting and len(self._workers) < self._size and time.monotonic() >= self._retry_at:
            try:
                self._start_worker()
            except OSError as error:
                self._count_failure(error.strerror or str(error))

    def _start_worker(self) -> None:
        if self._control is None:
            self._start_server()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        number, self._next_worker = self._next_worker, self._next_worker + 1
        with theirs:
            try:
                socket.send_fds(self._control, [COMMAND.pack(START, number)], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        worker = self._workers[number] = WorkerChannel(number, ours)
        self._selector.register(ours, selectors.EVENT_READ, worker)

    def _start_server(self) -> None:
        ours, theirs = socket.socketpair()
        arguments = (str(theirs.fileno()), str(os.getpid()), str(self._settings.max_memory_mb))
        with theirs:
            try:
                self._server = subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM.format(path=sys.path), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
        ours.setblocking(False)
        self._control, self._server_ready, self._server_started = ours, False, time.monotonic()
        self._reports.clear()
        self._selector.register(ours, selectors.EVENT_READ, None)

    def _handle(self, worker: WorkerChannel | None, events: int) -> None:
        if worker is None:
            self._read_reports()
            return
        if worker.number not in self._workers:
            return
        if events & selectors.EVENT_WRITE:
            worker.send()
        if events & selectors.EVENT_READ:
            self._read_reply(worker)
        if worker.number in self._workers:
            self._watch(worker)

    def _watch(self, worker: WorkerChannel) -> None:
        """Wait for room in a socket only while there is something to send, and for nothing at its end."""
        if worker.at_end:
            with suppress(KeyError):
                self._selector.unregister(worker.socket)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.has_unsent else 0)
        if self._selector.get_key(worker.socket).events != events:
            self._selector.modify(worker.socket, events, worker)

    def _read_reply(self, worker: WorkerChannel) -> None:
        try:
            reply = worker.receive()
        except BadInput as error:
            self._kill(worker, error.message)
            return
        if worker.mechanisms is not None:
            self._failures = 0
        if reply is not None and worker.ticket is not None and not worker.kill_reason:
            self._finish(worker, reply)
        if worker.at_end:
            # A process that closes its socket has to end too.
            self._command(KILL, worker)
            self._remove_if_ended(worker)

    def _finish(self, worker: WorkerChannel, reply: ParseReply) -> None:
        assert worker.ticket is not None
        self._parsed.append(ParsedDocument(worker.ticket.number, reply.page, reply.fault, reply.image))
        worker.ticket = None

    def _read_reports(self) -> None:
        """Read which processes have ended; if the server has, all have."""
        assert self._control is not None
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_server()
            return
        self._reports += data
        while len(self._reports) >= REPORT.size:
            number, status, peak_kb = REPORT.unpack_from(self._reports)
            del self._reports[: REPORT.size]
            worker = self._workers.get(number)
            if worker is not None:
                worker.exit_status, worker.peak_kb = status, peak_kb
                self._read_reply(worker)
                self._remove_if_ended(worker)
            self._server_ready |= number == 0

    def _remove_if_ended(self, worker: WorkerChannel) -> None:
        """Remove a process of which both the last byte and the end have arrived; its document has a fault."""
        if not worker.at_end or worker.exit_status is None or worker.number not in self._workers:
            return
        del self._workers[worker.number]
        with suppress(KeyError):
            self._selector.unregister(worker.socket)
        worker.socket.close()
        if worker.ticket is not None:
            self.replaced += 1
            if self._is_innocent(worker):
                self._queue.appendleft(worker.ticket)
            else:
                self._parsed.append(
                    ParsedDocument(worker.ticket.number, None, worker.describe_end(self._settings.max_memory_mb))
                )
        elif worker.mechanisms is None:
            self._count_failure("a process ended before it was ready")

    def _is_innocent(self, worker: WorkerChannel) -> bool:
        """Return whether a process was probably killed from outside: its document gets another attempt."""
        assert worker.ticket is not None
        killed = worker.exit_status in (0, signal.SIGKILL) and not worker.kill_reason
        small = worker.used_mb < self._settings.max_memory_mb / 2
        return killed and small and worker.ticket.attempts < _MAX_ATTEMPTS

    def _lose_server(self) -> None:
        """Put the documents that were being parsed back into the queue, and start anew."""
        was_ready = self._server_ready
        tickets = [worker.ticket for worker in self._workers.values() if worker.ticket is not None]
        self._stop_server()
        for ticket in tickets:
            if ticket.attempts < _MAX_ATTEMPTS:
                self._queue.appendleft(ticket)
            else:
                self._parsed.append(ParsedDocument(ticket.number, None, "ended all parsers"))
        self.replaced += 1
        self._count_failure("the process that starts them ended" + ("" if was_ready else " before it was ready"))

    def _stop_server(self) -> None:
        for worker in self._workers.values():
            with suppress(KeyError):
                self._selector.unregister(worker.socket)
            worker.socket.close()
        self._workers.clear()
        if self._control is not None:
            self._selector.unregister(self._control)
            self._control.close()
            self._control = None
        if self._server is not None:
            try:
                self._server.wait(_CLOSE_SECONDS if self._server_ready else 0.0)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None

    def _check_times(self) -> None:
        """Kill what takes too long, and report what takes long."""
        now = time.monotonic()
        limit = _WALL_FACTOR * self._settings.max_seconds
        for worker in self._workers.values():
            if worker.ticket is None:
                continue
            if now - worker.started > limit and not worker.kill_reason:
                self._kill(worker, "takes longer than parse.max_seconds allows")
            elif now - worker.started > _SLOW_SECONDS and not worker.reported_slow:
                worker.reported_slow = True
                if self._observer is not None:
                    self._observer.slow(worker.ticket.number)
        if self._server is not None and not self._server_ready and now - self._server_started > _START_SECONDS:
            self._server.kill()

    def _kill(self, worker: WorkerChannel, reason: str) -> None:
        worker.kill_reason = worker.kill_reason or reason
        self._command(KILL, worker)

    def _command(self, command: bytes, worker: WorkerChannel) -> None:
        if self._control is not None and worker.exit_status is None:
            with suppress(OSError):
                self._control.send(COMMAND.pack(command, worker.number))

    def _count_failure(self, reason: str) -> None:
        """Delay the next start; raise `ProcessFailed` after too many failures in a row."""
        self._failures += 1
        self._retry_at = time.monotonic() + min(5.0, _TICK * 2**self._failures)
        if self._failures >= _MAX_FAILURES:
            raise ProcessFailed(
                f"The processes that parse documents do not start: {reason}.",
                "Check free memory, process limits and parse.max_memory_mb.",
            )
