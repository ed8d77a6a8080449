"""The tokens of a segment, read by its ordinary look-up, one document and term at a time."""

import itertools

import numpy as np
import numpy.typing as npt

from periplus.index import Segment
from periplus.index.kernels.inversion import FIELD_SHIFT


def naive_tokens(segment: Segment, numbers: npt.NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return (term, new document, position) of every token, in order; documents numbered below 0 are left out."""
    terms = segment.terms()
    raw, bounds = terms.blob.tobytes(), terms.start.tolist()
    tokens: list[tuple[int, int, int]] = []
    for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
        term = segment.find_term(raw[begin:end])
        assert term is not None
        for document in range(segment.documents):
            new, positions = int(numbers[document]), segment.positions(term, document)[0].tolist()
            tokens += [(number, new, position) for position in positions if new >= 0]
    return sorted(tokens)


def naive_fields(segment: Segment) -> list[int]:
    """Return for each document a bit for each field that has a token."""
    fields = [0] * segment.documents
    for _, document, position in naive_tokens(segment, np.arange(segment.documents)):
        fields[document] |= 1 << (position >> FIELD_SHIFT)
    return fields
