"""Lookups in a finished graph, by the key of a page."""

from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.errors import CorruptFile, NothingHere
from periplus.records import PageFlag

__all__ = ["FILE", "KIND", "AnchorHosts", "Graph", "HostRank", "LinkSignals"]

FILE: Final = "graph.arrays"
KIND: Final = "graph"
FORMAT: Final = 1
"""Version of the file's content, increased whenever that changes."""
_FARM_MASS: Final = 0.75
"""A page is suspect when at least this share of its rank does not come from trusted pages."""
_FARM_HOSTS: Final = 3
"""Fewest other hosts that link to a page of a link farm: one that nobody links to is merely unknown."""
_TYPES: Final = {
    "keys": np.uint64,
    "rows": np.int32,
    "page_keys": np.uint64,
    "host_first": np.int64,
    "pagerank": np.float64,
    "hostrank": np.float64,
    "in_links": np.int32,
    "in_hosts": np.int32,
    "spam_mass": np.float32,
    "trust": np.float32,
    "static": np.float32,
    "anchor_starts": np.int64,
    "anchors": np.uint8,
    "changes": np.float64,
}


class LinkSignals(NamedTuple):
    """Link signals of some pages, one array each; all 0 for a page that is not in the graph."""

    pagerank: npt.NDArray[np.float64]
    """Sums to 1 over all pages."""
    hostrank: npt.NDArray[np.float64]
    """The rank of the page's host; sums to 1 over all hosts."""
    in_links: npt.NDArray[np.int32]
    """Other pages that link to it."""
    in_hosts: npt.NDArray[np.int32]
    """Other hosts that do."""
    spam_mass: npt.NDArray[np.float32]
    """0..1: the share of its rank that does not come from trusted pages."""
    trust: npt.NDArray[np.float32]
    """0..1: log-scaled rank that comes from trusted pages."""


class AnchorHosts(NamedTuple):
    """The hosts that link with each anchor text."""

    first: npt.NDArray[np.int64]
    """The number of the first text of each row; one more entry at the end."""
    hosts: npt.NDArray[np.uint64]
    """For each text, one of 64 bits for each host that links with it to a page of another host."""


class HostRank(NamedTuple):
    """A host and its rank."""

    page: int
    """The key of one of its pages."""
    rank: float
    pages: int
    spam_mass: float
    """The mean over its pages."""


