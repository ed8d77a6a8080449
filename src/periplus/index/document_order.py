"""The order of the documents of a segment: what is near to what, and where the best of them end.

An order is chosen by `index.order` when a segment is written, by a build or by a merge, and recorded in its file of
columns unless it is the first, which all segments of earlier versions have:

    tiers    four tiers of equal size by static rank, best first; within a tier by host, then URL
    rank     by static rank, best first; pages of equal rank by host, then URL
    site     by host, then URL

In the first two, the best quarter of the documents comes first: the first tier, which a query may be content with.
"""

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.index.kernels.postings_format import BLOCK

__all__ = ["choose_tiers", "first_tier", "is_in_order", "order_documents", "order_notes", "read_order"]

_TIERS, _RANK, _SITE = "tiers", "rank", "site"
_TIER_COUNT: Final = 4
_NOTE: Final = "order"

Numbers = npt.NDArray[np.int64]
Ranks = npt.NDArray[np.float32]


class _Columns(Protocol):
    """The columns of a segment."""

    def column(self, name: str) -> npt.NDArray[np.generic]:
        """Return a column."""
        ...

    def table(self, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Return a table of strings: where each begins, and all of them."""
        ...


def choose_tiers(static: Ranks) -> Numbers:
    """Return the tier of each document: four of equal size, 0 with the highest static ranks; all 0 if ranks are."""
    if not static.any():
        return np.zeros(len(static), np.int64)
    ranks = np.argsort(np.argsort(-static, kind="stable"), kind="stable")
    return ranks * _TIER_COUNT // max(1, len(static))


def order_documents(order: str, static: Ranks, hosts: Numbers, by_url: Numbers) -> Numbers:
    """Return the numbers of documents in an order.

    order: its name; static: rank of each document; hosts: place of its host among all in order of their names; by_url:
    the documents in the order of their URLs.
    """
    return by_url[np.lexsort((hosts[by_url], _leading(order, static)[by_url]))]


def _leading(order: str, static: Ranks) -> npt.NDArray[np.float32] | Numbers:
    """Return what documents are ordered by before host and URL, ascending."""
    if order == _RANK:
        return -static
    return np.zeros(len(static), np.int64) if order == _SITE else choose_tiers(static)


def order_notes(order: str) -> dict[str, str]:
    """Return what the file of columns says of the order of its documents: nothing of the default."""
    return {_NOTE: order} if order != _TIERS else {}


def read_order(file: ArrayFile) -> str:
    """Return the order that a file of columns records."""
    return str(file.notes.get(_NOTE, _TIERS))


def first_tier(order: str, static: Ranks, documents: int) -> int:
    """Return how many blocks the first tier takes, the last of which may have documents of the next; 0 for no tiers.

    static: rank of each document, none where all are 0.
    """
    if order == _SITE or not len(static):
        return 0
    best = (documents + _TIER_COUNT - 1) // _TIER_COUNT
    return (best + BLOCK - 1) // BLOCK


def is_in_order(order: str, segment: _Columns) -> bool:
    """Return whether the documents of a segment are in an order."""
    static = segment.column("static").astype(np.float32)
    hosts = segment.column("host").astype(np.int64)
    start, blob = segment.table("url")
    raw, bounds = blob.tobytes(), start.tolist()
    leading = _leading(order, static)
    steps = np.lexsort((hosts, leading))
    if not (steps == np.arange(len(steps))).all():  # It is stable, so that what is in order stays where it is.
        return False
    same = np.flatnonzero((leading[1:] == leading[:-1]) & (hosts[1:] == hosts[:-1])).tolist()
    return all(raw[bounds[n] : bounds[n + 1]] <= raw[bounds[n + 1] : bounds[n + 2]] for n in same)
