"""Names of a segment in as few bits as they need, and how the documents of one are found.

Keys are divided by their upper bits into buckets. Of each key, the bits below are packed once, in order, without the
lowest, which is always set. A row has, from its lowest bit on: whether it is the first of its key, the kind of the
name, its weight, the document.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.packed_integers.kernels import read_fixed

__all__ = [
    "DOCUMENT_SHIFT",
    "KIND_SHIFT",
    "WEIGHT_SHIFT",
    "PackedNames",
    "are_valid_names",
    "find_names",
    "read_name",
    "unpack_names",
]

KIND_SHIFT, WEIGHT_SHIFT, DOCUMENT_SHIFT = 1, 4, 12
_KIND, _WEIGHT = 7, 255
"""The bits of a kind and of a weight."""
_ONE = np.uint64(1)


class PackedNames(NamedTuple):
    """The names of a segment."""

    keys: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.uint8]
    bucket_key: npt.NDArray[np.uint32]
    """The number of the first key of each bucket, and how many there are in all."""
    bucket_row: npt.NDArray[np.uint32]
    """The same of rows."""
    key_bits: int
    row_bits: int


@njit(cache=True, nogil=True, forceinline=True)
def _find_row(names: PackedNames, key: Any) -> int:  # pragma: no cover - compiled
    """Return the first row of a key, -1 if there is none."""
    if not key & _ONE:
        return np.int64(-1)
    value = np.int64(key >> _ONE)
    bucket = value >> names.key_bits
    rest = value & ((np.int64(1) << names.key_bits) - 1)
    first, last = np.int64(names.bucket_key[bucket]), np.int64(names.bucket_key[bucket + 1])
    number = first
    while number < last and read_fixed(names.keys, number, names.key_bits) < rest:
        number += 1
    if number == last or read_fixed(names.keys, number, names.key_bits) != rest:
        return np.int64(-1)
    left = number - first + 1
    for row in range(np.int64(names.bucket_row[bucket]), np.int64(names.bucket_row[bucket + 1])):
        left -= read_fixed(names.rows, row, names.row_bits) & 1
        if left == 0:
            return np.int64(row)
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
    found = np.empty((most, 3), np.int64)
    first = _find_row(names, key)
    count, end = 0, np.int64(names.bucket_row[len(names.bucket_row) - 1])
    if first >= 0:
        while count < most and first + count < end:
            row = read_fixed(names.rows, first + count, names.row_bits)
            if count and row & 1:
                break
            found[count, 0] = row >> DOCUMENT_SHIFT
            found[count, 1], found[count, 2] = row >> KIND_SHIFT & _KIND, row >> WEIGHT_SHIFT & _WEIGHT
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
    for bucket in range(len(names.bucket_key) - 1):
        before, keys = np.int64(-1), np.int64(0)
        for number in range(np.int64(names.bucket_key[bucket]), np.int64(names.bucket_key[bucket + 1])):
            key = read_fixed(names.keys, number, names.key_bits)
            if key <= before:
                return False
            before = key
            keys += 1
        first = np.int64(names.bucket_row[bucket])
        for number in range(first, np.int64(names.bucket_row[bucket + 1])):
            row = read_fixed(names.rows, number, names.row_bits)
            if (number == first and not row & 1) or row >> DOCUMENT_SHIFT >= documents:
                return False
            if row >> KIND_SHIFT & _KIND >= kinds:
                return False
            keys -= row & 1
        if keys != 0:
            return False
    return True


@njit(cache=True, nogil=True)
def unpack_names(
    names: PackedNames,
    key: npt.NDArray[np.uint64],
    document: npt.NDArray[np.int32],
    kind: npt.NDArray[np.uint8],
    weight: npt.NDArray[np.uint8],
) -> None:  # pragma: no cover - compiled
    """Fill columns with all rows of valid names."""
    for bucket in range(len(names.bucket_key) - 1):
        number = np.int64(names.bucket_key[bucket]) - 1
        for n in range(np.int64(names.bucket_row[bucket]), np.int64(names.bucket_row[bucket + 1])):
            row = read_fixed(names.rows, n, names.row_bits)
            number += row & 1
            rest = np.uint64(read_fixed(names.keys, number, names.key_bits))
            value = np.uint64(bucket) << np.uint64(names.key_bits) | rest
            key[n] = value << _ONE | _ONE
            document[n] = row >> DOCUMENT_SHIFT
            kind[n], weight[n] = row >> KIND_SHIFT & _KIND, row >> WEIGHT_SHIFT & _WEIGHT


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    packed, buckets = np.zeros(8, np.uint8), np.zeros(2, np.uint32)
    packed.flags.writeable = buckets.flags.writeable = False
    names = PackedNames(packed, packed, buckets, buckets, 62, 13)
    find_names(names, np.zeros(1, np.uint64))
    read_name(names, np.uint64(1), 1)
    are_valid_names(names, 1, 1)
    unpack_names(names, *(np.zeros(0, kind) for kind in (np.uint64, np.int32, np.uint8, np.uint8)))
