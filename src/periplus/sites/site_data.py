"""Statistics and thresholds: each site offers its newest versions, and has copies of those of the others.

    data/NAME.bin            of this site, with its version
    peers/SITE/NAME.bin      of another site

A version is a number that grows, and a digest. New versions are sent through sinks, rate-limited; a site that has
missed one (it was cut off, its outbox was full) sees by the announcement that its copy differs, and fetches it.
"""

import hashlib
import re
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.errors import BadBatch, SiteUnreachable
from periplus.files import disk_errors, make_folder, read_file, write_atomically
from periplus.sites.messaging.batches import Batch, DataItem
from periplus.sites.messaging.liveness import DataVersion
from periplus.sites.messaging.transport import Transport
from periplus.typed_decoding import parse_msgpack

__all__ = ["DataStore", "fetch_data"]

_PREFIX: Final = struct.Struct("<8sIQ32s")
_MAGIC: Final = b"PERIDATA"
_VERSION: Final = 1
_NAME: Final = re.compile("^[a-z][a-z0-9-]{0,31}$")
_PART: Final = 512 << 10
_MAX_NAMES: Final = 16
"""Kinds of data of another site of which there are copies here; further ones are refused."""
MAX_DATA_BYTES: Final = 256 << 20
_FETCH_SECONDS: Final = 30.0
"""For one part."""
_FETCH_ALL_SECONDS: Final = 900.0
_MAX_KNOWN: Final = 4_096
"""Files of which the digests are remembered: those of 256 sites with all that each may send."""
_FileState = tuple[int, int, int]
DataListener = Callable[[str, str, bytes], None]
"""listener(site, name, body): there is a new version. Called in the thread that stored it."""


class _Question(msgspec.Struct, frozen=True, array_like=True):
    name: str
    offset: int


class _Part(msgspec.Struct, frozen=True, array_like=True):
    version: int
    size: int
    digest: bytes
    body: bytes


class _Entry(NamedTuple):
    version: int
    digest: bytes
    body: bytes


class DataStore:
    """The versions of this site and copies of those of others. Any thread may call it."""

    def __init__(self, folder: Path) -> None:
        self._own, self._peers = folder / "data", folder / "peers"
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[_FileState, tuple[int, bytes] | None]] = {}
        """Version and digest of files, with their state when they were read: announcements need them all the time."""
        self._listeners: list[DataListener] = []
        for path in (self._own, self._peers):
            with disk_errors(path):
                make_folder(path, 0o700)

    def listen(self, listener: DataListener) -> None:
        """Call a function for every new version of another site."""
        self._listeners.append(listener)

    def set(self, name: str, body: bytes) -> DataItem | None:
        """Set the newest version of something of this site; return it, or None if it has not changed."""
        with self._lock:
            path = self._own / f"{name}.bin"
            before = _read(path)
            digest = hashlib.sha256(body).digest()
            if before is not None and before.digest == digest:
                return None
            version = (before.version if before is not None else 0) + 1
            _write(path, _Entry(version, digest, body))
            return DataItem(name, version, body)

    def get(self, name: str) -> bytes | None:
        """Return the newest version of something of this site."""
        entry = _read(self._own / f"{name}.bin")
        return entry.body if entry is not None else None

    def versions(self) -> dict[str, DataVersion]:
        """Return what this site offers, for its announcement."""
        found = {path.stem: self._version(path) for path in sorted(self._own.glob("*.bin"))}
        return {name: DataVersion(known[0], known[1].hex()) for name, known in found.items() if known}

    def of_site(self, site: str, name: str) -> bytes | None:
        """Return the copy of something of another site."""
        entry = _read(self._peers / site / f"{name}.bin")
        return entry.body if entry is not None else None

    def held_versions(self, site: str) -> dict[str, int]:
        """Return the versions of the copies from another site, by name."""
        found = {path.stem: self._version(path) for path in sorted((self._peers / site).glob("*.bin"))}
        return {name: known[0] for name, known in found.items() if known is not None}

    def differing(self, site: str, offered: dict[str, DataVersion]) -> list[str]:
        """Return the names of what another site offers and this one has in no version, or in another."""
        names = []
        for name, version in offered.items():
            if _NAME.fullmatch(name):
                known = self._version(self._peers / site / f"{name}.bin")
                if known is None or known[1].hex() != version.digest:
                    names.append(name)
        return names

    def _version(self, path: Path) -> tuple[int, bytes] | None:
        """Return version and digest of a file; it is read only if it has changed since that was done last."""
        try:
            state = _file_state(path)
        except FileNotFoundError:
            return None
        known = self._known.get(path)
        if known is None or known[0] != state:
            entry = _read(path)
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[path] = (state, (entry.version, entry.digest) if entry is not None else None)
        return known[1]

    def store(self, site: str, name: str, version: int, body: bytes, *, newest: bool = False) -> bool:
        """Store a version of another site; return whether it was stored. An older one is not, unless it is `newest`."""
        if not _NAME.fullmatch(name) or len(body) > MAX_DATA_BYTES:
            raise BadBatch(f"Site {site} has sent data of {len(body):,} bytes with the name {name[:40]!r}.")
        with self._lock:
            folder = self._peers / site
            with disk_errors(folder):
                make_folder(folder, 0o700)
            path = folder / f"{name}.bin"
            if not path.exists() and sum(1 for _ in folder.glob("*.bin")) >= _MAX_NAMES:
                raise BadBatch(f"Site {site} has sent more than {_MAX_NAMES} kinds of data.")
            before, digest = _read(path), hashlib.sha256(body).digest()
            if before is not None and (before.digest == digest or (before.version >= version and not newest)):
                return False
            _write(path, _Entry(version, digest, body))
        for listener in self._listeners:
            listener(site, name, body)
        return True

    def apply(self, batch: Batch) -> None:
        """Store what came through the sinks for statistics and thresholds."""
        for item in batch.items:
            self.store(batch.header.sender, item.name, item.version, item.body)

    def answer(self, sender: str, body: bytes) -> bytes:
        """Return a part of the newest version of something of this site: the handler of `data` requests."""
        try:
            question = parse_msgpack(body[:1024], _Question)
        except msgspec.MsgspecError as error:
            raise BadBatch("A request for data is not readable.") from error
        entry = _read(self._own / f"{question.name}.bin") if _NAME.fullmatch(question.name) else None
        if entry is None:
            raise BadBatch(f"There is no {question.name[:40]!r} here.")
        offset = min(max(question.offset, 0), len(entry.body))
        part = _Part(entry.version, len(entry.body), entry.digest, entry.body[offset : offset + _PART])
        return msgspec.msgpack.encode(part)


