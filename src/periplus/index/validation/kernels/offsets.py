"""Validates offsets: whether they ascend and stay within what they point into."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["are_offsets", "are_spans_in_groups"]


@njit(cache=True, nogil=True)
def are_offsets(starts: Any, end: int, rising: bool) -> bool:  # pragma: no cover - compiled
    """Validate the offsets of consecutive ranges.

    Parameters
        starts: integers, one more than there are ranges
        end: where the last range has to end
        rising: whether no range may be empty
    Returns
        whether the first is 0, the last is `end`, and none is below the one before
    """
    if len(starts) == 0 or np.int64(starts[0]) != 0:
        return False
    before = np.int64(0)
    for number in range(1, len(starts)):
        here = np.int64(starts[number])
        if here < before or (rising and here == before):
            return False
        before = here
    return before == end


@njit(cache=True, nogil=True)
def are_spans_in_groups(first: Any, ends: Any) -> bool:  # pragma: no cover - compiled
    """Validate where members of groups end, counted from the beginning of each group.

    Parameters
        first: the number of the first member of each group, and how many there are in all; valid offsets
        ends: of each member
    Returns
        whether none of them is below the one before in its group
    """
    for group in range(len(first) - 1):
        before = np.int64(0)
        for member in range(np.int64(first[group]), np.int64(first[group + 1])):
            if np.int64(ends[member]) < before:
                return False
            before = np.int64(ends[member])
    return True


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def warm() -> None:
    """Compile this module's kernels for the types that production uses: files are mapped read-only."""
    for kind in (np.int64, np.uint64, np.uint32):
        are_offsets(_read_only(np.zeros(1, kind)), 0, False)
    are_spans_in_groups(_read_only(np.zeros(1, np.uint32)), _read_only(np.zeros(0, np.uint32)))
