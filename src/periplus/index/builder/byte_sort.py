"""Sorts strings of a blob by their bytes, without making an object of each, and some at a time."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.index.vocabulary.kernels import surface_forms

__all__ = ["sort_strings"]

_CHUNK: Final = 1 << 18
"""Strings that are looked at together, more where as many begin alike: all at once would take much memory."""

Numbers = npt.NDArray[np.int64]


def sort_strings(blob: npt.NDArray[np.uint8], begin: npt.NDArray[Any], end: npt.NDArray[Any]) -> Numbers:
    """Return the order of strings by their bytes: by the first eight, then by eight more where those are equal."""
    keys, longest = np.empty(len(begin), np.uint64), 0
    for at in range(0, len(begin), _CHUNK):
        part = slice(at, at + _CHUNK)
        keys[part] = surface_forms.prefix_keys(blob, begin[part].astype(np.int64), end[part].astype(np.int64))
        longest = max(longest, int((end[part] - begin[part]).max()))
    order: Numbers = np.argsort(keys, kind="stable")
    is_first = np.ones(len(order), np.bool_)  # Of those that are equal up to here.
    for at in range(0, len(order), _CHUNK):
        here = keys[order[max(0, at - 1) : at + _CHUNK]]
        is_first[max(1, at) : at + _CHUNK] = here[1:] != here[:-1]
    del keys
    for depth in range(1, -(-longest // 8)):
        if is_first.all():
            break
        for first, last in _whole_groups(is_first):
            _sort_ties(blob, begin, end, order[first:last], is_first[first:last], 8 * depth)
    return order


def _whole_groups(is_first: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield chunks (first, last) that separate no strings that are equal so far."""
    first = 0
    while first < len(is_first):
        last = first + _CHUNK
        if last < len(is_first):
            rest = is_first[last:]
            last += int(rest.argmax()) if rest.any() else len(rest)
        yield first, min(last, len(is_first))
        first = last


def _sort_ties(
    blob: npt.NDArray[np.uint8],
    begin: npt.NDArray[Any],
    end: npt.NDArray[Any],
    order: Numbers,
    is_first: npt.NDArray[np.bool_],
    depth: int,
) -> None:
    """Sort those that are equal up to `depth` bytes by the next eight; `order` and `is_first` are updated."""
    tied = np.flatnonzero(~is_first | np.append(~is_first[1:], False))
    strings = order[tied]
    keys = surface_forms.prefix_keys(blob, begin[strings].astype(np.int64) + depth, end[strings].astype(np.int64))
    by_key = np.lexsort((keys, np.cumsum(is_first[tied], dtype=np.int32)))
    order[tied] = strings[by_key]
    keys = keys[by_key]
    is_first[tied[1:]] |= keys[1:] != keys[:-1]
