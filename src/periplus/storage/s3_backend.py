"""An object store with the S3 protocol as a storage, through obstore (decision 048), which is imported here only."""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from periplus.errors import MissingPart, StorageFailed
from periplus.settings import StorageSettings
from periplus.storage.storage_records import Conflict, ObjectSummary, TransientFailure

if TYPE_CHECKING:
    from obstore import PutMode

__all__ = ["S3Backend"]

_STATUS: Final = re.compile(r"non-2xx status code: (\d{3})")
_FULL: Final = re.compile(r"status code: 507|<Code>(?:QuotaExceeded|InsufficientStorage|XMinioStorageFull|NoSpace)")
_NO_BUCKET: Final = "NoSuchBucket"
_RETRIED: Final = {408, 409, 425, 429}
"""Statuses below 500 that pass."""
_PART: Final = 8 << 20
_PARTS_AT_ONCE: Final = 4
_MESSAGE: Final = 200
_WRITE_KEY: Final = "periplus-write"
"""Metadata of a record: which write made it."""


class _BeyondEnd(Exception):
    """A range begins after the end of its object."""


class S3Backend:
    """Objects below a prefix of a bucket. Every request is tried once, within `settings.timeout`."""

    def __init__(self, url: str, bucket: str, prefix: str, settings: StorageSettings) -> None:
        try:
            import obstore
            from obstore.store import S3Store
        except ImportError as error:
            raise MissingPart(
                f"{url} needs the package obstore, which is not installed.", "Run: pip install periplus[cluster]."
            ) from error
        self.url = url
        self._obstore: Any = obstore
        self._errors_of = obstore.exceptions
        self._process = os.getpid()
        limit = timedelta(seconds=settings.timeout)
        options: dict[str, Any] = {"endpoint": settings.endpoint} if settings.endpoint else {}
        self._store = S3Store(
            bucket,
            prefix=prefix or None,
            region=settings.region,
            virtual_hosted_style_request=False,
            client_options={
                "allow_http": settings.endpoint.startswith("http://"),
                "timeout": limit,
                "connect_timeout": min(limit, timedelta(seconds=5)),
            },
            retry_config={"max_retries": 0, "retry_timeout": limit},
            **options,
        )

    def put(self, name: str, data: bytes) -> None:
        """Write a small object whole."""
        with self._errors(name):
            self._obstore.put(self._store, name, data, use_multipart=False)

    def put_stream(self, name: str, chunks: Iterable[bytes], length: int) -> None:
        """Write a large object in parts, which the store joins at the end."""
        with self._errors(name):
            self._obstore.put(
                self._store, name, iter(chunks), chunk_size=_part_size(length), max_concurrency=_PARTS_AT_ONCE
            )

    def get_range(self, name: str, begin: int, end: int) -> bytes:
        """Return the bytes `begin` to `end` of an object; fewer if it is shorter."""
        try:
            with self._errors(name):
                return bytes(self._obstore.get_range(self._store, name, start=begin, end=end))
        except _BeyondEnd:
            return b""

    def get_record(self, name: str, limit: int) -> tuple[bytes, str]:
        """Return at most `limit` bytes of an object, and its version."""
        with self._errors(name):
            result = self._obstore.get(self._store, name)
            data, size = [], 0
            for chunk in result.stream(min_chunk_size=1 << 20):
                data.append(bytes(chunk))
                size += len(chunk)
                if size >= limit:
                    break
            return b"".join(data)[:limit], result.meta["e_tag"] or ""

    def put_if(self, name: str, data: bytes, version: str, token: str) -> str:
        """Write an object if its version is `version` ('': if there is none)."""
        mode: PutMode = {"e_tag": version} if version else "create"
        try:
            with self._errors(name):
                attributes = {_WRITE_KEY: token}
                tag = self._obstore.put(self._store, name, data, mode=mode, use_multipart=False, attributes=attributes)[
                    "e_tag"
                ]
        except FileNotFoundError:  # a version of an object that was removed
            raise Conflict from None
        return tag or ""

    def find_written(self, name: str, token: str) -> str:
        """Return the version of an object if it was written with this token, '' otherwise."""
        with contextlib.suppress(FileNotFoundError), self._errors(name):
            result = self._obstore.get(self._store, name)
            return (result.meta["e_tag"] or "") if result.attributes.get(_WRITE_KEY) == token else ""
        return ""

    def list_objects(self, prefix: str) -> list[ObjectSummary]:
        """Return the objects below a prefix, ordered by name."""
        with self._errors(prefix):
            chunks = self._obstore.list(self._store, prefix=prefix or None)
            return sorted(ObjectSummary(entry["path"], entry["size"]) for chunk in chunks for entry in chunk)

    def delete(self, names: list[str]) -> None:
        """Remove objects, in one request."""
        with contextlib.suppress(FileNotFoundError), self._errors(names[0]):
            self._obstore.delete(self._store, names)

    @contextlib.contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        if os.getpid() != self._process:
            # The threads of the client do not exist in a forked process: the request would wait for ever.
            raise StorageFailed(f"{self.url} was opened by another process.", "Start processes with spawn, not fork.")
        try:
            yield
        except FileNotFoundError as error:
            if _NO_BUCKET in str(error):
                raise StorageFailed(
                    f"{self.url}: there is no such bucket.", "Create it, or check storage.url."
                ) from error
            raise
        except (self._errors_of.AlreadyExistsError, self._errors_of.PreconditionError) as error:
            raise Conflict from error
        except self._errors_of.BaseError as error:
            raise self._failure(name, error) from error

    def _failure(self, name: str, error: Exception) -> Exception:
        """Return what a refused request means."""
        text = str(error).split("\n\nDebug source", 1)[0]
        where, reason = f"{self.url}/{name}", text[:_MESSAGE]
        if isinstance(error, (self._errors_of.PermissionDeniedError, self._errors_of.UnauthenticatedError)):
            return StorageFailed(
                f"Not allowed to use {where}: {reason}",
                "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the policy of the bucket.",
            )
        if _FULL.search(text):
            return StorageFailed(
                f"The storage is full: cannot write {where}.", "Free some space there, then try again."
            )
        status = _status(error)
        if status == 416:
            return _BeyondEnd()
        if isinstance(error, (self._errors_of.InvalidPathError, self._errors_of.NotSupportedError)) or (
            400 <= status < 500 and status not in _RETRIED
        ):
            return StorageFailed(f"{where} was refused: {reason}", "Check the settings of the section [storage].")
        return TransientFailure(reason)


def _status(error: Exception) -> int:
    match = _STATUS.search(str(error))
    return int(match[1]) if match else 0


def _part_size(length: int) -> int:
    """Return the size of a part: an object has at most 10,000."""
    return max(_PART, -(-length // 9_000))
