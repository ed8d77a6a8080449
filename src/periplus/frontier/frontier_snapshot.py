"""The snapshot of a frontier as bytes, and the migration of snapshots that earlier versions wrote.

magic "PERIFRON" | version u32 | xxh3 fingerprint u64 | msgpack array of FrontierSnapshot

Version 1 had no state of a host: it followed from five fields, which `_HostV1` still reads.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.checksums import FileFault
from periplus.errors import CorruptFile, DataError, NewerFormat
from periplus.frontier.host import Entry, Host, Slot, SpilledChunk
from periplus.frontier.host_states import HostState
from periplus.frontier.seen_set import SeenFile, check_seen_files
from periplus.frontier.spill_files import check_spill_files
from periplus.hashing import fingerprint
from periplus.typed_decoding import parse_msgpack

__all__ = ["FrontierSnapshot", "check_frontier", "pack", "unpack"]

_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIFRON"
_VERSION: Final = 4
"""Version 3: hosts have URLs that are held back; 4: most keys of URLs are in files. Versions 1 to 3 are read."""


class FrontierSnapshot(msgspec.Struct, array_like=True):
    """The complete state of a frontier."""

    now: float
    order: int
    retries: int
    dropped: int
    hosts: list[Host]
    seen: bytes
    """Keys of URLs ever added that are in no file, u64 little-endian, ascending."""
    requests: int = 0
    foreign: int = 0
    """Keys among `seen` that are counted elsewhere: URLs of hosts of another frontier."""
    seen_files: list[SeenFile] = []
    """Files of further keys."""


class _HostV1(msgspec.Struct, array_like=True):
    name: str
    next_time: float
    queue: list[Entry] = []
    later: list[tuple[float, Entry]] = []
    busy: Entry | None = None
    ready: Slot | None = None
    failures: int = 0
    given_up: bool = False
    crawl_delay: float = 0.0
    elapsed: float = 0.0
    recent: float = 0.0
    counted: int = 0
    deferred: bool = False
    ip: str = ""
    groups: list[str] = []
    spilled: list[SpilledChunk] = []
    held: bool = False

    def state(self) -> HostState:
        if self.busy is not None:
            return HostState.IN_FLIGHT
        if self.given_up:
            return HostState.SUSPENDED_RESERVED if self.held else HostState.SUSPENDED
        if self.held:
            return HostState.RESERVED
        if self.ready is not None:
            return HostState.DEFERRED if self.deferred else HostState.SCHEDULED
        return HostState.BLOCKED if self.queue or self.later or self.spilled else HostState.EMPTY

    def migrated(self) -> Host:
        return Host(
            self.name,
            self.state(),
            self.next_time,
            self.queue,
            self.later,
            self.busy,
            self.ready,
            self.failures,
            self.crawl_delay,
            self.elapsed,
            self.recent,
            self.counted,
            self.ip,
            self.groups,
            self.spilled,
        )


class _SnapshotV1(msgspec.Struct, array_like=True):
    now: float
    order: int
    retries: int
    dropped: int
    hosts: list[_HostV1]
    seen: bytes
    requests: int = 0
    foreign: int = 0

    def migrated(self) -> FrontierSnapshot:
        counters = (self.now, self.order, self.retries, self.dropped)
        hosts = [host.migrated() for host in self.hosts]
        return FrontierSnapshot(*counters, hosts, self.seen, self.requests, self.foreign)


def pack(snapshot: FrontierSnapshot) -> bytes:
    """Return a snapshot as bytes, with magic, version and checksum."""
    body = msgspec.msgpack.encode(snapshot)
    return _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body


def unpack(data: bytes) -> FrontierSnapshot:
    """Read a snapshot of this or an earlier version; raise `CorruptFile` if a single bit is wrong."""
    if len(data) < _PREFIX.size:
        raise CorruptFile(f"The frontier's snapshot is cut off: {len(data)} bytes.")
    magic, version, checksum = _PREFIX.unpack_from(data)
    if magic != _MAGIC or version < 1:
        raise CorruptFile("This is not a snapshot of a frontier.")
    if version > _VERSION:
        raise NewerFormat(f"The frontier's snapshot has format {version}; this Periplus knows {_VERSION}.")
    body = memoryview(data)[_PREFIX.size :]
    if fingerprint(body) != checksum:
        raise CorruptFile("The frontier's snapshot is damaged.")
    try:
        if version == 1:
            snapshot = parse_msgpack(body, _SnapshotV1).migrated()
        else:
            snapshot = parse_msgpack(body, FrontierSnapshot)
    except msgspec.MsgspecError as error:
        raise CorruptFile(f"The frontier's snapshot is unreadable: {error}.") from error
    if len(snapshot.seen) % 8:
        raise CorruptFile("The frontier's snapshot has an incomplete key.")
    return snapshot


def check_frontier(path: Path, data: bytes, spill: Path) -> Iterator[FileFault]:
    """Yield the faults of a frontier that was read from `path`, and of the files in its spill folder."""
    try:
        snapshot = unpack(data)
    except DataError as error:
        yield FileFault(path, error.message)
        return
    yield from check_spill_files(spill, snapshot.hosts)
    yield from check_seen_files(spill.with_name("seen"), snapshot.seen_files)
