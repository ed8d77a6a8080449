"""How text files carry a checksum: a JSON object has a last member `checksum`, and so has every line of JSON lines.

    {"format":2,"pages":{},"checksum":"0123456789abcdef"}

The checksum is the xxh3 of the object without that member, byte for byte, in 16 hexadecimal digits. It has to be the
last member and spelt exactly so: every other bit of the file is then either part of what it covers, or part of it.
See docs/formats/checksums.md.
"""

import re
from typing import Final

from periplus.hashing import fingerprint

__all__ = ["add_checksum", "split_checksum"]

_MEMBER: Final = re.compile(rb',"checksum":"([0-9a-f]{16})"\}\Z')
_MEMBER_BYTES: Final = 31


def add_checksum(encoded: bytes) -> bytes:
    """Return a JSON object, which must have a member, with its checksum as the last one."""
    return b'%s,"checksum":"%016x"}' % (encoded[:-1], fingerprint(encoded))


def split_checksum(data: bytes) -> tuple[bytes, bool | None]:
    """Return a JSON object without its checksum, and whether that is right; None if it has none."""
    match = _MEMBER.search(data, max(0, len(data) - _MEMBER_BYTES))
    if match is None:
        return data, None
    body = data[: match.start()] + b"}"
    return body, fingerprint(body) == int(match[1], 16)
