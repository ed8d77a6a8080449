"""A consistent copy of a data folder that is being written to: hard links, made within milliseconds.

Files of a data folder are append-only, or replaced by a rename, so that a link keeps what is to be uploaded. Parts of
the folder are captured in the order in which data passes through them, what is consumed before what it is consumed by:
mailboxes and inboxes, crawl snapshots, index, store. Whatever leaves one part while it is captured is then found in a
later one. Within a part, nothing may be committed meanwhile (its manifests stay the same), or the part is captured
again. Bytes at the end of a file that are being written are those that a crash would leave, and are treated as such.
"""

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from periplus.errors import DataError, DiskFailed
from periplus.files import disk_errors
from periplus.store import durable_lengths

__all__ = ["CapturedFile", "capture_folder", "remove_capture"]

_STAGING: Final = ".upload"
_FIRST: Final = ("inbox", "mailbox", "passive")
_LAST: Final = ("crawl", "index", "graph", "store")
_MAILBOX: Final = "inbox"
_OMITTED_PARTS: Final = frozenset({"health", "damaged", "quality", "storage", "keys.json", "cluster.key"})
"""What belongs to the machine, or can be computed again, and what is secret."""
_OMITTED_NAMES: Final = frozenset({"status.json", "metrics.prom", "control", "visits.keys"})
_OMITTED_LOGS: Final = frozenset({"crawl.log", "crawl.log.1", "detached.log", "shard.log"})
_WATCHED: Final = frozenset(
    {"manifest.json", "frontier.bin", "frontier.next", "shards.json", "kept.arrays", "counts.arrays"}
)
"""Files whose replacement commits a change of several files."""
_MESSAGES: Final = (".mail", ".parcel")
"""Files that are removed only when a snapshot, or their receiver, has what is in them."""
_ATTEMPTS: Final = 200
_PAUSE: Final = 0.01
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK, errno.ENOSYS)


class CapturedFile(NamedTuple):
    """A file of a folder at the time of its capture."""

    path: str
    """Relative to the folder, with slashes."""
    source: Path
    """Where its bytes are."""
    length: int
    identity: tuple[int, int, int]
    """Differs if the file may have other content: inode, length and time of the last change."""
    durable: int
    """The length that will never change; 0 if that is not known."""


class _Changed(Exception):
    """A part of the folder was changed while it was captured."""


def capture_folder(folder: Path) -> list[CapturedFile]:
    """Return the files of a data folder as they are now, linked below `.upload`, which `remove_capture` removes."""
    remove_capture(folder)
    with disk_errors(folder):
        staging = folder / _STAGING
        staging.mkdir(parents=True)
        files: list[CapturedFile] = []
        for part in _parts(folder):
            files += _capture_unchanged(folder, staging, part)
    return sorted(files)


def remove_capture(folder: Path) -> None:
    """Remove the links of a capture, if there are any."""
    with disk_errors(folder), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder / _STAGING)


def _parts(folder: Path) -> list[str]:
    """Return the parts of a folder, as relative paths, in the order of their capture."""
    top = sorted(name for name in os.listdir(folder) if not name.startswith(".") and name not in _OMITTED_PARTS)
    mailboxes = [path.relative_to(folder).as_posix() for path in folder.glob(f"crawl/**/{_MAILBOX}") if path.is_dir()]
    first = [name for name in _FIRST if name in top]
    last = [name for name in _LAST if name in top]
    return [*first, *mailboxes, *(name for name in top if name not in _FIRST + _LAST), *last]


def _capture_unchanged(folder: Path, staging: Path, part: str) -> list[CapturedFile]:
    """Capture a part again until nothing was committed there meanwhile."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        try:
            return _capture_part(folder, staging, part)
        except (_Changed, FileNotFoundError):
            continue
    raise DiskFailed(f"{folder / part} changes all the time and cannot be captured.", "Try again later.")


def _capture_part(folder: Path, staging: Path, part: str) -> list[CapturedFile]:
    before = _commits(folder, part)
    files = []
    # The log before the responses: a fetch record is then never without the response that it points to.
    paths = sorted(_walk(folder, part), key=lambda path: (path.endswith((".warc.zst", ".warc.gz")), path))
    lengths = _durable(folder, paths)
    for path in paths:
        target = staging / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            _link(folder / path, target)
        except FileNotFoundError:
            if not path.endswith(_MESSAGES):
                raise
            continue
        status = target.stat()
        identity = (status.st_ino, status.st_size, status.st_mtime_ns)
        files.append(CapturedFile(path, target, status.st_size, identity, lengths.get(path, 0)))
    if _commits(folder, part) != before:
        raise _Changed
    return files


def _walk(folder: Path, name: str) -> Iterator[str]:
    """Yield the files of a part; mailboxes are parts of their own."""
    if not (folder / name).is_dir():
        yield name
        return
    for entry in os.scandir(folder / name):
        path = f"{name}/{entry.name}"
        if entry.name.startswith(".") or entry.name in _OMITTED_NAMES or entry.name in _OMITTED_LOGS:
            continue
        if entry.is_dir(follow_symlinks=False):
            if not (entry.name == _MAILBOX and name.startswith("crawl")):
                yield from _walk(folder, path)
        elif entry.is_file(follow_symlinks=False):
            yield path


def _commits(folder: Path, name: str) -> dict[str, tuple[int, int]]:
    marks = {}
    for path in _walk(folder, name):
        if path.rpartition("/")[2] in _WATCHED:
            status = (folder / path).stat()
            marks[path] = (status.st_ino, status.st_mtime_ns)
    return marks


def _durable(folder: Path, paths: list[str]) -> dict[str, int]:
    """Return the lengths of the files of all stores among `paths` that never change."""
    lengths = {}
    for path in paths:
        parent, _, file = path.rpartition("/")
        if file == "manifest.json" and parent.split("/", 1)[0] == "store":
            with contextlib.suppress(DataError):  # a damaged manifest is uploaded as it is, for a repair
                lengths.update({f"{parent}/{entry}": size for entry, size in durable_lengths(folder / parent).items()})
    return lengths


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(source, target)  # a file system without links
        status = source.stat()
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
