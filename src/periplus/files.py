"""How bytes get onto a disk so that a crash cannot tear them: atomic replacement, syncing, folder stamps and locks."""

import contextlib
import errno
import fcntl
import functools
import itertools
import os
import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from periplus.checksums import add_checksum, split_checksum
from periplus.errors import CorruptFile, DiskFailed, FolderInUse, NewerFormat, PeriplusError
from periplus.typed_decoding import parse_json

__all__ = [
    "DATA_FORMAT",
    "DataFolder",
    "LockHolder",
    "check_format",
    "close_in_children",
    "decode_json",
    "disk_errors",
    "disk_failure",
    "encode_json",
    "is_data_folder",
    "is_locked",
    "lock_folder",
    "lock_holder",
    "machine_id",
    "make_folder",
    "open_data_folder",
    "process_started",
    "read_file",
    "sweep_torn",
    "sync_folder",
    "temporary_path",
    "write_atomically",
    "write_range_again",
]

DATA_FORMAT: Final = 2
"""The format of a data folder; a folder with a higher number is refused, never guessed at. 2: files have checksums."""

_STAMP: Final = "periplus.json"
_STAMP_REMEDY: Final = 'Restore it: {"format": 1}, or run: periplus repair.'
_TORN: Final = re.compile(r"\.(?:.+\.m(?P<machine>[0-9a-f]{8})|.+)\.(?P<process>\d{1,10})\.new")
"""What a file is called while it is written, and by whom; earlier versions did not name the machine."""
_FORSAKEN: Final = 600.0
_T = TypeVar("_T")


class _Stamp(msgspec.Struct, frozen=True):
    format: int


class _Numbered(msgspec.Struct, frozen=True):
    format: int = 0


def check_format(path: Path | str, number: int, newest: int) -> None:
    """Raise `NewerFormat` for a file whose format number is above the newest that this version knows."""
    if number > newest:
        raise NewerFormat(f"{path} has format {number}; this Periplus knows {newest}.", "Upgrade Periplus.")


def encode_json(value: object, *, indent: int = 0) -> bytes:
    """Return a JSON object, which must have a `format`, with a checksum as its last member; see `checksums`."""
    encoded = msgspec.json.encode(value)
    return add_checksum(msgspec.json.format(encoded, indent=indent) if indent else encoded)


def decode_json(
    path: Path | str, data: bytes, kind: type[_T], newest: int, hint: str = "", *, checksum_since: int = 0
) -> _T:
    """Return the content of a JSON file with a `format`; a file without one is of format 0.

    Raise `NewerFormat` if that is above `newest`, and `CorruptFile`, with `hint`, if the file cannot be decoded or its
    checksum is wrong. Files of the format `checksum_since`, unless that is 0, and of later ones must have a checksum.
    """
    body, is_right = split_checksum(data)
    if is_right is False:
        raise CorruptFile(f"{path} is damaged: its checksum is wrong.", hint)
    try:
        number = parse_json(body, _Numbered).format
        check_format(path, number, newest)
        if is_right is None and 0 < checksum_since <= number:
            raise CorruptFile(f"{path} is damaged: it has no checksum.", hint)
        return parse_json(body, kind)
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
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return DiskFailed(f"Too many open files: cannot open {path}.", "Raise the limit: ulimit -n.")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return DiskFailed(f"No such file or folder: {path}.", "Check the path.")
    if error.errno == errno.EISDIR:
        return DiskFailed(f"{path} is a folder, not a file.", "Choose another name.")
    return DiskFailed(f"The disk refused {path}: {error.strerror or error}.", "Check the disk.")


def read_file(path: Path) -> bytes:
    """Return the content of a file; raise `FileNotFoundError`, or `DiskFailed` where it cannot be read now.

    A file that cannot be read (no descriptors, an error of the disk) is not damaged, and must not be replaced.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise disk_failure(path, error) from error


def sync_folder(folder: Path) -> None:
    """Make the folder's own entries (new names, renames) durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_range_again(descriptor: int, begin: int, end: int) -> None:
    """Write a part of a file again, so that the next sync covers it.

    When a sync fails, the system may drop what it could not write, and reports success for the next sync.
    """
    while begin < end:
        data = os.pread(descriptor, min(end - begin, 1 << 20), begin)
        if not data:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        begin += os.pwrite(descriptor, data, begin)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its missing parents so that they survive a power failure, as what is written there does."""
    missing = []
    for part in (folder, *folder.parents):
        if part.is_dir():
            break
        missing.append(part)
    for part in reversed(missing):
        part.mkdir(mode=mode, exist_ok=True)
        try:
            sync_folder(part.parent)
        except OSError:
            with contextlib.suppress(OSError):
                part.rmdir()  # the next attempt would take it for durable
            raise


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Write a whole file so that a reader, or a crash, sees either the old content or the new."""
    temporary = temporary_path(path)
    with disk_errors(path):
        # Opened before anything is changed: for lack of a descriptor, nothing should fail after the renaming.
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            os.fsync(folder)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(folder)


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
                make_folder(folder.parent)
                make_folder(folder, 0o700)  # what people publish, search and visit is not for other users
            write_atomically(stamp, encode_json(_Stamp(format=DATA_FORMAT)))
        return folder
    with disk_errors(stamp):
        decode_json(stamp, stamp.read_bytes(), _Stamp, DATA_FORMAT, _STAMP_REMEDY, checksum_since=2)
    return folder


