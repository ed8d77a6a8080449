"""The file `names.arrays` of a segment: names by key, packed, and how many documents mention each document.

Up to format 3, names are four columns. See docs/formats/segment.md.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.packed_integers.kernels import MAX_WIDTH, pack_fixed
from periplus.index.segment_file import SegmentFile, write_segment_file
from periplus.index.validation.kernels.offsets import are_offsets
from periplus.index.vocabulary.kernels.packed_names import (
    DOCUMENT_SHIFT,
    KIND_SHIFT,
    WEIGHT_SHIFT,
    PackedNames,
    are_valid_names,
    find_names,
    read_name,
    unpack_names,
)

__all__ = [
    "NAMES",
    "NAME_KINDS",
    "NameColumns",
    "find_damage",
    "known_keys",
    "known_names",
    "name_columns",
    "name_entries",
    "select_names",
    "write_name_file",
]

NAMES: Final = "names"
NAME_KINDS: Final = 5
"""Kinds of names."""
_KEYS: Final = 32
"""Keys of a bucket, in the mean."""
_MIN_BUCKETS: Final = 63 - MAX_WIDTH
"""Bits of a key that are the number of its bucket, at least: what is left is packed. Its lowest bit is always set."""
_BUCKETS: Final = ("bucket_key", "bucket_row")
_COLUMNS: Final = {"name_key": np.uint64, "name_document": np.int32, "name_kind": np.uint8, "name_weight": np.uint8}
"""The arrays of files up to format 3."""


class NameColumns(NamedTuple):
    """Names in the order of their keys, a row for each document that has one."""

    key: npt.NDArray[np.uint64]
    document: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    weight: npt.NDArray[np.uint8]


def select_names(names: NameColumns, rows: npt.NDArray[np.int64]) -> NameColumns:
    """Return some rows of names."""
    return NameColumns(names.key[rows], names.document[rows], names.kind[rows], names.weight[rows])


def write_name_file(folder: Path, names: NameColumns, mentions: npt.NDArray[np.int32]) -> None:
    """Write the file of a segment; the lowest bit of each key is set."""
    is_first = np.ones(len(names.key), np.bool_)
    is_first[1:] = names.key[1:] != names.key[:-1]
    keys = (names.key[is_first] >> np.uint64(1)).astype(np.int64)
    bucket_bits = max(_MIN_BUCKETS, (len(keys) // _KEYS).bit_length())
    key_bits, document_bits = 63 - bucket_bits, max(1, max(0, len(mentions) - 1).bit_length())
    bounds = np.arange((1 << bucket_bits) + 1, dtype=np.int64)
    first = np.searchsorted(keys >> key_bits, bounds).astype(np.uint32)
    rows = is_first.astype(np.int64)
    rows |= names.kind.astype(np.int64) << KIND_SHIFT
    rows |= names.weight.astype(np.int64) << WEIGHT_SHIFT
    rows |= names.document.astype(np.int64) << DOCUMENT_SHIFT
    arrays: dict[str, npt.NDArray[Any]] = {
        "keys": _pack(keys & ((1 << key_bits) - 1), key_bits),
        "rows": _pack(rows, DOCUMENT_SHIFT + document_bits),
        "bucket_key": first,
        "bucket_row": np.append(np.flatnonzero(is_first), len(rows)).astype(np.uint32)[first],
        "bits": np.array([key_bits, DOCUMENT_SHIFT + document_bits], np.uint8),
        "mentions": mentions,
    }
    write_segment_file(folder, NAMES, arrays, packed=(*_BUCKETS, "mentions"))


def _pack(values: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.uint8]:
    out = np.zeros((len(values) * width + 7) // 8, np.uint8)
    pack_fixed(values, width, out)
    return out


def find_damage(file: SegmentFile, documents: int) -> str:
    """Return the name of an array that does not have the contents of one, '' if all have."""
    mentions = file["mentions"]
    if mentions.dtype != np.int32 or mentions.shape != (documents,) or bool((mentions < 0).any()):
        return "mentions"
    return _find_column_damage(file, documents) if "name_key" in file else _find_packed_damage(file, documents)


def _find_packed_damage(file: SegmentFile, documents: int) -> str:
    bits = file["bits"]
    if bits.dtype != np.uint8 or bits.shape != (2,) or not (0 < bits[0] <= MAX_WIDTH and bits[1] <= MAX_WIDTH):
        return "bits"
    for name, packed, width in zip(_BUCKETS, ("keys", "rows"), bits.tolist(), strict=True):
        start, data = file[name], file[packed]
        if start.dtype != np.uint32 or start.shape != ((1 << 63 - int(bits[0])) + 1,):
            return name
        if not are_offsets(start, int(start[-1]), False):
            return name
        if data.dtype != np.uint8 or data.shape != ((int(start[-1]) * width + 7) // 8,):
            return packed
    valid = bits[1] > DOCUMENT_SHIFT and are_valid_names(_packed(file), documents, NAME_KINDS)
    return "" if valid else "rows"


def _find_column_damage(file: SegmentFile, documents: int) -> str:
    keys = file["name_key"]
    for name, kind in _COLUMNS.items():
        if file[name].dtype != kind or file[name].shape != (len(keys),):
            return name
    limits = {"name_document": documents, "name_kind": NAME_KINDS}
    for name, limit in limits.items():
        if len(keys) and not 0 <= int(file[name].min()) <= int(file[name].max()) < limit:
            return name
    return "" if bool((keys[1:] >= keys[:-1]).all()) else "name_key"


def _packed(file: SegmentFile) -> PackedNames:
    key_bits, row_bits = file["bits"].tolist()
    return PackedNames(file["keys"], file["rows"], file["bucket_key"], file["bucket_row"], key_bits, row_bits)


def name_columns(file: SegmentFile | None) -> NameColumns:
    """Return all names of a segment; none of one without the file."""
    if file is None:
        return NameColumns(*(np.zeros(0, kind) for kind in _COLUMNS.values()))
    if "name_key" in file:
        return NameColumns(*(file[name] for name in _COLUMNS))
    packed = _packed(file)
    columns = NameColumns(*(np.empty(int(packed.bucket_row[-1]), kind) for kind in _COLUMNS.values()))
    unpack_names(packed, *columns)
    return columns


def name_entries(file: SegmentFile, key: int, most: int) -> list[list[int]]:
    """Return document, kind and weight of the first entries of a key, at most so many."""
    if "name_key" not in file:
        entries: list[list[int]] = read_name(_packed(file), np.uint64(key), most).tolist()
        return entries
    keys = file["name_key"]
    first, last = keys.searchsorted(np.uint64(key)), keys.searchsorted(np.uint64(key), side="right")
    part = slice(int(first), min(int(last), int(first) + most))
    columns = [file[name][part].tolist() for name in ("name_document", "name_kind", "name_weight")]
    return [list(entry) for entry in zip(*columns, strict=True)]


def known_names(file: SegmentFile, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return which keys a file has."""
    if "name_key" not in file:
        known: npt.NDArray[np.bool_] = find_names(_packed(file), keys)
        return known
    return known_keys(file["name_key"], keys)


def known_keys(column: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return which keys a sorted column has."""
    if not len(column):
        return np.zeros(len(keys), np.bool_)
    known: npt.NDArray[np.bool_] = column[np.minimum(column.searchsorted(keys), len(column) - 1)] == keys
    return known