def fetch_data(transport: Transport, store: DataStore, site: str, name: str) -> bool:
    """Fetch the newest version of something from another site, part by part; return whether it is another one.

    All parts but the last have their full length, so that there are at most 512, and all of them come in some minutes.
    """
    pieces, size, version, digest = bytearray(), -1, 0, b""
    limit = time.monotonic() + _FETCH_ALL_SECONDS
    while size < 0 or len(pieces) < size:
        question = msgspec.msgpack.encode(_Question(name, len(pieces)))
        reply = transport.request(site, "data", question, _FETCH_SECONDS)
        try:
            part = parse_msgpack(reply, _Part)
        except msgspec.MsgspecError as error:
            raise SiteUnreachable(f"Site {site} sends what is not data.") from error
        if size < 0:
            size, version, digest = part.size, part.version, part.digest
        expected = min(_PART, size - len(pieces))
        if part.digest != digest or len(part.body) != expected or not 0 <= size <= MAX_DATA_BYTES:
            raise SiteUnreachable(
                f"Site {site} has changed {name} meanwhile, or offers too much.", "It is tried again."
            )
        pieces += part.body
        if time.monotonic() > limit:
            raise SiteUnreachable(f"Site {site} sends {name} too slowly.", "It is tried again.")
    if hashlib.sha256(pieces).digest() != digest:
        raise SiteUnreachable(f"What site {site} sends for {name} is damaged.", "It is tried again.")
    return store.store(site, name, version, bytes(pieces), newest=True)


def _file_state(path: Path) -> _FileState:
    """Return what changes whenever a file is replaced."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read(path: Path) -> _Entry | None:
    """Return what is in a file; None if there is none, or if it is damaged: it is fetched or made again."""
    try:
        data = read_file(path)
    except FileNotFoundError:
        return None
    if len(data) < _PREFIX.size:
        return None
    magic, number, version, digest = _PREFIX.unpack_from(data)
    body = data[_PREFIX.size :]
    if magic != _MAGIC or number != _VERSION or hashlib.sha256(body).digest() != digest:
        return None
    return _Entry(version, digest, body)


def _write(path: Path, entry: _Entry) -> None:
    write_atomically(path, _PREFIX.pack(_MAGIC, _VERSION, entry.version, entry.digest) + entry.body)
