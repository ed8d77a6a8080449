"""A folder of a shared disk as a storage. An object is a file; names that begin with a dot are not objects."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from periplus.errors import StorageFailed
from periplus.files import make_folder, sync_folder, temporary_path
from periplus.hashing import fingerprint
from periplus.storage.storage_records import Conflict, ObjectSummary, TransientFailure

__all__ = ["FileBackend"]

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REFUSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_LOCK: Final = ".records.lock"
_LOCK_INTERVAL: Final = 0.01


class FileBackend:
    """Objects as files below a folder."""

    def __init__(self, root: Path, timeout: float) -> None:
        self.root = root
        self._timeout = timeout
        self._marker: Path | None = None
        self._uncertain: dict[str, tuple[str, str]] = {}
        """Records whose last write failed: its token, and the version that it may have written."""

    def guard(self, marker: str) -> None:
        """Treat the storage as absent, from now on, whenever this object is: the disk may not be mounted."""
        self._marker = self.root / marker

    def make_root(self) -> None:
        """Create the folder."""
        with self._errors(self.root):
            make_folder(self.root)

    def put(self, name: str, data: bytes) -> None:
        """Write a small object whole."""
        self.put_stream(name, (data,), len(data))

    def put_stream(self, name: str, chunks: Iterable[bytes], length: int) -> None:
        """Write an object from its chunks, under a temporary name first."""
        path = self.root / name
        with self._errors(path, writing=True):
            make_folder(path.parent)
            _write(path, chunks)

    def get_range(self, name: str, begin: int, end: int) -> bytes:
        """Return the bytes `begin` to `end` of an object; fewer if it is shorter."""
        path = self.root / name
        with self._errors(path), path.open("rb") as file:
            file.seek(begin)
            return file.read(end - begin)

    def get_record(self, name: str, limit: int) -> tuple[bytes, str]:
        """Return at most `limit` bytes of an object, and its version."""
        data = self.get_range(name, 0, limit)
        return data, _version(data)

    def put_if(self, name: str, data: bytes, version: str, token: str) -> str:
        """Write an object if its version is `version` ('': if there is none), under a lock."""
        path = self.root / name
        with self._errors(path, writing=True):
            make_folder(path.parent)
            with _locked(path.parent / _LOCK, self._timeout):
                try:
                    current = _version(path.read_bytes())
                except FileNotFoundError:
                    current = ""
                if current != version:
                    raise Conflict
                self._uncertain[name] = (token, _version(data))
                _write(path, (data,))
        self._uncertain.pop(name, None)
        return _version(data)

    def find_written(self, name: str, token: str) -> str:
        """Return the version of an object if it was renamed by this write, and only the sync after that failed."""
        path = self.root / name
        writer, version = self._uncertain.pop(name, ("", ""))
        with contextlib.suppress(FileNotFoundError), self._errors(path):
            if writer == token and _version(path.read_bytes()) == version:
                sync_folder(path.parent)
                return version
        return ""

    def list_objects(self, prefix: str) -> list[ObjectSummary]:
        """Return the objects below a prefix, ordered by name."""
        top = self.root / prefix
        with self._errors(top):
            return sorted(_walk(top, prefix))

    def delete(self, names: list[str]) -> None:
        """Remove objects, and folders that are empty without them."""
        for name in names:
            path = self.root / name
            with self._errors(path):
                path.unlink(missing_ok=True)
                self._remove_empty(path.parent)

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.root:
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent

    @contextlib.contextmanager
    def _errors(self, path: Path, *, writing: bool = False) -> Iterator[None]:
        """Check that the storage is there, and turn errors of the system into those of a backend."""
        if self._marker is not None and not self._marker.exists():
            raise TransientFailure(f"{self._marker} is missing: the disk may not be mounted")
        try:
            yield
        except FileNotFoundError as error:
            # A folder that was empty is removed by `delete`: the next attempt creates it again.
            if writing or (self._marker is not None and not self._marker.exists()):
                raise TransientFailure(str(error)) from error
            raise
        except OSError as error:
            raise _failure(path, error) from error


def _failure(path: Path, error: OSError) -> Exception:
    url = path.as_uri()
    if error.errno in _FULL:
        return StorageFailed(f"The storage is full: cannot write {url}.", "Free some space there, then try again.")
    if error.errno in _REFUSED:
        return StorageFailed(f"Not allowed to use {url}.", "Change the rights of that folder, or storage.url.")
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG):
        return StorageFailed(f"{url} cannot be used: {error.strerror}.", "Check storage.url.")
    return TransientFailure(str(error))


def _write(path: Path, chunks: Iterable[bytes]) -> None:
    temporary = temporary_path(path)
    try:
        with temporary.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _version(data: bytes) -> str:
    return f"{fingerprint(data):016x}"


@contextlib.contextmanager
def _locked(path: Path, timeout: float) -> Iterator[None]:
    """Hold a lock for the block; it ends with the process, however that ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        end = time.monotonic() + timeout
        while not _lock(descriptor):
            if time.monotonic() > end:
                raise TransientFailure(f"{path} is locked by another process")
            time.sleep(_LOCK_INTERVAL)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _walk(folder: Path, prefix: str) -> Iterator[ObjectSummary]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder / entry.name, f"{prefix}{entry.name}/")
        else:
            with contextlib.suppress(FileNotFoundError):
                yield ObjectSummary(prefix + entry.name, entry.stat().st_size)
