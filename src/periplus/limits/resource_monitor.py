"""Watch the limits in a thread, report them as parts of the program's health, and read what others reported."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from periplus.health import part, read_health
from periplus.limits.disk_limit import DiskLimit
from periplus.limits.memory_limit import MemoryLimit
from periplus.settings import LimitSettings
from periplus.supervision import supervised_thread

__all__ = ["DISK_PART", "MEMORY_PART", "ResourceMonitor", "pressure"]

DISK_PART: Final = "disk limit"
MEMORY_PART: Final = "memory limit"
_SECONDS: Final = 1.0


def pressure(folder: Path) -> str:
    """Return why a crawl in this data folder should pause, as a process of it has reported; '' if none has."""
    for reported in read_health(folder):
        if reported.name in (DISK_PART, MEMORY_PART) and reported.failing_since:
            return reported.error
    return ""


class ResourceMonitor:
    """Checks both limits and reports them. One process of a command has a monitor; the others read its reports."""

    def __init__(
        self,
        folder: Path,
        settings: LimitSettings,
        on_message: Callable[[str], None] = lambda text: None,
        on_memory: Callable[[], None] = lambda: None,
        disk: DiskLimit | None = None,
        memory: MemoryLimit | None = None,
    ) -> None:
        self.disk = disk or DiskLimit(folder, settings)
        self.memory = memory or MemoryLimit(settings)
        self._on_message, self._on_memory = on_message, on_memory
        self._reasons: dict[str, str] = {}

    def check(self) -> str:
        """Check both limits, report what has changed, and return why work should pause, '' if it need not."""
        memory = self.memory.pause_reason()
        if memory:
            self._on_memory()
        self._report(MEMORY_PART, memory)
        disk = self.disk.pause_reason()
        self._report(DISK_PART, disk)
        return disk or memory

    def _report(self, name: str, reason: str) -> None:
        before = self._reasons.get(name, "")
        self._reasons[name] = reason
        if reason and not before:
            part(name).fail(f"The crawl is paused. {reason}")
            self._on_message(f"periplus: the crawl is paused. {reason}")
        elif before and not reason:
            part(name).recover()
            self._on_message("The crawl goes on: there is room again.")

    @contextlib.contextmanager
    def running(self, seconds: float = _SECONDS) -> Iterator[None]:
        """Within the block, check in a thread."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(seconds):
                self.check()

        self.check()
        try:
            with supervised_thread("limits", watch, ended, patience=seconds * 10):
                yield
        finally:
            for name in self._reasons:
                part(name).recover()
