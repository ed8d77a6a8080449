"""The file `names.arrays` of a segment: names by key, packed, and how many documents mention each document.

Up to format 3, names are four columns; in format 4, rows have the same size and keys more bits. See
docs/formats/segment.md.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.packed_integers.kernels import MAX_WIDTH, pack_fixed
from periplus.index.segment_file import PACKED_FORMAT, SegmentFile, write_segment_file
from periplus.index.validation.kernels.offsets import are_offsets
from periplus.index.vocabulary.kernels.packed_names import (
    COMMON,
    KEY_SHIFT,
    KIND_SHIFT,
    MAX_ROW_BITS,
    SORTS,
    PackedNames,
    are_valid_names,
    find_names,
    pack_names,
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
    "shorten_keys",
    "write_name_file",
]

NAMES: Final = "names"
NAME_KINDS: Final = 5
"""Kinds of names."""
_KEYS: Final = 32
"""Keys of a bucket, in the mean."""
_STORED_BITS: Final = 64 - KEY_SHIFT
"""Bits of a key that are stored: of a million names, two have the same with a probability of 0.2 %."""
_ALL_BITS: Final = 63
"""Those of format 4: all but the lowest, which is always set."""
_FIXED_HEAD: Final = 12
"""Bits of a row before its document in format 4."""
_BUCKETS: Final = ("bucket_key", "bucket_row")
_COLUMNS: Final = {"name_key": np.uint64, "name_document": np.int32, "name_kind": np.uint8, "name_weight": np.uint8}
"""The arrays of files up to format 3."""
_MAX_BUCKETS: Final = 31
"""Most bits of a key that are the number of its bucket."""
_MAX_DOCUMENT_BITS: Final = 31
_NO_SORTS: Final = np.zeros(COMMON, np.uint16)
_NO_SORTS.flags.writeable = False  # As what is mapped.


class NameColumns(NamedTuple):
    """Names in the order of their keys, a row for each document that has one."""

    key: npt.NDArray[np.uint64]
    document: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    weight: npt.NDArray[np.uint8]


def select_names(names: NameColumns, rows: npt.NDArray[np.int64]) -> NameColumns:
    """Return some rows of names."""
    return NameColumns(names.key[rows], names.document[rows], names.kind[rows], names.weight[rows])


def shorten_keys(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return keys of names as a file has them: without the bits that are not stored, the lowest set."""
    short: npt.NDArray[np.uint64] = keys >> np.uint64(KEY_SHIFT) << np.uint64(KEY_SHIFT) | np.uint64(1)
    return short


