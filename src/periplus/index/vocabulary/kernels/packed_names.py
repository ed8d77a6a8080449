"""Names of a segment in as few bits as they need, and how the documents of one are found.

Keys are divided by their upper bits into buckets. Of each key, the bits below are packed once, in order, without the
lowest ones. Rows of a key say only what the row before does not, see docs/formats/segment.md; up to format 4 all of
them have the same size.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64
from periplus.index.packed_integers.kernels import put_bits, read_fixed

__all__ = [
    "COMMON",
    "KEY_SHIFT",
    "KIND_SHIFT",
    "MAX_ROW_BITS",
    "SORTS",
    "PackedNames",
    "are_valid_names",
    "find_names",
    "pack_names",
    "read_name",
    "unpack_names",
]

KEY_SHIFT = 16
"""The lowest bits of a key, which are not stored."""
KIND_SHIFT = 8
"""A sort is the kind of a name, shifted by so many bits, and its weight."""
SORTS = 1 << 11
COMMON = 7
"""So many sorts of a segment have codes of three bits; after the code COMMON, the sort follows."""
MAX_ROW_BITS = 47
_COMMON_BITS, _SORT_BITS = 3, 11
_FIXED_SORT, _FIXED_DOCUMENT = 1, 12
"""Where the kind and the document of a row begin up to format 4; the weight is between them."""
_FIXED_KINDS = 7
_WEIGHT = 255
_WORD = 8
_ONE = np.uint64(1)


class PackedNames(NamedTuple):
    """The names of a segment."""

    keys: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.uint8]
    bucket_key: npt.NDArray[np.uint32]
    """The number of the first key of each bucket, and how many there are in all."""
    bucket_row: npt.NDArray[Any]
    """Where its rows begin, in units of `unit`, and where all of them end."""
    common: npt.NDArray[np.uint16]
    """The sorts that have short codes."""
    count: int
    """How many rows there are."""
    key_bits: int
    document_bits: int
    key_shift: int
    unit: int
    """Bits of a row up to format 4; 1 since then."""


class _Row(NamedTuple):
    """A row, and where the next one begins, in bits."""

    is_first: Any
    """Whether it is the first of its key."""
    sort: Any
    document: Any
    end: Any


@njit(cache=True, nogil=True, forceinline=True)
def _load(packed: Any, at: int) -> Any:  # pragma: no cover - compiled
    """Return the 57 bits, or more, from bit `at` on; beyond the array there are zeros."""
    byte, word = at >> 3, np.uint64(0)
    if byte + _WORD <= len(packed):
        word = load_uint64(packed, byte)
    else:
        for n in range(len(packed) - byte):
            word |= np.uint64(packed[byte + n]) << np.uint64(8 * n)
    return word >> np.uint64(at & 7)


@njit(cache=True, nogil=True, forceinline=True)
def _read_row(
    rows: Any, common: Any, document_bits: int, unit: int, at: int, before: _Row
) -> _Row:  # pragma: no cover - compiled
    """Read the row at bit `at`.

    Parameters
        rows, common, document_bits, unit: of the names, apart, as references to all of their arrays would be counted
        at, before: where it begins, and the row before it
    """
    word = _load(rows, at)
    documents = (_ONE << np.uint64(document_bits)) - _ONE
    is_first = np.int64(word & _ONE)
    if unit > 1:
        kind, weight = np.int64(word >> np.uint64(1)) & _FIXED_KINDS, np.int64(word >> np.uint64(4)) & _WEIGHT
        document = np.int64((word >> np.uint64(_FIXED_DOCUMENT)) & documents)
        return _Row(is_first, kind << KIND_SHIFT | weight, document, np.int64(at + unit))
    word >>= _ONE
    at += 1
    if not is_first:
        is_same = word & _ONE
        word >>= _ONE
        at += 1
        if is_same:
            if word & _ONE:
                return _Row(is_first, before.sort, before.document + 1, np.int64(at + 1))
            document = np.int64((word >> _ONE) & documents)
            return _Row(is_first, before.sort, document, np.int64(at + 1 + document_bits))
    code: Any = np.int64(word & np.uint64(COMMON))
    word >>= np.uint64(_COMMON_BITS)
    at += _COMMON_BITS
    sort = np.int64(common[min(code, COMMON - 1)])
    if code == COMMON:
        sort = np.int64(word & np.uint64(SORTS - 1))
        word >>= np.uint64(_SORT_BITS)
        at += _SORT_BITS
    return _Row(is_first, sort, np.int64(word & documents), np.int64(at + document_bits))


@njit(cache=True, nogil=True)
def pack_names(
    is_first: Any, sorts: Any, documents: Any, codes: Any, document_bits: int, bucket_row: Any, out: Any
) -> int:  # pragma: no cover - compiled
    """Pack rows of names, in the order of their keys.

    Parameters
        is_first, sorts, documents: of each row
        codes: by sort, the code of a common one, COMMON for others
        document_bits: the bits of a document
        bucket_row: the first row of each bucket (and, last, how many there are); replaced by where it begins in bits
        out: uint8 array, MAX_ROW_BITS for each row; filled
    Returns
        how many bytes were used
    """
    word, filled, at = np.uint64(0), np.int64(0), np.int64(0)
    for bucket in range(len(bucket_row) - 1):
        first, last = bucket_row[bucket], bucket_row[bucket + 1]
        bucket_row[bucket] = 8 * at + filled
        for row in range(first, last):
            value, bits = np.int64(is_first[row]), np.int64(1)
            document, sort = np.int64(documents[row]), np.int64(sorts[row])
            if not value:
                is_same = np.int64(sort == sorts[row - 1])
                value, bits = is_same << 1, np.int64(2)
                if is_same:
                    is_next = np.int64(document == np.int64(documents[row - 1]) + 1)
                    word, filled, at = put_bits(word, filled, value | is_next << 2, 3, out, at)
                    if not is_next:
                        word, filled, at = put_bits(word, filled, document, document_bits, out, at)
                    continue
            code = np.int64(codes[sort])
            value |= code << bits
            bits += _COMMON_BITS
            if code == COMMON:
                value |= sort << bits
                bits += _SORT_BITS
            word, filled, at = put_bits(word, filled, value | document << bits, bits + document_bits, out, at)
    bucket_row[-1] = 8 * at + filled
    if filled:
        out[at] = np.uint8(word)
        at += 1
    return at


@njit(cache=True, nogil=True, forceinline=True)
def _find_row(names: PackedNames, key: Any) -> int:  # pragma: no cover - compiled
    """Return where the rows of a key begin, in bits, -1 if there are none."""
    if not key & _ONE:
        return np.int64(-1)
    value = np.int64(key >> np.uint64(names.key_shift))
    bucket = value >> names.key_bits
    rest = value & ((np.int64(1) << names.key_bits) - 1)
    first, last = np.int64(names.bucket_key[bucket]), np.int64(names.bucket_key[bucket + 1])
    number = first
    while number < last and read_fixed(names.keys, number, names.key_bits) < rest:
        number += 1
    if number == last or read_fixed(names.keys, number, names.key_bits) != rest:
        return np.int64(-1)
    rows, common, bits, unit = names.rows, names.common, names.document_bits, names.unit
    left, at = number - first + 1, np.int64(names.bucket_row[bucket]) * names.unit
    row = _Row(np.int64(0), np.int64(0), np.int64(0), at)
    end = np.int64(names.bucket_row[bucket + 1]) * names.unit
    while row.end < end:
        at = row.end
        row = _read_row(rows, common, bits, unit, at, row)
        left -= row.is_first
        if left == 0:
            return at
    return np.int64(-1)


@njit(cache=True, nogil=True)
def find_names(
    names: PackedNames, keys: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:  # pragma: no cover - compiled
    """Return which keys there are."""
    known = np.zeros(len(keys), np.bool_)
    for n in range(len(keys)):
        known[n] = _find_row(names, keys[n]) >= 0
    return known


@njit(cache=True, nogil=True)
def read_name(names: PackedNames, key: Any, most: int) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Return document, kind and weight of the first rows of a key, at most so many."""
    rows, common, bits, unit = names.rows, names.common, names.document_bits, names.unit
    found = np.empty((most, 3), np.int64)
    at = _find_row(names, key)
    count, end = 0, np.int64(names.bucket_row[len(names.bucket_row) - 1]) * names.unit
    if at >= 0:
        row = _Row(np.int64(0), np.int64(0), np.int64(0), at)
        while count < most and row.end < end:
            row = _read_row(rows, common, bits, unit, row.end, row)
            if count and row.is_first:
                break
            found[count, 0] = row.document
            found[count, 1], found[count, 2] = row.sort >> KIND_SHIFT, row.sort & _WEIGHT
            count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def are_valid_names(names: PackedNames, documents: int, kinds: int) -> bool:  # pragma: no cover - compiled
    """Walk the names of a file that may be damaged.

    Parameters
        names: of which offsets of buckets and sizes are valid
        documents, kinds: how many the segment has, and how many kinds of names there are
    Returns
        whether the keys of each bucket ascend and begin at as many of its rows, and documents and kinds exist
    """
    rows, common, bits, unit = names.rows, names.common, names.document_bits, names.unit
    count = np.int64(0)
    for bucket in range(len(names.bucket_key) - 1):
        before, keys = np.int64(-1), np.int64(0)
        for number in range(np.int64(names.bucket_key[bucket]), np.int64(names.bucket_key[bucket + 1])):
            key = read_fixed(names.keys, number, names.key_bits)
            if key <= before:
                return False
            before = key
            keys += 1
        first = np.int64(names.bucket_row[bucket]) * names.unit
        end = np.int64(names.bucket_row[bucket + 1]) * names.unit
        row = _Row(np.int64(0), np.int64(0), np.int64(0), first)
        while row.end < end:
            is_begin = row.end == first
            row = _read_row(rows, common, bits, unit, row.end, row)
            if (is_begin and not row.is_first) or row.document >= documents or row.sort >> KIND_SHIFT >= kinds:
                return False
            keys -= row.is_first
            count += 1
        if keys != 0 or row.end != end:
            return False
    return count == names.count


