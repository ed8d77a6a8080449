"""Lists of the documents of frequent word pairs: written with a segment, read for phrases.

A pair is two of the most frequent terms of a segment, the second right after the first in any field. All pairs of these
terms are counted; those are listed whose lists spare most for their bytes, until the budget is used up, also those that
no document has. Without the file, or a pair in it, phrases are found by positions alone.

A build counts them in its tokens, in the order of documents; a merge, which has none, in the positions of the segment.
"""

import bisect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from periplus.index.kernels.forward_index import DocumentTokens
from periplus.index.kernels.inversion import Postings
from periplus.index.kernels.postings_format import BITSET
from periplus.index.kernels.term_dictionary import ENTRY_BITSET_ROW, ENTRY_ENCODING, ENTRY_FREQUENCY, TermEntry
from periplus.index.segment import Segment
from periplus.index.segment_file import write_segment_file
from periplus.index.word_pairs import kernels

__all__ = ["find_pair_sets", "is_consistent", "write_token_pairs", "write_word_pairs"]

MIN_DOCUMENTS: Final = 1 << 14
"""Segments of fewer documents have no lists: their phrases are found in a fraction of a millisecond."""
_BUDGET: Final = 0.014
"""Share of the bytes of postings and positions that lists may take."""
_PAIR_BYTES: Final = 12
"""What a pair takes besides its list."""
_ROW_BITS: Final = 16
_BATCH_BLOCKS: Final = 16
_MAX_KEYS: Final = 1 << 22
"""Positions that are in memory at once; a segment with more of them in one block gets no lists."""
_MAX_POSITIONS: Final = 1 << 16
"""Positions of a term in a document that are read, as when a phrase is looked for."""

Numbers = npt.NDArray[np.int64]


class _PairSource(Protocol):
    """The terms among which pairs are looked for, and where they are."""

    @property
    def entries(self) -> Numbers:
        """Rows of the dictionary, in the order of bitsets."""
        ...

    def list_pairs(self, last: Numbers, counted: Numbers, end: Numbers, out: npt.NDArray[np.uint8]) -> None:
        """Count and list pairs, see `kernels.list_pairs`; `OverflowError` if there is no room for it."""
        ...


class _BuildTokens(NamedTuple):
    """The tokens of a build."""

    entries: Numbers
    texts: DocumentTokens
    numbers: npt.NDArray[np.int8]
    """The number of the term of each word, -1 for terms that are not among the most frequent."""

    def list_pairs(self, last: Numbers, counted: Numbers, end: Numbers, out: npt.NDArray[np.uint8]) -> None:
        """Count and list pairs, in one pass over the tokens."""
        limits = (_MAX_POSITIONS, _MAX_KEYS)
        if not kernels.list_token_pairs(self.texts, self.numbers, limits, last, counted, end, out):
            raise OverflowError


class _SegmentPositions(NamedTuple):
    """The positions of a segment."""

    segment: Segment
    entries: Numbers

    def list_pairs(self, last: Numbers, counted: Numbers, end: Numbers, out: npt.NDArray[np.uint8]) -> None:
        """Count and list pairs, some blocks at a time."""
        for first, keys in self._batches():
            kernels.list_pairs(keys, first, last, counted, end, out)

    def _batches(self) -> Iterator[tuple[int, Numbers]]:
        """Yield the first document of some blocks, and their positions as sorted keys; `OverflowError` if too many."""
        room, keys = np.empty(_MAX_POSITIONS, np.int64), np.empty(_MAX_KEYS >> 4, np.int64)
        cursors = np.zeros((len(self.entries), kernels.CURSOR_COLUMNS), np.int64)
        first, step, blocks = 0, _BATCH_BLOCKS, len(self.segment.live)
        while first < blocks:
            last, moved = min(blocks, first + step), cursors.copy()
            used = kernels.gather_positions(self.segment.postings, self.entries, moved, first, last, room, keys)
            if used >= 0:
                yield first * 64, np.sort(keys[:used])
                first, cursors = last, moved
            elif len(keys) < _MAX_KEYS:
                keys = np.empty(2 * len(keys), np.int64)
            elif step > 1:
                step = 1
            else:
                raise OverflowError


def write_word_pairs(folder: Path, documents: int) -> bool:
    """Write the file `word_pairs.arrays` of a segment whose other files are written, unless it has few documents."""
    if documents < MIN_DOCUMENTS:
        return False
    segment = Segment(folder, verify=False)
    positions = _SegmentPositions(segment, _most_frequent(segment))
    return _write(folder, positions, documents, segment.postings.stream.nbytes + segment.postings.positions.nbytes)


def write_token_pairs(
    folder: Path, texts: DocumentTokens, term_of_word: npt.NDArray[np.int32], postings: Postings
) -> bool:
    """Write the same file from the tokens of a build.

    term_of_word: the term of each word, in the order of the dictionary. postings: what the dictionary has of terms.
    """
    if len(texts.begin) < MIN_DOCUMENTS:
        return False
    row = np.cumsum(postings.encoding == BITSET) - 1
    most = np.argsort(-postings.frequency, kind="stable")[: kernels.MAX_TERMS]
    most = np.sort(most[(postings.encoding[most] == BITSET) & (row[most] < 1 << _ROW_BITS)])
    entries = np.zeros((len(most), len(TermEntry._fields)), np.int64)
    entries[:, ENTRY_FREQUENCY], entries[:, ENTRY_BITSET_ROW] = postings.frequency[most], row[most]
    numbers = np.full(len(postings.frequency) + 1, -1, np.int8)  # The last is that of words without a term.
    numbers[most] = np.arange(len(most), dtype=np.int8)
    size = sum(int(end[-1]) if len(end) else 0 for end in (postings.stream_end, postings.position_end))
    return _write(folder, _BuildTokens(entries, texts, numbers[term_of_word]), len(texts.begin), size)


