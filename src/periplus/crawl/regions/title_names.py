"""Names in titles: whether a page is called something that no page of its site was called before.

References of programs and catalogues have a page for each thing, and all of them say the same but for its name. Such a
page is no repetition, although its text is one. Names are remembered in Bloom filters of bounded size: a name that was
seen is known until it is long ago, and a few per cent of those that were not are taken for known.
"""

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.crawl.regions import kernels
from periplus.hashing import fingerprint_text

__all__ = ["TitleNames"]

_WORDS: Final = 1 << 16
"""Words of 64 bits of a filter: 512 KiB."""
_MAX_NAMES: Final = 8 * _WORDS
"""Names of a filter, 8 bits each; then the older filter is dropped."""
_MAX_TITLE: Final = 400
"""Bytes of a title that are read."""
_ENTRY: Final = np.dtype([("word", "<u4"), ("bits", "<u8")])


class TitleNames:
    """The names in the titles of the last half million to million names, by site."""

    def __init__(self) -> None:
        self._newer = np.zeros(_WORDS, np.uint64)
        self._older = np.zeros(_WORDS, np.uint64)
        self._entered = 0

    def observe(self, site: str, title: str) -> bool:
        """Enter the names in a title; return whether the site had not had one of them."""
        data = np.frombuffer(title.encode("utf-8", "replace")[:_MAX_TITLE], np.uint8)
        new, entered = kernels.enter_names(data, _fingerprint_of(site), self._newer, self._older)
        self._entered += entered
        if self._entered >= _MAX_NAMES:
            self._older, self._newer, self._entered = self._newer, np.zeros(_WORDS, np.uint64), 0
        return bool(new)

    def dump(self) -> tuple[int, bytes, bytes]:
        """Return how many names the newer filter has, and both filters."""
        return self._entered, _pack(self._newer), _pack(self._older)

    def load(self, entered: int, newer: bytes, older: bytes) -> None:
        """Restore what `dump` returned."""
        self._entered, self._newer, self._older = entered, _unpack(newer), _unpack(older)


@lru_cache(4_096)
def _fingerprint_of(site: str) -> np.uint64:
    return np.uint64(fingerprint_text(site))


def _pack(words: npt.NDArray[np.uint64]) -> bytes:
    """Return the words that are not 0, each with its number."""
    numbers = np.flatnonzero(words)
    entries = np.empty(len(numbers), _ENTRY)
    entries["word"], entries["bits"] = numbers, words[numbers]
    return entries.tobytes()


def _unpack(data: bytes) -> npt.NDArray[np.uint64]:
    """Return the filter that `_pack` was given; entries that cannot be of it are left out."""
    words = np.zeros(_WORDS, np.uint64)
    entries = np.frombuffer(data[: len(data) // _ENTRY.itemsize * _ENTRY.itemsize], _ENTRY)
    entries = entries[entries["word"] < _WORDS]
    words[entries["word"]] = entries["bits"]
    return words
