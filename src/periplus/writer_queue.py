"""A queue for the lock of a folder: writers get it in the order in which they asked for it.

    .PURPOSE.queue/NANOSECONDS-PROCESS    the ticket of a writer that waits, locked by it

A ticket is valid as long as its file is locked, so it ends with its process, however that ends. A writer that could
hold the lock for ever, such as the publisher of a server, checks `is_awaited` between two batches, releases the lock
and queues again, behind those that wait.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from periplus.errors import FolderInUse
from periplus.files import close_in_children, disk_errors, lock_folder

__all__ = ["is_awaited", "queue_for_lock"]

_POLL_SECONDS: Final = 0.02
_ABANDONED_SECONDS: Final = 60.0
"""After this long, a ticket that was created and never locked is removed."""


def _ignore(_: FolderInUse) -> None:
    pass


@contextlib.contextmanager
def queue_for_lock(
    folder: Path,
    purpose: str,
    seconds: float,
    activity: str = "",
    on_wait: Callable[[FolderInUse], None] = _ignore,
) -> Iterator[None]:
    """Hold the lock that `lock_folder` holds, after all who queue for it already.

    Wait for at most `seconds`, then raise `FolderInUse`; `on_wait` is called once, with that error, if there is a wait.
    """
    with contextlib.ExitStack() as stack:
        _acquire(stack, folder, purpose, seconds, activity, on_wait)
        yield


def _acquire(
    stack: contextlib.ExitStack,
    folder: Path,
    purpose: str,
    seconds: float,
    activity: str,
    on_wait: Callable[[FolderInUse], None],
) -> None:
    deadline = time.monotonic() + seconds
    refusal = FolderInUse(f"Other processes wait for '{purpose}' in {folder}.", "Try again later.")
    with contextlib.ExitStack() as tickets:
        ticket, waited = "", False
        while True:
            if not _has_ticket_before(folder, purpose, ticket):
                try:
                    stack.enter_context(lock_folder(folder, purpose, activity))
                    return
                except FolderInUse as error:
                    refusal = error
            if time.monotonic() >= deadline:
                raise refusal
            if not waited:
                waited, ticket = True, tickets.enter_context(_ticket(folder, purpose))
                on_wait(refusal)
            time.sleep(_POLL_SECONDS)


def is_awaited(folder: Path, purpose: str) -> bool:
    """Return whether a writer waits for a lock."""
    return _has_ticket_before(folder, purpose, "")


def _queue(folder: Path, purpose: str) -> Path:
    return folder / f".{purpose}.queue"


@contextlib.contextmanager
def _ticket(folder: Path, purpose: str) -> Iterator[str]:
    """Queue within the block; yield the name of the ticket."""
    queue = _queue(folder, purpose)
    name = f"{time.time_ns():020d}-{os.getpid()}"
    unlocked, path = queue / f".{name}", queue / name
    with disk_errors(path):
        queue.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with close_in_children(descriptor):
        try:
            with disk_errors(path):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                unlocked.rename(path)  # only now others see it, and it is locked
            yield name
        finally:
            for file in (unlocked, path):
                with contextlib.suppress(OSError):
                    file.unlink(missing_ok=True)


def _has_ticket_before(folder: Path, purpose: str, ticket: str) -> bool:
    """Return whether somebody waits whose ticket is older than `ticket`, or anybody if that is ''."""
    queue = _queue(folder, purpose)
    try:
        names = sorted(os.listdir(queue))
    except OSError:
        return False
    return any(_is_valid(queue / name) for name in names if name != ticket and (not ticket or name < ticket))


def _is_valid(path: Path) -> bool:
    """Return whether the process of a ticket is alive; remove the ticket of one that is not."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it cannot be told: no descriptor is left, for example
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if path.name.startswith(".") and time.time() - os.fstat(descriptor).st_mtime < _ABANDONED_SECONDS:
            return False  # about to be locked
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return not path.name.startswith(".")
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
