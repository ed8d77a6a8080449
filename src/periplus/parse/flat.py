"""A page as the kernel leaves it: its text, and a row of offsets for everything else that it says."""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.kernels import html as kernel
from periplus.kernels import html_book, html_rows, html_tree

__all__ = ["Flat", "Kind", "read_flat"]

_MOST_ROWS: Final = 65_536

Table = npt.NDArray[np.int64]


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

    def __init__(self, data: bytes, text: bytes, ordered: bytes, values: bytes, table: Table) -> None:
        self.data = data
        self._kinds = table[:, 0]
        # Rows of data point into the page itself.
        within = np.where(self._kinds[:, None] == Kind.DATA, 0, table[:, 2:4])
        self._text, places = _to_characters(text, within)
        self._values, parts = _to_characters(values, table[:, 4:])
        self._table = np.hstack(
            (table[:, :2], np.where(self._kinds[:, None] == Kind.DATA, table[:, 2:4], places), parts)
        )
        self.text = self._text if ordered is text else ordered.decode("utf-8", "replace").strip()
        """The visible text, blocks parted by newlines, in the order of the document."""

    def rows(self, kind: int, most: int = _MOST_ROWS) -> list[list[int]]:
        """Give rows of one kind: kind, number, begin and end in the text, and three pairs for values."""
        found: list[list[int]] = self._table[np.flatnonzero(self._kinds == kind)[:most]].tolist()
        return found

    def pairs(self, kind: int, most: int = _MOST_ROWS) -> list[tuple[str, str]]:
        """Give the first value and the text of all rows of one kind: targets of links, with their words."""
        spans = self._table[np.flatnonzero(self._kinds == kind)[:most], 2:6].tolist()
        values, text = self._values, self._text
        return [(values[c:d], text[a:b].strip().replace("\n", " ")) for a, b, c, d in spans]

    def words(self, row: list[int], most: int) -> str:
        """Give the text of a row in one line, cut to about `most` characters."""
        return self._text[row[2] : min(row[3], row[2] + 4 * most)].strip().replace("\n", " ")

    def value(self, row: list[int], number: int) -> str:
        """Give a value of a row."""
        return self._values[row[2 * number + 4] : row[2 * number + 5]]


def _to_characters(raw: bytes, places: Table) -> tuple[str, Table]:
    """Give bytes as a string, and places in the bytes as places in the string."""
    if not raw.isascii():
        inner = np.flatnonzero((np.frombuffer(raw, np.uint8) & 0xC0) == 0x80)
        places = places - np.searchsorted(inner, places)
    return raw.decode("utf-8", "replace"), places


_book: Final = cache(html_book.make_book)


def read_flat(data: bytes, deepest: int = 512, seen: str = "") -> Flat:
    """Read a page in UTF-8. `seen` names elements whose text is to be kept though people would not see it."""
    size = len(data)
    # A zero may become three bytes; references grow by a fifth at most.
    room = 3 * size + 64 if 0 in data else size + size // 4 + 64
    out = np.empty(2 * room + 64, np.uint8)
    now = html_tree.make_state(deepest, min(_MOST_ROWS, size // 3 + 8), room)
    kernel.read(np.frombuffer(data, np.uint8), _book(seen), now, out)
    used = int(now[html_tree.USED])
    text = ordered = out[:used].tobytes()
    if now[html_tree.FOSTERED] and used:
        merged = np.empty(used, np.uint8)
        ordered = merged[: kernel.merge(now, out, merged)].tobytes()
    count = html_tree.COLUMNS * int(now[html_tree.ROWS])
    table = now[html_tree.ROW_TABLE : html_tree.ROW_TABLE + count].reshape(-1, html_tree.COLUMNS)
    # What a row has no value for is 0; all others begin behind the text's room.
    table[:, 4:] = np.maximum(table[:, 4:] - room, 0)
    return Flat(data, text, ordered, out[room : now[html_tree.VALUES]].tobytes(), table)
