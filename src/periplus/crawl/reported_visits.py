"""What a crawl makes of visits that others report: new URLs to fetch, changed pages to look at again."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.crawl.outlinks import OutlinkExtractor
from periplus.errors import CorruptFile
from periplus.files import decode_json, write_atomically
from periplus.hashing import fingerprint_text
from periplus.records import Address, FetchRecord, FetchRequest, VisitReport
from periplus.signals import LogPosition, prune_visit_reports, read_visit_reports, update_visit_counts

__all__ = [
    "POSITION_FILE",
    "ReportedRequests",
    "VisitReportReader",
    "VisitReportState",
    "read_position",
    "share_digests",
    "write_position",
]

_MOST_DIGESTS: Final = 1_000_000
_BITE: Final = 256 << 10
"""Bytes read at once: some thousand visits, so that a crawl is not held up."""
POSITION_FILE: Final = "heard.json"
"""Beside the snapshot of a shard: how far that has read the queue, for those who clear it away."""
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes. Files without one are of format 0."""
_DEPTH: Final = 1
"""Reported pages are as near as those that a seed links to; at 0 where they move to would widen the scope."""


class VisitReportState(msgspec.Struct):
    """How far the queue was read, and the last digest of each URL that had one."""

    position: tuple[int, int] = (0, 0)
    digests: dict[int, int] = {}


class ReportedRequests(NamedTuple):
    """What one look at the queue leads to."""

    fresh: list[FetchRequest]
    """URLs to fetch, were they never seen."""
    again: list[tuple[FetchRequest, FetchRecord]]
    """Pages whose content has changed since the visit that is stored."""
    read: bool
    """Whether there was anything to read, good or damaged."""


class VisitReportReader:
    """Reads the queue from where it was left; the snapshot keeps that place with the frontier that reflects it."""

    def __init__(self, folder: Path, state: VisitReportState | None = None) -> None:
        self._folder = folder
        self.state = state or VisitReportState()

    def read(
        self,
        outlinks: OutlinkExtractor,
        find: Callable[[int], FetchRecord | None],
        is_mine: Callable[[Address], bool] = lambda place: True,
        until: LogPosition | None = None,
    ) -> ReportedRequests:
        """Take the next visits of the queue. `find` gives the stored visit of a key, `is_mine` whose host is ours."""
        before = self.position
        found, self.state.position = read_visit_reports(self._folder, before, _BITE, until=until)
        counts: dict[int, int] = {}
        places: dict[int, Address] = {}
        changed: dict[int, FetchRecord] = {}
        for sighting in found:
            place = outlinks.accept(sighting.url)
            if place is None or not is_mine(place):
                continue
            places[place.key] = place
            counts[place.key] = counts.get(place.key, 0) + sighting.count
            visit = find(place.key) if self._is_changed(place.key, sighting) else None
            # A look of our own after theirs has seen the change already.
            if visit is not None and visit.when < sighting.when:
                changed[place.key] = visit
        fresh = {key: _due(outlinks, place, counts[key]) for key, place in places.items()}
        again = [(fresh[key], visit) for key, visit in changed.items()]
        return ReportedRequests(list(fresh.values()), again, self.state.position != before)

    def _is_changed(self, key: int, sighting: VisitReport) -> bool:
        """Tell whether a URL had another digest before; remember the one it has now."""
        if not sighting.digest:
            return False
        digests, digest = self.state.digests, fingerprint_text(sighting.digest)
        before = digests.pop(key, digest)
        if len(digests) >= _MOST_DIGESTS:
            digests.pop(next(iter(digests)))
        digests[key] = digest
        return before != digest

    @property
    def position(self) -> LogPosition:
        """How far the queue was read."""
        return LogPosition(*self.state.position)

    def prune(self, others: Iterable[LogPosition] = ()) -> None:
        """Let go of what we and `others` have read, now that snapshots reflect it."""
        update_visit_counts(self._folder)
        prune_visit_reports(self._folder, min([self.position, *others]))


class _PositionFile(msgspec.Struct, frozen=True):
    file: int
    offset: int
    format: int = _FORMAT


def write_position(path: Path, position: LogPosition) -> None:
    """Write down how far a shard has read the queue."""
    write_atomically(path, msgspec.json.encode(_PositionFile(*position)))


def read_position(path: Path) -> LogPosition:
    """Return how far a shard has read by its own word; nothing at all where it says none."""
    try:
        data = path.read_bytes()
        if data.startswith(b"["):  # format 0: file and offset alone
            return msgspec.json.decode(data, type=LogPosition)
        heard = decode_json(path, data, _PositionFile, _FORMAT)
        return LogPosition(heard.file, heard.offset)
    except (OSError, msgspec.MsgspecError, CorruptFile):
        return LogPosition()


def share_digests(states: Sequence[VisitReportState]) -> None:
    """Let each know the digests of all, which do not say whose URLs they are; the newest if they are too many.

    One that is out of date costs a look at a page that has not changed; one that is missing, a change that is.
    """
    merged: dict[int, int] = {}
    for state in states:
        merged.update(state.digests)
    kept = dict(list(merged.items())[-_MOST_DIGESTS:])
    for state in states:
        state.digests = dict(list({**kept, **state.digests}.items())[-_MOST_DIGESTS:])


def _due(outlinks: OutlinkExtractor, place: Address, count: int) -> FetchRequest:
    """Give a due that comes the sooner the more often it was visited."""
    return FetchRequest(place, _DEPTH, round(outlinks.rank(place, _DEPTH) + math.log2(1 + count), 4))
