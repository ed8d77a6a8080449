"""The client of a storage: one request becomes as many as it takes, and what comes back is verified."""

import os
import random
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from periplus.errors import (
    CorruptFile,
    DiskFailed,
    NothingHere,
    PeriplusError,
    SettingsError,
    StorageConflict,
    StorageFailed,
)
from periplus.files import decode_json, disk_errors, disk_failure, encode_json, sync_folder, temporary_path
from periplus.hashing import StreamFingerprint, fingerprint
from periplus.settings import StorageSettings
from periplus.storage.file_backend import FileBackend
from periplus.storage.s3_backend import S3Backend
from periplus.storage.storage_records import (
    Backend,
    Conflict,
    ObjectSummary,
    Record,
    StoredObject,
    TransientFailure,
    check_name,
)

__all__ = ["MAX_RECORD", "STORAGE_FORMAT", "Storage", "open_storage", "storage_url"]

STORAGE_FORMAT: Final = 1
MAX_RECORD: Final = 256 << 20
_STAMP: Final = "storage.json"
_WHOLE: Final = 8 << 20
"""Larger objects are read and written in several requests."""
_CHUNK: Final = 1 << 20
_DELETED_AT_ONCE: Final = 1_000
_FIRST_DELAY: Final = 0.1
_LONGEST_DELAY: Final = 10.0
_READS: Final = 2
"""How often an object is read before its bytes count as damaged and not the way they came."""
_NO_VERSION: Final = '"00000000000000000000000000000000"'

T = TypeVar("T")


class _Stamp(msgspec.Struct, frozen=True):
    format: int
    id: str


class _FileRange:
    """The chunks of a part of a file, with their checksum once they were read."""

    def __init__(self, path: Path, begin: int, length: int) -> None:
        self.path, self.begin, self.length = path, begin, length
        self.checksum = ""
        self.failure: PeriplusError | None = None

    def __iter__(self) -> Iterator[bytes]:
        hasher, rest = StreamFingerprint(), self.length
        try:
            with self.path.open("rb") as file:
                file.seek(self.begin)
                while rest:
                    chunk = file.read(min(rest, _CHUNK))
                    if not chunk:
                        raise DiskFailed(f"{self.path} became shorter while it was uploaded.", "Try again.")
                    hasher.update(chunk)
                    rest -= len(chunk)
                    yield chunk
        except OSError as error:
            self.failure = disk_failure(self.path, error)
            raise self.failure from error
        except DiskFailed as error:
            self.failure = error
            raise
        self.checksum = hasher.hexdigest()


