"""How text files carry a checksum: a JSON object has a last member `checksum`, and so has every line of JSON lines.

    {"format":2,"pages":{},"checksum":"0123456789abcdef"}

The checksum is the xxh3 of the object without that member, byte for byte, in 16 hexadecimal digits. It has to be the
last member and spelt exactly so: every other bit of the file is then either part of what it covers, or part of it.
Plain text begins with a comment instead: `# checksum: 0123456789abcdef`. See docs/formats/checksums.md.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

from periplus.hashing import fingerprint

__all__ = ["FileFault", "add_checksum", "add_text_checksum", "split_checksum", "split_text_checksum"]

_MEMBER: Final = re.compile(rb',"checksum":"([0-9a-f]{16})"\}\Z')
_MEMBER_BYTES: Final = 31
_COMMENT: Final = re.compile(rb"# checksum: ([0-9a-f]{16})\n")
_COMMENT_WORD: Final = b"checksum"
_COMMENT_BYTES: Final = 29


class FileFault(NamedTuple):
    """One fault of a file: which one, and what is wrong with it."""

    path: Path
    reason: str
    torn: bool = False
    """Whether a crash explains it: the end of a file that was never acknowledged."""


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


def add_text_checksum(text: bytes) -> bytes:
    """Return plain text with its checksum in a comment before it."""
    return b"# checksum: %016x\n%s" % (fingerprint(text), text)


def split_text_checksum(data: bytes) -> tuple[bytes, bool | None]:
    """Return plain text without its checksum, and whether that is right; None if it was written without one."""
    match = _COMMENT.match(data)
    if match is None:
        # Earlier versions wrote no comments and no empty files; what is left of a damaged comment is most of it.
        return data, False if data[:1] in (b"#", b"") or _COMMENT_WORD in data[:_COMMENT_BYTES] else None
    body = data[match.end() :]
    return body, fingerprint(body) == int(match[1], 16)