@njit(cache=True, nogil=True)
def unpack_names(
    names: PackedNames,
    key: npt.NDArray[np.uint64],
    document: npt.NDArray[np.int32],
    kind: npt.NDArray[np.uint8],
    weight: npt.NDArray[np.uint8],
) -> None:  # pragma: no cover - compiled
    """Fill columns with all rows of valid names; bits of keys that are not stored are 0, but for the lowest."""
    rows, common, bits, unit = names.rows, names.common, names.document_bits, names.unit
    n = 0
    for bucket in range(len(names.bucket_key) - 1):
        number, end = np.int64(names.bucket_key[bucket]) - 1, np.int64(names.bucket_row[bucket + 1]) * names.unit
        row = _Row(np.int64(0), np.int64(0), np.int64(0), np.int64(names.bucket_row[bucket]) * names.unit)
        while row.end < end:
            row = _read_row(rows, common, bits, unit, row.end, row)
            number += row.is_first
            rest = np.uint64(read_fixed(names.keys, number, names.key_bits))
            value = np.uint64(bucket) << np.uint64(names.key_bits) | rest
            key[n] = value << np.uint64(names.key_shift) | _ONE
            document[n] = row.document
            kind[n], weight[n] = row.sort >> KIND_SHIFT, row.sort & _WEIGHT
            n += 1


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    packed, keys, common = np.zeros(8, np.uint8), np.zeros(2, np.uint32), np.zeros(COMMON, np.uint16)
    packed.flags.writeable = keys.flags.writeable = common.flags.writeable = False
    columns = [np.zeros(0, kind) for kind in (np.uint64, np.int32, np.uint8, np.uint8)]
    for kind in (np.uint32, np.int64):  # Up to format 4, and since then.
        rows = np.zeros(2, kind)
        rows.flags.writeable = False
        names = PackedNames(packed, packed, keys, rows, common, 0, 62, 1, 1, 13)
        find_names(names, np.zeros(1, np.uint64))
        read_name(names, np.uint64(1), 1)
        are_valid_names(names, 1, 1)
        unpack_names(names, *columns)
    flags, numbers = np.ones(1, np.bool_), np.zeros(1, np.int64)
    codes = np.zeros(SORTS, np.uint8)
    pack_names(flags, numbers, np.zeros(1, np.int32), codes, 1, np.array([0, 1], np.int64), np.zeros(8, np.uint8))
