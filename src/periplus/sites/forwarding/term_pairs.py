"""Which terms stand next to each other at a site: a Bloom filter, so that another site need not ask for phrases.

Planning counts the pages that have two words in a row: 'blackhole' is looked for as 'black hole' too. Most such pairs
stand nowhere. A filter says so for certain; where it says 'perhaps', the site is asked.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index import Segment
from periplus.index.kernels import postings_merge

__all__ = ["has_phrase", "make_pair_filter", "segment_pairs"]

_BITS: Final = 10
"""Bits of the filter for each pair: one of a hundred pairs that stand nowhere is taken for one that does."""
_HASHES: Final = 7
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_SECOND: Final = np.uint64(0xC2B2AE3D27D4EB4F)

Pairs = npt.NDArray[np.uint64]
Hashes = npt.NDArray[np.uint32]


def segment_pairs(segment: Segment, hashes: Hashes) -> Pairs:
    """Return what identifies the pairs of neighbours in all texts of a segment; hashes: of its terms, in order."""
    terms = segment.valid_terms()
    documents = np.arange(segment.documents, dtype=np.int64)
    source = postings_merge.MergeSource(
        terms, 0, len(terms.frequency), np.arange(len(terms.frequency), dtype=np.int64), documents
    )
    counts = np.zeros(segment.documents, np.int64)
    postings_merge.count_tokens(segment.postings, source, counts)
    starts = np.zeros(segment.documents + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    numbers, positions = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint32)
    postings_merge.collect_tokens(segment.postings, source, 0, starts[:-1].copy(), numbers, positions)
    places = np.repeat(documents, counts) << 32 | positions.astype(np.int64)
    order = np.argsort(places, kind="stable")
    places, numbers = places[order], numbers[order]
    parts = [np.zeros(0, np.uint64)]
    # Several terms may stand at one place, such as a word and its parts: each is the neighbour of each.
    for step in range(1, 4):
        near = np.flatnonzero(places[step:] - places[:-step] == 1)
        parts.append(_join(hashes[numbers[near]], hashes[numbers[near + step]]))
    return np.unique(np.concatenate(parts)) if _is_simple(places) else np.zeros(0, np.uint64)


def _is_simple(places: npt.NDArray[np.int64]) -> bool:
    """Return whether no more terms stand at one place than neighbours are looked at for: otherwise nothing is said."""
    return not bool((places[2:] == places[:-2]).any())


def _join(first: Hashes, second: Hashes) -> Pairs:
    return (first.astype(np.uint64) << np.uint64(32) | second.astype(np.uint64)) * _MIX


def make_pair_filter(pairs: Sequence[Pairs]) -> npt.NDArray[np.uint8]:
    """Return the filter of the pairs of all segments; empty if one of them says nothing, or there are none."""
    if any(not len(part) for part in pairs) or not pairs:
        return np.zeros(0, np.uint8)
    every = np.unique(np.concatenate(pairs))
    size = max(8, _BITS * len(every) // 8)
    bits = np.zeros(size * 8, np.bool_)
    for n in range(_HASHES):
        bits[_places(every, n, size * 8)] = True
    return np.packbits(bits, bitorder="little")


def _places(pairs: Pairs, n: int, size: int) -> npt.NDArray[np.uint64]:
    """Return the n-th bit of pairs in a filter of so many bits."""
    step = (pairs >> np.uint64(33)) * _SECOND >> np.uint64(20) | np.uint64(1)
    return ((pairs >> np.uint64(7)) + np.uint64(n) * step) % np.uint64(size)


def has_phrase(pair_filter: npt.NDArray[np.uint8], hashes: Hashes) -> bool:
    """Return whether terms, by their hashes, may stand in a row in a document of the site."""
    if not len(pair_filter) or len(hashes) < 2:
        return True
    pairs = _join(hashes[:-1], hashes[1:])
    for n in range(_HASHES):
        places = _places(pairs, n, len(pair_filter) * 8)
        bits = pair_filter[(places >> np.uint64(3)).astype(np.int64)] >> (places & np.uint64(7)).astype(np.uint8) & 1
        if not bits.all():
            return False
    return True
