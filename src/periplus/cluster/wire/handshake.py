"""The handshake: both sides prove that they have the cluster's key, and name their protocol and version.

    client   hello: 'PERIPLUS', protocol, version, 32 random bytes
    server   hello of the same form, then a proof over both hellos
    client   a proof over both hellos

A hello has 58 bytes in every protocol, now and later, so that any two versions can name each other. A proof is a
BLAKE2b of 32 bytes keyed with the cluster's key, different for each side. The keys of the frames are derived
from the same bytes: nothing of one connection is of use on another. Messages are encrypted with them;
who learns the cluster's key can read what was recorded, so the network between nodes should be private all the same.
"""

import hmac
import os
import struct
from typing import Final, NamedTuple

from periplus import __version__
from periplus.cluster.wire.signing import PROTOCOL, ClusterKey
from periplus.errors import PeerFailed, Unauthenticated, WrongVersion

__all__ = ["HELLO_BYTES", "PROOF_BYTES", "ClientHandshake", "ServerHandshake", "SessionKeys"]

_MAGIC: Final = b"PERIPLUS"
_HELLO: Final = struct.Struct("<8sH16s32s")
HELLO_BYTES: Final = _HELLO.size
PROOF_BYTES: Final = 32


class SessionKeys(NamedTuple):
    """The keys of one connection."""

    to_server: bytes
    to_client: bytes


def _make_hello(version: str, protocol: int) -> bytes:
    return _HELLO.pack(_MAGIC, protocol, version.encode("ascii", "replace")[:16], os.urandom(32))


def _check_hello(hello: bytes, version: str, protocol: int) -> None:
    """Raise `WrongVersion` unless a hello is that of a node with the same protocol and version."""
    magic, other_protocol, raw, _ = _HELLO.unpack(hello)
    if magic != _MAGIC:
        raise PeerFailed("A peer does not speak the protocol of a Periplus cluster.", "Check the address.")
    other = "".join(c if c.isprintable() else "?" for c in raw.rstrip(b"\0").decode("ascii", "replace"))
    if other_protocol != protocol or other != version:
        raise WrongVersion(
            f"A peer runs Periplus {other} (protocol {other_protocol}), this node {version} (protocol {protocol}).",
            "Install the same version on every node.",
        )


class ClientHandshake:
    """The side that connects: send `hello`, read `REPLY_BYTES`, send what `finish` returns."""

    REPLY_BYTES: Final = HELLO_BYTES + PROOF_BYTES

    def __init__(self, key: ClusterKey, version: str = __version__, protocol: int = PROTOCOL) -> None:
        self._key, self._version, self._protocol = key, version, protocol
        self.hello = _make_hello(version, protocol)

    def finish(self, reply: bytes) -> tuple[bytes, SessionKeys]:
        """Return the proof to send and the keys; raise `WrongVersion` or `Unauthenticated`."""
        hello, proof = reply[:HELLO_BYTES], reply[HELLO_BYTES:]
        _check_hello(hello, self._version, self._protocol)
        hellos = self.hello + hello
        if not hmac.compare_digest(proof, self._key.digest(b"server proof", hellos)):
            raise Unauthenticated("A peer does not have the key of this cluster.", "Check cluster.key_file on both.")
        return self._key.digest(b"client proof", hellos), _session_keys(self._key, hellos)


class ServerHandshake:
    """The side that listens: read a hello, send what `answer` returns, read a proof, call `finish`."""

    def __init__(self, key: ClusterKey, version: str = __version__, protocol: int = PROTOCOL) -> None:
        self._key, self._version, self._protocol = key, version, protocol
        self._hello = _make_hello(version, protocol)
        self._hellos = b""

    def answer(self, hello: bytes) -> bytes:
        """Return the answer to a hello, also to one that `finish` will refuse: the client then knows why."""
        self._hellos = hello + self._hello
        return self._hello + self._key.digest(b"server proof", self._hellos)

    def check_version(self, hello: bytes) -> None:
        """Raise `WrongVersion` for a client of another version, after it was answered."""
        _check_hello(hello, self._version, self._protocol)

    def finish(self, proof: bytes) -> SessionKeys:
        """Return the keys; raise `Unauthenticated` for a client without the cluster's key."""
        if not hmac.compare_digest(proof, self._key.digest(b"client proof", self._hellos)):
            raise Unauthenticated("A peer does not have the key of this cluster.", "Check cluster.key_file on both.")
        return _session_keys(self._key, self._hellos)


def _session_keys(key: ClusterKey, hellos: bytes) -> SessionKeys:
    return SessionKeys(key.digest(b"frames to server", hellos), key.digest(b"frames to client", hellos))