class Storage:
    """Objects and records below a URL. See the docstring of the package."""

    def __init__(
        self, url: str, backend: Backend, settings: StorageSettings, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.url = url
        self.id = ""
        """Identifies the storage, wherever its URL leads."""
        self._backend = backend
        self._settings = settings
        self._pause = pause

    def object_url(self, name: str) -> str:
        """Return the URL of an object."""
        return f"{self.url}/{name}"

    def put(self, name: str, data: bytes) -> StoredObject:
        """Write an object from memory."""
        stored = StoredObject(check_name(name), len(data), f"{fingerprint(data):016x}")
        if len(data) <= _WHOLE:
            self._repeat(name, lambda: self._backend.put(name, data))
        else:
            chunks = [data[begin : begin + _CHUNK] for begin in range(0, len(data), _CHUNK)]
            self._repeat(name, lambda: self._backend.put_stream(name, chunks, len(data)))
        return stored

    def put_file(self, name: str, path: Path, begin: int = 0, length: int | None = None) -> StoredObject:
        """Write an object from a file, or from `length` bytes of it from `begin` on. Bytes after them may be added."""
        check_name(name)
        if length is None:
            with disk_errors(path):
                length = path.stat().st_size - begin
        source = _FileRange(path, begin, length)
        if length <= _WHOLE:
            data = b"".join(source)
            self._repeat(name, lambda: self._backend.put(name, data))
        else:
            self._repeat(name, lambda: self._put_source(name, source))
        return StoredObject(name, length, source.checksum)

    def _put_source(self, name: str, source: _FileRange) -> None:
        try:
            self._backend.put_stream(name, source, source.length)
        except Exception:
            if source.failure is not None:  # the backend cannot distinguish the file from its own failures
                raise source.failure from None
            raise

    def read_chunks(self, stored: StoredObject) -> Iterator[bytes]:
        """Yield the bytes of an object; raise `CorruptFile` at the end if they are not those that were written.

        Raise `NothingHere` if there is no such object.
        """
        name, hasher, offset = check_name(stored.name), StreamFingerprint(), 0
        while offset < stored.length:
            end = min(offset + _WHOLE, stored.length)
            chunk = self._get_range(name, offset, end)
            if len(chunk) != end - offset:
                raise self._damaged(stored, f"it ends after {offset + len(chunk):,} of {stored.length:,} bytes")
            hasher.update(chunk)
            offset = end
            yield chunk
        if hasher.hexdigest() != stored.checksum:
            raise self._damaged(stored, "its checksum is wrong")

    def _get_range(self, name: str, begin: int, end: int) -> bytes:
        try:
            return self._repeat(name, lambda: self._backend.get_range(name, begin, end))
        except FileNotFoundError:
            raise NothingHere(f"{self.object_url(name)} does not exist.", "Check storage.url.") from None

    def _damaged(self, stored: StoredObject, reason: str) -> CorruptFile:
        return CorruptFile(
            f"{self.object_url(stored.name)} is damaged: {reason}.",
            "Restore that object from a backup of the storage, or upload what it was made from again.",
        )

    def get(self, stored: StoredObject) -> bytes:
        """Return the bytes of an object, verified."""
        return _again_if_damaged(lambda: b"".join(self.read_chunks(stored)))

    def get_file(self, stored: StoredObject, path: Path) -> None:
        """Write an object to a file, verified; the file appears whole or not at all, and survives a power failure."""
        self.join_to_file((stored,), path)

    def join_to_file(self, parts: Iterable[StoredObject], path: Path) -> None:
        """Write several objects, one after the other, to a file, as `get_file` does."""
        temporary = temporary_path(path)
        try:
            with disk_errors(path):
                with temporary.open("wb") as file:
                    for part in parts:
                        begin = file.tell()
                        _again_if_damaged(lambda part=part, begin=begin: self._copy_to(part, file, begin))  # type: ignore[misc]
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
                sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)

    def _copy_to(self, stored: StoredObject, file: BinaryIO, begin: int) -> None:
        file.seek(begin)
        file.truncate()
        for chunk in self.read_chunks(stored):
            file.write(chunk)

    def list_objects(self, prefix: str = "") -> list[ObjectSummary]:
        """Return all objects below a prefix such as 'shards/07', ordered by name."""
        folder = f"{check_name(prefix)}/" if prefix else ""
        return self._repeat(prefix, lambda: self._backend.list_objects(folder))

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects; those that do not exist are skipped."""
        every = [check_name(name) for name in names]
        for begin in range(0, len(every), _DELETED_AT_ONCE):
            self._delete_batch(every[begin : begin + _DELETED_AT_ONCE])

    def _delete_batch(self, names: list[str]) -> None:
        self._repeat(names[0], lambda: self._backend.delete(names))

    def read_record(self, name: str) -> Record | None:
        """Return a record; None if there is none. It has at most `MAX_RECORD` bytes."""
        check_name(name)
        try:
            data, version = self._repeat(name, lambda: self._backend.get_record(name, MAX_RECORD + 1))
        except FileNotFoundError:
            return None
        if len(data) > MAX_RECORD:
            raise CorruptFile(f"{self.object_url(name)} is damaged: it has more than {MAX_RECORD:,} bytes.")
        return Record(data, version)

    def create_record(self, name: str, data: bytes) -> str:
        """Write a new record; return its version. Raise `StorageConflict` if there is one."""
        return self._write_record(name, data, "")

    def replace_record(self, name: str, data: bytes, version: str) -> str:
        """Replace the given version of a record; return the new one. Raise `StorageConflict` if it has another."""
        return self._write_record(name, data, version)

    def _write_record(self, name: str, data: bytes, version: str) -> str:
        check_name(name)
        if len(data) > MAX_RECORD:
            raise StorageFailed(f"{self.object_url(name)} would have {len(data):,} bytes.", "Use an object instead.")
        token = secrets.token_hex(16)
        try:
            return self._repeat(name, lambda: self._backend.put_if(name, data, version, token))
        except Conflict:
            # An attempt whose response was lost may have succeeded.
            written = self._repeat(name, lambda: self._backend.find_written(name, token))
            if written:
                return written
            raise StorageConflict(
                f"{self.object_url(name)} was changed by another process.", "Read it again; one writer has succeeded."
            ) from None

    def open(self, *, create: bool) -> None:
        """Check the stamp of the storage, or write it; check that conditional writes work."""
        record = self.read_record(_STAMP)
        if record is None and create:
            stamp = encode_json(_Stamp(STORAGE_FORMAT, secrets.token_hex(16)))
            try:
                self.create_record(_STAMP, stamp)
            except StorageConflict:
                pass
            record = self.read_record(_STAMP)
        if record is None:
            raise NothingHere(
                f"{self.url} is not a storage of Periplus.",
                "Check storage.url, and that its disk is mounted; `periplus cluster up` makes a new one.",
            )
        self.id = decode_json(self.object_url(_STAMP), record.data, _Stamp, STORAGE_FORMAT, checksum_since=1).id
        self._check_conditions(record)

    def _check_conditions(self, record: Record) -> None:
        """Raise unless the storage refuses both kinds of conditional writes: some stores ignore the conditions."""
        for version in ("", _NO_VERSION):
            try:
                self._repeat(_STAMP, lambda version=version: self._backend.put_if(_STAMP, record.data, version, ""))  # type: ignore[misc]
            except Conflict:
                continue
            raise StorageFailed(
                f"{self.url} ignores the conditions of conditional writes.",
                "Use an object store that supports If-Match and If-None-Match for uploads.",
            )

    def _repeat(self, name: str, request: Callable[[], T]) -> T:
        """Return the result of a request, which is repeated while it fails for a reason that may pass."""
        end = time.monotonic() + self._settings.retry_seconds
        delay = _FIRST_DELAY
        while True:
            try:
                return request()
            except TransientFailure as error:
                if time.monotonic() + delay > end:
                    raise StorageFailed(
                        f"{self.object_url(name)} cannot be used: {error}.",
                        "Check that the storage runs and can be reached from this machine, then try again.",
                    ) from error
            self._pause(delay * random.uniform(0.5, 1.0))
            delay = min(2 * delay, _LONGEST_DELAY)


def storage_url(settings: StorageSettings, folder: Path) -> str:
    """Return the URL of the storage: `storage.url`, or that of the folder 'storage' in a data folder."""
    return settings.url or (folder.absolute() / "storage").as_uri()


def open_storage(url: str, settings: StorageSettings, *, create: bool = False) -> Storage:
    """Open the storage at a URL: file:///FOLDER or s3://BUCKET/PREFIX. With `create`, an empty one is made.

    Raise `SettingsError` for another URL, `NothingHere` if there is no storage and `create` is not set, `MissingPart`
    if the client of object stores is not installed, and `StorageFailed` if the storage cannot be used.
    """
    parts = urlsplit(url)
    path = unquote(parts.path)
    url = url.rstrip("/")
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and path.startswith("/") and path.strip("/"):
        backend = FileBackend(Path(path), settings.timeout)
        if create:
            backend.make_root()
        storage = Storage(url, backend, settings)
        storage.open(create=create)
        backend.guard(_STAMP)
        return storage
    if parts.scheme == "s3" and parts.netloc and not parts.query and not parts.fragment:
        storage = Storage(url, S3Backend(url, parts.netloc, path.strip("/"), settings), settings)
        storage.open(create=create)
        return storage
    raise SettingsError(
        f"{url!r} is not the URL of a storage.", "Set storage.url to file:///FOLDER or s3://BUCKET/PREFIX."
    )


def _again_if_damaged(read: Callable[[], T]) -> T:
    """Return what is read, at the second attempt if the first was damaged on its way."""
    for _ in range(_READS - 1):
        try:
            return read()
        except CorruptFile:
            continue
    return read()