class Graph:
    """A finished graph, memory-mapped. Unknown keys have rank 0, no links and no anchor text."""

    def __init__(self, file: ArrayFile) -> None:
        self._file = file
        for name, kind in _TYPES.items():
            if name not in file:
                raise NothingHere(f"{file.path} has an earlier layout.", "Build the index again.")
            if file[name].dtype != kind or file[name].ndim != 1:
                raise CorruptFile(f"{file.path} has an impossible array '{name}'.")
        self._keys, self._rows = file["keys"], file["rows"]
        self._starts, self._blob = file["anchor_starts"], file["anchors"]
        self._pages = len(file["static"])
        columns = ("page_keys", *LinkSignals._fields)
        sizes = [len(file[name]) for name in columns] + [len(self._starts) - 1]
        hosts = file["host_first"]
        hosts_fit = len(hosts) > 0 and hosts[0] == 0 and hosts[-1] == self._pages and bool((np.diff(hosts) > 0).all())
        rows_fit = not len(self._rows) or (self._rows.min() >= 0 and self._rows.max() < self._pages)
        anchors_fit = _are_offsets(self._starts, len(self._blob)) and self._has_valid_anchor_hosts()
        fit = rows_fit and hosts_fit and anchors_fit
        if set(sizes) != {self._pages} or len(self._keys) != len(self._rows) or not fit:
            raise CorruptFile(f"{file.path} has arrays that do not fit together.")

    def _has_valid_anchor_hosts(self) -> bool:
        """Return whether the hosts of anchor texts, if there are any, belong to rows."""
        if "anchor_first" not in self._file or "anchor_hosts" not in self._file:
            return True
        first, hosts = self._file["anchor_first"], self._file["anchor_hosts"]
        types = first.dtype == np.int64 and hosts.dtype == np.uint64 and first.ndim == hosts.ndim == 1
        return bool(types and len(first) == self._pages + 1 and _are_offsets(first, len(hosts)))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the graph in `folder`, after verifying its checksums: what it says is written into segments."""
        if not (folder / FILE).exists():
            raise NothingHere(f"There is no graph in {folder}.", "Build the index first.")
        file = ArrayFile(folder / FILE, KIND, format=FORMAT)
        file.check()
        return cls(file)

    def __len__(self) -> int:
        return self._pages

    @property
    def notes(self) -> dict[str, Any]:
        """Numbers of pages, hosts and links, and of the rounds of PageRank."""
        return self._file.notes

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return the key of the page that each key leads to, by redirect, duplicate or canonical URL; else the key."""
        rows = self._find(keys)
        return np.where(rows >= 0, self._file["page_keys"][np.maximum(rows, 0)], keys) if self._pages else keys

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Return the static rank of each key, 0..1."""
        return self._column("static", keys)

    def page_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
        """Return the PageRank of each key; sums to 1 over all pages."""
        return self._column("pagerank", keys)

    def host_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
        """Return the PageRank of each key's host."""
        return self._column("hostrank", keys)

    def in_links(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """Return the number of pages that link to each key."""
        return self._column("in_links", keys)

    def signals(self, keys: npt.NDArray[np.uint64]) -> LinkSignals:
        """Return all link signals of each key, with one lookup."""
        rows = self._find(keys)
        return LinkSignals(*(self._column_rows(name, rows) for name in LinkSignals._fields))

    def flags(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Return `PageFlag.UNTRUSTED` for keys whose rank does not come from trusted pages, else 0."""
        return np.where(self._is_farmed(keys), np.uint16(PageFlag.UNTRUSTED), np.uint16(0)).astype(np.uint16)

    def _is_farmed(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return for each key whether several hosts link to it, but hardly any of its rank comes from trusted pages."""
        if not self._pages:
            return np.zeros(len(keys), np.bool_)
        first = self._file["host_first"]
        host_is_linked = np.maximum.reduceat(self._file["in_hosts"], first[:-1]) >= _FARM_HOSTS
        rows = self._find(keys)
        is_linked = host_is_linked[np.searchsorted(first, np.maximum(rows, 0), side="right") - 1]
        return np.asarray((rows >= 0) & is_linked & (self._file["spam_mass"][np.maximum(rows, 0)] >= _FARM_MASS))

    def anchors(self, key: int) -> str:
        """Return the distinct anchor texts of a page, one per line, those of most weight first."""
        row = int(self._find(np.array([key], np.uint64))[0])
        if row < 0:
            return ""
        begin, end = int(self._starts[row]), int(self._starts[row + 1])
        return bytes(self._blob[begin:end]).decode("utf-8", "replace").removesuffix("\n")

    def anchor_texts(self, row: int) -> list[str]:
        """Return the distinct anchor texts of the page of a row, those of most weight first."""
        begin, end = int(self._starts[row]), int(self._starts[row + 1])
        return bytes(self._blob[begin:end]).decode("utf-8", "replace").splitlines()

    def anchor_hosts(self) -> AnchorHosts:
        """Return the hosts that link with each anchor text; none for a graph of an earlier version."""
        has_hosts = "anchor_first" in self._file and "anchor_hosts" in self._file
        first = self._file["anchor_first"] if has_hosts else np.zeros(self._pages + 1, np.int64)
        return AnchorHosts(first, self._file["anchor_hosts"] if has_hosts else np.zeros(0, np.uint64))

    def trusted_rows(self) -> npt.NDArray[np.bool_]:
        """Return for each row whether its rank comes from trusted pages."""
        return ~self._is_farmed(self._file["page_keys"])

    def top_pages(self, count: int) -> npt.NDArray[np.uint64]:
        """Return the keys of the pages with the highest PageRank, in falling order."""
        order = np.argsort(-self._file["pagerank"], kind="stable")[:count]
        return np.asarray(self._file["page_keys"][order])

    def top_hosts(self, count: int) -> list[HostRank]:
        """Return the hosts with the highest rank, in falling order."""
        first = self._file["host_first"]
        ranks, mass = self._file["hostrank"][first[:-1]], self._file["spam_mass"]
        return [
            HostRank(
                int(self._file["page_keys"][first[host]]),
                float(ranks[host]),
                int(first[host + 1] - first[host]),
                float(mass[first[host] : first[host + 1]].mean()),
            )
            for host in np.argsort(-ranks, kind="stable")[:count].tolist()
        ]

    @property
    def all_page_ranks(self) -> npt.NDArray[np.float64]:
        """The PageRank of every page, in unspecified order."""
        return np.asarray(self._file["pagerank"])

    @property
    def changes(self) -> tuple[float, ...]:
        """The sum of the changes of all page ranks in each round."""
        return tuple(self._file["changes"].tolist())

    def check(self) -> None:
        """Verify every checksum; raise `CorruptFile` for the first that is wrong."""
        self._file.check()

    def _find(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """Return the row of each key, -1 where there is none."""
        keys = np.asarray(keys, np.uint64)
        if not len(self._keys):
            return np.full(len(keys), -1, np.int32)
        index = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[index] == keys, self._rows[index], -1).astype(np.int32)

    def _column(self, name: str, keys: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
        return self._column_rows(name, self._find(keys))

    def _column_rows(self, name: str, rows: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
        column = self._file[name]
        if not len(column):
            return np.zeros(len(rows), column.dtype)
        values: npt.NDArray[Any] = np.where(rows >= 0, column[np.maximum(rows, 0)], 0).astype(column.dtype)
        return values


def _are_offsets(starts: npt.NDArray[np.int64], end: int) -> bool:
    """Return whether offsets begin at 0, never fall, and end at `end`."""
    return bool(len(starts) and starts[0] == 0 and starts[-1] == end and (starts[1:] >= starts[:-1]).all())
