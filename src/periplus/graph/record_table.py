"""Fetch records as rows of plain arrays: what the node table of a graph is made from."""

from array import array
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.hashing import fingerprint_text
from periplus.records import LIST_KIND, FetchRecord, Outcome
from periplus.url import parse_address, registered_domain

__all__ = ["GONE", "MOVED", "PAGE", "Keys", "RecordTable", "References", "newest_rows", "read_records"]

Keys = npt.NDArray[np.uint64]

PAGE, MOVED, GONE, _NO_STATE = 0, 1, 2, 255
_U64_MASK: Final = (1 << 64) - 1
_STATES: Final = {Outcome.OK: PAGE, Outcome.REDIRECT: MOVED, Outcome.GONE: GONE}
"""Outcomes that determine the state of a page; a timeout or a 'not modified' leaves it as it was."""


class References(NamedTuple):
    """Pages that rows refer to, each by its key and the shard that owns it."""

    keys: Keys
    owners: npt.NDArray[np.int16]

    def select(self, rows: npt.NDArray[np.int64]) -> "References":
        """Return the references of some rows."""
        return References(self.keys[rows], self.owners[rows])


class RecordTable(NamedTuple):
    """One row for each fetch record."""

    keys: Keys
    leads_to: References
    """The page that a redirect or duplicate names; the row's own key if it names none."""
    canonical: References
    near_duplicates: References
    hosts: Keys
    paths: Keys
    simhashes: Keys
    contents: Keys
    """Fingerprint of the body, 0 where it is not to be compared."""
    states: npt.NDArray[np.uint8]
    is_seed: npt.NDArray[np.bool_]
    domains: dict[int, int]
    """For each host, the fingerprint of its registered domain."""


def read_records(records: Iterable[FetchRecord], shard: int, owner: Callable[[str], int]) -> RecordTable:
    """Read all fetch records of a shard once; `owner` returns the shard that owns a host.

    Records of hosts that another shard owns determine nothing: that shard has them, or had them first.
    """
    reader = _RecordReader(shard, owner)
    for record in records:
        reader.add(record)
    return reader.finish()


def newest_rows(table: RecordTable) -> npt.NDArray[np.int64]:
    """Return the last row of each key that has a state, ordered by key."""
    rows = np.flatnonzero(table.states != _NO_STATE)[::-1]
    _, first = np.unique(table.keys[rows], return_index=True)
    return rows[first]


class _ReferenceReader:
    """References of all rows to one kind of page, in plain arrays."""

    def __init__(self, shard: int, owner: Callable[[str], int]) -> None:
        self._shard, self._owner = shard, owner
        self._keys, self._owners = array("Q"), array("h")

    def add(self, own_key: int, url: str) -> None:
        """Add the page of a URL; the row's own one if there is none, or if it cannot be fetched."""
        key, owner = own_key, self._shard
        if url:
            try:
                address = parse_address(url)
                key, owner = address.key, self._owner(address.host)
            except BadUrl:
                pass
        self._keys.append(key)
        self._owners.append(owner)

    def finish(self) -> References:
        return References(_as_array(self._keys), np.frombuffer(self._owners.tobytes(), np.int16))


class _RecordReader:
    """Collects one row for each fetch record: 73 bytes, however long the page."""

    def __init__(self, shard: int, owner: Callable[[str], int]) -> None:
        self._shard, self._owner = shard, owner
        self._leads_to, self._canonical, self._near = (_ReferenceReader(shard, owner) for _ in range(3))
        self._keys, self._hosts, self._paths = array("Q"), array("Q"), array("Q")
        self._simhashes, self._contents = array("Q"), array("Q")
        self._states, self._is_seed = bytearray(), bytearray()
        self._domains: dict[int, int] = {}

    def add(self, record: FetchRecord) -> None:
        """Add one fetch record."""
        state = _STATES.get(record.outcome, _NO_STATE)
        host, path = _split_url(record.url)
        if self._owner(_without_port(host)) != self._shard:
            state = _NO_STATE  # the host has moved to another shard, which has the record too
        lead, canonical = "", ""
        if state == MOVED:
            lead = record.location
        elif state == PAGE and record.duplicate_of:
            state, lead = MOVED, record.duplicate_of
        elif state == PAGE and (record.page is None or record.page.kind == LIST_KIND):
            state = _NO_STATE
        elif state == PAGE and record.page is not None:
            canonical = record.page.canonical
        self._keys.append(record.key)
        self._leads_to.add(record.key, lead)
        self._canonical.add(record.key, canonical)
        self._near.add(record.key, record.near_duplicate_of)
        self._simhashes.append(record.simhash & _U64_MASK)
        # A page that is not to be indexed represents no other page.
        indexable = record.page is not None and not record.page.noindex
        self._contents.append(record.content & _U64_MASK if indexable else 0)
        self._states.append(state)
        self._is_seed.append(record.depth == 0)
        self._add_host_and_path(host, path)

    def _add_host_and_path(self, host: str, path: str) -> None:
        number = fingerprint_text(host)
        self._hosts.append(number)
        self._paths.append(fingerprint_text(path))
        if number not in self._domains:
            self._domains[number] = fingerprint_text(registered_domain(host.partition(":")[0]))

    def finish(self) -> RecordTable:
        """Return all rows."""
        return RecordTable(
            _as_array(self._keys),
            self._leads_to.finish(),
            self._canonical.finish(),
            self._near.finish(),
            _as_array(self._hosts),
            _as_array(self._paths),
            _as_array(self._simhashes),
            _as_array(self._contents),
            np.frombuffer(bytes(self._states), np.uint8),
            np.frombuffer(bytes(self._is_seed), np.bool_),
            self._domains,
        )


def _split_url(url: str) -> tuple[str, str]:
    """Return the host (with a port, if any) and everything that follows it."""
    rest = url.partition("://")[2] or url
    host, slash, path = rest.partition("/")
    return host, slash + path


def _without_port(host: str) -> str:
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def _as_array(numbers: "array[int]") -> Keys:
    return np.frombuffer(numbers.tobytes(), np.uint64)
