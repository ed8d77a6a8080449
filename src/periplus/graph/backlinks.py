"""Who links where: for each URL and each host that any page links to, the pages that do.

The adjacency of the graph knows links between pages that are here; people also ask who links to a page that nobody
has fetched. So each link gives *marks*: the key of its URL, that of the page it leads to, and the fingerprints of its
host and of the domains above it. Marks with their sources are sorted on disk and packed; asking reads one block.
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

__all__ = ["BacklinkRuns", "Backlinks", "host_marks"]

Keys = npt.NDArray[np.uint64]
Sources = npt.NDArray[np.uint32]

FILE: Final = "backlinks.arrays"
KIND: Final = "backlinks"
FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes."""
_TIMES: Final = 6
"""Sorting holds this many times the marks it works on."""
_FEWEST: Final = 1 << 12
_MOST_LABELS: Final = 12
"""Of a host with more labels only the last ones count as domains above it."""


def host_marks(host: str) -> tuple[int, ...]:
    """Give the marks of a host: its own, and those of the domains above it; an address has none above it."""
    labels = host.split(".")
    if host.startswith("[") or labels[-1].isdigit():
        return (fingerprint_text(host),)
    above = range(max(1, len(labels) - _MOST_LABELS), len(labels))
    return tuple(fingerprint_text(".".join(labels[first:])) for first in (0, *above))


class _Marked(NamedTuple):
    """Sorted by mark, then source; each pair once."""

    marks: Keys
    sources: Sources