def _write(folder: Path, source: _PairSource, documents: int, size: int) -> bool:
    """Write the file of a segment with so many bytes of postings and positions, unless there is no room for that."""
    try:
        sizes = _measure_lists(source)
        chosen = _choose_pairs(source.entries, documents, sizes, int(_BUDGET * size))
        arrays = _write_lists(source, sizes, chosen)
    except OverflowError:
        return False
    write_segment_file(folder, "word_pairs", arrays, packed=("pair_key", "list_start"))
    return True


def _most_frequent(segment: Segment) -> Numbers:
    """Return the dictionary rows of the most frequent terms that are encoded as bitsets, in the order of these."""
    # By first byte: that is how the dictionary is searched.
    ranges = (segment.frequent_terms(bytes((byte,)), kernels.MAX_TERMS)[0] for byte in range(256))
    frequent = sorted(((-count, term) for terms in ranges for term, count in terms))[: kernels.MAX_TERMS]
    rows = segment.find_terms([term for _, term in frequent])
    rows = rows[(rows[:, ENTRY_ENCODING] == BITSET) & (rows[:, ENTRY_BITSET_ROW] < 1 << _ROW_BITS)]
    return np.ascontiguousarray(rows[np.argsort(rows[:, ENTRY_BITSET_ROW])])


def is_consistent(segment: Segment) -> bool:
    """Return whether the lists of a segment, if it has any, are what its positions say."""
    file = segment.files.get("word_pairs")
    if file is None:
        return True
    source = _SegmentPositions(segment, _most_frequent(segment))
    chosen = np.flatnonzero(np.isin(_pair_keys(source.entries), file["pair_key"]))
    try:
        arrays = _write_lists(source, _measure_lists(source), chosen)
    except OverflowError:
        return False
    return all(np.array_equal(array, file[name]) for name, array in arrays.items())


def _pair_keys(entries: Numbers) -> npt.NDArray[np.uint32]:
    """Return the key of each pair."""
    rows = entries[:, ENTRY_BITSET_ROW]
    return (rows[:, np.newaxis] << _ROW_BITS | rows).ravel().astype(np.uint32)


def _measure_lists(source: _PairSource) -> Numbers:
    """Return the bytes of the list of each pair."""
    count = len(source.entries)
    sizes, (end, last) = np.zeros((count, count), np.int64), np.full((2, count, count), -1, np.int64)
    source.list_pairs(last, sizes, end, np.zeros(0, np.uint8))
    return sizes.ravel()


def _write_lists(source: _PairSource, sizes: Numbers, chosen: Numbers) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of the file, with the lists of some pairs."""
    count = len(source.entries)
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes[chosen])))
    lists, again = np.zeros(int(start[-1]), np.uint8), np.zeros((count, count), np.int64)
    end, last = np.full((2, count, count), -1, np.int64)
    end.ravel()[chosen] = start[:-1]
    source.list_pairs(last, again, end, lists)
    return {"pair_key": _pair_keys(source.entries)[chosen], "list_start": start, "lists": lists}


def _choose_pairs(entries: Numbers, documents: int, sizes: Numbers, budget: int) -> Numbers:
    """Return which pairs are listed, ascending: within the budget, those that spare most for their bytes.

    A list spares the positions of the documents that have both terms and not the pair. Of those with 'of' and 'the'
    most have it, of those with 'be' and 'or' hardly any. By the root of the bytes: long lists are of pairs that are
    asked for more often, and of the slowest phrases.
    """
    frequency = entries[:, ENTRY_FREQUENCY].astype(np.float64)
    both = np.outer(frequency, frequency).ravel() / max(1, documents)
    needed = sizes + _PAIR_BYTES
    order = np.argsort(-np.maximum(both - sizes, 0) / np.sqrt(needed), kind="stable")
    return np.sort(order[np.cumsum(needed[order]) <= budget])


def find_pair_sets(
    segment: Segment, entries: Numbers, pairs: Sequence[tuple[int, int]]
) -> tuple[list[int], npt.NDArray[np.uint64]]:
    """Return the row of each pair among the sets, -1 for those that are not listed; and the sets, by row and block.

    entries: rows of the term dictionary; pairs: numbers of two of them each.
    """
    file = segment.files.get("word_pairs")
    rows = [-1] * len(pairs)
    if file is None:
        return rows, np.zeros((0, 1), np.uint64)
    bitset_rows = entries[:, ENTRY_BITSET_ROW].tolist()
    keys, start = file["pair_key"].data, file["list_start"]
    found: dict[int, int] = {}
    for number, (one, other) in enumerate(pairs):
        key = bitset_rows[one] << _ROW_BITS | bitset_rows[other]
        if key < 0:  # One of them is not frequent, or not there.
            continue
        at = bisect.bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            rows[number] = found.setdefault(at, len(found))
    sets = np.zeros((len(found), len(segment.live) if found else 1), np.uint64)
    for at, row in found.items():
        kernels.expand_list(file["lists"], int(start[at]), int(start[at + 1]), sets[row])
    return rows, sets
