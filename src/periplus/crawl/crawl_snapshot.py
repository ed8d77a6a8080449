"""The snapshot of a crawl on disk: its whole state, and the number of stored records that it reflects.

magic 8 bytes | version u32 | xxh3 fingerprint u64 | msgpack of CrawlSnapshot
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.checksums import FileFault
from periplus.crawl.focus.focus import FocusState
from periplus.crawl.hosts.host_limits import HostUsage
from periplus.crawl.policies.form_filler import FormsState
from periplus.crawl.policies.original_urls import check_original_files
from periplus.crawl.policies.traps import TrapsState
from periplus.crawl.regions.region_records import RegionsState
from periplus.crawl.reported_visits import VisitReportState
from periplus.crawl.robots_cache import CachedRobots
from periplus.errors import CorruptFile, DataError, NewerFormat
from periplus.files import read_file, write_atomically
from periplus.frontier import check_frontier
from periplus.hashing import fingerprint
from periplus.typed_decoding import parse_msgpack

__all__ = [
    "CrawlSnapshot",
    "LongSnapshot",
    "MailSnapshot",
    "Totals",
    "UsageSnapshot",
    "check_snapshot",
    "extend_snapshot",
    "read_snapshot",
    "write_snapshot",
]

_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERICRAW"
_VERSION: Final = 6
"""Version 2: hosts of the frontier have a state; 3: regions; 4: counts of what limits have cut; 5: names in titles; 6:
URLs at second hand. All are read."""


class Totals(msgspec.Struct):
    """The totals of a crawl over all its runs."""

    pages: int = 0
    """Pages stored, without duplicates."""
    fetched: int = 0
    """Finished requests, without robots.txt."""
    copies: int = 0
    answered: int = 0
    """Requests that were answered by a server, with robots.txt."""
    bytes: int = 0
    outcomes: dict[str, int] = {}

    def add(self, other: "Totals") -> None:
        """Add the totals of another shard."""
        for name in ("pages", "fetched", "copies", "answered", "bytes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for outcome, times in other.outcomes.items():
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + times


class CrawlSnapshot(msgspec.Struct, frozen=True):
    """The state of a crawl at one time."""

    visits: int
    """Number of stored records that the snapshot reflects."""
    frontier: bytes
    seeds: tuple[str, ...]
    robots: tuple[CachedRobots, ...]
    originals: dict[int, str]
    """URLs by content, except those in files of their own."""
    lists: tuple[int, ...]
    lists_of_host: dict[str, int]
    links_to_host: dict[str, int]
    pages_of_host: dict[str, int]
    totals: Totals
    traps: TrapsState = msgspec.field(default_factory=TrapsState)
    regions: RegionsState = msgspec.field(default_factory=RegionsState)
    forms: FormsState = msgspec.field(default_factory=FormsState)
    near: bytes = b""
    """Simhashes of pages with the fingerprints of their contents."""
    passive: VisitReportState = msgspec.field(default_factory=VisitReportState)
    focus: FocusState | None = None
    """The learnt state of the topic of a focused crawl."""
    cuts: dict[str, int] = {}
    """What limits have cut, by `CutKind`."""
    errors_of_host: dict[str, int] = {}
    """Requests without a page."""


class MailSnapshot(CrawlSnapshot, frozen=True):
    """The state of a shard whose mail is part of its snapshot, so that each message is applied exactly once."""

    mail: bytes = b""


class UsageSnapshot(MailSnapshot, frozen=True):
    """The state of a crawl in which hosts have limits of bytes or of requests a day."""

    usage: dict[str, HostUsage] = {}
    """What was fetched from such hosts."""


class LongSnapshot(UsageSnapshot, frozen=True):
    """The state of a crawl with more pages than a snapshot has URLs of."""

    original_files: tuple[int, ...] = ()
    """The fingerprints of the files of URLs by content."""


def extend_snapshot(
    snapshot: CrawlSnapshot, mail: bytes, usage: dict[str, HostUsage], original_files: tuple[int, ...]
) -> CrawlSnapshot:
    """Return the snapshot with what only some crawls have, in the oldest form that has room for it."""
    if not (mail or usage or original_files):
        return snapshot
    fields = {name: getattr(snapshot, name) for name in snapshot.__struct_fields__}
    if original_files:
        return LongSnapshot(**fields, mail=mail, usage=usage, original_files=original_files)
    return UsageSnapshot(**fields, mail=mail, usage=usage) if usage else MailSnapshot(**fields, mail=mail)


def write_snapshot(path: Path, state: CrawlSnapshot) -> None:
    """Replace the snapshot atomically."""
    body = msgspec.msgpack.encode(state)
    write_atomically(path, _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body)


def read_snapshot(path: Path) -> LongSnapshot | None:
    """Read the snapshot, with empty mail if it has none; None if there is no file.

    Raise `CorruptFile` if it is damaged.
    """
    try:
        data = read_file(path)
    except FileNotFoundError:
        return None
    magic, version, checksum = _PREFIX.unpack_from(data) if len(data) >= _PREFIX.size else (b"", 0, 0)
    if magic != _MAGIC or version < 1:
        raise CorruptFile(f"{path} is not a crawl snapshot.")
    if version > _VERSION:
        raise NewerFormat(f"{path} has format {version}; this Periplus reads up to {_VERSION}.", "Upgrade Periplus.")
    body = memoryview(data)[_PREFIX.size :]
    if fingerprint(body) != checksum:
        raise CorruptFile(f"{path} is damaged.")
    try:
        return parse_msgpack(body, LongSnapshot)
    except msgspec.MsgspecError as error:
        raise CorruptFile(f"{path} is unreadable: {error}.") from error


def check_snapshot(path: Path) -> Iterator[FileFault]:
    """Yield the faults of a snapshot and of the files that it names."""
    try:
        snapshot = read_snapshot(path)
    except DataError as error:
        yield FileFault(path, error.message)
        return
    if snapshot is not None:
        yield from check_frontier(path, snapshot.frontier, path.parent / "spill")
        yield from check_original_files(path.parent / "originals", snapshot.original_files)
