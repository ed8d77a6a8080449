"""Backlinks: for each URL and each host that any page links to, the pages that do.

The adjacency of the graph has links between pages of the store; `link:` also asks for pages that link to a URL that was
never fetched. Therefore each link has several *targets*: the key of its URL, that of the page it leads to, and the
fingerprints of its host and of the domains above it. Targets with their sources are sorted on disk and packed; a lookup
reads one block.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile, NothingHere
from periplus.files import disk_errors
from periplus.graph.adjacency import Adjacency
from periplus.graph.kernels import adjacency as kernel
from periplus.hashing import fingerprint_text

__all__ = ["BacklinkSorter", "Backlinks", "host_fingerprints"]

Keys = npt.NDArray[np.uint64]
Sources = npt.NDArray[np.uint32]

FILE: Final = "backlinks.arrays"
KIND: Final = "backlinks"
FORMAT: Final = 1
"""Version of the file's content, increased whenever that changes."""
_MEMORY_FACTOR: Final = 6
"""Sorting needs this many times the memory of the targets it works on."""
_MIN_ENTRIES: Final = 1 << 12
_VERIFIED: Final[set[tuple[int, int, int, int]]] = set()
"""Device, inode, time and size of files that were verified."""
_MAX_VERIFIED: Final = 64
_MAX_LABELS: Final = 12
"""Of a host with more labels, only the last ones count as domains above it."""


def host_fingerprints(host: str) -> tuple[int, ...]:
    """Return the fingerprints of a host and of the domains above it; an IP address has none above it."""
    labels = host.split(".")
    if host.startswith("[") or labels[-1].isdigit():
        return (fingerprint_text(host),)
    above = range(max(1, len(labels) - _MAX_LABELS), len(labels))
    return tuple(fingerprint_text(".".join(labels[first:])) for first in (0, *above))


class _TargetRun(NamedTuple):
    """Sorted by target, then source; each pair once."""

    targets: Keys
    sources: Sources


