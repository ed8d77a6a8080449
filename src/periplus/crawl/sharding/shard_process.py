"""The process of one shard, as its supervisor sees it: started, looked after, started again."""

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
from periplus.settings import Settings

__all__ = ["ShardProcess"]

_WELL: Final = 20.0
"""A process that has lived so many seconds had a good start."""
_FAILURES: Final = 5
"""Bad starts in a row, after which there is no use in another one."""
_KILLS: Final = 100
"""The same, of processes that others have killed."""
_REST: Final = 0.05
_END: Final = 30.0
_LONGEST_LOG: Final = 1 << 20
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class ShardProcess:
    """One shard's process, and the next one when it dies."""

    def __init__(
        self, folder: Path, settings: Settings, seeds: tuple[str, ...], number: int, shards: tuple[int, ...]
    ) -> None:
        self._folder, self._settings, self._seeds = folder, settings, seeds
        self._number, self._shards = number, shards
        self.log = mailbox_dir(folder, number) / "shard.log"
        self.last: CrawlStatus | None = None
        """What the process before said last, where there was one."""
        self._process = 0
        self._since = 0.0
        self._next = 0.0
        self._failures = self._kills = 0

    def keep_alive(self) -> bool:
        """Start the process when there is none, after a pause when the last one failed; tell whether it was started.

        Raise `ProcessFailed` when it has failed at once again and again.
        """
        self._reap()
        if self._process or time.monotonic() < self._next:
            return False
        # What an earlier run has left behind is not of one that we started.
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
            self._judge(os.waitstatus_to_exitcode(status))

    def _judge(self, code: int) -> None:
        """Count bad starts; the more of them, the longer until the next."""
        if time.monotonic() - self._since > _WELL:
            self._failures = self._kills = 0
        if code == -signal.SIGKILL:
            self._kills += 1
        elif code:
            self._failures += 1
            self._next = time.monotonic() + _REST * 2**self._failures
        if self._failures >= _FAILURES or self._kills >= _KILLS:
            raise ProcessFailed(
                f"Shard {self._number} ended {max(self._failures, self._kills)} times in a row: {self._last_line()}",
                f"See {self.log}; nothing is lost, the same command goes on.",
            )

    def _last_line(self) -> str:
        try:
            lines = self.log.read_text("utf-8", "replace").split("\n")
        except OSError:
            lines = []
        said = next((line for line in reversed(lines) if line.strip()), "")
        return said.strip()[:300] if self._failures >= _FAILURES and said else "it was killed."

    def status(self) -> CrawlStatus | None:
        """Give what the process that runs now says of itself; None when it has said nothing yet."""
        found = read_status(mailbox_dir(self._folder, self._number))
        return found if found is not None and self._process and found.process == self._process else None

    def send(self, number: int) -> None:
        """Send a signal."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process, number)

    def wait(self) -> None:
        """Wait for the end; a process that takes too long is killed, which loses nothing but its time."""
        end = time.monotonic() + _END
        while self._process:
            number, _ = os.waitpid(self._process, os.WNOHANG)
            if number:
                self._process = 0
            elif time.monotonic() > end:
                self.send(signal.SIGKILL)
                end += _END
            else:
                time.sleep(0.01)

    def _fork(self) -> int:
        supervisor = os.getpid()
        # A signal that comes before the child is ready for it waits until then.
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
        """Let all that is said go to the log."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            if self.log.stat().st_size > _LONGEST_LOG:
                self.log.unlink()
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.close(descriptor)
        sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)

    def _crawl(self, supervisor: int) -> None:
        """Crawl until told to stop, or until nobody is there who could tell."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        told: list[int] = []

        def tell(number: int, frame: FrameType | None) -> None:
            told.append(number)

        signal.signal(signal.SIGTERM, tell)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        shard = ShardRouter(self._folder, self._number, self._shards, self._settings.store)
        with Crawler(self._folder, self._settings, self._seeds, shard) as crawler:
            stops = 0
            while crawler.step():
                wanted = len(told) + (os.getppid() != supervisor)
                while stops < wanted:
                    stops += 1
                    crawler.stop()
