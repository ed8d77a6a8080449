"""What the scan for blocks knows of names, as arrays that are passed to it by their addresses."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel.pointers import PinnedArrays, pin

__all__ = ["SLOT_BITS", "TagTables", "minimal_tables"]

SLOT_BITS = 10


class TagTables(NamedTuple):
    """What the scan knows of names: tags by their first eight letters, and words in classes."""

    tags: npt.NDArray[np.uint64]
    """Packed names, sorted."""
    effects: npt.NDArray[np.int32]
    """By tag: INLINE, CONTAINER and so on."""
    regions: npt.NDArray[np.int32]
    """By tag: bits of regions."""
    words: npt.NDArray[np.uint8]
    """Words of class names, one behind the other, in lower case."""
    starts: npt.NDArray[np.int32]
    """By word: where it begins in `words`; one more for the end."""
    word_bits: npt.NDArray[np.int32]
    """By word: NAMED or CONTENT."""
    is_whole: npt.NDArray[np.uint8]
    """By word: ANY_WORD, WHOLE_WORD, WHOLE_NAME or ROLE."""
    first_words: npt.NDArray[np.int32]
    """By byte: number of the first word that begins with it or a later one; words are sorted. 257 of them."""
    slots: npt.NDArray[np.int16]
    """Hash table of tags: the number of the tag in each slot, or -1."""
    multiplier: np.uint64
    """Multiplier of `slot_of`, with which no two tags share a slot."""


def minimal_tables() -> PinnedArrays[TagTables]:
    """Return tables that know one name, for compiling what takes tables."""
    number, word, flag = np.zeros(1, np.int32), np.frombuffer(b"a", np.uint8), np.zeros(1, np.uint8)
    tags, starts = np.zeros(1, np.uint64), np.zeros(2, np.int32)
    first_words, slots = np.zeros(257, np.int32), np.zeros(1 << SLOT_BITS, np.int16)
    return pin(TagTables(tags, number, number, word, starts, number, flag, first_words, slots, np.uint64(1)))