class BacklinkSorter:
    """Accepts targets and their sources in any order, writes them in order. Uses about `memory` bytes."""

    def __init__(self, folder: Path, memory: int) -> None:
        self._folder = folder
        self._capacity = max(_MIN_ENTRIES, memory // (_MEMORY_FACTOR * 12))
        self._pending: list[_TargetRun] = []
        self._pending_entries = 0
        self._paths: list[tuple[Path, Path]] = []

    def add(self, targets: Keys, sources: Sources) -> None:
        """Add targets, each with the node number of the page that links to it."""
        for begin in range(0, len(targets), self._capacity):
            part = _TargetRun(targets[begin : begin + self._capacity], sources[begin : begin + self._capacity])
            self._pending.append(part)
            self._pending_entries += len(part.targets)
            if self._pending_entries >= self._capacity:
                self._spill()

    def _spill(self) -> None:
        run = _sort_distinct(self._pending)
        self._pending, self._pending_entries = [], 0
        base = self._folder / f"backlinks-{len(self._paths):05d}"
        paths = base.with_suffix(".targets"), base.with_suffix(".sources")
        with disk_errors(base):
            run.targets.tofile(paths[0])
            run.sources.tofile(paths[1])
        self._paths.append(paths)

    def _merged_parts(self) -> Iterator[_TargetRun]:
        """Yield all targets in order, one part of the range of fingerprints at a time: they are spread evenly."""
        runs = [
            _TargetRun(np.memmap(a, np.uint64, mode="r"), np.memmap(b, np.uint32, mode="r")) for a, b in self._paths
        ]
        if self._pending:
            runs.append(_sort_distinct(self._pending))
            self._pending, self._pending_entries = [], 0
        parts = -(-sum(len(run.targets) for run in runs) // self._capacity) or 1
        ends = [int((number << 64) // parts) for number in range(1, parts)]
        cuts = [
            [0, *np.searchsorted(run.targets, np.array(ends, np.uint64)).tolist(), len(run.targets)] for run in runs
        ]
        for number in range(parts):
            slices = [
                _TargetRun(
                    np.array(run.targets[cut[number] : cut[number + 1]]),
                    np.array(run.sources[cut[number] : cut[number + 1]]),
                )
                for run, cut in zip(runs, cuts, strict=True)
            ]
            yield _sort_distinct(slices)

    def write(self, folder: Path, pages: Keys, records: int) -> int:
        """Pack everything into the file of `folder` and return its size in bytes.

        pages: the keys of all sources; records: how many fetch records were read.
        """
        packer = _BacklinkPacker(self._folder)
        with disk_errors(self._folder), packer:
            for part in self._merged_parts():
                packer.add_part(part)
            packer.finish()
        for paths in self._paths:
            for path in paths:
                path.unlink(missing_ok=True)
        arrays = {"pages": pages, **packer.arrays()}
        return write_arrays(folder / FILE, KIND, arrays, {"visits": records, "links": packer.links}, format=FORMAT)


class _BacklinkPacker:
    """Packs parts one after the other; rows that do not fill a block wait for the next part."""

    def __init__(self, folder: Path) -> None:
        self._targets_path, self._stream_path = folder / "backlink-targets", folder / "backlink-stream"
        self._targets_file, self._stream_file = self._targets_path.open("wb"), self._stream_path.open("wb")
        self._rest = _TargetRun(np.zeros(0, np.uint64), np.zeros(0, np.uint32))
        self._block_bytes: list[npt.NDArray[np.int64]] = []
        self._block_links: list[npt.NDArray[np.int64]] = []
        self._length = 0
        self._rows = 0
        self.links = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._targets_file.close()
        self._stream_file.close()

    def add_part(self, part: _TargetRun) -> None:
        """Pack all complete blocks of the part and of what was left of the one before."""
        targets, sources = self._rest
        self._rest = _TargetRun(np.concatenate((targets, part.targets)), np.concatenate((sources, part.sources)))
        self._pack(kernel.BLOCK_ROWS)

    def finish(self) -> None:
        """Pack what is left."""
        self._pack(1)

    def _pack(self, align: int) -> None:
        targets, sources = self._rest
        first = np.flatnonzero(np.concatenate((np.ones(min(1, len(targets)), np.bool_), targets[1:] != targets[:-1])))
        rows = len(first) // align * align
        end = int(first[rows]) if rows < len(first) else len(targets)
        numbers = np.repeat(np.arange(rows, dtype=np.uint64), np.diff(np.append(first[:rows], end)))
        numbers += np.uint64(self._rows)
        pairs = numbers << np.uint64(32) | sources[:end].astype(np.uint64)
        blocks = -(-rows // kernel.BLOCK_ROWS)
        stream = np.empty(kernel.max_packed_size(len(pairs), rows, False), np.uint8)
        packed = kernel.PackedLinks(stream, np.zeros(blocks, np.int64), np.zeros(blocks, np.int64))
        size = kernel.pack(pairs, np.zeros(0, np.uint32), self._rows, self._rows + rows, packed)
        self._targets_file.write(targets[first[:rows]].data)
        self._stream_file.write(stream[:size].data)
        self._block_bytes.append(packed.block_bytes + self._length)
        self._block_links.append(packed.block_links + self.links)
        self._length, self._rows, self.links = self._length + size, self._rows + rows, self.links + len(pairs)
        self._rest = _TargetRun(targets[end:], sources[end:])

    def arrays(self) -> dict[str, npt.NDArray[np.uint64] | npt.NDArray[np.uint8] | npt.NDArray[np.int64]]:
        """Return the packed arrays by their names in the file, memory-mapped."""
        no_targets, no_bytes = np.zeros(0, np.uint64), np.zeros(0, np.uint8)
        return {
            "marks": np.memmap(self._targets_path, np.uint64, mode="r") if self._length else no_targets,
            "stream": np.memmap(self._stream_path, np.uint8, mode="r") if self._length else no_bytes,
            "block_bytes": np.append(np.concatenate([np.zeros(0, np.int64), *self._block_bytes]), self._length),
            "block_links": np.append(np.concatenate([np.zeros(0, np.int64), *self._block_links]), self.links),
        }


def _sort_distinct(parts: list[_TargetRun]) -> _TargetRun:
    """Concatenate and sort; return each pair once."""
    if not parts:
        return _TargetRun(np.zeros(0, np.uint64), np.zeros(0, np.uint32))
    targets, sources = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((sources, targets))
    targets, sources = targets[order], sources[order]
    new = np.ones(len(targets), np.bool_)
    new[1:] = (targets[1:] != targets[:-1]) | (sources[1:] != sources[:-1])
    return _TargetRun(targets[new], sources[new])


def _verify_once(file: ArrayFile) -> None:
    """Verify a file that this process has not verified yet: every `link:` in a query opens it."""
    status = file.path.stat()
    stamp = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    if stamp not in _VERIFIED:
        file.check()
        if len(_VERIFIED) >= _MAX_VERIFIED:
            _VERIFIED.clear()
        _VERIFIED.add(stamp)


class Backlinks:
    """The backlinks of a graph, memory-mapped."""

    def __init__(self, file: ArrayFile) -> None:
        self._targets, self._pages = file["marks"], file["pages"]
        self.records = int(file.notes.get("visits", 0))
        """How many fetch records of the page store were read: links of later ones are missing."""
        packed = kernel.PackedLinks(file["stream"], file["block_bytes"], file["block_links"])
        blocks = -(-len(self._targets) // kernel.BLOCK_ROWS) + 1
        types = {"marks": np.uint64, "pages": np.uint64, "stream": np.uint8, "block_bytes": np.int64}
        consistent = len(packed.block_bytes) == len(packed.block_links) == blocks
        consistent = consistent and packed.block_links.dtype == np.int64
        if not consistent or any(file[name].dtype != kind or file[name].ndim != 1 for name, kind in types.items()):
            raise CorruptFile(f"{file.path} has arrays that do not fit together.", "Build the index again.")
        self._links = Adjacency(packed, len(self._pages))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the backlinks in the folder of a graph; their checksums are verified when a process first opens them."""
        if not (folder / FILE).exists():
            raise NothingHere(f"There are no backlinks in {folder}.", "Build the index again.")
        file = ArrayFile(folder / FILE, KIND, format=FORMAT)
        _verify_once(file)
        return cls(file)

    def find_by_url(self, key: int) -> Keys:
        """Return the sorted keys of pages that link to the URL with this key, or to one that leads there."""
        return self._find_sources(key)

    def find_by_host(self, host: str) -> Keys:
        """Return the sorted keys of pages that link to any URL of a host or its subdomains."""
        return self._find_sources(fingerprint_text(host))

    def _find_sources(self, target: int) -> Keys:
        row = int(np.searchsorted(self._targets, np.uint64(target)))
        if row == len(self._targets) or self._targets[row] != np.uint64(target):
            return np.zeros(0, np.uint64)
        first = row // kernel.BLOCK_ROWS * kernel.BLOCK_ROWS
        last = min(first + kernel.BLOCK_ROWS, len(self._targets))
        links = self._links.links_before(last) - self._links.links_before(first)
        if not 0 <= links <= len(self._links.packed.stream):
            raise CorruptFile("The backlinks of the graph are damaged.", "Build the index again.")
        rows = kernel.allocate_rows(last - first, links, False, np.ones(2, np.float32))
        # A part that starts after all sources: slots are plain sources.
        rows = self._links.unpack(first, last, len(self._pages), rows)
        begin, end = rows.starts[row - first : row - first + 2]
        return np.sort(self._pages[rows.share_slots[begin:end]])
