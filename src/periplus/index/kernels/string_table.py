"""Tables of strings, as one blob and where each begins: put in another order, or several in order joined into one."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["join_sorted", "lay"]


@njit(cache=True, nogil=True)
def _compare(blob: Any, one: int, one_end: int, other: int, other_end: int) -> int:  # pragma: no cover - compiled
    """Compare two strings of a blob by their bytes: below 0, 0 or above 0."""
    for i in range(min(one_end - one, other_end - other)):
        if blob[one + i] != blob[other + i]:
            return np.int64(blob[one + i]) - np.int64(blob[other + i])
    return (one_end - one) - (other_end - other)


@njit(cache=True, nogil=True)
def join_sorted(
    blob: npt.NDArray[np.uint8],
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    tables: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int64],
    owners: npt.NDArray[np.int64],
) -> int:  # pragma: no cover - compiled
    """Join tables of strings, each in order and without doubles, into one; give how many strings it has.

    begin, end: where each string is in `blob`, table after table; tables: where in them each table begins, and the end.
    Fills `numbers`, the new number of each string, and `owners`, for each new number a string that has it.
    """
    at = tables[:-1].copy()
    count = 0
    while True:
        least = -1
        for table in range(len(at)):
            if at[table] == tables[table + 1]:
                continue
            one = at[table]
            if least < 0 or _compare(blob, begin[one], end[one], begin[least], end[least]) < 0:
                least = one
        if least < 0:
            return count
        for table in range(len(at)):
            one = at[table]
            if one < tables[table + 1] and _compare(blob, begin[one], end[one], begin[least], end[least]) == 0:
                numbers[one] = count
                at[table] += 1
        owners[count] = least
        count += 1


@njit(cache=True, nogil=True)
def _lay(blob: Any, begin: Any, starts: Any, order: Any, out: Any) -> None:  # pragma: no cover - compiled
    for number in range(len(order)):
        here = begin[order[number]]
        for at in range(starts[number], starts[number + 1]):
            out[at] = blob[here]
            here += 1


def lay(
    blob: npt.NDArray[np.uint8],
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Lay the strings that `order` names out one after the other; give the new blob and where each begins."""
    starts = np.zeros(len(order) + 1, np.int64)
    np.cumsum((end - begin)[order], out=starts[1:])
    out = np.empty(int(starts[-1]), np.uint8)
    _lay(blob, begin, starts, order, out)
    return out, starts


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    blob, zero, one = np.frombuffer(b"a", np.uint8).copy(), np.zeros(1, np.int64), np.ones(1, np.int64)
    join_sorted(blob, zero, one, np.array([0, 1], np.int64), zero.copy(), zero.copy())
    lay(blob, zero, one, zero)