class BacklinkRuns:
    """Takes marks and their sources in any order, writes them in order. Holds about `memory` bytes."""

    def __init__(self, folder: Path, memory: int) -> None:
        self._folder = folder
        self._room = max(_FEWEST, memory // (_TIMES * 12))
        self._waiting: list[_Marked] = []
        self._held = 0
        self._paths: list[tuple[Path, Path]] = []

    def add(self, marks: Keys, sources: Sources) -> None:
        """Take some marks and the number of the page that each comes from."""
        for begin in range(0, len(marks), self._room):
            part = _Marked(marks[begin : begin + self._room], sources[begin : begin + self._room])
            self._waiting.append(part)
            self._held += len(part.marks)
            if self._held >= self._room:
                self._spill()

    def _spill(self) -> None:
        sorted_ = _distinct(self._waiting)
        self._waiting, self._held = [], 0
        where = self._folder / f"backlinks-{len(self._paths):05d}"
        paths = where.with_suffix(".marks"), where.with_suffix(".sources")
        with disk_errors(where):
            sorted_.marks.tofile(paths[0])
            sorted_.sources.tofile(paths[1])
        self._paths.append(paths)

    def _parts(self) -> Iterator[_Marked]:
        """Give all marks in order, a part of the range of marks at a time: fingerprints are spread evenly over it."""
        runs = [_Marked(np.memmap(a, np.uint64, mode="r"), np.memmap(b, np.uint32, mode="r")) for a, b in self._paths]
        if self._waiting:
            runs.append(_distinct(self._waiting))
            self._waiting, self._held = [], 0
        parts = -(-sum(len(run.marks) for run in runs) // self._room) or 1
        ends = [int((number << 64) // parts) for number in range(1, parts)]
        cuts = [[0, *np.searchsorted(run.marks, np.array(ends, np.uint64)).tolist(), len(run.marks)] for run in runs]
        for number in range(parts):
            taken = [
                _Marked(
                    np.array(run.marks[cut[number] : cut[number + 1]]),
                    np.array(run.sources[cut[number] : cut[number + 1]]),
                )
                for run, cut in zip(runs, cuts, strict=True)
            ]
            yield _distinct(taken)

    def write(self, folder: Path, pages: Keys, visits: int) -> int:
        """Pack everything into the file of `folder`; `pages` are the keys of all sources. Give its bytes."""
        packing = _Packing(self._folder)
        with disk_errors(self._folder), packing:
            for part in self._parts():
                packing.take(part)
            packing.finish()
        for paths in self._paths:
            for path in paths:
                path.unlink(missing_ok=True)
        arrays = {"pages": pages, **packing.arrays()}
        return write_arrays(folder / FILE, KIND, arrays, {"visits": visits, "links": packing.links}, format=FORMAT)


class _Packing:
    """Packs parts one after the other; rows that do not fill a block wait for the next part."""

    def __init__(self, folder: Path) -> None:
        self._places = folder / "backlink-marks", folder / "backlink-stream"
        self._files = [path.open("wb") for path in self._places]
        self._rest = _Marked(np.zeros(0, np.uint64), np.zeros(0, np.uint32))
        self._bytes: list[npt.NDArray[np.int64]] = []
        self._numbers: list[npt.NDArray[np.int64]] = []
        self._length = 0
        self._rows = 0
        self.links = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._files:
            file.close()

    def take(self, part: _Marked) -> None:
        """Pack all whole blocks of what is there now."""
        marks, sources = self._rest
        self._rest = _Marked(np.concatenate((marks, part.marks)), np.concatenate((sources, part.sources)))
        self._pack(kernel.ROWS)

    def finish(self) -> None:
        """Pack what is left."""
        self._pack(1)

    def _pack(self, align: int) -> None:
        marks, sources = self._rest
        first = np.flatnonzero(np.concatenate((np.ones(min(1, len(marks)), np.bool_), marks[1:] != marks[:-1])))
        rows = len(first) // align * align
        end = int(first[rows]) if rows < len(first) else len(marks)
        numbers = np.repeat(np.arange(rows, dtype=np.uint64), np.diff(np.append(first[:rows], end)))
        numbers += np.uint64(self._rows)
        pairs = numbers << np.uint64(32) | sources[:end].astype(np.uint64)
        blocks = -(-rows // kernel.ROWS)
        room = np.empty(kernel.longest(len(pairs), rows, False), np.uint8)
        packed = kernel.Packed(room, np.zeros(blocks, np.int64), np.zeros(blocks, np.int64))
        size = kernel.pack(pairs, np.zeros(0, np.uint32), self._rows, self._rows + rows, packed)
        self._files[0].write(marks[first[:rows]].data)
        self._files[1].write(room[:size].data)
        self._bytes.append(packed.block_bytes + self._length)
        self._numbers.append(packed.block_links + self.links)
        self._length, self._rows, self.links = self._length + size, self._rows + rows, self.links + len(pairs)
        self._rest = _Marked(marks[end:], sources[end:])

    def arrays(self) -> dict[str, npt.NDArray[np.uint64] | npt.NDArray[np.uint8] | npt.NDArray[np.int64]]:
        """Give what was packed, mapped from the disk."""
        marks, stream = self._places
        return {
            "marks": np.memmap(marks, np.uint64, mode="r") if self._length else np.zeros(0, np.uint64),
            "stream": np.memmap(stream, np.uint8, mode="r") if self._length else np.zeros(0, np.uint8),
            "block_bytes": np.append(np.concatenate([np.zeros(0, np.int64), *self._bytes]), self._length),
            "block_links": np.append(np.concatenate([np.zeros(0, np.int64), *self._numbers]), self.links),
        }


def _distinct(parts: list[_Marked]) -> _Marked:
    """Join and sort; keep each pair once."""
    if not parts:
        return _Marked(np.zeros(0, np.uint64), np.zeros(0, np.uint32))
    marks, sources = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((sources, marks))
    marks, sources = marks[order], sources[order]
    new = np.ones(len(marks), np.bool_)
    new[1:] = (marks[1:] != marks[:-1]) | (sources[1:] != sources[:-1])
    return _Marked(marks[new], sources[new])


class Backlinks:
    """Finished backlinks, memory-mapped."""

    def __init__(self, file: ArrayFile) -> None:
        self._marks, self._pages = file["marks"], file["pages"]
        self.visits = int(file.notes.get("visits", 0))
        """How many visits of the page store were read: links of later ones are not known."""
        packed = kernel.Packed(file["stream"], file["block_bytes"], file["block_links"])
        blocks = -(-len(self._marks) // kernel.ROWS) + 1
        kinds = {"marks": np.uint64, "pages": np.uint64, "stream": np.uint8, "block_bytes": np.int64}
        fits = len(packed.block_bytes) == len(packed.block_links) == blocks and packed.block_links.dtype == np.int64
        if not fits or any(file[name].dtype != kind or file[name].ndim != 1 for name, kind in kinds.items()):
            raise CorruptFile(f"{file.path} has arrays that do not fit together.", "Build the index again.")
        self._links = Adjacency(packed, len(self._pages))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the backlinks in the folder of a graph."""
        if not (folder / FILE).exists():
            raise NothingHere(f"There are no backlinks in {folder}.", "Build the index again.")
        return cls(ArrayFile(folder / FILE, KIND, format=FORMAT))

    def to_url(self, key: int) -> Keys:
        """Give the keys of pages that link to the URL with this key, or to one that leads there; sorted."""
        return self._sources(key)

    def to_host(self, host: str) -> Keys:
        """Give the keys of pages that link to anything on a host or its subdomains; sorted."""
        return self._sources(fingerprint_text(host))

    def _sources(self, mark: int) -> Keys:
        row = int(np.searchsorted(self._marks, np.uint64(mark)))
        if row == len(self._marks) or self._marks[row] != np.uint64(mark):
            return np.zeros(0, np.uint64)
        first = row // kernel.ROWS * kernel.ROWS
        last = min(first + kernel.ROWS, len(self._marks))
        links = self._links.links_before(last) - self._links.links_before(first)
        if not 0 <= links <= len(self._links.packed.stream):
            raise CorruptFile("The backlinks of the graph are damaged.", "Build the index again.")
        room = kernel.make_room(last - first, links, False, np.ones(2, np.float32))
        # A part that begins behind all sources: none is taken for an earlier row of it.
        out = self._links.unpack(first, last, len(self._pages), room)
        begin, end = out.starts[row - first : row - first + 2]
        return np.sort(self._pages[out.places[begin:end]])
