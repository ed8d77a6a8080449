"""What shards send each other: files in the receiver's inbox, there until a snapshot of the receiver reflects them.

    inbox/SS-NNN.parcel     from shard SS: magic "PERIPARC", version u32, xxh3 of what follows u64, msgpack of a Parcel

A parcel is written whole or not at all, before the sender's snapshot reflects the pages that its links come from. It is
removed once the receiver's snapshot reflects it. So each link arrives at least once, whoever is killed when; what comes
twice is known by the frontier, as any link is.
"""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.errors import CorruptFile, NewerFormat
from periplus.files import write_atomically
from periplus.hashing import fingerprint, fingerprint_text
from periplus.records import Outcome

__all__ = [
    "Answer",
    "Question",
    "SentLink",
    "ShardMessage",
    "mark_of",
    "mark_of_inbox",
    "read_message",
    "write_message",
]

_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIPARC"
_VERSION: Final = 1
_REMEDY: Final = "Move it away: its links may be found again by other pages."


class SentLink(NamedTuple):
    """A URL that belongs to the receiver."""

    url: str
    depth: int
    rank: float
    hops: int
    is_list: bool
    """Whether it is a sitemap or a feed."""


class Question(NamedTuple):
    """A robots.txt that has moved to one of the receiver's hosts."""

    origin: str
    """Whose robots.txt it is."""
    target: str


class Answer(NamedTuple):
    """What came of a question."""

    origin: str
    target: str
    outcome: Outcome
    status: int
    elapsed: float
    location: str
    retry_after: str
    body: bytes


class ShardMessage(msgspec.Struct):
    """What one shard has for another."""

    sender: int
    links: list[SentLink] = []
    seeds: list[str] = []
    """Where seeds have moved to: they widen the scope."""
    questions: list[Question] = []
    answers: list[Answer] = []

    def __len__(self) -> int:
        return len(self.links) + len(self.seeds) + len(self.questions) + len(self.answers)


def write_message(path: Path, parcel: ShardMessage) -> None:
    """Put a parcel into an inbox, durably."""
    body = msgspec.msgpack.encode(parcel)
    write_atomically(path, _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body)


def read_message(path: Path) -> ShardMessage:
    """Read a parcel; raise `CorruptFile` when a single bit is off."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error.strerror}.") from error
    magic, version, checksum = _PREFIX.unpack_from(data) if len(data) >= _PREFIX.size else (b"", 0, 0)
    if magic == _MAGIC and version > _VERSION:
        raise NewerFormat(f"{path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
    body = memoryview(data)[_PREFIX.size :]
    if magic != _MAGIC or version < 1 or fingerprint(body) != checksum:
        raise CorruptFile(f"{path} is damaged.", _REMEDY)
    try:
        return msgspec.msgpack.decode(body, type=ShardMessage)
    except msgspec.MsgspecError as error:
        raise CorruptFile(f"{path} is unreadable: {error}.", _REMEDY) from error


def mark_of(names: Iterable[str]) -> int:
    """Give a number that stands for these parcels, and no others."""
    mark = 0
    for name in names:
        mark ^= fingerprint_text(name)
    return mark


def mark_of_inbox(inbox: Path) -> int:
    """Give the mark of all parcels in an inbox."""
    return mark_of(path.name for path in inbox.glob("*.parcel"))
