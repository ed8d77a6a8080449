"""A file open for appending: bytes are buffered, then written at a fixed offset, so that a write can be retried."""

import contextlib
import os
from pathlib import Path

from periplus.files import disk_errors, write_range_again

__all__ = ["AppendFile"]


class AppendFile:
    """One file open for appending. `end` bytes are with the operating system; `size` also counts buffered ones."""

    def __init__(self, path: Path, end: int = 0, durable: int | None = None) -> None:
        """durable: how much of it is; what another process has written after that is written again before a sync."""
        self.path = path
        self.end = end
        self._synced = end if durable is None else min(durable, end)
        self._sync_failed = self._synced < end
        self._buffer = bytearray()
        with disk_errors(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if os.fstat(self._descriptor).st_size > end:
                os.ftruncate(self._descriptor, end)

    @property
    def size(self) -> int:
        """Bytes written and buffered."""
        return self.end + len(self._buffer)

    @property
    def buffered(self) -> int:
        """Bytes not yet handed to the operating system."""
        return len(self._buffer)

    def add(self, data: bytes) -> int:
        """Append `data` to the buffer and return its offset in the file. Nothing is written yet: this cannot fail."""
        offset = self.size
        self._buffer += data
        return offset

    def write(self) -> None:
        """Pass the buffer to the operating system. After a failure nothing is lost: call again."""
        if not self._buffer:
            return
        with disk_errors(self.path):
            try:
                self._write_all()
            except OSError:
                # A partly written tail is harmless, but truncating it returns space to a full disk.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self.end)
                raise
        self.end += len(self._buffer)
        self._buffer = bytearray()

    def _write_all(self) -> None:
        view = memoryview(self._buffer)
        written = 0
        while written < len(view):
            written += os.pwrite(self._descriptor, view[written:], self.end + written)

    def sync(self) -> None:
        """Write the buffer and make the file durable."""
        self.write()
        with disk_errors(self.path):
            if self._sync_failed:
                write_range_again(self._descriptor, self._synced, self.end)
            self._sync_failed = True
            os.fdatasync(self._descriptor)
        self._synced, self._sync_failed = self.end, False

    def close(self) -> None:
        """Close without writing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
