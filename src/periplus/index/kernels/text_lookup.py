"""Where the bodies of some documents are among the compressed blocks of text of a segment."""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["locate_bodies"]


@njit(cache=True, nogil=True)
def locate_bodies(
    first: npt.NDArray[np.uint32],
    ends: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.uint64],
    documents: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Return where bodies are.

    Parameters
        first: the first document of each block; one more than there are blocks
        ends: where the body of each document ends in its block
        starts: where each block begins, compressed; one more than there are blocks
        documents: numbers of documents
    Returns
        by document: its block, where its body begins and ends there, and where the block begins and ends, compressed
    """
    spans = np.empty((len(documents), 5), np.int64)
    for i in range(len(documents)):
        document = documents[i]
        low, high = np.int64(0), np.int64(len(first) - 1)
        while low + 1 < high:
            middle = (low + high) >> 1
            if np.int64(first[middle]) <= document:
                low = middle
            else:
                high = middle
        spans[i, 0] = low
        spans[i, 1] = ends[document - 1] if document > np.int64(first[low]) else 0
        spans[i, 2] = ends[document]
        spans[i, 3], spans[i, 4] = starts[low], starts[low + 1]
    return spans


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    first, ends, starts = np.array([0, 1], np.uint32), np.ones(1, np.uint32), np.array([0, 1], np.uint64)
    for array in (first, ends, starts):
        array.flags.writeable = False
    locate_bodies(first, ends, starts, np.zeros(1, np.int64))
