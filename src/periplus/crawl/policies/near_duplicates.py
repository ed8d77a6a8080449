"""Pages that say nearly what another page says: 64-bit simhashes of main content, looked up in bands.

Two hashes that differ in at most three bits agree in one of four bands of sixteen. For each value of a band there is a
chain of the pages that have it, newest first, of which a bounded number is looked at. The oldest pages are forgotten
when there are too many: memory is bounded, whatever the length of the crawl.
"""

from array import array
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.records import LIST_KIND, Page
from periplus.text.kernels import simhash

__all__ = ["NearCopies", "page_hash"]

MOST_PAGES: Final = 1 << 19
"""A look-up among so many takes some 30 microseconds; it grows with their number."""
_DISTANCE: Final = 3
_BANDS: Final = 4
_WIDTH: Final = 16
_VALUES: Final = 1 << _WIDTH
_LOOK: Final = 32
"""Pages looked at in one chain."""
_SHORTEST: Final = 240
"""Characters; shorter texts are alike without being copies."""
_PIECE: Final = 1_200
"""Of long texts three pieces of this length are read: hashing all of them would take as long as parsing."""


def page_hash(page: Page) -> int:
    """Give the simhash of a page's main content, or 0 when it says too little to compare."""
    if page.kind == LIST_KIND:
        return 0
    text, spans = page.text, page.main
    if spans:
        text = "\n".join(text[begin:end] for begin, end in zip(spans[::2], spans[1::2], strict=False))
    if len(text) < _SHORTEST:
        return 0
    if len(text) > 3 * _PIECE:
        text = _pieces(text)
    raw = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    return int(simhash.simhashes(raw, np.array((0, len(raw)), np.int64))[0])


def _pieces(text: str) -> str:
    """Give the begin, the middle and the end of a long text, so cut that words put in elsewhere do not move them."""
    half = len(text) // 2
    middle = text.find("\n", half, half + _PIECE)
    middle = half if middle < 0 else middle
    return "\n".join(
        (
            text[:_PIECE].rpartition(" ")[0],
            text[middle : middle + _PIECE].rpartition(" ")[0],
            text[-_PIECE:].partition(" ")[2],
        )
    )


class NearCopies:
    """Hashes of pages, each with the fingerprint of its content; gives the content that a hash is near to."""

    def __init__(self, data: bytes = b"", most: int = MOST_PAGES) -> None:
        """Begin with what `dump` gave. `most` is a power of two."""
        self._most = most
        self._hashes, self._contents = array("Q"), array("Q")
        self._older = [array("I") for _ in range(_BANDS)]
        """For each band, the position (from 1) of the next older page with the same value, or 0."""
        self._newest = [array("I", bytes(4 * _VALUES)) for _ in range(_BANDS)]
        self._count = 0
        """Pages ever added. Page number n is in place (n - 1) modulo most until another takes that place."""
        if data:
            self._restore(np.frombuffer(data, "<u8").reshape(2, -1)[:, -most:])

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, value: int) -> int | None:
        """Give the content of a page whose hash differs in a few bits at most, or None."""
        if not value:
            return None
        oldest, mask, hashes = max(0, self._count - self._most), self._most - 1, self._hashes
        for band, older in enumerate(self._older):
            position = self._newest[band][value >> band * _WIDTH & _VALUES - 1]
            for _ in range(_LOOK):
                if position <= oldest:
                    break
                place = position - 1 & mask
                if (hashes[place] ^ value).bit_count() <= _DISTANCE:
                    return self._contents[place]
                position = older[place]
        return None

    def add(self, value: int, content: int) -> None:
        """Remember a page."""
        place = self._count % self._most
        self._count += 1
        if place == len(self._hashes):
            self._hashes.append(0)
            self._contents.append(0)
            for older in self._older:
                older.append(0)
        self._hashes[place], self._contents[place] = value, content
        for band in range(_BANDS):
            newest, key = self._newest[band], value >> band * _WIDTH & _VALUES - 1
            self._older[band][place] = newest[key]
            newest[key] = self._count

    def dump(self) -> bytes:
        """Write everything down, the oldest first."""
        rows = np.array((self._hashes, self._contents), "<u8").reshape(2, -1)
        return np.roll(rows, -(self._count % self._most), axis=1).tobytes() if self._is_full() else rows.tobytes()

    def _is_full(self) -> bool:
        return len(self._hashes) == self._most

    def _restore(self, rows: npt.NDArray[np.uint64]) -> None:
        """Take over what `dump` wrote, and string the chains anew."""
        self._count = rows.shape[1]
        self._hashes, self._contents = array("Q", rows[0].tobytes()), array("Q", rows[1].tobytes())
        for band in range(_BANDS):
            keys = (rows[0] >> np.uint64(band * _WIDTH)).astype(np.uint16)
            order = np.argsort(keys, kind="stable")
            same = keys[order][1:] == keys[order][:-1]
            older = np.zeros(self._count, np.uint32)
            older[order[1:]] = np.where(same, order[:-1] + 1, 0)
            newest = np.zeros(_VALUES, np.uint32)
            last = np.append(~same, True)
            newest[keys[order][last]] = order[last] + 1
            self._older[band], self._newest[band] = array("I", older.tobytes()), array("I", newest.tobytes())
