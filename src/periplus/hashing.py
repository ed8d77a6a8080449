"""What identifies bytes: 64-bit fingerprints for look-ups and checksums (xxh3). Not for secrets."""

from typing import Final

import xxhash

__all__ = ["FINGERPRINT_BYTES", "StreamFingerprint", "fingerprint", "fingerprint_text"]

FINGERPRINT_BYTES: Final = 8


def fingerprint(data: bytes | bytearray | memoryview) -> int:
    """Return the unsigned 64-bit fingerprint of `data`."""
    return int(xxhash.xxh3_64_intdigest(data))


def fingerprint_text(text: str) -> int:
    """Return the fingerprint of a string's UTF-8 form; lone surrogates are allowed."""
    return fingerprint(text.encode("utf-8", "surrogatepass"))


class StreamFingerprint:
    """The fingerprint of bytes that arrive in chunks."""

    def __init__(self) -> None:
        self._state = xxhash.xxh3_64()

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Add a chunk."""
        self._state.update(data)

    def digest(self) -> int:
        """Return the fingerprint of all chunks so far."""
        return int(self._state.intdigest())

    def hexdigest(self) -> str:
        """Return the fingerprint of all chunks so far, in 16 hexadecimal digits."""
        return f"{self.digest():016x}"
