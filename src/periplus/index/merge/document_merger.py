"""The documents of several segments in one order: columns, strings and texts, without making objects of them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.builder.segment_writer import COLUMN_TYPES, Columns, block_maxima, choose_tiers, lay_strings
from periplus.index.kernels import inversion
from periplus.index.kernels import string_table as strings
from periplus.index.segment import Segment

__all__ = ["Joined", "join_documents", "read_bodies", "read_marks"]

_SHARED: Final = {"host": "hosts", "kind": "kinds"}
"""Columns that are numbers of a table of strings, and those tables."""
_BLOCKS: Final = 8
"""Blocks of text that are kept of each segment: documents of its tiers may take turns."""

_AT_ONCE: Final = 10_000
"""Documents whose places are turned into Python numbers at a time."""

Numbers = npt.NDArray[np.int64]


class Joined(NamedTuple):
    """Live documents of several segments, in the order of the merged one."""

    segments: npt.NDArray[np.int32]
    numbers: Numbers
    """The segment that each live document comes from, and its number there; in the order of the segments."""
    order: Numbers
    """Which of them is the first of the merged segment, which the next."""
    maps: list[Numbers]
    """For each segment, the new number of each document, -1 for the dead."""
    columns: Columns
    strings: Columns


def join_documents(segments: Sequence[Segment]) -> Joined:
    """Put the live documents of all segments in the order that a build would give them."""
    live = [np.flatnonzero(segment.alive) for segment in segments]
    owners = np.repeat(np.arange(len(segments), dtype=np.int32), [len(numbers) for numbers in live])
    columns, shared = _columns(segments, live)
    tables = {name: _blob(segments, live, name) for name in ("url", "title")}
    order = _order(columns, *tables["url"])
    columns = {name: column[order] for name, column in columns.items()}
    columns["block_static"] = block_maxima(columns["static"])
    laid: Columns = {}
    for name, (blob, begin, end) in tables.items():
        laid[f"{name}_blob"], laid[f"{name}_start"] = strings.reorder_strings(blob, begin, end, order)
    own = {f"{name}_{part}": laid[f"{name}_{part}"] for name in tables for part in ("start", "blob")}
    numbers = np.concatenate([np.zeros(0, np.int64), *live])
    return Joined(owners, numbers, order, _maps(segments, owners, numbers, order), columns, own | shared)


def _columns(segments: Sequence[Segment], live: Sequence[Numbers]) -> tuple[Columns, Columns]:
    """Give the columns that all segments have, live documents only, and the tables of strings they share."""
    names = list(COLUMN_TYPES)
    for name in segments[0].columns if segments else ():
        if name not in names and all(name in segment.columns for segment in segments):
            names.append(name)
    columns, tables = Columns(), Columns()
    for name in names:
        parts = [segment.column(name)[numbers] for segment, numbers in zip(segments, live, strict=True)]
        if name in _SHARED:
            parts, shared = _renumber(segments, parts, _SHARED[name])
            tables |= shared
        joined = np.concatenate(parts) if parts else np.zeros(0)
        columns[name] = joined.astype(COLUMN_TYPES.get(name, joined.dtype))
    return columns, tables


def _renumber(
    segments: Sequence[Segment], parts: Sequence[npt.NDArray[Any]], table: str
) -> tuple[list[npt.NDArray[Any]], Columns]:
    """Join the tables of strings of all segments, as far as they are used; give columns with the new numbers."""
    used = [np.unique(part).tolist() for part in parts]
    pairs = zip(segments, used, strict=True)
    names = [{number: segment.string(table, number) for number in numbers} for segment, numbers in pairs]
    every = sorted({name for own in names for name in own.values()})
    new = {name: number for number, name in enumerate(every)}
    out = []
    for part, own in zip(parts, names, strict=True):
        turned = np.zeros(max(own, default=0) + 1, np.int64)
        turned[list(own)] = [new[name] for name in own.values()]
        out.append(turned[part])
    return out, lay_strings(table, [name.encode() for name in every])


def _blob(
    segments: Sequence[Segment], live: Sequence[Numbers], name: str
) -> tuple[npt.NDArray[np.uint8], Numbers, Numbers]:
    """Give a string of every live document: one blob, and where each begins and ends in it."""
    blobs, begins, ends, offset = [np.zeros(0, np.uint8)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for segment, numbers in zip(segments, live, strict=True):
        start, blob = segment.table(name)
        begins.append(start[numbers] + offset)
        ends.append(start[numbers + 1] + offset)
        blobs.append(blob)
        offset += len(blob)
    return np.concatenate(blobs), np.concatenate(begins), np.concatenate(ends)


def _order(columns: Columns, blob: npt.NDArray[np.uint8], begin: Numbers, end: Numbers) -> Numbers:
    """Order documents by tier of static rank, host and URL. URLs come in sorted runs, which sorting makes use of."""
    raw = blob.tobytes()
    urls = [raw[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
    by_url = np.array(sorted(range(len(urls)), key=urls.__getitem__), np.int64)
    tiers = choose_tiers(columns["static"])
    return by_url[np.lexsort((columns["host"][by_url], tiers[by_url]))]


def _maps(
    segments: Sequence[Segment], owners: npt.NDArray[np.int32], numbers: Numbers, order: Numbers
) -> list[Numbers]:
    # One block more than there are documents: an entry's last block may reach past them.
    maps = [np.full(segment.documents + inversion.BLOCK, -1, np.int64) for segment in segments]
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    for number, own in enumerate(maps):
        rows = owners == number
        own[numbers[rows]] = new[rows]
    return maps


def read_bodies(segments: Sequence[Segment], joined: Joined) -> Iterator[bytes]:
    """Give the bodies in their new order."""
    spans = np.zeros((len(joined.numbers), 3), np.int64)
    for number, segment in enumerate(segments):
        rows = joined.segments == number
        spans[rows] = segment.text_spans(joined.numbers[rows])
    held: list[dict[int, bytes]] = [{} for _ in segments]
    for part in range(0, len(joined.order), _AT_ONCE):
        order = joined.order[part : part + _AT_ONCE]
        for owner, (block, begin, end) in zip(joined.segments[order].tolist(), spans[order].tolist(), strict=True):
            raw = held[owner].get(block)
            if raw is None:
                if len(held[owner]) >= _BLOCKS:
                    held[owner].pop(next(iter(held[owner])))
                raw = held[owner][block] = segments[owner].text_block(block)
            yield raw[begin:end]


def read_marks(segments: Sequence[Segment], joined: Joined) -> npt.NDArray[np.uint64]:
    """Give the simhashes in their new order, 0 where they are not known."""
    marks = np.zeros(len(joined.numbers), np.uint64)
    for number, segment in enumerate(segments):
        rows = joined.segments == number
        marks[rows] = segment.simhashes[joined.numbers[rows]]
    return marks[joined.order]
