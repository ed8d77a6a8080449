"""Reported visits as a source of crawl requests: new URLs to fetch, changed pages to fetch again."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.crawl.outlinks import OutlinkExtractor
from periplus.errors import CorruptFile
from periplus.files import decode_json, encode_json, read_file, write_atomically
from periplus.hashing import fingerprint_text
from periplus.records import Address, FetchRecord, FetchRequest, VisitReport
from periplus.signals import LogPosition, ReceivedVisit, prune_visit_reports, read_visit_reports, update_visit_counts
from periplus.typed_decoding import parse_json

__all__ = [
    "POSITION_FILE",
    "ReportedRequests",
    "VisitReportReader",
    "VisitReportState",
    "read_position",
    "share_digests",
    "write_position",
]

_MAX_DIGESTS: Final = 1_000_000
_READ_BYTES: Final = 256 << 10
"""Bytes read in one call, a few thousand reports, so that the crawl loop is not delayed."""
POSITION_FILE: Final = "heard.json"
"""Next to the snapshot of a shard: its position in the log, which limits how much the first shard may delete."""
_FORMAT: Final = 2
"""Format number of the file, raised with every change of its content. Files without one have format 0."""
_DEPTH: Final = 1
"""Reported pages have the depth of links of a seed; redirects of pages of depth 0 would extend the scope."""


class VisitReportState(msgspec.Struct):
    """The position in the log of visit reports, and the last reported digest of each URL."""

    position: tuple[int, int] = (0, 0)
    digests: dict[int, int] = {}


class ReportedRequests(NamedTuple):
    """The requests that result from a batch of visit reports."""

    requests: list[FetchRequest]
    """URLs to fetch unless the frontier has seen them."""
    revisits: list[tuple[FetchRequest, FetchRecord]]
    """Pages whose content has changed since they were fetched, each with its stored record."""
    read: bool
    """Whether anything was read, intact or damaged."""


class VisitReportReader:
    """Reads the log of visit reports; its position is saved in the snapshot, with the frontier that reflects it."""

    def __init__(self, folder: Path, state: VisitReportState | None = None) -> None:
        self._folder = folder
        self.state = state or VisitReportState()

    def read(
        self,
        outlinks: OutlinkExtractor,
        find: Callable[[int], FetchRecord | None],
        is_mine: Callable[[Address], bool] = lambda address: True,
        until: LogPosition | None = None,
        forward: Callable[[Address, VisitReport], None] | None = None,
    ) -> ReportedRequests:
        """Read the next reports and return the requests that they lead to.

        `find` returns the stored record of a key; `is_mine` whether the host of an address belongs to this shard;
        `forward` receives the reports about other hosts that were made here.
        """
        before = self.position
        reports, self.state.position = read_visit_reports(self._folder, before, _READ_BYTES, until=until)
        counts: dict[int, int] = {}
        addresses: dict[int, Address] = {}
        changed: dict[int, FetchRecord] = {}
        for report in reports:
            address = outlinks.accept(report.url)
            if address is None:
                continue
            if not is_mine(address):
                # What another site has sent is not sent on: two that disagree on a host would never stop.
                if forward is not None and not isinstance(report, ReceivedVisit):
                    forward(address, report)
                continue
            addresses[address.key] = address
            counts[address.key] = counts.get(address.key, 0) + report.count
            record = find(address.key) if self._is_changed(address.key, report) else None
            # A fetch after the reported visit has seen the change.
            if record is not None and record.when < report.when:
                changed[address.key] = record
        requests = {key: _make_request(outlinks, address, counts[key]) for key, address in addresses.items()}
        revisits = [(requests[key], record) for key, record in changed.items()]
        return ReportedRequests(list(requests.values()), revisits, self.state.position != before)

    def _is_changed(self, key: int, report: VisitReport) -> bool:
        """Return whether the digest of a URL differs from the last one, and store the new one."""
        if not report.digest:
            return False
        digests, digest = self.state.digests, fingerprint_text(report.digest)
        before = digests.pop(key, digest)
        if len(digests) >= _MAX_DIGESTS:
            digests.pop(next(iter(digests)))
        digests[key] = digest
        return before != digest

    @property
    def position(self) -> LogPosition:
        """The position up to which the log was read."""
        return LogPosition(*self.state.position)

    def prune(self, others: Iterable[LogPosition] = ()) -> None:
        """Delete reports that this shard and all `others` have read, once their snapshots reflect them."""
        update_visit_counts(self._folder)
        prune_visit_reports(self._folder, min([self.position, *others]))


class _PositionFile(msgspec.Struct, frozen=True):
    file: int
    offset: int
    format: int = _FORMAT


def write_position(path: Path, position: LogPosition) -> None:
    """Write the position of a shard in the log of visit reports."""
    write_atomically(path, encode_json(_PositionFile(*position)))


def read_position(path: Path) -> LogPosition:
    """Read the position of a shard; the start of the log if there is no valid file."""
    try:
        data = read_file(path)
        if data.startswith(b"["):  # format 0: file and offset alone
            return parse_json(data, LogPosition)
        stored = decode_json(path, data, _PositionFile, _FORMAT, checksum_since=2)
        return LogPosition(stored.file, stored.offset)
    except (FileNotFoundError, msgspec.MsgspecError, CorruptFile):
        return LogPosition()


def share_digests(states: Sequence[VisitReportState]) -> None:
    """Merge the digests of all shards into each of them; above the limit, the newest are kept.

    Keys do not reveal which shard owns a URL. An outdated digest costs a needless fetch; a missing one hides a change.
    """
    merged: dict[int, int] = {}
    for state in states:
        merged.update(state.digests)
    newest = dict(list(merged.items())[-_MAX_DIGESTS:])
    for state in states:
        state.digests = dict(list({**newest, **state.digests}.items())[-_MAX_DIGESTS:])


def _make_request(outlinks: OutlinkExtractor, address: Address, count: int) -> FetchRequest:
    """Return a request whose rank grows with the number of visits."""
    return FetchRequest(address, _DEPTH, round(outlinks.rank(address, _DEPTH) + math.log2(1 + count), 4))
