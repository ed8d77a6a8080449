"""API keys, and the permissions of each role. `keys.json` of the data folder holds digests of keys, not the keys."""

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput
from periplus.files import decode_json, disk_errors, encode_json, read_file, sync_folder, write_atomically
from periplus.writer_queue import queue_for_lock

__all__ = ["ROLES", "ApiKey", "ApiKeys"]

ROLES: Final[dict[str, frozenset[str]]] = {
    "read": frozenset({"read"}),
    "publish": frozenset({"publish", "submit", "read"}),
    "manage": frozenset({"publish", "submit", "read", "manage"}),
    "report": frozenset({"report"}),
    "crawl": frozenset({"crawl", "submit"}),
    "judge": frozenset({"judge"}),
    "admin": frozenset({"publish", "submit", "read", "manage", "report", "crawl", "judge", "admin"}),
}
"""Permissions by role. The route table names the permission that each route needs."""
_FILE: Final = "keys.json"
_REMEDY: Final = "Remove it and create the keys again."
_FORMAT: Final = 3
"""The format number of the file, raised whenever its content changes. A file without one has format 0.
Since 2, the file has a checksum; since 3, keys may be limited to collections, which an older version would ignore."""
_LIMITABLE: Final = frozenset({"read", "publish", "manage"})
"""Roles whose keys may be limited to collections."""
_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\*?|\*")
_MAX_PATTERNS: Final = 100
_RELOAD_SECONDS: Final = 1.0
_LOCK_SECONDS: Final = 30.0
"""Seconds to wait for another process that changes the keys."""


class ApiKey(msgspec.Struct, frozen=True):
    """One key, without its secret."""

    name: str
    role: str
    digest: str = msgspec.field(name="mark")
    """SHA-256 of the secret."""
    created: float = msgspec.field(name="made")
    collections: tuple[str, ...] = ()
    """Names of collections that it is limited to, or their beginnings with a star; none is no limit."""

    def covers(self, names: Iterable[str]) -> bool:
        """Return whether it may be used for a collection that has all these names: its own, and an alias."""
        if not self.collections:
            return True
        return any(_fits(name, pattern) for name in names for pattern in self.collections)

    def allows(self, permission: str) -> bool:
        """Return whether the key's role has a permission."""
        return permission in ROLES.get(self.role, frozenset())


class _KeyFile(msgspec.Struct, frozen=True):
    secret: str
    """Signs session cookies and form tokens."""
    keys: tuple[ApiKey, ...] = ()
    format: int = _FORMAT


class ApiKeys:
    """The keys of a data folder. A change of the file takes effect within a second."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / _FILE if folder else None
        self._file = _KeyFile(secrets.token_hex(32))
        self._checked = 0.0
        self._stamp: tuple[int, int] = (0, 0)
        if self._path is not None:
            self._read()

    def add(self, name: str, role: str, collections: Sequence[str] = ()) -> str:
        """Create a key and return its secret, which is not stored and cannot be shown again.

        collections: what it is limited to, see `ApiKey.collections`.
        """
        if role not in ROLES:
            raise BadInput(f"There is no role '{role}'.", f"Roles are {', '.join(ROLES)}.")
        if not name or len(name) > 100 or not name.isprintable():
            raise BadInput("A key needs a name of up to 100 characters.")
        if collections and role not in _LIMITABLE:
            raise BadInput(f"A key of the role {role} cannot be limited to collections.")
        if len(collections) > _MAX_PATTERNS or not all(_PATTERN.fullmatch(pattern) for pattern in collections):
            hint = f"Name up to {_MAX_PATTERNS} collections, or their beginnings with a star, such as shop_*."
            raise BadInput("The collections of a key are invalid.", hint)
        with self._changing() as keys:
            if any(key.name == name for key in keys):
                raise BadInput(f"There is already a key called '{name}'.", "Remove it first, or choose another name.")
            secret = "pk_" + secrets.token_urlsafe(32)
            self._write((*keys, ApiKey(name, role, _digest(secret), time.time(), tuple(collections))))
        return secret

    def remove(self, name: str) -> None:
        """Revoke a key; raise `BadInput` if there is none with this name."""
        with self._changing() as keys:
            left = tuple(key for key in keys if key.name != name)
            if len(left) == len(keys):
                raise BadInput(f"There is no key called '{name}'.")
            self._write(left)

    def all(self) -> tuple[ApiKey, ...]:
        """Return all keys."""
        self._reload()
        return self._file.keys

    def find(self, secret: str) -> ApiKey | None:
        """Return the key with this secret, in the same time for every wrong secret."""
        self._reload()
        digest, match = _digest(secret), None
        for key in self._file.keys:
            if hmac.compare_digest(key.digest, digest):
                match = key
        return match

    def sign(self, text: str) -> str:
        """Return a signature that only servers of this data folder can make."""
        self._reload()
        return hmac.new(self._file.secret.encode(), text.encode(), hashlib.sha256).hexdigest()

    def is_signed(self, text: str, signature: str) -> bool:
        """Return whether a signature was made by `sign`."""
        return hmac.compare_digest(self.sign(text), signature)

    def ensure_file(self) -> None:
        """Write the file if it does not exist, so that all processes sign with the same secret."""
        if self._path is not None and not self._path.exists():
            with self._changing() as keys:
                if not self._path.exists():
                    self._write(keys)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[tuple[ApiKey, ...]]:
        """Hold the file, so that no change of another process is lost, and yield the keys that it has now."""
        if self._path is None or not self._path.parent.is_dir():
            yield self._file.keys
            return
        with queue_for_lock(self._path.parent, "keys", _LOCK_SECONDS):
            self._stamp = (0, 0)
            self._read()
            with disk_errors(self._path):
                sync_folder(self._path.parent)  # an earlier change may have been renamed, but not synced
            yield self._file.keys

    def _reload(self) -> None:
        if self._path is not None and time.monotonic() - self._checked > _RELOAD_SECONDS:
            self._read()

    def _read(self) -> None:
        assert self._path is not None
        self._checked = time.monotonic()
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_ino)
            if stamp != self._stamp:
                self._file = decode_json(
                    self._path, read_file(self._path), _KeyFile, _FORMAT, _REMEDY, checksum_since=2
                )
                self._stamp = stamp
        except FileNotFoundError:
            self._file, self._stamp = _KeyFile(self._file.secret), (0, 0)

    def _write(self, keys: tuple[ApiKey, ...]) -> None:
        self._file = _KeyFile(self._file.secret, keys)
        if self._path is None:
            return
        previous = os.umask(0o077)  # the file must not be readable by others, not even for a moment
        try:
            write_atomically(self._path, encode_json(self._file))
        finally:
            os.umask(previous)
        self._stamp = (0, 0)
        self._read()


def _fits(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
