"""Published content as it was given, by the SHA-256 of its bytes, and what its publisher said about it.

    published/<first two digits>/<id>         the content
    published/<first two digits>/<id>.json    {"format": 2, "id", "title", ..., "publisher", "checksum"}: its metadata
    published/urls/<key>                      the id of the content that a URL was published with

The metadata is written after the content, and is what makes it exist: content without metadata was never acknowledged.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile
from periplus.files import decode_json, disk_errors, encode_json, make_folder, write_atomically
from periplus.writer_queue import queue_for_lock

__all__ = ["ContentFiles", "ContentMetadata"]

_FOLDER: Final = "published"
_URLS: Final = "urls"
_FORMAT: Final = 2
"""Since 2, metadata names the other URLs that content was published at."""
_ID: Final = re.compile(r"[0-9a-f]{64}")
_LOCK_SECONDS: Final = 30.0
"""Seconds to wait for another process that publishes."""
_REMEDY: Final = "Publish the content again."


class ContentMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about published content."""

    format: int = _FORMAT
    id: str
    """SHA-256 of the content, in hexadecimal digits."""
    type: str
    """The media type, by the bytes of the content."""
    bytes: int
    title: str
    description: str = ""
    author: str = ""
    date: str = ""
    tags: tuple[str, ...] = ()
    language: str = ""
    url: str
    """The URL under which it was indexed last."""
    other_urls: tuple[str, ...] = ()
    """URLs under which it was indexed before, and is still."""
    name: str = ""
    """The name of the file that was uploaded, or ''."""
    publisher: str = ""
    """Identifies the key that published it; '' if no key was needed."""
    created: float = 0.0
    updated: float = 0.0


class ContentFiles:
    """The published content of a data folder. Any number of processes may use it."""

    def __init__(self, folder: Path) -> None:
        self._data_folder = folder
        self._folder = folder / _FOLDER

    def find(self, identifier: str) -> ContentMetadata | None:
        """Return the metadata of some content, None if it was not published."""
        if not _ID.fullmatch(identifier):
            return None
        path = self._path(identifier).with_suffix(".json")
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return None
        return decode_json(path, raw, ContentMetadata, _FORMAT, _REMEDY, checksum_since=1)

    def find_url(self, key: int) -> ContentMetadata | None:
        """Return the metadata of the content that a URL was published with, by the fingerprint of the URL."""
        try:
            identifier = (self._folder / _URLS / f"{key:016x}").read_text("ascii")
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return self.find(identifier.strip())

    def read(self, identifier: str) -> bytes | None:
        """Return some content, None if it was not published."""
        if self.find(identifier) is None:
            return None
        path = self._path(identifier)
        with disk_errors(path):
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                raise CorruptFile(f"{path} is missing.", _REMEDY) from None
        if hashlib.sha256(content).hexdigest() != identifier:
            raise CorruptFile(f"{path} is damaged.", _REMEDY)
        return content

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the content, so that two publications of it are one after the other."""
        with queue_for_lock(self._data_folder, "published", _LOCK_SECONDS):
            yield

    def write(self, metadata: ContentMetadata, content: bytes, key: int) -> None:
        """Write content and its metadata; both are durable when this returns."""
        path = self._path(metadata.id)
        with disk_errors(self._folder):
            make_folder(path.parent)
            make_folder(self._folder / _URLS)
        if not path.exists():
            write_atomically(path, content)
        write_atomically(path.with_suffix(".json"), encode_json(metadata))
        write_atomically(self._folder / _URLS / f"{key:016x}", metadata.id.encode())

    def remove(self, metadata: ContentMetadata, key: int) -> None:
        """Remove content and its metadata, the metadata first."""
        path = self._path(metadata.id)
        with disk_errors(self._folder):
            for file in (path.with_suffix(".json"), self._folder / _URLS / f"{key:016x}", path):
                file.unlink(missing_ok=True)

    def rewrite(self, metadata: ContentMetadata) -> None:
        """Replace the metadata of content."""
        write_atomically(
            self._path(metadata.id).with_suffix(".json"), encode_json(msgspec.structs.replace(metadata, format=_FORMAT))
        )

    def remove_url(self, key: int) -> None:
        """Remove what says which content a URL was published with, by the fingerprint of the URL."""
        with disk_errors(self._folder):
            (self._folder / _URLS / f"{key:016x}").unlink(missing_ok=True)

    def _path(self, identifier: str) -> Path:
        return self._folder / identifier[:2] / identifier
