"""Messages between shards: files in the receiver's mailbox until a snapshot of the receiver reflects them.

    inbox/SS-NNN.parcel     from shard SS: magic "PERIPARC", version u32, xxh3 of what follows u64, msgpack ShardMessage

A message is written atomically, before the sender's snapshot reflects the pages that its links come from. It is deleted
once the receiver's snapshot reflects it. So each link arrives at least once, whichever process is killed when; a link
that arrives twice is known to the frontier, like any other link.
"""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.errors import CorruptFile, NewerFormat
from periplus.files import read_file, write_atomically
from periplus.hashing import fingerprint, fingerprint_text
from periplus.records import Outcome
from periplus.typed_decoding import parse_msgpack

__all__ = [
    "MESSAGE_SUFFIX",
    "ForeignMessage",
    "ForwardedLink",
    "RobotsRequest",
    "RobotsResponse",
    "ShardMessage",
    "mailbox_mark",
    "message_mark",
    "read_message",
    "write_message",
]

_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIPARC"
_VERSION: Final = 1
MESSAGE_SUFFIX: Final = ".parcel"
_REMEDY: Final = "Move the file away; its links may be found again on other pages."


class ForwardedLink(NamedTuple):
    """A URL of a host that the receiver owns."""

    url: str
    depth: int
    rank: float
    hops: int
    is_list: bool
    """Whether it is a sitemap or a feed."""


class RobotsRequest(NamedTuple):
    """A robots.txt that has moved to a host of the receiver, which is asked to fetch it."""

    origin: str
    """The origin that the robots.txt is for."""
    target: str


class RobotsResponse(NamedTuple):
    """A robots.txt as the receiver's host returned it."""

    origin: str
    target: str
    outcome: Outcome
    status: int
    elapsed: float
    location: str
    retry_after: str
    body: bytes


class ShardMessage(msgspec.Struct):
    """What one shard sends to another."""

    sender: int
    links: list[ForwardedLink] = []
    seeds: list[str] = []
    """Targets of redirected seeds: they widen the scope."""
    robots_requests: list[RobotsRequest] = msgspec.field(default_factory=list, name="questions")
    robots_responses: list[RobotsResponse] = msgspec.field(default_factory=list, name="answers")

    def __len__(self) -> int:
        return len(self.links) + len(self.seeds) + len(self.robots_requests) + len(self.robots_responses)


class ForeignMessage(ShardMessage):
    """What another site of a federation has sent: its links are within the scope of its crawl, not of this one."""


def write_message(path: Path, message: ShardMessage) -> None:
    """Write a message into a mailbox, durably."""
    body = msgspec.msgpack.encode(message)
    write_atomically(path, _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body)


def read_message(path: Path) -> ShardMessage:
    """Read a message; raise `CorruptFile` if a single bit is wrong."""
    try:
        data = read_file(path)
    except FileNotFoundError as error:
        raise CorruptFile(f"{path} is missing.") from error
    magic, version, checksum = _PREFIX.unpack_from(data) if len(data) >= _PREFIX.size else (b"", 0, 0)
    if magic == _MAGIC and version > _VERSION:
        raise NewerFormat(f"{path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
    body = memoryview(data)[_PREFIX.size :]
    if magic != _MAGIC or version < 1 or fingerprint(body) != checksum:
        raise CorruptFile(f"{path} is damaged.", _REMEDY)
    try:
        return parse_msgpack(body, ShardMessage)
    except msgspec.MsgspecError as error:
        raise CorruptFile(f"{path} is unreadable: {error}.", _REMEDY) from error


def message_mark(names: Iterable[str]) -> int:
    """Return a fingerprint of the names of messages, independent of their order."""
    mark = 0
    for name in names:
        mark ^= fingerprint_text(name)
    return mark


def mailbox_mark(inbox: Path) -> int:
    """Return the fingerprint of all messages in a mailbox."""
    return message_mark(path.name for path in inbox.glob(f"*{MESSAGE_SUFFIX}"))