class LockHolder(msgspec.Struct, frozen=True):
    """The process that holds a lock, as it has written itself into the lock file."""

    pid: int = 0
    since: float = 0.0
    """When it got the lock, in seconds since 1970."""
    activity: str = ""
    """What it does with the folder."""


@contextlib.contextmanager
def lock_folder(
    folder: Path, purpose: str, activity: str = "", *, shared_with_children: bool = False
) -> Iterator[None]:
    """Hold the lock of the only writer of `folder` for `purpose`; raise `FolderInUse`, which names the holder.

    The lock ends with this process, however that ends: forked children close their copy of the descriptor, unless
    `shared_with_children`; then it ends with the last of them.
    """
    path = folder / f".{purpose}.lock"
    with disk_errors(path):
        make_folder(folder)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    with close_in_children(descriptor, shared_with_children):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(folder, purpose, lock_holder(folder, purpose)) from None
        except OSError as error:
            raise disk_failure(path, error) from error
        _write_holder(descriptor, LockHolder(os.getpid(), time.time(), activity or purpose))
        sweep_torn(folder)
        yield


_UNSHARED: Final[set[int]] = set()
"""Descriptors of locks that a forked child must not hold."""


@contextlib.contextmanager
def close_in_children(descriptor: int, shared: bool = False) -> Iterator[None]:
    """Close a descriptor at the end of the block and, unless `shared`, in every child that is forked within it."""
    if not shared:
        _UNSHARED.add(descriptor)
    try:
        yield
    finally:
        if shared or descriptor in _UNSHARED:  # in a child it is closed already, and its number may be another file
            _UNSHARED.discard(descriptor)
            os.close(descriptor)


def _close_unshared() -> None:
    for descriptor in list(_UNSHARED):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _UNSHARED.clear()


os.register_at_fork(after_in_child=_close_unshared)


def _write_holder(descriptor: int, holder: LockHolder) -> None:
    """Write who holds a lock. It is for messages only, so a full disk is no reason to refuse the lock."""
    with contextlib.suppress(OSError):
        line = f"{holder.pid}\n".encode() + msgspec.json.encode(holder) + b"\n"
        os.pwrite(descriptor, line, 0)
        os.ftruncate(descriptor, len(line))


def is_locked(folder: Path, purpose: str) -> bool:
    """Return whether a process holds the lock of `folder` for `purpose`."""
    try:
        with (folder / f".{purpose}.lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def lock_holder(folder: Path, purpose: str) -> LockHolder:
    """Return who has held the lock last; zeros if that cannot be read. Earlier versions wrote the process id only."""
    try:
        first, _, rest = (folder / f".{purpose}.lock").read_bytes().partition(b"\n")
        return parse_json(rest, LockHolder) if rest else LockHolder(int(first))
    except (OSError, ValueError, msgspec.MsgspecError):
        return LockHolder()


def _in_use(folder: Path, purpose: str, holder: LockHolder) -> FolderInUse:
    owner = f"process {holder.pid}" if holder.pid else "another process"
    since = time.strftime(" since %Y-%m-%d %H:%M:%S", time.localtime(holder.since)) if holder.since else ""
    return FolderInUse(
        f"{folder} is in use: {owner} is busy with '{holder.activity or purpose}' there{since}.",
        "Wait for it, stop it, or use another --folder.",
    )


def temporary_path(path: Path) -> Path:
    """Return the name under which a file is written before it is renamed: it identifies machine and process."""
    return path.with_name(f".{path.name}.{next(_SERIAL)}.m{machine_id()}.{os.getpid()}.new")


_SERIAL: Final = itertools.count()
"""Distinguishes the threads of a process that write the same file."""


@functools.cache
def machine_id() -> str:
    """Return a short text that identifies the running system and its process ids, such as those of a container."""
    parts = [os.uname().nodename]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return f"{zlib.crc32(''.join(parts).encode()):08x}"


def process_started(process: int) -> str:
    """Return when a process was started, in a form to compare; '' if there is none."""
    try:
        # The 22nd field, counted behind the name, which may have spaces and brackets.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except FileNotFoundError:
        return "" if Path("/proc/self/stat").exists() or not _lives(process) else "unknown"
    except (OSError, IndexError):
        return "unknown" if _lives(process) else ""


def sweep_torn(folder: Path) -> None:
    """Remove files that a process had not finished to write when it ended: they would stay for ever.

    If they were written on another machine, whose processes cannot be seen, only after ten minutes without a change.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            torn = _TORN.fullmatch(name)
            if torn and not _lives(int(torn["process"])):
                path = folder / name
                with contextlib.suppress(OSError):
                    if torn["machine"] == machine_id() or time.time() - path.stat().st_mtime > _FORSAKEN:
                        path.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return not isinstance(error, ProcessLookupError | OverflowError)
    return True
