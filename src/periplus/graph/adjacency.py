"""The compressed adjacency: made of sorted pairs, a chunk at a time, and unpacked to be ranked."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.files import disk_errors
from periplus.graph.external_sort import Chunk, Runs
from periplus.graph.kernels import adjacency as kernel

__all__ = ["NOWHERE", "Adjacency", "pack_runs"]

NOWHERE: Final = kernel.Placing(np.zeros(0, np.int32), np.zeros(0, np.int64))
"""For nodes without hosts: no link is within one."""


class Adjacency(NamedTuple):
    """Links by target: `nodes` rows of sorted sources, with a count each when it is counted."""

    packed: kernel.Packed
    nodes: int
    counted: bool = False
    placing: kernel.Placing = NOWHERE

    @property
    def links(self) -> int:
        """Number of links."""
        return int(self.packed.block_links[-1])

    def links_before(self, row: int) -> int:
        """Count the links of all rows before `row`, which begins a block or is the last."""
        return int(self.packed.block_links[-(-row // kernel.ROWS)])

    def unpack(self, first: int, last: int, part: int, out: kernel.Unpacked) -> kernel.Unpacked:
        """Unpack the rows `first` up to `last` into arrays that are large enough; give what was used of them."""
        links = self.links_before(last) - self.links_before(first)
        used = kernel.Unpacked(
            out.starts[: last - first + 1],
            out.middles[: last - first],
            out.places[:links],
            out.weights[:links],
            out.kinds,
        )
        rows = kernel.Rows(first, last, part, self.nodes)
        good = kernel.unpack(self.packed, self.placing, rows, self.counted, used)
        if not good or used.starts[-1] != links:
            raise CorruptFile("The links of the graph are damaged.", "Build the index again.")
        return used


def pack_runs(
    runs: Runs,
    rows: int,
    path: Path,
    counted: bool = False,
    look: Callable[[Chunk], None] = lambda chunk: None,
    placing: kernel.Placing = NOWHERE,
) -> Adjacency:
    """Pack all pairs of `runs` into a new file at `path`; every chunk is shown to `look` on its way."""
    places: list[npt.NDArray[np.int64]] = []
    numbers: list[npt.NDArray[np.int64]] = []
    length, links = 0, 0
    with disk_errors(path), path.open("wb") as file:
        for chunk in runs.chunks(rows, kernel.ROWS):
            look(chunk)
            packed, size = _pack(chunk, counted)
            file.write(packed.stream[:size].data)
            places.append(packed.block_bytes + length)
            numbers.append(packed.block_links + links)
            length, links = length + size, links + len(chunk.pairs)
    ends = np.array([length], np.int64), np.array([links], np.int64)
    stream = np.memmap(path, np.uint8, mode="r") if length else np.zeros(0, np.uint8)
    packed = kernel.Packed(np.asarray(stream), np.concatenate([*places, ends[0]]), np.concatenate([*numbers, ends[1]]))
    return Adjacency(packed, rows, counted, placing)


def _pack(chunk: Chunk, counted: bool) -> tuple[kernel.Packed, int]:
    rows = chunk.last - chunk.first
    blocks = -(-rows // kernel.ROWS)
    room = kernel.longest(len(chunk.pairs), rows, counted)
    packed = kernel.Packed(np.empty(room, np.uint8), np.zeros(blocks, np.int64), np.zeros(blocks, np.int64))
    counts = chunk.counts if counted else np.zeros(0, np.uint32)
    return packed, kernel.pack(chunk.pairs, counts, chunk.first, chunk.last, packed)
