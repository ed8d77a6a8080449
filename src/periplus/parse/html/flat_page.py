"""A page as the kernel leaves it: its text, and a row of offsets for everything else that it says."""

from collections.abc import Iterable
from functools import cache, cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.parse.kernels import html as kernel
from periplus.parse.kernels import html_columns, html_extras, html_rows, html_tables, html_tree

__all__ = ["FlatPage", "RowKind", "parse_flat_page"]

_MOST_ROWS: Final = 65_536
_MOST_KINDS: Final = int(html_tree.STYLE) + 1
_MOST_METADATA: Final = 1_000
_MOST_TRACES: Final = 262_144
_SPACE: Final = 32
_ENDLESS: Final = 1 << 40
_LONGEST_TEXT: Final = 4_096
_MARGIN: Final = 64
"""Bytes that are written behind what counts, at most."""

Table = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class RowKind:
    """Kinds of rows, each with what its three values are."""

    TITLE = int(html_tree.TITLE)
    """The title."""
    HEADING = int(html_tree.HEADING)
    """Number: its level."""
    EMPHASIS = int(html_tree.EMPHASIS)
    LINK = int(html_tree.LINK_ROW)
    """Target, alternative text of an image in it, label. Number: what rel says."""
    META = int(html_tree.META)
    """Name, content, http-equiv."""
    REFERENCE = int(html_tree.REFERENCE)
    """<link>: rel, target, type."""
    IMAGE = int(html_tree.IMAGE)
    """Source, alternative text, label. Number: a place in the tag."""
    BASE = int(html_tree.BASE)
    LANGUAGE = int(html_tree.LANGUAGE)
    TIME = int(html_tree.TIME)
    DATA = int(html_tree.DATA)
    """JSON-LD; begin and end are places in the page itself."""
    MEDIA = int(html_tree.MEDIA)
    """Source, words about it, poster or type. Number: AUDIO, VIDEO and so on."""
    FIGURE = int(html_tree.FIGURE)
    """Number: that of the first row that is not in it any more."""
    CAPTION = int(html_tree.CAPTION)
    TABLE = int(html_tree.TABLE_ROW)
    """A table with a class, which is its value. Number: a place in its start tag."""
    PROPERTY = int(html_tree.PROPERTY)
    """Microdata: name, content or date. Number: whether it is an item of its own."""
    STYLE = int(html_tree.STYLE)
    """The style of an element, where it may hide it."""

    AUDIO, VIDEO, SOURCE, TRACK, EMBED = (
        int(kind)
        for kind in (
            html_extras.AUDIO,
            html_extras.VIDEO,
            html_extras.SOURCE,
            html_extras.TRACK,
            html_extras.EMBED,
        )
    )
    NOFOLLOW = int(html_rows.NOFOLLOW)
    AUTHOR = int(html_rows.AUTHOR)
    """Bits of a link's number."""


