"""Merges the documents of several segments: columns, strings and texts, without making objects of them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.builder.segment_writer import COLUMN_TYPES, Columns, block_maxima, pack_strings
from periplus.index.document_order import order_documents
from periplus.index.kernels import inversion
from periplus.index.kernels import string_table as strings
from periplus.index.segment import Segment

__all__ = ["MergedDocuments", "merge_documents", "read_bodies", "read_simhashes"]

_STRING_COLUMNS: Final = {"host": "hosts", "kind": "kinds"}
"""Columns that are numbers in a table of strings, and those tables."""
_CACHED_BLOCKS: Final = 8
"""Decompressed blocks of text that are cached for each segment: documents of its tiers alternate."""

_CHUNK_DOCUMENTS: Final = 10_000
"""Documents whose offsets are converted to Python numbers at a time."""

Numbers = npt.NDArray[np.int64]


class MergedDocuments(NamedTuple):
    """Live documents of several segments, in the order of the merged one."""

    segments: npt.NDArray[np.int32]
    """The segment that each live document comes from; in the order of the segments."""
    numbers: Numbers
    """Its number in that segment."""
    order: Numbers
    """Of the documents in the merged segment, as indices into the two above."""
    maps: list[Numbers]
    """For each segment, the new number of each document, -1 if deleted."""
    columns: Columns
    strings: Columns


def merge_documents(segments: Sequence[Segment], order_name: str) -> MergedDocuments:
    """Return the live documents of all segments, in the order of this name.

    A build would give them the same order, but for documents of one static rank: those stay as they came.
    """
    live = [np.flatnonzero(segment.is_live) for segment in segments]
    owners = np.repeat(np.arange(len(segments), dtype=np.int32), [len(numbers) for numbers in live])
    columns, shared = _merge_columns(segments, live)
    tables = {name: _merge_strings(segments, live, name) for name in ("url", "title")}
    order = _order_documents(order_name, columns, *tables["url"])
    columns = {name: column[order] for name, column in columns.items()}
    columns["block_static"] = block_maxima(columns["static"])
    sorted_tables: Columns = {}
    for name, (blob, begin, end) in tables.items():
        sorted_tables[f"{name}_blob"], sorted_tables[f"{name}_start"] = strings.reorder_strings(blob, begin, end, order)
    own = {f"{name}_{part}": sorted_tables[f"{name}_{part}"] for name in tables for part in ("start", "blob")}
    numbers = np.concatenate([np.zeros(0, np.int64), *live])
    return MergedDocuments(
        owners, numbers, order, _map_documents(segments, owners, numbers, order), columns, own | shared
    )


def _merge_columns(segments: Sequence[Segment], live: Sequence[Numbers]) -> tuple[Columns, Columns]:
    """Return the columns that all segments have, of live documents only, and their tables of strings."""
    names = list(COLUMN_TYPES)
    for name in segments[0].columns if segments else ():
        if name not in names and all(name in segment.columns for segment in segments):
            names.append(name)
    columns, tables = Columns(), Columns()
    for name in names:
        parts = [segment.column(name)[numbers] for segment, numbers in zip(segments, live, strict=True)]
        if name in _STRING_COLUMNS:
            parts, shared = _renumber(segments, parts, _STRING_COLUMNS[name])
            tables |= shared
        merged = np.concatenate(parts) if parts else np.zeros(0)
        columns[name] = merged.astype(COLUMN_TYPES.get(name, merged.dtype))
    return columns, tables


def _renumber(
    segments: Sequence[Segment], parts: Sequence[npt.NDArray[Any]], table: str
) -> tuple[list[npt.NDArray[Any]], Columns]:
    """Merge the tables of strings of all segments, as far as they are used; return columns with the new numbers."""
    used = [np.unique(part).tolist() for part in parts]
    pairs = zip(segments, used, strict=True)
    names = [{number: segment.string(table, number) for number in numbers} for segment, numbers in pairs]
    all_names = sorted({name for own in names for name in own.values()})
    new = {name: number for number, name in enumerate(all_names)}
    out = []
    for part, own in zip(parts, names, strict=True):
        new_numbers = np.zeros(max(own, default=0) + 1, np.int64)
        new_numbers[list(own)] = [new[name] for name in own.values()]
        out.append(new_numbers[part])
    return out, pack_strings(table, [name.encode() for name in all_names])


def _merge_strings(
    segments: Sequence[Segment], live: Sequence[Numbers], name: str
) -> tuple[npt.NDArray[np.uint8], Numbers, Numbers]:
    """Return a string of every live document: one blob, and where each begins and ends in it."""
    blobs, begins, ends, offset = [np.zeros(0, np.uint8)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for segment, numbers in zip(segments, live, strict=True):
        start, blob = segment.table(name)
        begins.append(start[numbers] + offset)
        ends.append(start[numbers + 1] + offset)
        blobs.append(blob)
        offset += len(blob)
    return np.concatenate(blobs), np.concatenate(begins), np.concatenate(ends)


def _order_documents(
    order: str, columns: Columns, blob: npt.NDArray[np.uint8], begin: Numbers, end: Numbers
) -> Numbers:
    """Return documents in an order. URLs are in sorted runs, which makes sorting fast."""
    raw = blob.tobytes()
    urls = [raw[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
    by_url = np.array(sorted(range(len(urls)), key=urls.__getitem__), np.int64)
    return order_documents(order, columns["static"], columns["host"].astype(np.int64), by_url)


def _map_documents(
    segments: Sequence[Segment], owners: npt.NDArray[np.int32], numbers: Numbers, order: Numbers
) -> list[Numbers]:
    # One block more than there are documents: the last block may extend past them.
    maps = [np.full(segment.documents + inversion.BLOCK, -1, np.int64) for segment in segments]
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    for number, own in enumerate(maps):
        rows = owners == number
        own[numbers[rows]] = new[rows]
    return maps


def read_bodies(segments: Sequence[Segment], merged: MergedDocuments) -> Iterator[bytes]:
    """Yield the bodies in their new order."""
    spans = np.zeros((len(merged.numbers), 3), np.int64)
    for number, segment in enumerate(segments):
        rows = merged.segments == number
        spans[rows] = segment.stored_texts.spans(merged.numbers[rows])[:, :3]
    cache: list[dict[int, bytes]] = [{} for _ in segments]
    for part in range(0, len(merged.order), _CHUNK_DOCUMENTS):
        order = merged.order[part : part + _CHUNK_DOCUMENTS]
        for owner, (block, begin, end) in zip(merged.segments[order].tolist(), spans[order].tolist(), strict=True):
            raw = cache[owner].get(block)
            if raw is None:
                if len(cache[owner]) >= _CACHED_BLOCKS:
                    cache[owner].pop(next(iter(cache[owner])))
                raw = cache[owner][block] = segments[owner].stored_texts.block(block)
            yield raw[begin:end]


def read_simhashes(segments: Sequence[Segment], merged: MergedDocuments) -> npt.NDArray[np.uint64]:
    """Return the simhashes in their new order, 0 where unknown."""
    simhashes = np.zeros(len(merged.numbers), np.uint64)
    for number, segment in enumerate(segments):
        rows = merged.segments == number
        simhashes[rows] = segment.simhashes[merged.numbers[rows]]
    return simhashes[merged.order]
