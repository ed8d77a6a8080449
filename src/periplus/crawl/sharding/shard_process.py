"""The process of one shard, as its supervisor manages it: start, supervision, restart."""

import contextlib
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Final

from periplus.crawl.crawl_status import CrawlStatus, read_status
from periplus.crawl.crawler import Crawler
from periplus.crawl.sharding.shard_router import ShardRouter
from periplus.crawl.sharding.topology import mailbox_dir
from periplus.errors import PeriplusError, ProcessFailed
from periplus.files import sweep_torn
from periplus.settings import Settings
from periplus.supervision import die_with_parent

__all__ = ["ShardProcess"]

_HEALTHY_AFTER: Final = 20.0
"""Seconds after which a process counts as started successfully."""
_MAX_FAILURES: Final = 5
"""Consecutive failed starts after which the crawl is aborted."""
_MAX_KILLS: Final = 100
"""The same, for processes that were killed from outside."""
_FIRST_DELAY: Final = 0.05
_STOP_TIMEOUT: Final = 30.0
_MAX_LOG_BYTES: Final = 1 << 20
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ShardProcess:
    """The process of one shard, restarted whenever it dies."""

    def __init__(
        self, folder: Path, settings: Settings, seeds: tuple[str, ...], number: int, shards: tuple[int, ...]
    ) -> None:
        self._folder, self._settings, self._seeds = folder, settings, seeds
        self._number, self._shards = number, shards
        self.log = mailbox_dir(folder, number) / "shard.log"
        self.last: CrawlStatus | None = None
        """Last status of the previous process, if there was one."""
        self._process = 0
        self._since = 0.0
        self._next = 0.0
        self._failures = self._kills = 0

    def keep_alive(self) -> bool:
        """Start the process if it is not running, after a delay if the last one failed; return whether it was started.

        Raise `ProcessFailed` if it has repeatedly failed immediately after its start.
        """
        self._reap()
        if self._process or time.monotonic() < self._next:
            return False
        # A status from an earlier run is not that of a process started here.
        self.last = read_status(mailbox_dir(self._folder, self._number)) if self._since else None
        self._since = time.monotonic()
        self._process = self._fork()
        return True

    def _reap(self) -> None:
        if not self._process:
            return
        number, status = os.waitpid(self._process, os.WNOHANG)
        if number:
            self._process = 0
            self._count_failure(os.waitstatus_to_exitcode(status))

    def _count_failure(self, code: int) -> None:
        """Count failed starts, and delay the next start exponentially; raise `ProcessFailed` if there were too many."""
        if time.monotonic() - self._since > _HEALTHY_AFTER:
            self._failures = self._kills = 0
        if code == -signal.SIGKILL:
            self._kills += 1
        elif code:
            self._failures += 1
            self._next = time.monotonic() + _FIRST_DELAY * 2**self._failures
        if self._failures >= _MAX_FAILURES or self._kills >= _MAX_KILLS:
            raise ProcessFailed(
                f"Shard {self._number} ended {max(self._failures, self._kills)} times in a row: {self._last_line()}",
                f"See {self.log}; nothing is lost, and the same command resumes the crawl.",
            )

    def _last_line(self) -> str:
        try:
            lines = self.log.read_text("utf-8", "replace").split("\n")
        except OSError:
            lines = []
        last_line = next((line for line in reversed(lines) if line.strip()), "")
        return last_line.strip()[:300] if self._failures >= _MAX_FAILURES and last_line else "it was killed."

    def status(self) -> CrawlStatus | None:
        """Return the status of the running process; None if it has not written one yet."""
        status = read_status(mailbox_dir(self._folder, self._number))
        return status if status is not None and self._process and status.process == self._process else None

    def send(self, number: int) -> None:
        """Send a signal to the process, if it is running."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process, number)

    def wait(self) -> None:
        """Wait for the process to end; one that takes too long is killed, which loses no data."""
        end = time.monotonic() + _STOP_TIMEOUT
        while self._process:
            number, _ = os.waitpid(self._process, os.WNOHANG)
            if number:
                self._process = 0
            elif time.monotonic() > end:
                self.send(signal.SIGKILL)
                end += _STOP_TIMEOUT
            else:
                time.sleep(0.01)

    def _fork(self) -> int:
        supervisor = os.getpid()
        # A signal that arrives before the child has installed its handlers stays pending.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            child = os.fork()
        finally:
            if os.getpid() == supervisor:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        if child:
            return child
        code = 1
        try:
            self._redirect()
            self._crawl(supervisor)
            code = 0
        except PeriplusError as error:
            sys.stderr.write(f"periplus: {error}\n")
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(code)

    def _redirect(self) -> None:
        """Redirect standard output and standard error to the log."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            if self.log.stat().st_size > _MAX_LOG_BYTES:
                self.log.unlink()
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.close(descriptor)
        sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)

    def _crawl(self, supervisor: int) -> None:
        """Crawl until the end, a signal, or the death of the supervisor."""
        for number in (signal.SIGINT, signal.SIGHUP):  # the supervisor heeds them
            signal.signal(number, signal.SIG_IGN)
        signals: list[int] = []

        def record_signal(number: int, frame: FrameType | None) -> None:
            signals.append(number)

        signal.signal(signal.SIGTERM, record_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        die_with_parent(supervisor, signal.SIGTERM, _STOP_TIMEOUT)
        sweep_torn(mailbox_dir(self._folder, self._number) / "inbox")
        shard = ShardRouter(self._folder, self._number, self._shards, self._settings.store)
        with Crawler(self._folder, self._settings, self._seeds, shard) as crawler:
            performed = 0
            while crawler.step():
                requested = max(len(signals), os.getppid() != supervisor)
                while performed < requested:
                    performed += 1
                    crawler.stop()
