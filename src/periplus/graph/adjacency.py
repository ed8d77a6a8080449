"""The compressed adjacency: packed from sorted pairs one chunk at a time, and unpacked for ranking."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.files import disk_errors
from periplus.graph.external_sort import PairChunk, PairSorter
from periplus.graph.kernels import adjacency as kernel

__all__ = ["NO_HOSTS", "Adjacency", "pack_pairs"]

NO_HOSTS: Final = kernel.HostLayout(np.zeros(0, np.int32), np.zeros(0, np.int64))
"""For nodes without hosts: no link is within a host."""


class Adjacency(NamedTuple):
    """Links by target: `nodes` rows of sorted sources, each with a count if the adjacency is counted."""

    packed: kernel.PackedLinks
    nodes: int
    counted: bool = False
    host_layout: kernel.HostLayout = NO_HOSTS

    @property
    def links(self) -> int:
        """Number of links."""
        return int(self.packed.block_links[-1])

    def links_before(self, row: int) -> int:
        """Return the number of links of all rows before `row`, which begins a block or is the last."""
        return int(self.packed.block_links[-(-row // kernel.BLOCK_ROWS)])

    def unpack(self, first: int, last: int, part_start: int, out: kernel.LinkRows) -> kernel.LinkRows:
        """Unpack the rows `first` up to `last` into arrays of sufficient length; return the slices that were used."""
        links = self.links_before(last) - self.links_before(first)
        used = kernel.LinkRows(
            out.starts[: last - first + 1],
            out.same_host_starts[: last - first],
            out.share_slots[:links],
            out.weights[:links],
            out.kind_weights,
        )
        rows = kernel.RowRange(first, last, part_start, self.nodes)
        intact = kernel.unpack(self.packed, self.host_layout, rows, self.counted, used)
        if not intact or used.starts[-1] != links:
            raise CorruptFile("The links of the graph are damaged.", "Build the index again.")
        return used


def pack_pairs(
    sorter: PairSorter,
    rows: int,
    path: Path,
    counted: bool = False,
    on_chunk: Callable[[PairChunk], None] = lambda chunk: None,
    host_layout: kernel.HostLayout = NO_HOSTS,
) -> Adjacency:
    """Pack all pairs of `sorter` into a new file at `path`; `on_chunk` is called with every chunk on its way."""
    block_bytes: list[npt.NDArray[np.int64]] = []
    block_links: list[npt.NDArray[np.int64]] = []
    length, links = 0, 0
    with disk_errors(path), path.open("wb") as file:
        for chunk in sorter.chunks(rows, kernel.BLOCK_ROWS):
            on_chunk(chunk)
            part, size = _pack_chunk(chunk, counted)
            file.write(part.stream[:size].data)
            block_bytes.append(part.block_bytes + length)
            block_links.append(part.block_links + links)
            length, links = length + size, links + len(chunk.pairs)
    block_bytes.append(np.array([length], np.int64))
    block_links.append(np.array([links], np.int64))
    stream = np.memmap(path, np.uint8, mode="r") if length else np.zeros(0, np.uint8)
    packed = kernel.PackedLinks(np.asarray(stream), np.concatenate(block_bytes), np.concatenate(block_links))
    return Adjacency(packed, rows, counted, host_layout)


def _pack_chunk(chunk: PairChunk, counted: bool) -> tuple[kernel.PackedLinks, int]:
    """Return the packed rows of a chunk, and the number of bytes used of their stream."""
    rows = chunk.last - chunk.first
    blocks = -(-rows // kernel.BLOCK_ROWS)
    size = kernel.max_packed_size(len(chunk.pairs), rows, counted)
    packed = kernel.PackedLinks(np.empty(size, np.uint8), np.zeros(blocks, np.int64), np.zeros(blocks, np.int64))
    counts = chunk.counts if counted else np.zeros(0, np.uint32)
    return packed, kernel.pack(chunk.pairs, counts, chunk.first, chunk.last, packed)
