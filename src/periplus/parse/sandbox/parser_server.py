"""The process that starts the workers: it has one thread, loads every parser once, and forks.

It reads no document itself. A worker that it forks has all libraries and kernels in memory that it shares with the
others, so that replacing one takes milliseconds. The server ends when the crawl that started it closes its socket.
"""

import gc
import os
import select
import signal
import socket
import sys
from codecs import lookup
from contextlib import suppress
from encodings.aliases import aliases
from typing import Final

from periplus.accel import load_imported
from periplus.parse.sandbox.parse_job import COMMAND, KILL, REPORT, START
from periplus.parse.sandbox.parser_worker import ignore_signals, parse_job, serve_documents
from periplus.parse.sandbox.process_limits import die_with_parent
from periplus.parse.sandbox.warmup_documents import warmup_jobs

__all__ = ["run_server"]

_FIRST_STANDARD: Final = 3
"""Descriptors below this one are standard input, output and error."""


def run_server(descriptor: int, parent: int, memory_mb: int) -> None:
    """Start and end workers as the process at the other end of the socket commands, until that is closed."""
    die_with_parent(parent)
    ignore_signals()
    _load_everything()
    with socket.socket(fileno=descriptor) as control:
        _Server(control, memory_mb).run()


def _load_everything() -> None:
    """Load all that a worker needs, which cannot open any file: libraries, kernels, the tables of every charset."""
    for name in set(aliases.values()):
        with suppress(LookupError):
            lookup(name)
    for job in warmup_jobs():
        parse_job(job)
    load_imported()  # Most documents do not need all kernels, so that those above do not either.
    gc.collect()
    gc.freeze()


class _Server:
    """The workers by their process identifier, and the socket that commands come from."""

    def __init__(self, control: socket.socket, memory_mb: int) -> None:
        self._control = control
        self._memory_mb = memory_mb
        self._workers: dict[int, int] = {}
        """Numbers of workers by process identifier."""
        self._wakeup, self._signals = socket.socketpair()
        for end in (self._wakeup, self._signals):
            end.setblocking(False)
        signal.set_wakeup_fd(self._signals.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        self._report(0, 0, 0)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._wakeup.fileno() in ready:
                with suppress(BlockingIOError):
                    self._wakeup.recv(4096)
                self._reap()
            if self._control.fileno() in ready and not self._obey():
                return

    def _obey(self) -> bool:
        """Follow one command; return False if there will be no more."""
        message, descriptors, _, _ = socket.recv_fds(self._control, COMMAND.size, 1)
        if len(message) < COMMAND.size:
            return False
        command, number = COMMAND.unpack(message)
        if command == START and descriptors:
            self._start(number, descriptors[0])
        elif command == KILL:
            for process, worker in self._workers.items():
                if worker == number:
                    os.kill(process, signal.SIGKILL)
        return True

    def _start(self, number: int, descriptor: int) -> None:
        server = os.getpid()
        try:
            process = os.fork()
        except OSError:
            os.close(descriptor)
            self._report(number, 0, 0)
            return
        if process == 0:
            self._become_worker(descriptor, server)
        os.close(descriptor)
        self._workers[process] = number

    def _become_worker(self, descriptor: int, server: int) -> None:
        """Parse documents in the new process, and end it."""
        code = 1
        try:
            die_with_parent(server)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(descriptor, _FIRST_STANDARD)
            os.closerange(_FIRST_STANDARD + 1, 1 << 16)
            serve_documents(_FIRST_STANDARD, self._memory_mb)
            code = 0
        finally:
            os._exit(code)

    def _reap(self) -> None:
        """Report every worker that has ended."""
        while self._workers:
            process, status, usage = os.wait4(-1, os.WNOHANG)
            if process == 0:
                return
            self._report(self._workers.pop(process), status, usage.ru_maxrss)

    def _report(self, number: int, status: int, peak_kb: int) -> None:
        with suppress(OSError):
            self._control.sendall(REPORT.pack(number, status, min(peak_kb, 2**32 - 1)))


def main() -> None:
    """Run the server with the descriptor, the parent and the memory limit of the command line."""
    run_server(*(int(argument) for argument in sys.argv[1:4]))
