"""How bytes get onto a disk so that a crash cannot tear them: atomic replacement, syncing, folder stamps and locks."""

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from periplus.errors import CorruptFile, DiskFailed, FolderInUse, NewerFormat, PeriplusError

__all__ = [
    "DATA_FORMAT",
    "DataFolder",
    "check_format",
    "decode_json",
    "disk_errors",
    "disk_failure",
    "is_data_folder",
    "lock_folder",
    "open_data_folder",
    "sweep_torn",
    "sync_folder",
    "write_atomically",
]

DATA_FORMAT: Final = 1
"""The format of a data folder; a folder with a higher number is refused, never guessed at."""

_STAMP: Final = "periplus.json"
_TORN: Final = re.compile(r"\..+\.(\d{1,10})\.new")
"""What a file is called while it is written, and by whom."""
_FORSAKEN: Final = 600.0
_T = TypeVar("_T")


class _Stamp(msgspec.Struct, frozen=True):
    format: int


class _Numbered(msgspec.Struct, frozen=True):
    format: int = 0


def check_format(path: Path, number: int, newest: int) -> None:
    """Raise `NewerFormat` for a file whose format number is above the newest that this version knows."""
    if number > newest:
        raise NewerFormat(f"{path} has format {number}; this Periplus knows {newest}.", "Upgrade Periplus.")


def decode_json(path: Path, data: bytes, kind: type[_T], newest: int, hint: str = "") -> _T:
    """Return the content of a JSON file with a `format`; a file without one is of format 0.

    Raise `NewerFormat` if that is above `newest`, and `CorruptFile`, with `hint`, if the file cannot be decoded.
    """
    try:
        check_format(path, msgspec.json.decode(data, type=_Numbered).format, newest)
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{path} is not readable: {error}.", hint) from error


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's complaints about a disk into one `DiskFailed` that names the file."""
    try:
        yield
    except OSError as error:
        raise disk_failure(path, error) from error


def disk_failure(path: Path, error: OSError) -> PeriplusError:
    """Return an error that says what the disk refused, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFailed(f"The disk is full: cannot write {path}.", "Free some space and run the same command again.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return DiskFailed(f"Not allowed to write {path}.", "Choose another folder with --folder, or change its rights.")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return DiskFailed(f"No such file or folder: {path}.", "Check the path.")
    if error.errno == errno.EISDIR:
        return DiskFailed(f"{path} is a folder, not a file.", "Choose another name.")
    return DiskFailed(f"The disk refused {path}: {error.strerror or error}.", "Check the disk.")


def sync_folder(folder: Path) -> None:
    """Make the folder's own entries (new names, renames) durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Write a whole file so that a reader, or a crash, sees either the old content or the new."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    with disk_errors(path):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


class DataFolder(msgspec.Struct, frozen=True):
    """The paths of the parts of a data folder; they need not exist."""

    path: Path

    @property
    def store(self) -> Path:
        """The pages: WARC files and fetch log."""
        return self.path / "store"

    @property
    def crawl(self) -> Path:
        """What a crawl needs to resume."""
        return self.path / "crawl"

    @property
    def graph(self) -> Path:
        """The link graph."""
        return self.path / "graph"

    @property
    def index(self) -> Path:
        """The index."""
        return self.path / "index"

    @property
    def models(self) -> Path:
        """The learned ranking models."""
        return self.path / "models"


def is_data_folder(folder: Path) -> bool:
    """Return whether a folder has the stamp of a data folder."""
    return (folder / _STAMP).exists()


def open_data_folder(folder: Path, *, create: bool) -> Path:
    """Check (or, with `create`, make) a data folder and its stamp; give the folder back."""
    for part in (folder, *folder.parents):
        if part.is_file():
            raise DiskFailed(f"{part} is a file, not a folder.", "Choose another folder with --folder.")
    stamp = folder / _STAMP
    if not stamp.exists():
        if create:
            with disk_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
            write_atomically(stamp, msgspec.json.encode(_Stamp(format=DATA_FORMAT)))
        return folder
    try:
        found = msgspec.json.decode(stamp.read_bytes(), type=_Stamp).format
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{stamp} is not readable: {error}.", 'Restore it: {"format": 1}.') from error
    if found > DATA_FORMAT:
        raise NewerFormat(
            f"{folder} was written by a newer Periplus (format {found}; this one knows {DATA_FORMAT}).",
            "Upgrade Periplus, or use another --folder.",
        )
    return folder


@contextlib.contextmanager
def lock_folder(folder: Path, purpose: str) -> Iterator[None]:
    """Hold the one writer's lock of `folder` for `purpose`; the lock dies with the process, however it ends."""
    path = folder / f".{purpose}.lock"
    with disk_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "another process"
            raise FolderInUse(
                f"{folder} is in use: process {owner} is busy with '{purpose}' there.",
                "Wait for it, stop it, or use another --folder.",
            ) from None
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        sweep_torn(folder)
        yield


def sweep_torn(folder: Path) -> None:
    """Remove files that a process had not finished to write when it was killed: they would stay for ever.

    Only where nobody has written to them for long: a process that we cannot see may be alive on another machine.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            torn = _TORN.fullmatch(name)
            if torn and not _lives(int(torn[1])):
                path = folder / name
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > _FORSAKEN:
                        path.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
