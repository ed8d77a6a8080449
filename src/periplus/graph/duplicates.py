"""Duplicates that no crawl has marked, because another shard, another crawl or an import fetched the original.

Of pages with identical content, the one that was fetched first represents the others. Near-duplicates are compared
only where they may show that a host is a mirror of another: at the same path of another host.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.graph.mirrors import UrlTable

__all__ = ["find_duplicates", "find_near_duplicates"]

Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

_MAX_DISTANCE: Final = 3
_BANDS: Final = 4
_BAND_BITS: Final = 16


def find_duplicates(rows: Rows, contents: Keys) -> tuple[Rows, Rows]:
    """Return the fetch records among `rows` whose content an earlier one has, and for each the first that has it.

    contents: for every fetch record the fingerprint of its body, 0 where that is not to be compared.
    """
    rows = np.sort(rows[contents[rows] != 0])
    order = np.argsort(contents[rows], kind="stable")
    rows = rows[order]
    new = _run_starts(contents[rows])
    originals = rows[np.flatnonzero(new)[np.cumsum(new) - 1]] if len(rows) else rows
    return rows[~new], originals[~new]


def find_near_duplicates(urls: UrlTable, records: Rows) -> Keys:
    """Return the key of the page that each page is a near-duplicate of, its own key if there is none.

    The crawl has marked some; others are found among earlier pages at the same path of other hosts.

    records: for each page the number of its fetch record, which orders pages by time. Two hashes that differ in at most
    three bits agree in at least one of four bands; each page is compared with the first of its path and band, and with
    the one before it.
    """
    near = urls.near_duplicate_of.copy()
    candidates = np.flatnonzero(urls.is_page & (urls.simhashes != 0))
    for band in range(_BANDS):
        bits = (urls.simhashes[candidates] >> np.uint64(band * _BAND_BITS)).astype(np.uint16)
        paths = urls.paths[candidates]
        order = np.lexsort((records[candidates], bits, paths))
        rows, new = candidates[order], _run_starts(paths[order]) | _run_starts(bits[order])
        starts = np.flatnonzero(new)[np.cumsum(new) - 1] if len(rows) else order
        for others in (rows[starts], np.roll(rows, 1)):
            similar = ~new & (near[rows] == urls.keys[rows]) & (urls.hosts[rows] != urls.hosts[others])
            distances = _count_bits(urls.simhashes[rows[similar]] ^ urls.simhashes[others[similar]])
            similar[similar] = distances <= _MAX_DISTANCE
            near[rows[similar]] = urls.keys[others[similar]]
    return near


def _count_bits(numbers: Keys) -> npt.NDArray[np.int64]:
    """Return the number of bits that are set in each number."""
    return np.asarray(np.unpackbits(numbers.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1), np.int64)


def _run_starts(sorted_keys: npt.NDArray[np.uint64] | npt.NDArray[np.uint16]) -> npt.NDArray[np.bool_]:
    """Return for each key whether it differs from the one before."""
    return np.concatenate((np.ones(min(1, len(sorted_keys)), np.bool_), sorted_keys[1:] != sorted_keys[:-1]))