class FlatPage:
    """A page, read but not yet taken apart: strings are made of what is asked for only."""

    def __init__(self, data: bytes, now: Table, out: Bytes) -> None:
        self.data = data
        self._now, self._out = now, out
        rows = int(now[html_tree.ROWS])
        self._table = now[html_tree.ROW_TABLE : html_tree.ROW_TABLE + html_tree.COLUMNS * rows]
        self._table = self._table.reshape(-1, html_tree.COLUMNS)
        self._kinds = self._table[:, 0].copy()
        self._counts = np.bincount(self._kinds, minlength=_MOST_KINDS).tolist()

    @cached_property
    def text(self) -> str:
        """The visible text, blocks parted by newlines, in the order of the document."""
        return str(self._ordered[0].data, "utf-8", "replace")

    @cached_property
    def _ordered(self) -> tuple[Bytes, Table | None]:
        """Give the text in the order of the document, and where each of its bytes went if that is another."""
        used = int(self._now[html_tree.USED])
        if not (self._now[html_tree.FOSTERED] and used):
            return self._out[:used], None
        merged, places = np.empty(used, np.uint8), np.empty(used + 1, np.int64)
        return merged[: kernel.merge(self._now, self._out, merged, places)], places

    def stretches(self, begin: Table, end: Table) -> tuple[Table, Table]:
        """Give where in `text` stretches of the page are that begin behind tags that part blocks, and end before."""
        count, first = int(self._now[html_tree.TRACES]), int(self._now[html_tree.TRACE_TABLE])
        traces = self._now[first : first + 2 * count].reshape(-1, 2)
        used = np.concatenate(([0], traces[:, 1], self._now[html_tree.USED :][:1]))
        starts = used[np.searchsorted(traces[:, 0], begin)]
        ends = used[np.searchsorted(traces[:, 0], end) + 1]
        if count == int(self._now[html_tree.MOST_TRACES]):
            ends = np.where(begin > traces[-1, 0], starts, ends)
        text, places = self._ordered
        # What is written first in a block is the break before it.
        size = int(self._now[html_tree.USED])
        starts = starts + ((starts < ends) & (self._out[np.minimum(starts, max(0, size - 1))] <= _SPACE))
        if places is not None:
            starts, ends = places[starts], places[ends]
        if text.max(initial=0) >= 0x80:
            inner = np.flatnonzero((text & 0xC0) == 0x80)
            starts, ends = starts - np.searchsorted(inner, starts), ends - np.searchsorted(inner, ends)
        return starts, np.maximum(starts, ends)

    @cached_property
    def meta(self) -> list[tuple[str, str, str]]:
        """What <meta> says: names in small letters, content, http-equiv."""
        found = self.triples(RowKind.META, _MOST_METADATA)
        return [(name.lower(), content, pragma) for name, content, pragma in found]

    def numbers(self, kind: int, most: int = _MOST_ROWS) -> list[int]:
        """Give the numbers of the rows of one kind."""
        found: list[int] = self._table[self._kinds == kind, 1][:most].tolist() if self._counts[kind] else []
        return found

    def texts(self, kind: int, most: int = _MOST_ROWS, longest: int = _LONGEST_TEXT) -> list[str]:
        """Give the text of all rows of one kind, each in one line and cut to so many bytes."""
        return self._gathered(kind, 2, 1, most, longest)

    def values(self, kind: int, number: int, most: int = _MOST_ROWS) -> list[str]:
        """Give one of the values of all rows of one kind."""
        return self._gathered(kind, 2 * number + 4, 1, most, _ENDLESS)

    def columns(self, kind: int, most: int = _MOST_ROWS) -> tuple[list[str], list[str], list[str]]:
        """Give the three values of all rows of one kind, each as a list."""
        found = self._gathered(kind, 4, 3, most, _ENDLESS)
        return found[::3], found[1::3], found[2::3]

    def triples(self, kind: int, most: int = _MOST_ROWS) -> Iterable[tuple[str, str, str]]:
        """Give the three values of all rows of one kind, row by row."""
        return zip(*self.columns(kind, most), strict=True)

    def rows(self, kind: int, most: int = _MOST_ROWS) -> list[list[int]]:
        """Give rows of one kind: kind, number, begin and end in the text, and three pairs for values."""
        found: list[list[int]] = self._table[self._kinds == kind][:most].tolist() if self._counts[kind] else []
        return found

    def count_within(self, kind: int, row: list[int]) -> int:
        """Give how many rows of a kind begin in the text of a row."""
        starts = self._table[self._kinds == kind, 2]
        return int(np.count_nonzero((starts >= row[2]) & (starts < row[3])))

    def numbered(self, kinds: tuple[int, ...], most: int) -> list[tuple[int, list[int]]]:
        """Give rows of some kinds in the order of the page, each with its number."""
        wanted = np.zeros(len(self._kinds), np.bool_)
        for kind in kinds:
            if self._counts[kind]:
                wanted |= self._kinds == kind
        found = np.flatnonzero(wanted)[:most]
        return list(zip(found.tolist(), self._table[found].tolist(), strict=True))

    def block_at(self, place: int) -> str:
        """Give the text of the block that a place in the page is in."""
        begin, end = self.stretches(*(np.array([place]),) * 2)
        return self.text[int(begin[0]) : int(end[0])]

    def words(self, row: list[int], most: int) -> str:
        """Give the text of a row in one line, cut to about `most` characters."""
        return self._string(row[2], min(row[3], row[2] + 4 * most)).strip().replace("\n", " ")

    def value(self, row: list[int], number: int) -> str:
        """Give a value of a row."""
        return self._string(row[2 * number + 4], row[2 * number + 5])

    def _string(self, begin: int, end: int) -> str:
        return str(self._out[begin:end].data, "utf-8", "ignore")

    def _gathered(self, kind: int, column: int, columns: int, most: int, longest: int) -> list[str]:
        if not self._counts[kind]:
            return []
        now = self._now
        # Nearly always pieces do not overlap, and this is enough for all of them.
        size = int(now[html_tree.USED] if column == 2 else now[html_tree.VALUES] - now[html_tree.FIRST_VALUE])
        count, used = -1, size + columns * self._counts[kind]
        while count < 0:
            room = np.empty(used + _MARGIN, np.uint8)
            count, used = html_columns.gather(now, kind, column, columns, most, longest, self._out, room)
        return str(room[:used].data, "utf-8", "replace").split("\0") if count else []


_book: Final = cache(html_tables.make_book)


def parse_flat_page(data: bytes, deepest: int = 512, seen: str = "") -> FlatPage:
    """Read a page in UTF-8. `seen` names elements whose text is to be kept though people would not see it."""
    size = len(data)
    # A zero may become three bytes; references grow by a fifth at most.
    room = (3 * size if 0 in data else size + size // 4) + _MARGIN
    # No value is kept more than twice.
    ends = room + 3 * max(2 * size, room) + _MARGIN
    out = np.empty(ends + _MARGIN, np.uint8)
    count = min(_MOST_ROWS, size // 3 + 8)
    now = html_tree.make_state(deepest, count, room, ends, min(_MOST_TRACES, size // 3 + 8))
    kernel.read(np.frombuffer(data, np.uint8), _book(seen), now, out)
    return FlatPage(data, now, out)
