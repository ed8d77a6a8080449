"""Writes the files of a segment: postings, term dictionary, columns, text."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.index.builder.spool import Spool
from periplus.index.document_order import order_notes
from periplus.index.kernels import inversion, postings_format, term_dictionary, term_packing
from periplus.index.plain_impacts import IMPACT_NUMBER, pack_plain_impacts
from periplus.index.segment_file import write_segment_file
from periplus.index.skip_entries.skip_columns import SKIP_COLUMNS, skip_columns
from periplus.index.vocabulary.title_keys import TITLE_KEY_MASK
from periplus.store import compress

__all__ = [
    "COLUMN_TYPES",
    "TEXT_BLOCK",
    "block_maxima",
    "pack_strings",
    "write_blocks",
    "write_columns",
    "write_lexicon",
    "write_postings_file",
    "write_text",
]

_POSTINGS_ARRAYS: Final = ("stream", "positions", "wide")
_PAGE_OFFSETS: Final = ("page_start", "page_stream", "page_position")
TEXT_BLOCK: Final = 4_096
"""Bytes of text in a block. Presenting a hit decompresses one: 12 us, where 16 kB took 22 and saved 3 to 7 % of it."""
_COMPRESSION_LEVEL: Final = 1
"""Of zstd. Level 3 takes 1.5 times as long and saves 3 % of the text."""
_UNPACKED_COLUMNS: Final = ("key", "length")
"""Columns that are written as they are."""
COLUMN_TYPES: Final[dict[str, Any]] = {
    "key": np.uint64,
    "static": np.float32,
    "host": np.uint32,
    "kind": np.uint16,
    "language": np.uint8,
    "day": np.int32,
    "flags": np.uint16,
    "fetched": np.float64,
    "title_key": np.uint64,
    "analysis": np.uint8,
}
"""Columns with a number for each document, and their types before they are packed."""

Columns = dict[str, npt.NDArray[Any]]
Numbers = npt.NDArray[Any]


def write_postings_file(folder: Path, arrays: Columns) -> None:
    """Write the encoded postings."""
    columns = {name: arrays[name] for name in _POSTINGS_ARRAYS} | pack_plain_impacts(arrays["plain_impact"])
    columns |= skip_columns(arrays["skips"])
    write_segment_file(folder, "postings", columns, packed=(IMPACT_NUMBER, *SKIP_COLUMNS))


def write_lexicon(
    folder: Path, start: npt.NDArray[np.int64], blob: npt.NDArray[np.uint8], postings: inversion.Postings
) -> None:
    """Pack and write the term dictionary: terms, as one blob and where each begins, and where their postings are."""
    unpacked = term_dictionary.TermTable(
        blob,
        start,
        postings.frequency,
        postings.stream_end,
        postings.position_end,
        postings.encoding,
        postings.first_group,
        postings.headers,
        _bitset_rows(postings.encoding),
    )
    packed = term_packing.allocate_dictionary(unpacked)
    size = term_packing.pack_terms(unpacked, packed)
    arrays = packed._replace(pages=packed.pages[:size])._asdict() | {"terms": np.array([len(start) - 1], np.int64)}
    write_segment_file(folder, "lexicon", arrays, packed=_PAGE_OFFSETS)


def _bitset_rows(encodings: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    """Return the number of each term among those with bitsets, -1 for the others."""
    has_bitset = encodings == postings_format.BITSET
    return np.where(has_bitset, np.cumsum(has_bitset) - 1, -1).astype(np.int32)


def block_maxima(static: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the highest static rank of each block."""
    blocks = -(-len(static) // inversion.BLOCK)
    padded = np.zeros(blocks * inversion.BLOCK, np.float32)
    padded[: len(static)] = static
    highest: npt.NDArray[np.float32] = padded.reshape(blocks, inversion.BLOCK).max(axis=1)
    return highest


def write_columns(folder: Path, columns: Columns, strings: Columns, order: str) -> None:
    """Write packed columns, and tables of strings, of documents in an order."""
    if "title_key" in columns:
        columns = {**columns, "title_key": columns["title_key"] & np.uint64(TITLE_KEY_MASK)}
    packed = {name: column if name in _UNPACKED_COLUMNS else _pack_column(column) for name, column in columns.items()}
    write_segment_file(folder, "documents", {**packed, **strings}, order_notes(order), packed=columns)


def _pack_column(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return one value if all are equal, and integers in the smallest type that they fit."""
    if len(column) > 1 and (column == column[0]).all():
        return column[:1]
    if column.dtype.kind in "iu" and len(column) and column.min() >= 0:
        return column.astype(np.min_scalar_type(column.max()))
    return column


def write_text(folder: Path, bodies: Iterable[bytes], simhashes: npt.NDArray[np.uint64], spool: Spool) -> None:
    """Write the bodies in compressed blocks.

    simhashes: of each page's main content, 0 where unknown; written if there is any.
    """
    first, ends = [0], list[int]()
    blocks = _join_bodies(bodies, len(simhashes), first, ends)
    write_blocks(folder, blocks, first, ends, simhashes, spool)


def _join_bodies(bodies: Iterable[bytes], documents: int, first: list[int], ends: list[int]) -> Iterator[bytearray]:
    """Yield blocks of bodies; append the first document of each to `first`, and where each body ends to `ends`."""
    block = bytearray()
    for body in bodies:
        block += body
        ends.append(len(block))
        if len(block) >= TEXT_BLOCK or len(ends) == documents:
            first.append(len(ends))
            yield block
            block.clear()


def write_blocks(
    folder: Path,
    blocks: Iterable[bytearray | memoryview],
    first: Numbers | Sequence[int],
    ends: Numbers | Sequence[int],
    simhashes: npt.NDArray[np.uint64],
    spool: Spool,
) -> None:
    """Write blocks of text, given the first document of each and where in its block each body ends."""
    starts = [0]
    for block in blocks:
        spool.add(compress(block, _COMPRESSION_LEVEL))
        starts.append(spool.size)
    arrays: Columns = {
        "first": np.array(first, np.uint32),
        "start": np.array(starts, np.uint64),
        "end": np.array(ends, np.uint32),
        "text": spool.array(),
    }
    if simhashes.any():
        arrays["simhash"] = simhashes
    write_arrays(folder / "text.arrays", "text", arrays)


def pack_strings(name: str, values: Sequence[bytes]) -> dict[str, npt.NDArray[Any]]:
    """Return strings as one blob and where each begins."""
    starts = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in values], out=starts[1:])
    return {f"{name}_start": starts, f"{name}_blob": np.frombuffer(b"".join(values), np.uint8)}
