"""A file of a segment: named arrays, of which columns of integers may be packed. They are unpacked when first read.

The note `packed` of a file has, for each packed array, its type, its length, whether it ascends, as then differences
are packed, and how many of its values differ from the one before, if only these are packed, behind a set of them. Its
bytes are those of `packed_integers.kernels`.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index.index_manifest import SEGMENT_FORMAT
from periplus.index.packed_integers.kernels import (
    MAX_PACKED_BLOCK,
    MAX_WIDTH,
    PACKED_BLOCK,
    pack_integers,
    unpack_integers,
)
from periplus.typed_decoding import convert_to

__all__ = ["PACKED_FORMAT", "SIZED_FORMAT", "PackedColumn", "SegmentFile", "write_segment_file"]

PACKED_FORMAT: Final = 4
"""The format of segments from which on columns of integers, and positions of escaped postings, are packed."""
SIZED_FORMAT: Final = 5
"""The format from which on long blocks may say both of their lengths in one byte."""
_NOTE: Final = "packed"
_TYPES: Final = frozenset(("|u1", "<u2", "<u4", "<u8", "<i4", "<i8"))
_MIN_BYTES: Final = 512
"""Bytes of an array from which on it may be packed."""
_MAX_SHARE: Final = 0.85
"""It is packed if it then takes no more than this share of its bytes: what is not packed can stay mapped."""
_RUN_BYTES: Final = 4
"""Repetitions may be left out of a column of numbers of so many bytes ..."""
_MAX_RUNS: Final = 0.9
"""... of which at most this share differs from the one before."""
_LEAST_BLOCK: Final = 2
"""Fewest bytes of a packed block."""


class PackedColumn(msgspec.Struct, frozen=True, array_like=True):
    """What a packed array is."""

    dtype: str
    length: int
    differences: bool
    runs: int = 0
    """How many values are packed, if those that are the same as the one before are left out; otherwise 0."""


class SegmentFile(ArrayFile):
    """One file of a segment, of this version or an earlier one."""

    def __init__(self, path: Path, kind: str, *, parts: bool = False) -> None:
        super().__init__(path, kind, format=SEGMENT_FORMAT, parts=parts)
        try:
            self._packed = convert_to(self.notes.get(_NOTE, {}), dict[str, PackedColumn])
        except msgspec.ValidationError as error:
            raise CorruptFile(f"{path} has an unreadable note of packed arrays: {error}.") from error
        self._unpacked: dict[str, npt.NDArray[Any]] = {}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._packed:
            return super().__getitem__(name)
        values = self._unpacked.get(name)
        if values is None:
            values = self._unpacked[name] = self._unpack(name, self._packed[name])
        return values

    def forget(self, name: str) -> None:
        """Release an array that was unpacked, if it was: its reader needs it only once."""
        self._unpacked.pop(name, None)

    def _unpack(self, name: str, column: PackedColumn) -> npt.NDArray[Any]:
        raw = super().__getitem__(name)
        values = None
        if column.dtype in _TYPES and raw.dtype == np.uint8 and raw.ndim == 1:
            values = _unpack(raw, column) if column.runs == 0 else _unpack_runs(raw, column)
        if values is None:
            raise CorruptFile(f"{self.path} is damaged in '{name}'.")
        values.flags.writeable = False  # As what is mapped.
        return values


def _unpack(raw: npt.NDArray[np.uint8], column: PackedColumn) -> npt.NDArray[Any] | None:
    """Return the values of a packed column, None if its bytes are not those of so many."""
    blocks = -(-column.length // PACKED_BLOCK)
    if column.length < 0 or blocks * _LEAST_BLOCK > len(raw):
        return None
    values = np.empty(column.length, column.dtype)
    most = min(int(np.iinfo(column.dtype).max), (1 << MAX_WIDTH) - 1)
    return values if unpack_integers(raw, column.differences, most, values) else None


def _unpack_runs(raw: npt.NDArray[np.uint8], column: PackedColumn) -> npt.NDArray[Any] | None:
    """Return the values of a packed column without repetitions, None if its bytes are not those of so many."""
    size = (column.length + 7) // 8
    if column.length < 1 or not 0 < column.runs <= column.length or size > len(raw):
        return None
    is_first = np.unpackbits(raw[:size], bitorder="little")
    values = _unpack(raw[size:], PackedColumn(column.dtype, column.runs, column.differences))
    if values is None or not is_first[0] or int(is_first.sum()) != column.runs or is_first[column.length :].any():
        return None
    repeated: npt.NDArray[Any] = values[np.cumsum(is_first[: column.length], dtype=np.int64) - 1]
    return repeated


def write_segment_file(
    folder: Path,
    part: str,
    arrays: Mapping[str, npt.NDArray[Any]],
    notes: Mapping[str, Any] | None = None,
    *,
    packed: Collection[str] = (),
) -> None:
    """Write one file of a segment; the arrays named in `packed` are packed if that takes clearly fewer bytes."""
    written, columns = dict(arrays), dict[str, PackedColumn]()
    for name in packed:
        array = arrays.get(name)
        chosen = _pack(array) if array is not None else None
        if array is not None and chosen is not None:
            written[name], columns[name] = chosen
    every = dict(notes or {}) | ({_NOTE: msgspec.to_builtins(columns)} if columns else {})
    write_arrays(folder / f"{part}.arrays", part, written, every, format=SEGMENT_FORMAT)


def _pack(array: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint8], PackedColumn] | None:
    """Return the packed bytes of a column, and what they are; None if they are not worth it."""
    if array.nbytes < _MIN_BYTES or array.dtype.str not in _TYPES or array.min() < 0 or array.max() >= 1 << MAX_WIDTH:
        return None
    values = array.astype(np.int64)
    packed, differences = _pack_values(values)
    column = PackedColumn(array.dtype.str, len(array), differences)
    is_first = np.ones(len(values), np.bool_)
    is_first[1:] = values[1:] != values[:-1]
    runs = int(is_first.sum())
    if array.itemsize >= _RUN_BYTES and runs <= _MAX_RUNS * len(values):
        in_runs, differences = _pack_values(values[is_first])
        in_runs = np.concatenate((np.packbits(is_first, bitorder="little"), in_runs))
        if len(in_runs) < len(packed):
            packed, column = in_runs, PackedColumn(array.dtype.str, len(array), differences, runs)
    return (packed, column) if len(packed) <= _MAX_SHARE * array.nbytes else None


def _pack_values(values: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], bool]:
    """Return packed integers, or, where that takes fewer bytes, their differences; and which of them."""
    out = np.empty(-(-len(values) // PACKED_BLOCK) * MAX_PACKED_BLOCK, np.uint8)
    options = [out[: pack_integers(values, False, out)].copy()]
    if bool((values[1:] >= values[:-1]).all()):
        options.append(out[: pack_integers(values, True, out)].copy())
    best = min(range(len(options)), key=lambda number: len(options[number]))
    return options[best], bool(best)
