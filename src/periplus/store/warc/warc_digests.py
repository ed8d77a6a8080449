"""Digests of WARC records: `WARC-Block-Digest` is that of all their content, `WARC-Payload-Digest` that of the body."""

import base64
import binascii
import hashlib
from typing import Any, Final

__all__ = ["verify_digests"]

_ALGORITHMS: Final = {"sha1": 20, "sha256": 32, "sha512": 64, "md5": 16}
"""Digests that are verified, and their length in bytes."""


def verify_digests(record: Any, *, own: bool) -> bool | None:
    """Return whether the content of a record, read to memory, has the digest that its header states.

    None means that it states none that can be verified. That of the payload is only used for `own` records: others
    compute it before or after a body is decoded.
    """
    block = _read_digest(record.headers.get("WARC-Block-Digest"))
    if block is not None:
        return _digest_of(record, block[0], of_payload=False) == block[1]
    payload = _read_digest(record.headers.get("WARC-Payload-Digest")) if own else None
    return None if payload is None else _digest_of(record, payload[0], of_payload=True) == payload[1]


def _read_digest(field: str | None) -> tuple[str, bytes] | None:
    """Return the algorithm and the digest of a header field, in base 32 or hexadecimal; None if it has neither."""
    algorithm, _, value = (field or "").strip().partition(":")
    algorithm, value = algorithm.lower().replace("-", ""), value.strip()
    length = _ALGORITHMS.get(algorithm)
    if length is None:
        return None
    try:
        if len(value) == 2 * length:
            return algorithm, binascii.unhexlify(value)
        digest = base64.b32decode(value.upper() + "=" * (-len(value) % 8))
    except (ValueError, binascii.Error):
        return None
    return (algorithm, digest) if len(digest) == length else None


def _digest_of(record: Any, algorithm: str, *, of_payload: bool) -> bytes:
    content = record.reader.read()
    record.reader.seek(0)
    if of_payload and content.startswith(b"HTTP/"):
        content = content.partition(b"\r\n\r\n")[2]
    return hashlib.new(algorithm, content, usedforsecurity=False).digest()
