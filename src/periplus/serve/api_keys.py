"""API keys: who may change what. Only fingerprints of keys are kept, in `keys.json` of the data folder."""

import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput
from periplus.files import decode_json, write_atomically

__all__ = ["ROLES", "Key", "Keys"]

ROLES: Final[dict[str, frozenset[str]]] = {
    "publish": frozenset({"publish", "submit"}),
    "report": frozenset({"report"}),
    "crawl": frozenset({"crawl", "submit"}),
    "judge": frozenset({"judge"}),
    "admin": frozenset({"publish", "submit", "report", "crawl", "judge", "admin"}),
}
"""What the holder of a key may do, by role."""
_FILE: Final = "keys.json"
_REMEDY: Final = "Remove it and make the keys again."
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes. Files without one are of format 0."""
_LOOK_SECONDS: Final = 1.0


class Key(msgspec.Struct, frozen=True):
    """One key, without the secret itself."""

    name: str
    role: str
    mark: str
    """SHA-256 of the secret."""
    made: float

    def may(self, what: str) -> bool:
        """Say whether the key's role allows something."""
        return what in ROLES.get(self.role, frozenset())


class _Book(msgspec.Struct, frozen=True):
    secret: str
    """What session cookies and form tokens are signed with."""
    keys: tuple[Key, ...] = ()
    format: int = _FORMAT


class Keys:
    """The keys of a data folder; changes of the file are noticed within a second."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / _FILE if folder else None
        self._book = _Book(secrets.token_hex(32))
        self._looked = 0.0
        self._stamp: tuple[int, int] = (0, 0)
        if self._path is not None:
            self._read()

    def add(self, name: str, role: str) -> str:
        """Make a key; give its secret, which is not kept and cannot be shown again."""
        if role not in ROLES:
            raise BadInput(f"There is no role '{role}'.", f"Roles are {', '.join(ROLES)}.")
        if not name or len(name) > 100 or not name.isprintable():
            raise BadInput("A key needs a name of up to 100 characters.")
        if any(key.name == name for key in self.all()):
            raise BadInput(f"There is a key called '{name}' already.", "Remove it first, or choose another name.")
        secret = "pk_" + secrets.token_urlsafe(32)
        self._write((*self._book.keys, Key(name, role, _mark(secret), time.time())))
        return secret

    def remove(self, name: str) -> None:
        """Take a key back; raise `BadInput` when there is none of this name."""
        left = tuple(key for key in self.all() if key.name != name)
        if len(left) == len(self._book.keys):
            raise BadInput(f"There is no key called '{name}'.")
        self._write(left)

    def all(self) -> tuple[Key, ...]:
        """List the keys."""
        self._renew()
        return self._book.keys

    def find(self, secret: str) -> Key | None:
        """Give the key with this secret, taking the same time for any wrong one."""
        self._renew()
        mark, found = _mark(secret), None
        for key in self._book.keys:
            if hmac.compare_digest(key.mark, mark):
                found = key
        return found

    def sign(self, text: str) -> str:
        """Give a signature that only this data folder's servers can make."""
        self._renew()
        return hmac.new(self._book.secret.encode(), text.encode(), hashlib.sha256).hexdigest()

    def signed(self, text: str, signature: str) -> bool:
        """Say whether a signature is ours."""
        return hmac.compare_digest(self.sign(text), signature)

    def keep_secret(self) -> None:
        """Write the file if there is none, so that several processes sign alike."""
        if self._path is not None and not self._path.exists():
            self._write(())

    def _renew(self) -> None:
        if self._path is not None and time.monotonic() - self._looked > _LOOK_SECONDS:
            self._read()

    def _read(self) -> None:
        assert self._path is not None
        self._looked = time.monotonic()
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_ino)
            if stamp != self._stamp:
                self._book = decode_json(self._path, self._path.read_bytes(), _Book, _FORMAT, _REMEDY)
                self._stamp = stamp
        except FileNotFoundError:
            self._book, self._stamp = _Book(self._book.secret), (0, 0)

    def _write(self, keys: tuple[Key, ...]) -> None:
        self._book = _Book(self._book.secret, keys)
        if self._path is None:
            return
        before = os.umask(0o077)  # nobody else on this machine may read it, not even for a moment
        try:
            write_atomically(self._path, msgspec.json.encode(self._book))
        finally:
            os.umask(before)
        self._stamp = (0, 0)
        self._read()


def _mark(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
