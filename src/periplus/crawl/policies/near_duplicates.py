"""Near-duplicate detection: 64-bit simhashes of main content, looked up in bands.

Two hashes that differ in at most three bits agree in one of four bands of sixteen. For each value of a band there is a
chain of the pages that have it, newest first, of which a bounded number is compared. The oldest pages are dropped when
the index is full: memory is bounded, whatever the length of the crawl.
"""

from array import array
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.crawl.policies import kernels
from periplus.records import LIST_KIND, Page
from periplus.text.kernels import simhash

__all__ = ["CONTENT_LIMITS", "NearDuplicateIndex", "page_hash"]

MAX_PAGES: Final = 1 << 19
"""A lookup in a full index takes some 30 microseconds; the time grows with the number of pages."""
_DISTANCE: Final = 3
_BANDS: Final = 4
_WIDTH: Final = 16
_VALUES: Final = 1 << _WIDTH
_MAX_CHAIN: Final = 32
"""Pages compared in one chain."""
_MIN_CHARACTERS: Final = 240
"""Shorter texts are often similar without being duplicates."""
_MIN_PARAGRAPH: Final = 40
"""Shorter lines are left out of a text that consists of longer ones for the most part."""
_LONG_PARAGRAPH: Final = 256
"""Characters of a line, on average, from which on lines are not taken apart."""
_SAMPLE_LENGTH: Final = 1_200
"""Of a long text, three samples of this length are hashed: hashing all of it would take as long as parsing."""
CONTENT_LIMITS: Final = (_MIN_CHARACTERS, _MIN_PARAGRAPH, _SAMPLE_LENGTH)
"""The same limits, as the kernel takes them."""


def page_hash(page: Page) -> int:
    """Return the simhash of a page's main content, or 0 if it is too short to compare."""
    if page.kind == LIST_KIND:
        return 0
    text = page.text
    if not text.isascii():
        return _hash_content(text, page.main)
    spans = np.array(page.main or (0, len(text)), np.int64)
    data = np.frombuffer(text.encode(), np.uint8)
    return int(kernels.hash_content(data, spans, *CONTENT_LIMITS))


def _hash_content(text: str, spans: tuple[int, ...]) -> int:
    """Return the simhash of the parts of a text, or of all of it if there are none."""
    if spans:
        text = "\n".join(text[begin:end] for begin, end in zip(spans[::2], spans[1::2], strict=False))
    if len(text) < _MIN_CHARACTERS:
        return 0
    # Bylines, dates and captions are what a reprint changes.
    paragraphs = _long_lines(text)
    if len(paragraphs) >= max(_MIN_CHARACTERS, len(text) // 2):
        text = paragraphs
    if len(text) > 3 * _SAMPLE_LENGTH:
        text = _sample(text)
    return int(simhash.simhash_text(np.frombuffer(text.encode("utf-8", "replace"), np.uint8)))


def _long_lines(text: str) -> str:
    """Return the lines of a text that are not short."""
    if _LONG_PARAGRAPH * text.count("\n") > len(text):
        return "\n".join([line for line in text.split("\n") if len(line) >= _MIN_PARAGRAPH])
    # Strings of this length are expensive to make: lines that follow each other are copied together.
    pieces = []
    begin = at = 0
    while at <= len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if end - at < _MIN_PARAGRAPH:
            if at > begin:
                pieces.append(text[begin : at - 1])
            begin = end + 1
        at = end + 1
    if at > begin:
        pieces.append(text[begin:])
    return "\n".join(pieces)


def _sample(text: str) -> str:
    """Return the beginning, the middle and the end of a long text, cut at word boundaries."""
    half = len(text) // 2
    middle = text.find("\n", half, half + _SAMPLE_LENGTH)
    middle = half if middle < 0 else middle
    return "\n".join(
        (
            text[:_SAMPLE_LENGTH].rpartition(" ")[0],
            text[middle : middle + _SAMPLE_LENGTH].rpartition(" ")[0],
            text[-_SAMPLE_LENGTH:].partition(" ")[2],
        )
    )


class NearDuplicateIndex:
    """Simhashes of pages, each with the fingerprint of its content, searchable by Hamming distance."""

    def __init__(self, data: bytes = b"", capacity: int = MAX_PAGES) -> None:
        """Restore what `dump` returned, if `data` is not empty. `capacity` is a power of two."""
        self._capacity = capacity
        self._hashes, self._contents = array("Q"), array("Q")
        self._older = [array("I") for _ in range(_BANDS)]
        """For each band, the position (from 1) of the next older page with the same value, or 0."""
        self._newest = [array("I", bytes(4 * _VALUES)) for _ in range(_BANDS)]
        self._count = 0
        """Pages ever added. Page number n is in slot (n - 1) modulo the capacity until it is overwritten."""
        if data:
            self._restore(np.frombuffer(data, "<u8").reshape(2, -1)[:, -capacity:])

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, value: int) -> int | None:
        """Return the content of a page whose hash differs in at most `_DISTANCE` bits, or None."""
        if not value:
            return None
        oldest, mask, hashes = max(0, self._count - self._capacity), self._capacity - 1, self._hashes
        for band, older in enumerate(self._older):
            position = self._newest[band][value >> band * _WIDTH & _VALUES - 1]
            for _ in range(_MAX_CHAIN):
                if position <= oldest:
                    break
                slot = position - 1 & mask
                if (hashes[slot] ^ value).bit_count() <= _DISTANCE:
                    return self._contents[slot]
                position = older[slot]
        return None

    def add(self, value: int, content: int) -> None:
        """Add a page, in place of the oldest one if the index is full."""
        slot = self._count % self._capacity
        self._count += 1
        is_longer = slot == len(self._hashes)
        if is_longer:
            self._hashes.append(value)
            self._contents.append(content)
        else:
            self._hashes[slot], self._contents[slot] = value, content
        for older, newest in zip(self._older, self._newest, strict=True):
            key = value & _VALUES - 1
            value >>= _WIDTH
            if is_longer:
                older.append(newest[key])
            else:
                older[slot] = newest[key]
            newest[key] = self._count

    def dump(self) -> bytes:
        """Return hashes and contents as bytes, the oldest page first."""
        rows = np.array((self._hashes, self._contents), "<u8").reshape(2, -1)
        return np.roll(rows, -(self._count % self._capacity), axis=1).tobytes() if self._is_full() else rows.tobytes()

    def _is_full(self) -> bool:
        return len(self._hashes) == self._capacity

    def _restore(self, rows: npt.NDArray[np.uint64]) -> None:
        """Restore what `dump` returned, and rebuild the chains."""
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
