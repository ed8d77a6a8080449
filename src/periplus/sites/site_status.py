"""The state of a site, as `periplus site status` shows it, and what in it needs attention, one line each."""

from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile, DiskFailed
from periplus.files import decode_json, encode_json, read_file, write_atomically

__all__ = ["PeerStatus", "SinkStatus", "SiteStatus", "read_site_status", "write_site_status"]

_FORMAT: Final = 1
_NAME: Final = "status.json"
CLOCK_TOLERANCE: Final = 60.0
"""Seconds by which the clock of another site may differ before it is reported."""


class SinkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What was exchanged with one site through one sink since the process began."""

    sink: str
    sent: int = 0
    """Batches that the other site has stored."""
    sent_bytes: int = 0
    received: int = 0
    """Batches that were applied here."""
    received_items: int = 0
    received_bytes: int = 0
    repeated: int = 0
    """Batches that came again, and changed nothing."""
    refused: int = 0
    waiting: int = 0
    """Batches in the outbox."""
    lag: float = 0.0
    """Age of the oldest batch in the outbox, in seconds."""
    last_received: float = 0.0


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about another site."""

    name: str
    alive: bool = False
    silent: float = -1.0
    """Seconds since it was heard; -1 if it never was."""
    round_trip: float = 0.0
    """In seconds, smoothed."""
    clock_offset: float = 0.0
    """How much its clock is ahead of ours, in seconds."""
    url: str = ""
    documents: int = 0
    services: dict[str, str] = {}
    returned: int = 0
    """How often it came back after a silence."""
    sent_bytes: int = 0
    received_bytes: int = 0
    outbox_batches: int = 0
    outbox_bytes: int = 0
    outbox_dropped: int = 0
    outbox_full: bool = False
    fault: str = ""
    """Why the last batch was not sent."""
    sinks: tuple[SinkStatus, ...] = ()
    data: dict[str, int] = {}
    """By name: the version of its statistics and thresholds that is used here."""
    untrusted: str = ""
    """Why its answers are no longer trusted; '' if they are."""
    epoch: int = -1
    """Of the collection statistics that its index was built with; 0 for its own alone, -1 if it is not known."""


class SiteStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of this site."""

    format: int = _FORMAT
    name: str
    time: float
    """When this was written, in seconds since 1970."""
    started: float = 0.0
    url: str = ""
    address: str = ""
    documents: int = 0
    services: dict[str, str] = {}
    peers: tuple[PeerStatus, ...] = ()
    data: dict[str, int] = {}
    """By name: the newest version that this site offers."""
    epoch: int = 0
    """Of the collection statistics that the index was built with; 0 for its own alone."""
    quarantined: int = 0
    quarantine_reason: str = ""
    conflicts: tuple[str, ...] = ()
    """Keys of other sites that use a name of this federation, as 'name key'."""
    duplicated: bool = False
    """Whether another process runs under the name and key of this site."""

    def warnings(self) -> list[str]:
        """Return what needs attention, one line each."""
        lines = []
        for peer in self.peers:
            if peer.silent < 0:
                lines.append(f"{peer.name} was not heard yet.")
            elif not peer.alive:
                lines.append(f"{peer.name} is silent for {peer.silent:.0f} s: it is not asked.")
            if abs(peer.clock_offset) > CLOCK_TOLERANCE:
                side = "ahead of" if peer.clock_offset > 0 else "behind"
                lines.append(f"The clock of {peer.name} is {abs(peer.clock_offset):,.0f} s {side} ours.")
            if peer.outbox_full:
                lines.append(
                    f"The outbox for {peer.name} is full ({peer.outbox_bytes:,} bytes): {peer.outbox_dropped:,} "
                    "batches of URLs were dropped, the oldest first; pages are indexed here. The crawl goes on."
                )
            elif peer.outbox_dropped:
                lines.append(f"{peer.outbox_dropped:,} batches for {peer.name} were dropped, as its outbox was full.")
            if peer.untrusted:
                lines.append(f"{peer.name} is not trusted: {peer.untrusted}")
            if peer.alive and peer.epoch >= 0 and (peer.epoch != self.epoch or not self.epoch):
                lines.append(f"{peer.name} is not built with the collection statistics of this site yet.")
            refused = sum(sink.refused for sink in peer.sinks)
            if refused:
                lines.append(f"{refused:,} batches of {peer.name} were refused, and quarantined.")
        if self.quarantined:
            lines.append(f"{self.quarantined:,} batches are in quarantine; the last: {self.quarantine_reason}")
        lines += [f"Two sites have one name: {conflict} is not accepted." for conflict in self.conflicts]
        if self.duplicated:
            lines.append(f"Another process runs as {self.name}, with the same key: stop one of the two.")
        return lines


def write_site_status(folder: Path, status: SiteStatus) -> None:
    """Write the status for other processes."""
    write_atomically(folder / _NAME, encode_json(status))


def read_site_status(folder: Path) -> SiteStatus | None:
    """Return the status that was written last; None if there is none that can be read."""
    path = folder / _NAME
    try:
        return decode_json(path, read_file(path), SiteStatus, _FORMAT, checksum_since=1)
    except (FileNotFoundError, CorruptFile, DiskFailed):
        return None
