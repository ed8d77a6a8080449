"""The dictionary of a segment in pieces of bounded size, since that of a large one does not fit in one message.

Pieces are cut from the bytes of its arrays, one array after the other. `DictionaryAssembler` puts them together again.
They may come from another machine: what cannot be pieces of a dictionary is refused before it takes any memory.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.index.collection.segment_dictionary import SegmentDictionary

__all__ = ["PIECE_BYTES", "DictionaryAssembler", "DictionaryPiece", "cut_piece"]

PIECE_BYTES: Final = 8 << 20
"""Bytes of a piece; the last one may have fewer."""
_MAX_BYTES: Final = 1 << 35
"""Bytes of a dictionary: that of some 400 million documents."""
_TYPES: Final[dict[str, np.dtype[Any]]] = {
    name: np.dtype(hint.__args__[1].__args__[0])
    for name, hint in get_type_hints(SegmentDictionary).items()
    if hint not in (str, int)
}
"""The types of the elements of its arrays, by field."""


class DictionaryPiece(NamedTuple):
    """Some of the bytes of a dictionary, with what is not an array."""

    name: str
    documents: int
    terms: int
    word_count: int
    sampled: int
    lengths: tuple[int, ...]
    """Elements of each array of `SegmentDictionary`, in the order of its fields."""
    start: int
    """Bytes of all arrays before this piece."""
    data: npt.NDArray[np.uint8]


def cut_piece(dictionary: SegmentDictionary, start: int, most: int = PIECE_BYTES) -> DictionaryPiece:
    """Return the piece of a dictionary that begins at a byte; empty from its end on."""
    arrays = [np.ascontiguousarray(getattr(dictionary, name), kind) for name, kind in _TYPES.items()]
    return DictionaryPiece(
        dictionary.name,
        dictionary.documents,
        dictionary.terms,
        dictionary.word_count,
        dictionary.sampled,
        tuple(len(array) for array in arrays),
        start,
        np.concatenate([np.zeros(0, np.uint8), *_select_bytes(arrays, start, start + most)]),
    )


class DictionaryAssembler:
    """Puts the pieces of one dictionary together, from the first to the last."""

    def __init__(self, piece_bytes: int = PIECE_BYTES) -> None:
        self._piece_bytes = piece_bytes
        self._first: DictionaryPiece | None = None
        self._arrays: list[npt.NDArray[Any]] = []
        self._size = 0
        self.received = 0
        """Bytes that are there: where the next piece begins."""

    @property
    def is_complete(self) -> bool:
        """Whether all pieces are there."""
        return self._first is not None and self.received == self._size

    def add(self, piece: DictionaryPiece) -> None:
        """Add the next piece; raise `CorruptFile` for anything else."""
        first = self._begin(piece) if self._first is None else self._first
        expected = min(self._piece_bytes, self._size - self.received)
        is_same = piece._replace(start=0, data=first.data) == first._replace(start=0)
        if not is_same or piece.start != self.received or piece.data.shape != (expected,):
            raise CorruptFile(f"A piece of the dictionary of segment {piece.name[:40]} is not the one asked for.")
        written = 0
        for target in _select_bytes(self._arrays, self.received, self.received + expected):
            target[:] = piece.data[written : written + len(target)]
            written += len(target)
        self.received += expected

    def _begin(self, piece: DictionaryPiece) -> DictionaryPiece:
        """Allocate the arrays that a piece describes; return what all pieces have alike."""
        sizes = [length * kind.itemsize for length, kind in zip(piece.lengths, _TYPES.values(), strict=False)]
        if len(piece.lengths) != len(_TYPES) or min(piece.lengths) < 0 or sum(sizes) > _MAX_BYTES:
            raise CorruptFile(f"The dictionary of segment {piece.name[:40]} is not a dictionary.")
        self._arrays = [np.empty(length, kind) for length, kind in zip(piece.lengths, _TYPES.values(), strict=True)]
        self._size = sum(sizes)
        self._first = piece._replace(data=np.zeros(0, np.uint8))
        return self._first

    def dictionary(self) -> SegmentDictionary:
        """Return the dictionary, once it is complete."""
        assert self._first is not None
        assert self.is_complete
        fields: dict[str, Any] = dict(zip(_TYPES, self._arrays, strict=True))
        fields |= {name: getattr(self._first, name) for name in SegmentDictionary._fields if name not in _TYPES}
        return SegmentDictionary(**fields)


def _select_bytes(arrays: Sequence[npt.NDArray[Any]], start: int, end: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the bytes of arrays, one array after the other, from a byte up to another."""
    before = 0
    for array in arrays:
        low, high = max(start, before), min(end, before + array.nbytes)
        if low < high:
            yield array.view(np.uint8)[low - before : high - before]
        before += array.nbytes
