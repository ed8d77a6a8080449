"""What the frontier keeps of one host, and the snapshot that it writes."""

import struct
from typing import Final, NamedTuple

import msgspec

from periplus.errors import CorruptFile, NewerFormat
from periplus.hashing import fingerprint

__all__ = ["Chunk", "Entry", "FrontierStatistics", "Host", "Place", "Snapshot", "pack", "unpack"]

_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIFRON"
_VERSION: Final = 1
_BEHIND: Final = 10_000.0
"""More than any crawl rank differs from another."""


Place = tuple[float, float, int, str]
"""A host among those that wait: earliest time, best rank negated, order, name."""


class Entry(NamedTuple):
    """One URL that waits. Tuples compare by crawl rank first, then by the order in which they came."""

    falling: float
    """The crawl rank, negated."""
    order: int
    url: str
    depth: int = 0
    attempt: int = 0
    hops: int = 0

    def behind(self) -> "Entry":
        """Give the same URL, behind all others of its host that are not."""
        return self if self.falling >= _BEHIND / 2 else self._replace(falling=self.falling + _BEHIND)


class Chunk(NamedTuple):
    """Entries that wait on disk."""

    file: int
    offset: int
    length: int
    checksum: int
    urls: int
    falling: float
    """The best crawl rank among them, negated."""


class Host(msgspec.Struct, array_like=True):
    """One host: its queue, and when it may be asked again."""

    name: str
    next_time: float
    queue: list[Entry] = []
    """A heap."""
    later: list[tuple[float, Entry]] = []
    """A heap of those to be tried again, by time."""
    busy: Entry | None = None
    ready: Place | None = None
    """Its one valid place in the heap of all hosts."""
    failures: int = 0
    """In a row."""
    given_up: bool = False
    crawl_delay: float = 0.0
    elapsed: float = 0.0
    """Of the last request."""
    recent: float = 0.0
    """Requests in the window of the share penalty, faded."""
    counted: int = 0
    """The number of the request at which `recent` was counted."""
    deferred: bool = False
    """Whether its place is among the hosts that wait behind others."""
    ip: str = ""
    """The address that answered last."""
    groups: list[str] = []
    """What the request under way counts for."""
    spilled: list[Chunk] = []
    """What waits on disk."""
    held: bool = False
    """Whether another host's robots.txt is being asked for here."""

    def can_wait(self) -> bool:
        """Tell whether there is anything to ask this host for, and nothing against it but time."""
        free = self.busy is None and not self.held and not self.given_up
        return free and bool(self.queue or self.later or self.spilled)

    def soonest(self) -> float:
        """Give the earliest time at which one of its URLs may be fetched."""
        return self.next_time if self.queue or self.spilled else max(self.next_time, self.later[0][0])

    def best(self) -> float:
        """Give the best crawl rank that waits, negated."""
        if self.queue:
            return self.queue[0].falling
        return self.spilled[0].falling if self.spilled else self.later[0][1].falling

    def is_hopeful(self) -> bool:
        """Tell whether something waits that has not been put behind all others."""
        bests = [self.queue[0].falling] if self.queue else []
        bests += [chunk.falling for chunk in self.spilled[:1]]
        return min((*bests, *(entry.falling for _, entry in self.later)), default=_BEHIND) < _BEHIND / 2

    def entries(self) -> list[Entry]:
        """Give all that waits in memory."""
        return [*self.queue, *(entry for _, entry in self.later)]

    def __len__(self) -> int:
        return len(self.queue) + len(self.later) + sum(chunk.urls for chunk in self.spilled)


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
    deferred: int = 0
    """Hosts that wait behind others: over their budget or their share."""
    spilled: int = 0
    """URLs that wait on disk."""


class Snapshot(msgspec.Struct, array_like=True):
    """All of a frontier's state."""

    now: float
    order: int
    retries: int
    dropped: int
    hosts: list[Host]
    seen: bytes
    requests: int = 0
    foreign: int = 0
    """Keys among `seen` that others have counted: URLs of hosts that are with another frontier."""


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
        raise NewerFormat(
            f"The frontier's snapshot has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus."
        )
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
