"""Impacts of plain postings in the file of a segment: each triple that occurs once, and its number for each document.

A document has three: of a term that occurs in its body only, once, twice or three times. They depend on the length of
the body, so that most documents share theirs with others. In memory they are by block, occurrences and offset.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.index.kernels.postings_format import BLOCK, ESCAPED
from periplus.index.segment_file import SegmentFile

__all__ = ["IMPACT_NUMBER", "are_plain_impacts", "pack_plain_impacts", "read_plain_impacts"]

_WHOLE: Final = "plain_impact"
"""The array of segments up to format 3, and of those in which hardly any documents have the same impacts."""
_TRIPLES: Final = "impact_triples"
IMPACT_NUMBER: Final = "impact_number"
_MIN_SHARED: Final = 8
"""Documents for each triple, in the mean, from which on triples are written once."""

Impacts = npt.NDArray[np.uint8]


def pack_plain_impacts(impacts: Impacts) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays to write for the impacts of all blocks; `impact_number` is to be packed."""
    of_documents = impacts.reshape(-1, ESCAPED, BLOCK).transpose(0, 2, 1).reshape(-1, ESCAPED).astype(np.uint32)
    codes = of_documents[:, 0] << 16 | of_documents[:, 1] << 8 | of_documents[:, 2]
    triples, numbers = np.unique(codes, return_inverse=True)
    if not len(codes) or len(triples) * _MIN_SHARED > len(codes):
        return {_WHOLE: impacts}
    kind = np.min_scalar_type(len(triples) - 1)
    rows = np.stack((triples >> 16, triples >> 8 & 255, triples & 255), axis=1).astype(np.uint8)
    return {_TRIPLES: rows, IMPACT_NUMBER: numbers.astype(kind)}


def are_plain_impacts(file: SegmentFile, blocks: int) -> bool:
    """Return whether a file has impacts for so many blocks."""
    if _WHOLE in file:
        whole = file[_WHOLE]
        return whole.dtype == np.uint8 and whole.shape == (blocks * ESCAPED * BLOCK,)
    triples, numbers = file[_TRIPLES], file[IMPACT_NUMBER]
    return (
        triples.dtype == np.uint8
        and triples.ndim == 2
        and triples.shape[1] == ESCAPED
        and numbers.dtype.kind == "u"
        and numbers.shape == (blocks * BLOCK,)
        and (not len(numbers) or int(numbers.max()) < len(triples))
    )


def read_plain_impacts(file: SegmentFile) -> Impacts:
    """Return the impacts of all blocks: by block, occurrences less one, and offset."""
    if _WHOLE in file:
        return file[_WHOLE]
    triples, numbers = file[_TRIPLES], file[IMPACT_NUMBER].reshape(-1, 1, BLOCK)
    impacts = np.empty((len(numbers), ESCAPED, BLOCK), np.uint8)
    for times in range(ESCAPED):
        impacts[:, times] = triples[:, times][numbers[:, 0]]
    file.forget(IMPACT_NUMBER)
    whole = impacts.reshape(-1)
    whole.flags.writeable = False  # As what is mapped.
    return whole
