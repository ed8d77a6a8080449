"""The files of a segment: how what was worked out is written."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.index.builder.spool import Spool
from periplus.index.document_fields import weights
from periplus.index.kernels import inversion, postings_format, postings_reader, term_dictionary
from periplus.settings import IndexSettings
from periplus.store import compress

__all__ = [
    "COLUMN_TYPES",
    "TEXT_BLOCK",
    "block_maxima",
    "choose_tiers",
    "lay_strings",
    "scale_fields",
    "write_blocks",
    "write_columns",
    "write_lexicon",
    "write_lists",
    "write_text",
]

_TIERS: Final = 4
_LISTS: Final = (*postings_reader.PostingsReader._fields[:4], "wide")
TEXT_BLOCK: Final = 16_384
"""A hit costs the unpacking of one block: 25 us, where 32 kB took 40 and saved 3 % of the text."""
_TEXT_LEVEL: Final = 1
"""Of compression: level 3 takes 1.5 times as long and saves 3 % of the text."""
_WHOLE: Final = ("key", "length")
"""Arrays that are kept as they are."""
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
}
"""Columns with a number for each document, before they are kept in less room."""

Columns = dict[str, npt.NDArray[Any]]
Numbers = npt.NDArray[Any]


def choose_tiers(static: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Give each document's tier, of equal size: 0 has the best static ranks. All are 0 where ranks are."""
    if not static.any():
        return np.zeros(len(static), np.int64)
    ranks = np.argsort(np.argsort(-static, kind="stable"), kind="stable")
    return ranks * _TIERS // max(1, len(static))


def write_lists(folder: Path, arrays: Columns) -> None:
    """Write the packed postings."""
    write_arrays(folder / "postings.arrays", "postings", {name: arrays[name] for name in _LISTS})


def write_lexicon(
    folder: Path, start: npt.NDArray[np.int64], blob: npt.NDArray[np.uint8], postings: inversion.Postings
) -> None:
    """Pack and write the terms, given as one blob and where each begins, with where their parts end."""
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
    packed = term_dictionary.allocate_dictionary(unpacked)
    size = term_dictionary.pack_terms(unpacked, packed)
    arrays = packed._replace(pages=packed.pages[:size])._asdict() | {"terms": np.array([len(start) - 1], np.int64)}
    write_arrays(folder / "lexicon.arrays", "lexicon", arrays)


def _bitset_rows(encodings: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    """Return the number of each term among those with bitsets, -1 for the others."""
    has_bitset = encodings == postings_format.BITSET
    return np.where(has_bitset, np.cumsum(has_bitset) - 1, -1).astype(np.int32)


def scale_fields(lengths: npt.NDArray[np.int32], settings: IndexSettings) -> npt.NDArray[np.float32]:
    """BM25F: what one occurrence in each field of each document counts."""
    weight, b = (np.array(values, np.float64) for values in weights(settings))
    mean = np.maximum(lengths.mean(axis=0), 1e-9) if len(lengths) else np.ones(len(weight))
    scale: npt.NDArray[np.float32] = (weight / (1 - b + b * lengths / mean)).astype(np.float32)
    return scale


def block_maxima(static: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Give the highest static rank of each block."""
    blocks = -(-len(static) // inversion.BLOCK)
    padded = np.zeros(blocks * inversion.BLOCK, np.float32)
    padded[: len(static)] = static
    highest: npt.NDArray[np.float32] = padded.reshape(blocks, inversion.BLOCK).max(axis=1)
    return highest


def write_columns(folder: Path, columns: Columns, strings: Columns) -> None:
    """Write columns, in as little room as they fit into, and tables of strings."""
    tight = {name: column if name in _WHOLE else _tighten(column) for name, column in columns.items()}
    write_arrays(folder / "documents.arrays", "documents", {**tight, **strings})


def _tighten(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Keep one value of a column that has no other; keep whole numbers in the smallest type that holds them."""
    if len(column) > 1 and (column == column[0]).all():
        return column[:1]
    if column.dtype.kind in "iu" and len(column) and column.min() >= 0:
        return column.astype(np.min_scalar_type(column.max()))
    return column


def write_text(folder: Path, bodies: Iterable[bytes], marks: npt.NDArray[np.uint64], spool: Spool) -> None:
    """Write the bodies in compressed blocks.

    marks: the simhash of each page's main content, 0 where it is not known; kept if any is.
    """
    first, ends = [0], list[int]()
    blocks = _join_bodies(bodies, len(marks), first, ends)
    write_blocks(folder, blocks, first, ends, marks, spool)


def _join_bodies(bodies: Iterable[bytes], documents: int, first: list[int], ends: list[int]) -> Iterator[bytearray]:
    """Join bodies to blocks; note the first document of each, and the last of all, and where each body ends."""
    waiting = bytearray()
    for body in bodies:
        waiting += body
        ends.append(len(waiting))
        if len(waiting) >= TEXT_BLOCK or len(ends) == documents:
            first.append(len(ends))
            yield waiting
            waiting.clear()


def write_blocks(
    folder: Path,
    blocks: Iterable[bytearray | memoryview],
    first: Numbers | Sequence[int],
    ends: Numbers | Sequence[int],
    marks: npt.NDArray[np.uint64],
    spool: Spool,
) -> None:
    """Write blocks of text: `first` is each block's first document, `start` its place; `ends` is within a block."""
    starts = [0]
    for block in blocks:
        spool.add(compress(block, _TEXT_LEVEL))
        starts.append(spool.size)
    arrays: Columns = {
        "first": np.array(first, np.uint32),
        "start": np.array(starts, np.uint64),
        "end": np.array(ends, np.uint32),
        "text": spool.array(),
    }
    if marks.any():
        arrays["simhash"] = marks
    write_arrays(folder / "text.arrays", "text", arrays)


def lay_strings(name: str, values: Sequence[bytes]) -> dict[str, npt.NDArray[Any]]:
    """Lay strings out as one blob and where each begins."""
    starts = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in values], out=starts[1:])
    return {f"{name}_start": starts, f"{name}_blob": np.frombuffer(b"".join(values), np.uint8)}
