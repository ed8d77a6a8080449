"""A file that only grows: bytes are collected, then written at a known end, so that a failed write can be repeated."""

import contextlib
import os
from pathlib import Path

from periplus.files import disk_errors

__all__ = ["AppendFile"]


class AppendFile:
    """One file open for appending. `end` bytes are with the operating system; `size` counts those still here too."""

    def __init__(self, path: Path, end: int = 0) -> None:
        self.path = path
        self.end = end
        self._waiting = bytearray()
        with disk_errors(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if os.fstat(self._descriptor).st_size > end:
                os.ftruncate(self._descriptor, end)

    @property
    def size(self) -> int:
        """Bytes written and waiting."""
        return self.end + len(self._waiting)

    @property
    def waiting(self) -> int:
        """Bytes not yet handed to the operating system."""
        return len(self._waiting)

    def add(self, data: bytes) -> int:
        """Take `data`; give the offset it will have. Nothing is written yet, so nothing can fail."""
        offset = self.size
        self._waiting += data
        return offset

    def write(self) -> None:
        """Hand what waits to the operating system. After a failure nothing is lost: call again."""
        if not self._waiting:
            return
        with disk_errors(self.path):
            try:
                self._write_all()
            except OSError:
                # A half-written tail is harmless, but a full disk is glad of the space.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self.end)
                raise
        self.end += len(self._waiting)
        self._waiting = bytearray()

    def _write_all(self) -> None:
        view = memoryview(self._waiting)
        done = 0
        while done < len(view):
            done += os.pwrite(self._descriptor, view[done:], self.end + done)

    def sync(self) -> None:
        """Write what waits and make it durable."""
        self.write()
        with disk_errors(self.path):
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Close without writing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
