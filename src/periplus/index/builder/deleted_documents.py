"""Finds documents that count no more: withdrawn ones, and those of which a later segment has another."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index.index_manifest import SegmentEntry
from periplus.index.segment_file import SegmentFile

__all__ = ["find_deleted", "has_duplicates", "read_keys"]

_KEYS_AT_ONCE: Final = 1 << 20
"""About how many keys are compared with each other at a time: sorting takes 40 bytes for each."""

Numbers = npt.NDArray[np.int64]


def find_deleted(
    folder: Path, entries: Sequence[SegmentEntry], before: Sequence[Numbers], withdrawn: Iterable[int] = ()
) -> list[Numbers]:
    """Return the deleted documents of each segment: those `before`, those in a later segment, the withdrawn."""
    keys = [read_keys(folder, entry.name) for entry in entries]
    deleted = [[documents] for documents in before] + [[] for _ in range(len(entries) - len(before))]
    withdrawn_keys = np.array(sorted(withdrawn), np.uint64)
    bits = (sum(map(len, keys)) // _KEYS_AT_ONCE).bit_length()
    for part in range(1 << bits if keys else 0):
        numbers = [_in_part(some, part, bits) for some in keys]
        chosen = np.concatenate([some[rows] for some, rows in zip(keys, numbers, strict=True)])
        owner = np.repeat(np.arange(len(keys), dtype=np.int32), list(map(len, numbers)))
        replaced = np.isin(chosen, withdrawn_keys)
        if has_duplicates(chosen):
            order = np.lexsort((owner, chosen))
            replaced[order[:-1]] |= chosen[order[:-1]] == chosen[order[1:]]
        for more, rows, is_replaced in zip(
            deleted, numbers, np.split(replaced, np.cumsum(list(map(len, numbers)))[:-1]), strict=True
        ):
            more.append(rows[is_replaced])
    return [np.unique(np.concatenate(some)) if some else np.zeros(0, np.int64) for some in deleted]


def has_duplicates(keys: npt.NDArray[np.uint64]) -> bool:
    """Return whether any key occurs twice: sorting keys alone takes a twentieth of sorting rows by them."""
    in_order = np.sort(keys)
    return bool((in_order[1:] == in_order[:-1]).any())


def _in_part(keys: npt.NDArray[np.uint64], part: int, bits: int) -> Numbers:
    """Return the documents whose keys begin with the bits `part`."""
    return np.flatnonzero(keys >> np.uint64(64 - bits) == part) if bits else np.arange(len(keys))


def read_keys(folder: Path, name: str) -> npt.NDArray[np.uint64]:
    """Return the key of each document of a segment."""
    keys: npt.NDArray[np.uint64] = SegmentFile(folder / name / "documents.arrays", "documents")["key"]
    return keys
