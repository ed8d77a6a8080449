"""The shim of fault_shim.c: building it, and the block of shared memory that controls it."""

import contextlib
import ctypes
import errno
import mmap
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from enum import IntFlag
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("fault_shim.c")
SHORT_WRITE = -1
_MAGIC = 0x46415554
_FIELDS = struct.Struct("<IiIiiiiiii1024s1024s1024s")
_NUMBERS = struct.Struct("<IiIiiiiiii")
_FAILED_AT = _NUMBERS.size + 2048


class Calls(IntFlag):
    """Kinds of calls that can fail."""

    OPEN = 1
    CREATE = 2
    READ = 4
    WRITE = 8
    SYNC = 16
    RENAME = 32
    TRUNCATE = 64
    UNLINK = 128
    MMAP = 256
    LINK = 512
    MKDIR = 1024


class FaultKind(NamedTuple):
    """A way in which a disk, or a process, fails: which calls, and how."""

    name: str
    calls: Calls
    error: int
    persistent: bool = False


_CHANGES = Calls.CREATE | Calls.WRITE | Calls.TRUNCATE | Calls.MKDIR | Calls.RENAME | Calls.LINK | Calls.SYNC

FAULT_KINDS = (
    FaultKind("disk full", _CHANGES, errno.ENOSPC, persistent=True),
    FaultKind("disk full once", _CHANGES, errno.ENOSPC),
    FaultKind("I/O error", Calls(2047), errno.EIO),
    FaultKind("no descriptors", Calls.OPEN, errno.EMFILE),
    FaultKind("no descriptors for long", Calls.OPEN, errno.EMFILE, persistent=True),
    FaultKind("short write", Calls.WRITE, SHORT_WRITE, persistent=True),
    FaultKind("interrupted", Calls.OPEN | Calls.READ | Calls.WRITE, errno.EINTR),
    FaultKind("failed sync", Calls.SYNC, errno.EIO),
    FaultKind("failed rename", Calls.RENAME, errno.EIO),
)


def find_compiler() -> str | None:
    """Return a C compiler, None if there is none."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def build_shim(folder: Path) -> Path:
    """Compile the shim into `folder`, and return the path of the library."""
    compiler = find_compiler()
    assert compiler is not None
    library = folder / "fault_shim.so"
    command = [compiler, "-std=gnu11", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
    return library


def preload_environment(library: Path, control: Path | None = None) -> dict[str, str]:
    """Return the environment of a process with the shim."""
    extra = {"PERIPLUS_FAULT_CONTROL": str(control)} if control else {}
    return {**os.environ, "LD_PRELOAD": str(library), **extra}


class Control:
    """The control block of a shim, in a file that the process under test has mapped as well."""

    def __init__(self, path: Path, folder: Path, log: Path | None = None, kind: FaultKind | None = None, nth: int = 0):
        self.path = path
        armed = kind is not None
        calls, error, persistent = (kind.calls, kind.error, kind.persistent) if kind else (0, 0, False)
        texts = (str(folder.resolve()).encode(), str(log or "").encode(), b"")
        path.write_bytes(_FIELDS.pack(_MAGIC, armed, calls, error, nth, persistent, 0, 0, log is not None, 0, *texts))
        with path.open("r+b") as file:
            self._block = mmap.mmap(file.fileno(), 0)

    def _numbers(self) -> tuple[int, ...]:
        return _NUMBERS.unpack_from(self._block)

    @property
    def count(self) -> int:
        """Calls so far that could have failed."""
        return self._numbers()[6]

    @property
    def fired(self) -> int:
        """Calls that failed."""
        return self._numbers()[7]

    @property
    def unseen_writers(self) -> int:
        """Writable shared mappings and C streams below the folder, whose writes are not recorded."""
        return self._numbers()[9]

    @property
    def failed_path(self) -> str:
        """The file at which a call failed last."""
        return self._block[_FAILED_AT : _FAILED_AT + 1024].split(b"\0")[0].decode("utf-8", "replace")

    def arm(self, kind: FaultKind, nth: int) -> None:
        """Fail the nth matching call from now on."""
        struct.pack_into("<Iiiiii", self._block, 8, kind.calls, kind.error, nth, kind.persistent, 0, 0)
        struct.pack_into("<i", self._block, 4, 1)

    def disarm(self) -> None:
        """Fail no more calls."""
        struct.pack_into("<i", self._block, 4, 0)

    def close(self) -> None:
        """Release the block; a process that has it mapped keeps it."""
        self._block.close()
        with contextlib.suppress(OSError):
            self.path.unlink()


class Shim:
    """The shim within this process, which was started with it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)

    def attach(self, control: Path) -> None:
        """Follow this control block from now on."""
        if self._library.fault_attach(str(control).encode()):
            raise OSError(f"cannot attach {control}")

    def mark(self, text: str) -> None:
        """Append a mark to the log."""
        self._library.fault_mark(text.encode())


@contextlib.contextmanager
def controlled(
    path: Path, folder: Path, log: Path | None = None, kind: FaultKind | None = None, nth: int = 0
) -> Iterator[Control]:
    """Yield a control block that is removed afterwards."""
    control = Control(path, folder, log, kind, nth)
    try:
        yield control
    finally:
        control.close()
