"""What the frontier keeps of one host, and the snapshot that it writes."""

import struct
from typing import Final, NamedTuple

import msgspec

from periplus.errors import CorruptFile, NewerFormat
from periplus.fingerprint import fingerprint

__all__ = ["Entry", "FrontierStatistics", "Host", "Snapshot", "pack", "unpack"]

_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIFRON"
_VERSION: Final = 1


class Entry(NamedTuple):
    """One URL that waits. Tuples compare by crawl rank first, then by the order in which they came."""

    falling: float
    """The crawl rank, negated."""
    order: int
    url: str
    depth: int = 0
    attempt: int = 0
    hops: int = 0


class Host(msgspec.Struct, array_like=True):
    """One host: its queue, and when it may be asked again."""

    name: str
    next_time: float
    queue: list[Entry] = []
    """A heap."""
    later: list[tuple[float, Entry]] = []
    """A heap of those to be tried again, by time."""
    busy: Entry | None = None
    ready: tuple[float, float, int, str] | None = None
    """Its one valid place in the heap of all hosts."""
    failures: int = 0
    """In a row."""
    given_up: bool = False
    crawl_delay: float = 0.0
    elapsed: float = 0.0
    """Of the last request."""

    def __len__(self) -> int:
        return len(self.queue) + len(self.later)


class FrontierStatistics(msgspec.Struct, frozen=True):
    """How the frontier is."""

    waiting: int
    """URLs of hosts that were not given up."""
    busy: int
    hosts: int
    seen: int
    """URLs ever added."""
    retries: int
    given_up: int
    """Hosts left alone for now: they do not answer, or have had their share."""
    dropped: int = 0
    """URLs refused because their host's queue was full."""


class Snapshot(msgspec.Struct, array_like=True):
    """All of a frontier's state."""

    now: float
    order: int
    retries: int
    dropped: int
    hosts: list[Host]
    seen: bytes


def pack(snapshot: Snapshot) -> bytes:
    """Encode a snapshot with magic, version and checksum."""
    body = msgspec.msgpack.encode(snapshot)
    return _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body


def unpack(data: bytes) -> Snapshot:
    """Decode a snapshot; raise `CorruptFile` when a single bit is off."""
    if len(data) < _PREFIX.size:
        raise CorruptFile(f"The frontier's snapshot is cut off: {len(data)} bytes.")
    magic, version, checksum = _PREFIX.unpack_from(data)
    if magic != _MAGIC or version < 1:
        raise CorruptFile("This is no snapshot of a frontier.")
    if version > _VERSION:
        raise NewerFormat(f"The frontier's snapshot has format {version}; this Periplus knows {_VERSION}.")
    body = memoryview(data)[_PREFIX.size :]
    if fingerprint(body) != checksum:
        raise CorruptFile("The frontier's snapshot is damaged.")
    try:
        snapshot = msgspec.msgpack.decode(body, type=Snapshot)
    except msgspec.MsgspecError as error:
        raise CorruptFile(f"The frontier's snapshot is unreadable: {error}.") from error
    if len(snapshot.seen) % 8:
        raise CorruptFile("The frontier's snapshot has half a key.")
    return snapshot
