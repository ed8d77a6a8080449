"""Copies that no crawl has marked, because another shard, another crawl or an import met the original.

Of pages with the very same content the one that was visited first stands for the others. Near copies are looked for
where they may tell that a host is another's mirror: at the same path of another host.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.graph.mirrors import Known

__all__ = ["find_copies", "find_near"]

Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

_DISTANCE: Final = 3
_BANDS: Final = 4
_WIDTH: Final = 16


def find_copies(rows: Rows, contents: Keys) -> tuple[Rows, Rows]:
    """Give the visits among `rows` whose content an earlier one of them has, and for each the first that has it.

    contents: for every visit the fingerprint of what it brought, 0 where that is not to be compared.
    """
    rows = np.sort(rows[contents[rows] != 0])
    order = np.argsort(contents[rows], kind="stable")
    rows = rows[order]
    new = _begins(contents[rows])
    firsts = rows[np.flatnonzero(new)[np.cumsum(new) - 1]] if len(rows) else rows
    return rows[~new], firsts[~new]


def find_near(known: Known, visits: Rows) -> Keys:
    """Give what each page is nearly a copy of, as the crawl says or as earlier pages at its path of other hosts tell.

    visits: for each page the number of its visit, by which the earlier is told from the later. Two hashes that differ
    in three bits at most agree in one of four bands; each page is compared with the first of its path and band, and
    with the one before it.
    """
    near = known.near.copy()
    open_rows = np.flatnonzero(known.pages & (known.simhashes != 0))
    for band in range(_BANDS):
        bits = (known.simhashes[open_rows] >> np.uint64(band * _WIDTH)).astype(np.uint16)
        paths = known.paths[open_rows]
        order = np.lexsort((visits[open_rows], bits, paths))
        rows, new = open_rows[order], _begins(paths[order]) | _begins(bits[order])
        starts = np.flatnonzero(new)[np.cumsum(new) - 1] if len(rows) else order
        for others in (rows[starts], np.roll(rows, 1)):
            alike = ~new & (near[rows] == known.keys[rows]) & (known.hosts[rows] != known.hosts[others])
            alike[alike] = _bits(known.simhashes[rows[alike]] ^ known.simhashes[others[alike]]) <= _DISTANCE
            near[rows[alike]] = known.keys[others[alike]]
    return near


def _bits(numbers: Keys) -> npt.NDArray[np.int64]:
    """Count the bits that are set."""
    return np.asarray(np.unpackbits(numbers.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1), np.int64)


def _begins(sorted_keys: npt.NDArray[np.uint64] | npt.NDArray[np.uint16]) -> npt.NDArray[np.bool_]:
    """Say where, among neighbours, one begins that differs from the one before."""
    return np.concatenate((np.ones(min(1, len(sorted_keys)), np.bool_), sorted_keys[1:] != sorted_keys[:-1]))