def write_name_file(folder: Path, names: NameColumns, mentions: npt.NDArray[np.int32]) -> None:
    """Write the file of a segment; the lowest bit of each key is set."""
    names = _with_short_keys(names)
    is_first = np.ones(len(names.key), np.bool_)
    is_first[1:] = names.key[1:] != names.key[:-1]
    keys = (names.key[is_first] >> np.uint64(KEY_SHIFT)).astype(np.int64)
    bucket_bits = (len(keys) // _KEYS).bit_length()
    key_bits, document_bits = _STORED_BITS - bucket_bits, max(1, max(0, len(mentions) - 1).bit_length())
    bounds = np.arange((1 << bucket_bits) + 1, dtype=np.int64)
    first = np.searchsorted(keys >> key_bits, bounds)
    sorts = names.kind.astype(np.uint16) << np.uint16(KIND_SHIFT) | names.weight
    common, codes = _common_sorts(sorts)
    bucket_row = np.append(np.flatnonzero(is_first), len(sorts))[first]
    rows = np.zeros((len(sorts) * MAX_ROW_BITS + 7) // 8 + 1, np.uint8)
    size = pack_names(is_first, sorts.astype(np.int64), names.document, codes, document_bits, bucket_row, rows)
    arrays: dict[str, npt.NDArray[Any]] = {
        "keys": _pack(keys & ((1 << key_bits) - 1), key_bits),
        "rows": rows[:size],
        "bucket_key": first.astype(np.uint32),
        "bucket_row": bucket_row,
        "bits": np.array([key_bits, document_bits], np.uint8),
        "common": common,
        "count": np.array([len(sorts)], np.int64),
        "mentions": mentions,
    }
    write_segment_file(folder, NAMES, arrays, packed=(*_BUCKETS, "mentions"))


def _with_short_keys(names: NameColumns) -> NameColumns:
    """Return names with the keys that are stored; of two that become the same, the rows are put in order."""
    keys = shorten_keys(names.key)
    if bool(((keys[1:] == keys[:-1]) & (names.key[1:] != names.key[:-1])).any()):
        names = select_names(names, np.lexsort((-names.weight.astype(np.int16), names.kind, keys)))
        keys = shorten_keys(names.key)
        _, rows = np.unique(np.stack((keys, names.document.astype(np.uint64))), axis=1, return_index=True)
        names = select_names(names._replace(key=keys), np.sort(rows))  # Of those of a document, the first.
        return names
    return names._replace(key=keys)


def _common_sorts(sorts: npt.NDArray[np.uint16]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """Return the most frequent sorts of rows, and the code of each sort."""
    counts = np.bincount(sorts, minlength=SORTS)
    common = np.argsort(-counts, kind="stable")[:COMMON].astype(np.uint16)
    codes = np.full(SORTS, COMMON, np.uint8)
    codes[common] = np.arange(COMMON)
    return common, codes


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
    stored = _ALL_BITS if file.format == PACKED_FORMAT else _STORED_BITS
    if bits.dtype != np.uint8 or bits.shape != (2,) or not stored - _MAX_BUCKETS <= bits[0] <= min(stored, MAX_WIDTH):
        return "bits"
    if not 0 < bits[1] <= MAX_WIDTH if file.format == PACKED_FORMAT else not 0 < bits[1] <= _MAX_DOCUMENT_BITS:
        return "bits"
    if file.format > PACKED_FORMAT:
        for name, kind, size in (("common", np.uint16, COMMON), ("count", np.int64, 1)):
            if file[name].dtype != kind or file[name].shape != (size,):
                return name
    packed = _packed(file)
    for name, numbers in zip(_BUCKETS, (packed.bucket_key, packed.bucket_row), strict=True):
        if numbers.dtype not in (np.uint32, np.int64) or numbers.shape != ((1 << stored - int(bits[0])) + 1,):
            return name
        if not are_offsets(numbers, int(numbers[-1]), False):
            return name
    sizes = {"keys": int(packed.bucket_key[-1]) * packed.key_bits, "rows": int(packed.bucket_row[-1]) * packed.unit}
    for name, size in sizes.items():
        if file[name].dtype != np.uint8 or file[name].shape != ((size + 7) // 8,):
            return name
    valid = packed.document_bits > 0 and are_valid_names(packed, documents, NAME_KINDS)
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
    key_bits, bits = file["bits"].tolist()
    arrays = file["keys"], file["rows"], file["bucket_key"], file["bucket_row"]
    if file.format == PACKED_FORMAT:
        count = int(arrays[3][-1])
        return PackedNames(*arrays, _NO_SORTS, count, key_bits, bits - _FIXED_HEAD, 64 - _ALL_BITS, bits)
    return PackedNames(*arrays, file["common"], int(file["count"][0]), key_bits, bits, KEY_SHIFT, 1)


def name_columns(file: SegmentFile | None) -> NameColumns:
    """Return all names of a segment; none of one without the file."""
    if file is None:
        return NameColumns(*(np.zeros(0, kind) for kind in _COLUMNS.values()))
    if "name_key" in file:
        return NameColumns(*(file[name] for name in _COLUMNS))
    packed = _packed(file)
    columns = NameColumns(*(np.empty(packed.count, kind) for kind in _COLUMNS.values()))
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
