"""Signatures of the cluster: keyed BLAKE2b over purpose, version, time, nonce and body.

The key is 32 random bytes in a file that only its owner can read. `sign_header` returns the value of the HTTP header
`Periplus-Signature`; `read_header` checks it against the body. Connections that stay open have keys of their own
instead (`wire.handshake`).

The *purpose* says what a message is for and for whom ('mailbox 3 POST /messages/17'): what is signed for one is refused
for any other. A reply is signed for the purpose and the nonce of its request.

Messages that are older than the replay window, or that have come before, are refused (`ReplayGuard`). A sender that
repeats a message signs it again. Signatures are checked before anything else of a message is read, versions after that:
a signed message of another version of Periplus raises `WrongVersion` with both versions.
"""

import hashlib
import hmac
import os
import secrets
import stat
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

from periplus import __version__
from periplus.errors import BadFile, Unauthenticated, WrongVersion
from periplus.files import disk_errors, make_folder, sync_folder

__all__ = [
    "KEY_BYTES",
    "NONCE_BYTES",
    "PROTOCOL",
    "SIGNATURE_HEADER",
    "ClusterKey",
    "ReplayGuard",
    "Signature",
    "load_key",
    "make_key",
    "new_nonce",
    "read_header",
    "sign_header",
]

PROTOCOL: Final = 3
"""Number of the protocol between processes; raised with every change of a message."""
SIGNATURE_HEADER: Final = "Periplus-Signature"
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 16
_DIGEST_BYTES: Final = 32
_MAX_VERSION: Final = 64
_MAX_HEADER: Final = 512


class ClusterKey(NamedTuple):
    """The secret that the processes of a cluster share."""

    secret: bytes

    def __repr__(self) -> str:
        return "ClusterKey(...)"  # it must not reach a log

    def digest(self, *parts: bytes, size: int = _DIGEST_BYTES) -> bytes:
        """Return the keyed BLAKE2b digest of parts, each with its length, so that no two lists have the same input."""
        state = hashlib.blake2b(key=self.secret, digest_size=size)
        for part in parts:
            state.update(len(part).to_bytes(8, "little"))
            state.update(part)
        return state.digest()


class Signature(NamedTuple):
    """What a signature covers besides purpose and body."""

    protocol: int
    version: str
    time_ns: int
    nonce: bytes


def new_nonce() -> bytes:
    """Return 16 random bytes."""
    return secrets.token_bytes(NONCE_BYTES)


def make_key(path: Path) -> ClusterKey:
    """Write a new key to a file that only its owner can read, and return it; return the key of an existing file."""
    with disk_errors(path):
        make_folder(path.parent)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES).hex().encode("ascii") + b"\n")
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, path)  # two processes: the first wins, and both read its key
            except FileExistsError:
                pass
        finally:
            os.unlink(temporary)
        sync_folder(path.parent)
    return load_key(path)


def load_key(path: Path) -> ClusterKey:
    """Return the key in a file; raise `BadFile` if there is none or if others than its owner can read it."""
    hint = "Copy cluster.key from the node on which the cluster was started, with mode 600."
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(4 * KEY_BYTES)
    except FileNotFoundError:
        raise BadFile(f"There is no key of the cluster at {path}.", hint) from None
    except OSError as error:
        raise BadFile(f"The key of the cluster at {path} cannot be read: {error.strerror}.", hint) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadFile(f"{path} can be read by others than its owner.", f"Run: chmod 600 {path}")
    try:
        secret = bytes.fromhex(text.decode("ascii").strip())
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise BadFile(f"{path} has no key: {2 * KEY_BYTES} hexadecimal digits are expected.", hint)
    return ClusterKey(secret)


