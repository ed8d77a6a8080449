"""Which sites are alive, and what each of them announces: pure state, time is an argument.

Sites exchange announcements every few seconds. A site that is not heard for `site.liveness_seconds` is not asked; when
it is heard again, it has *returned*, and what it announces is fetched again where it differs. Only the clock of this
site counts, and only as a difference (`time.monotonic`): that of another site may be wrong by a day, which is reported.
"""

from typing import Final, NamedTuple

import msgspec

from periplus.typed_decoding import parse_msgpack

__all__ = ["DataVersion", "LivenessTable", "SiteAnnouncement", "SiteState", "decode_announcement"]

_MAX_BYTES: Final = 64 << 10
_MAX_ENTRIES: Final = 64
_MAX_TEXT: Final = 1_024
CLOCK_TOLERANCE: Final = 60.0
"""Seconds by which clocks may differ before it is reported."""
_SMOOTHING: Final = 0.25


class DataVersion(NamedTuple):
    """A version of statistics or thresholds that a site offers."""

    version: int = 0
    digest: str = ""
    """Of its bytes, hexadecimal."""


class SiteAnnouncement(msgspec.Struct, frozen=True, kw_only=True):
    """What a site says about itself."""

    site: str
    instance: str = ""
    """Random, of the process: another one under the same key is a second copy of the site, or a restart."""
    time: float = 0.0
    """The clock of the site, in seconds since 1970."""
    started: float = 0.0
    url: str = ""
    """Its search page."""
    services: dict[str, str] = {}
    """What runs there ('crawl', 'index', 'serve'), and its state."""
    documents: int = 0
    data: dict[str, DataVersion] = {}
    """By name ('statistics', 'thresholds', ...): the newest version."""
    topology: str = ""
    """Digest of its topology."""
    round_trips: dict[str, float] = {}
    """By site: seconds, as this site measures them."""


class SiteState(NamedTuple):
    """What is known about another site."""

    announcement: SiteAnnouncement
    heard: float
    """When it was heard last, of `time.monotonic`."""
    round_trip: float
    """Smoothed, in seconds."""
    clock_offset: float
    """How much its clock is ahead of ours, in seconds."""
    alive: bool
    returned: int = 0
    """How often it has come back."""


def decode_announcement(data: bytes) -> SiteAnnouncement | None:
    """Return the announcement in a message; None if it is none, or too large."""
    if len(data) > _MAX_BYTES:
        return None
    try:
        announcement = parse_msgpack(data, SiteAnnouncement)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    tables = (announcement.services, announcement.data, announcement.round_trips)
    texts = (announcement.site, announcement.instance, announcement.url, announcement.topology)
    if any(len(table) > _MAX_ENTRIES for table in tables) or any(len(text) > _MAX_TEXT for text in texts):
        return None
    return announcement


class LivenessTable:
    """The state of every other site."""

    def __init__(self, liveness_seconds: float) -> None:
        self._seconds = liveness_seconds
        self._states: dict[str, SiteState] = {}

    def hear(self, announcement: SiteAnnouncement, now: float, wall: float, round_trip: float | None = None) -> bool:
        """Note an announcement; return whether the site is new or has returned.

        now: of `time.monotonic`; wall: the clock of this site; round_trip: in seconds, where it was measured.
        """
        before = self._states.get(announcement.site)
        is_back = before is None or not self._is_alive(before, now)
        smoothed = before.round_trip if before is not None else 0.0
        if round_trip is not None:
            smoothed = round_trip if not smoothed else smoothed + _SMOOTHING * (round_trip - smoothed)
        offset = announcement.time - (wall - (round_trip or 0.0) / 2) if announcement.time else 0.0
        returned = (before.returned if before is not None else -1) + is_back
        self._states[announcement.site] = SiteState(announcement, now, smoothed, offset, True, max(returned, 0))
        return is_back

    def _is_alive(self, state: SiteState, now: float) -> bool:
        return now - state.heard <= self._seconds

    def forget(self, site: str) -> None:
        """Remove a site that has left."""
        self._states.pop(site, None)

    def states(self, now: float) -> dict[str, SiteState]:
        """Return what is known about every site that was ever heard."""
        return {name: state._replace(alive=self._is_alive(state, now)) for name, state in self._states.items()}

    def alive(self, now: float) -> dict[str, SiteState]:
        """Return the sites that are alive."""
        return {name: state for name, state in self.states(now).items() if state.alive}
