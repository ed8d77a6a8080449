"""Selection over columns: the loop of `presentation.result_selection` where everything it reads is in one array.

A row has three words: the host; the simhash of the content; length of the text (32 bits), flags (16) and others. Where
a text would have to be read, because it has no simhash, or is short and as long as another, nothing is selected.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import popcount

__all__ = ["MAX_DEFERRED", "MIN_SIMHASH_BYTES", "WINDOW", "select_rows", "warm"]

MIN_SIMHASH_BYTES = 200
"""Bytes of text below which only equal texts are near-duplicates: the simhashes of a few words are close by chance."""
WINDOW = 10
"""Results among which hosts are diversified."""
MAX_DEFERRED = 40
"""Candidates of crowded hosts that may be deferred; with more, they are admitted."""
_KEPT, _COLLAPSED, _UNKNOWN = 0, 1, 2


@njit(cache=True, nogil=True)
def _collapse(columns: Any, row: int, bits: int, kept: Any, count: Any, pairs: Any) -> int:  # pragma: no cover
    """Compare a row with those that were kept; count: of these, and of the pairs of near-duplicates."""
    if bits < 0:
        return _KEPT
    length = np.int64(columns[row, 2] & np.uint64(0xFFFFFFFF))
    simhash = columns[row, 1]
    if length >= MIN_SIMHASH_BYTES and simhash == 0:
        return _UNKNOWN
    for n in range(count[0]):
        other = kept[n]
        size = np.int64(columns[other, 2] & np.uint64(0xFFFFFFFF))
        if length == 0 or size == 0:
            continue
        if min(length, size) < MIN_SIMHASH_BYTES:
            if length == size:
                return _UNKNOWN
        elif abs(length - size) * 4 <= max(length, size) and popcount(simhash ^ columns[other, 1]) <= bits:
            pairs[count[1], 0], pairs[count[1], 1] = other, row
            count[1] += 1
            return _COLLAPSED
    kept[count[0]] = row
    count[0] += 1
    return _KEPT


@njit(cache=True, nogil=True)
def _is_full(hosts: Any, counted: int, host: Any, per_host: int) -> bool:  # pragma: no cover - compiled
    """Return whether a host has as many results in a window as it may."""
    count = 0
    for n in range(counted):
        count += hosts[n] == host
    return count >= per_host


@njit(cache=True, nogil=True)
def select_rows(
    columns: Any, wanted: int, excluded: int, untrusted: int, per_host: int, bits: int
) -> Any:  # pragma: no cover - compiled
    """Return the rows of the first `wanted` results, pairs of a result and its near-duplicate, and how many are hidden.

    Parameters as those of `select_results`; untrusted: the flag of pages that come behind all others. Hidden is -1
    where a text has to be read.
    """
    size = len(columns)
    rows = np.empty(max(0, min(wanted, size)), np.int64)
    pairs = np.empty((size, 2), np.int64)
    kept = np.empty(size, np.int64)
    deferred = np.empty(MAX_DEFERRED, np.int64)
    hosts = np.empty(WINDOW, np.uint64)
    again = np.empty(MAX_DEFERRED, np.int64)
    count = np.zeros(2, np.int64)
    found, waiting, hidden = 0, 0, 0
    for row in range(size):
        hidden += (np.int64(columns[row, 2] >> np.uint64(32)) & 0xFFFF & excluded) != 0
    for part in range(2):
        source, window = 0, 1
        while window and found < wanted:
            room = min(WINDOW, wanted - found)
            window = counted = 0
            left = 0
            for n in range(waiting):
                row = deferred[n]
                if window >= room or _is_full(hosts, counted, columns[row, 0], per_host):
                    again[left] = row
                    left += 1
                    continue
                outcome = _collapse(columns, row, bits, kept, count, pairs)
                if outcome == _UNKNOWN:
                    return rows[:0], pairs[:0], -1
                if outcome == _KEPT:
                    hosts[counted] = columns[row, 0]
                    counted += 1
                    rows[found + window] = row
                    window += 1
            deferred[:left] = again[:left]
            waiting = left
            while window < room and waiting < MAX_DEFERRED and source < size:
                row = source
                source += 1
                flags = np.int64(columns[row, 2] >> np.uint64(32)) & 0xFFFF
                if flags & excluded or (flags & untrusted != 0) != (part == 1):
                    continue
                if per_host and _is_full(hosts, counted, columns[row, 0], per_host):
                    deferred[waiting] = row
                    waiting += 1
                    continue
                outcome = _collapse(columns, row, bits, kept, count, pairs)
                if outcome == _UNKNOWN:
                    return rows[:0], pairs[:0], -1
                if outcome == _KEPT:
                    hosts[counted] = columns[row, 0]
                    counted += 1
                    rows[found + window] = row
                    window += 1
            taken = 0
            while window < room and taken < waiting:
                row = deferred[taken]
                taken += 1
                outcome = _collapse(columns, row, bits, kept, count, pairs)
                if outcome == _UNKNOWN:
                    return rows[:0], pairs[:0], -1
                if outcome == _KEPT:
                    rows[found + window] = row
                    window += 1
            for n in range(taken, waiting):
                deferred[n - taken] = deferred[n]
            waiting -= taken
            found += window
    return rows[:found], pairs[: count[1]], hidden


def warm() -> None:
    """Compile the kernels with the types used in production."""
    select_rows(np.ones((3, 3), np.uint64), 2, 1, 2, 2, 3)
