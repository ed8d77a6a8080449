"""A page as the kernel leaves it: its text, and a row of offsets for everything else that it says."""

from functools import cache, cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.kernels import html as kernel
from periplus.kernels import html_book, html_gather, html_rows, html_tree

__all__ = ["Flat", "Kind", "read_flat"]

_MOST_ROWS: Final = 65_536
_ENDLESS: Final = 1 << 40
_LONGEST_TEXT: Final = 4_096
_MARGIN: Final = 64
"""Bytes that are written behind what counts, at most."""

Table = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class Kind:
    """Kinds of rows, each with what its three values are."""

    TITLE = int(html_rows.TITLE)
    """The title."""
    HEADING = int(html_rows.HEADING)
    """Number: its level."""
    EMPHASIS = int(html_rows.EMPHASIS)
    LINK = int(html_rows.LINK_ROW)
    """Target, alternative text of an image in it, label. Number: what rel says."""
    META = int(html_rows.META)
    """Name, content, http-equiv."""
    REFERENCE = int(html_rows.REFERENCE)
    """<link>: rel, target, type."""
    IMAGE = int(html_rows.IMAGE)
    """Source, alternative text."""
    BASE = int(html_rows.BASE)
    LANGUAGE = int(html_rows.LANGUAGE)
    TIME = int(html_rows.TIME)
    DATA = int(html_rows.DATA)
    """JSON-LD; begin and end are places in the page itself."""
    NOFOLLOW = int(html_rows.NOFOLLOW)
    """A bit of a link's number."""


class Flat:
    """A page, read but not yet taken apart: strings are made of what is asked for only."""

    def __init__(self, data: bytes, now: Table, out: Bytes) -> None:
        self.data = data
        self._now, self._out = now, out
        rows = int(now[html_tree.ROWS])
        self._table = now[html_tree.ROW_TABLE : html_tree.ROW_TABLE + html_tree.COLUMNS * rows]
        self._table = self._table.reshape(-1, html_tree.COLUMNS)

    @cached_property
    def text(self) -> str:
        """The visible text, blocks parted by newlines, in the order of the document."""
        used = int(self._now[html_tree.USED])
        raw = self._out[:used]
        if self._now[html_tree.FOSTERED] and used:
            merged = np.empty(used, np.uint8)
            raw = merged[: kernel.merge(self._now, self._out, merged)]
        return str(raw.data, "utf-8", "replace").strip()

    def numbers(self, kind: int, most: int = _MOST_ROWS) -> list[int]:
        """Give the numbers of the rows of one kind."""
        found: list[int] = self._table[self._table[:, 0] == kind, 1][:most].tolist()
        return found

    def texts(self, kind: int, most: int = _MOST_ROWS, longest: int = _LONGEST_TEXT) -> list[str]:
        """Give the text of all rows of one kind, each in one line and cut to so many bytes."""
        return self._gathered(kind, 2, most, longest)

    def values(self, kind: int, number: int, most: int = _MOST_ROWS) -> list[str]:
        """Give one of the values of all rows of one kind."""
        return self._gathered(kind, 2 * number + 4, most, _ENDLESS)

    def rows(self, kind: int, most: int = _MOST_ROWS) -> list[list[int]]:
        """Give rows of one kind: kind, number, begin and end in the text, and three pairs for values."""
        found: list[list[int]] = self._table[self._table[:, 0] == kind][:most].tolist()
        return found

    def words(self, row: list[int], most: int) -> str:
        """Give the text of a row in one line, cut to about `most` characters."""
        return self._string(row[2], min(row[3], row[2] + 4 * most)).strip().replace("\n", " ")

    def value(self, row: list[int], number: int) -> str:
        """Give a value of a row."""
        return self._string(row[2 * number + 4], row[2 * number + 5])

    def _string(self, begin: int, end: int) -> str:
        return str(self._out[begin:end].data, "utf-8", "ignore")

    def _gathered(self, kind: int, column: int, most: int, longest: int) -> list[str]:
        now = self._now
        # Nearly always pieces do not overlap, and this is enough for all of them.
        size = int(now[html_tree.USED] if column == 2 else now[html_tree.VALUES] - now[html_tree.FIRST_VALUE])
        count, used = -1, size + int(now[html_tree.ROWS])
        while count < 0:
            room = np.empty(used + _MARGIN, np.uint8)
            count, used = html_gather.gather(now, kind, column, most, longest, self._out, room)
        return str(room[:used].data, "utf-8", "replace").split("\0") if count else []


_book: Final = cache(html_book.make_book)


def read_flat(data: bytes, deepest: int = 512, seen: str = "") -> Flat:
    """Read a page in UTF-8. `seen` names elements whose text is to be kept though people would not see it."""
    size = len(data)
    # A zero may become three bytes; references grow by a fifth at most.
    room = (3 * size if 0 in data else size + size // 4) + _MARGIN
    out = np.empty(2 * room + _MARGIN, np.uint8)
    now = html_tree.make_state(deepest, min(_MOST_ROWS, size // 3 + 8), room)
    kernel.read(np.frombuffer(data, np.uint8), _book(seen), now, out)
    return Flat(data, now, out)