class ReplayGuard:
    """Refuses messages that are too old, from the future, or that have come before.

    Only authentic messages are remembered, at most `max_messages` of them: when there are more, the oldest is dropped,
    and everything as old is refused from then on. Messages signed before the guard was made are refused as well, since
    an earlier process may have accepted them.
    """

    def __init__(self, window: float = 60.0, max_messages: int = 200_000, now_ns: int | None = None) -> None:
        self._window = int(window * 1e9)
        self._max = max_messages
        self._floor = (time.time_ns() if now_ns is None else now_ns) - 1
        self._nonces: set[bytes] = set()
        self._order: deque[tuple[int, bytes]] = deque()
        self._lock = threading.Lock()

    def check(self, signature: Signature, now_ns: int | None = None) -> None:
        """Remember an authentic signature; raise `Unauthenticated` if it must not be accepted."""
        now = time.time_ns() if now_ns is None else now_ns
        if abs(now - signature.time_ns) > self._window:
            raise Unauthenticated(
                f"A message is {abs(now - signature.time_ns) / 1e9:.0f} s older or newer than this node's clock.",
                "Synchronise the clocks of the nodes.",
            )
        with self._lock:
            if signature.time_ns <= self._floor:
                raise Unauthenticated("A message was signed before this process began to listen.", "Send it again.")
            if signature.nonce in self._nonces:
                raise Unauthenticated("A message has come before.")
            self._nonces.add(signature.nonce)
            self._order.append((signature.time_ns, signature.nonce))
            while len(self._order) > self._max or now - self._order[0][0] > 2 * self._window:
                dropped, nonce = self._order.popleft()
                self._nonces.discard(nonce)
                if len(self._order) >= self._max:
                    self._floor = max(self._floor, dropped)


def sign_header(key: ClusterKey, purpose: str, body: bytes, *, context: bytes = b"") -> str:
    """Return the value of `SIGNATURE_HEADER` for an HTTP message; `context` is the request's nonce in a response."""
    stamp, nonce = time.time_ns(), new_nonce()
    digest = _digest(key, purpose, context, Signature(PROTOCOL, __version__, stamp, nonce), body)
    return f"{PROTOCOL} {__version__} {stamp} {nonce.hex()} {digest.hex()}"


def read_header(
    key: ClusterKey, purpose: str, value: str | None, body: bytes, guard: ReplayGuard | None, *, context: bytes = b""
) -> Signature:
    """Check the signature of an HTTP message and return it; raise `Unauthenticated` or `WrongVersion`.

    Without a guard, which responses need not have (their context is new), a message may come again.
    """
    if not value or len(value) > _MAX_HEADER:
        raise Unauthenticated("A message has no signature of the cluster.")
    fields = value.split(" ")
    try:
        protocol, version, stamp, nonce, digest = fields
        signature = Signature(int(protocol), version, int(stamp), bytes.fromhex(nonce))
        expected = _digest(key, purpose, context, signature, body)
        given = bytes.fromhex(digest)
    except (ValueError, OverflowError, UnicodeEncodeError):
        raise Unauthenticated("A message has no signature of the cluster.") from None
    return _accept(signature, expected, given, guard)


def _digest(key: ClusterKey, purpose: str, context: bytes, signature: Signature, body: bytes) -> bytes:
    return key.digest(
        purpose.encode("utf-8"),
        context,
        signature.protocol.to_bytes(2, "little"),
        signature.version.encode("ascii"),
        signature.time_ns.to_bytes(8, "little"),
        signature.nonce,
        body,
    )


def _accept(signature: Signature, expected: bytes, digest: bytes, guard: ReplayGuard | None) -> Signature:
    if not hmac.compare_digest(expected, digest):
        raise Unauthenticated("A message is not signed with the key of this cluster.")
    if signature.protocol != PROTOCOL or signature.version != __version__:
        raise WrongVersion(
            f"A peer runs Periplus {signature.version[:_MAX_VERSION]} (protocol {signature.protocol}), "
            f"this node {__version__} (protocol {PROTOCOL}).",
            "Install the same version on every node.",
        )
    if guard is not None:
        guard.check(signature)
    return signature
