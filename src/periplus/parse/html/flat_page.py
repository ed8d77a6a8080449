"""A page as the kernel leaves it: its text, and a row of offsets for everything else that it states."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from periplus.accel.pointers import PinnedArrays
from periplus.parse.html.kernels.main_spans import find_main_spans
from periplus.parse.html.kernels.markup_hints import find_hints
from periplus.parse.html.kernels.page_reader import read_page
from periplus.parse.html.kernels.tag_tables import TagTables
from periplus.parse.html.scan_arrays import (
    MARGIN,
    ScanArrays,
    bytes_of_length,
    numbers_of_length,
    prepare_arrays,
    return_arrays,
)
from periplus.parse.kernels import html as kernel
from periplus.parse.kernels import html_columns, html_extras, html_links, html_rows, html_state, html_tables
from periplus.parse.kernels.html_state import ROW_BEGIN, ROW_END, ROW_NUMBER, ROW_TABLE, ROW_WIDTH, VALUE_1
from periplus.parse.lazy_property import lazy_property
from periplus.parse.text_cleanup import one_line_each

if TYPE_CHECKING:
    from periplus.parse.html.page_strings import PageStrings

__all__ = ["FlatPage", "Row", "RowKind", "Table", "parse_flat_page", "read_flat_page"]

_MAX_ROWS: Final = 65_536
_MAX_METADATA: Final = 1_000
_MAX_SCRIPTS: Final = 8
_MAX_IMAGES: Final = 2_000
_MAX_IMAGE_TEXT: Final = 300
_SPACE: Final = 32
_UNLIMITED: Final = 1 << 40
_MAX_TEXT: Final = 4_096
_VALUE_1: Final = int(VALUE_1)

Table = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Row = list[int]
"""A row of the state: its columns are ROW_KIND, ROW_NUMBER, ROW_BEGIN, ROW_END and the spans of three values."""


class RowKind:
    """Kinds of rows, each with the meaning of its number and of its three values."""

    TITLE = int(html_state.TITLE_ROW)
    """The title."""
    HEADING = int(html_state.HEADING_ROW)
    """Number: its level."""
    EMPHASIS = int(html_state.EMPHASIS_ROW)
    LINK = int(html_state.LINK_ROW)
    """Target, alternative text of an image in it, label. Number: bits of its rel attribute."""
    META = int(html_state.META_ROW)
    """Name, content, http-equiv."""
    REFERENCE = int(html_state.REFERENCE_ROW)
    """<link>: rel, target, type."""
    IMAGE = int(html_state.IMAGE_ROW)
    """Source, alternative text, label. Number: an offset within the tag."""
    BASE = int(html_state.BASE_ROW)
    LANGUAGE = int(html_state.LANGUAGE_ROW)
    TIME = int(html_state.TIME_ROW)
    JSON_LD = int(html_state.JSON_LD_ROW)
    """A script; begin and end are offsets in the page itself."""
    MEDIA = int(html_state.MEDIA_ROW)
    """Source, label, poster or type. Number: AUDIO, VIDEO and so on."""
    FIGURE = int(html_state.FIGURE_ROW)
    """Number: the first row behind the figure."""
    CAPTION = int(html_state.CAPTION_ROW)
    TABLE = int(html_state.TABLE_ROW)
    """A table with a class, which is its value. Number: an offset within its start tag."""
    PROPERTY = int(html_state.PROPERTY_ROW)
    """Microdata: name, content or date. Number: whether it is an item of its own."""
    STYLE = int(html_state.STYLE_ROW)
    """The style of an element that it may hide."""

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
    """A scanned page; strings are made only of what is requested."""

    def __init__(self, data: bytes, arrays: ScanArrays, rows: int) -> None:
        self.data = data
        self._arrays = arrays
        self._state, self._out = arrays.state, arrays.out
        state = arrays.state
        self._table = state[ROW_TABLE : ROW_TABLE + ROW_WIDTH * rows].reshape(-1, ROW_WIDTH)
        self._kind_bytes = arrays.kinds[:rows].tobytes()
        """The kind of each row: Python counts bytes, and finds one, faster than NumPy does in so few rows."""
        self.strings: PageStrings | None = None
        """What was gathered of it at once."""

    def release(self) -> None:
        """End the use of this page: its arrays are used for another one."""
        return_arrays(self._arrays)
        del self._arrays, self._state, self._out, self._table

    @lazy_property
    def hints(self) -> int:
        """What the markup can have, as bits of `markup_hints`."""
        return find_hints(self.data)

    @lazy_property
    def _kinds(self) -> Bytes:
        return np.frombuffer(self._kind_bytes, np.uint8)

    @lazy_property
    def text(self) -> str:
        """The visible text in the order of the document, a newline between blocks."""
        return str(self._ordered_text[0].data, "utf-8", "replace")

    def encode_text(self, text: str) -> bytes | memoryview:
        """Return the beginning of `text`, which is in ASCII for most pages, in UTF-8; it ends with this page.

        It is read-only like bytes, as kernels are compiled for arrays of one or the other kind.
        """
        if not text.isascii():
            return text.encode("utf-8", "replace")
        return self._ordered_text[0][: len(text)].data.toreadonly()

    @lazy_property
    def _ordered_text(self) -> tuple[Bytes, Table | None]:
        """The text in the order of the document, and the position of each byte if that is another."""
        used = int(self._state[html_state.TEXT_END])
        if not (self._state[html_state.IS_FOSTERED] and used):
            return self._out[:used], None
        merged, positions = np.empty(used, np.uint8), np.empty(used + 1, np.int64)
        return merged[: kernel.merge_segments(self._state, self._out, merged, positions)], positions

    @property
    def is_reordered(self) -> bool:
        """Whether the text is not in the order of the markup."""
        return bool(self._state[html_state.IS_FOSTERED] and self._state[html_state.TEXT_END])

    def find_main_spans(self, tables: PinnedArrays[TagTables], length: int, most: int) -> tuple[list[int], list[int]]:
        """Return begins and ends of the main content in `text`, and of its first blocks that are no headings.

        Only for a page that is not reordered; `length` is how much of the text is kept, `most` how many blocks.
        """
        text = self._out[: int(self._state[html_state.TEXT_END])]
        data = np.frombuffer(self.data, np.uint8)
        found, parts = find_main_spans(data, tables.addresses, self._state, text, length, most)
        numbers: list[int] = found.tolist()
        return numbers[:parts], numbers[parts:]

    def text_spans(self, begin: Table, end: Table) -> tuple[Table, Table]:
        """Return begins and ends in `text` of blocks, given as offsets in the page next to tags that separate them."""
        count, first = int(self._state[html_state.TRACE_COUNT]), int(self._state[html_state.TRACE_TABLE])
        traces = self._state[first : first + 2 * count].reshape(-1, 2)
        used = np.concatenate(([0], traces[:, 1], self._state[html_state.TEXT_END :][:1]))
        starts = used[np.searchsorted(traces[:, 0], begin)]
        ends = used[np.searchsorted(traces[:, 0], end) + 1]
        if count == int(self._state[html_state.MAX_TRACES]):
            ends = np.where(begin > traces[-1, 0], starts, ends)
        text, positions = self._ordered_text
        # The first byte of a block is the break before it.
        size = int(self._state[html_state.TEXT_END])
        starts = starts + ((starts < ends) & (self._out[np.minimum(starts, max(0, size - 1))] <= _SPACE))
        if positions is not None:
            starts, ends = positions[starts], positions[ends]
        if text.max(initial=0) >= 0x80:
            continuation = np.flatnonzero((text & 0xC0) == 0x80)
            starts, ends = starts - np.searchsorted(continuation, starts), ends - np.searchsorted(continuation, ends)
        return starts, np.maximum(starts, ends)

    @lazy_property
    def meta(self) -> list[tuple[str, str, str]]:
        """Name in lower case, content and http-equiv of each <meta>."""
        rows = self.triples(RowKind.META, _MAX_METADATA) if self.strings is None else _triples(self.strings.metadata)
        return [(name.lower(), content, pragma) for name, content, pragma in rows]

    @lazy_property
    def images(self) -> tuple[tuple[str, ...], list[str], list[str]]:
        """Sources of the first images, alternative texts in one line, and labels."""
        if self.strings is None:
            sources, texts, labels = self.columns(RowKind.IMAGE, _MAX_IMAGES)
        else:
            values = self.strings.images
            sources, texts, labels = values[::3], values[1::3], values[2::3]
        return tuple(sources), one_line_each(texts, _MAX_IMAGE_TEXT), labels

    @lazy_property
    def scripts(self) -> list[bytes]:
        """The first scripts of JSON-LD."""
        rows = self.rows(RowKind.JSON_LD, _MAX_SCRIPTS) if RowKind.JSON_LD in self._kind_bytes else ()
        return [self.data[row[ROW_BEGIN] : row[ROW_END]] for row in rows]

    def has(self, kind: int) -> bool:
        """Return whether there is a row of one kind."""
        return kind in self._kind_bytes

    def count(self, kind: int) -> int:
        """Return the number of rows of one kind."""
        return self._kind_bytes.count(kind)

    def numbers(self, kind: int, limit: int = _MAX_ROWS) -> list[int]:
        """Return the numbers of the rows of one kind."""
        if kind not in self._kind_bytes:
            return []
        numbers: list[int] = self._table[self._kinds == kind, ROW_NUMBER][:limit].tolist()
        return numbers

    def texts(self, kind: int, limit: int = _MAX_ROWS, max_bytes: int = _MAX_TEXT) -> list[str]:
        """Return the texts of the rows of one kind, each in one line and cut to `max_bytes`."""
        return self._gather(kind, ROW_BEGIN, 1, limit, max_bytes)

    def values(self, kind: int, number: int, limit: int = _MAX_ROWS) -> list[str]:
        """Return one of the three values of the rows of one kind."""
        return self._gather(kind, _VALUE_1 + 2 * number, 1, limit, _UNLIMITED)

    def columns(self, kind: int, limit: int = _MAX_ROWS) -> tuple[list[str], list[str], list[str]]:
        """Return the three values of the rows of one kind, each as a list."""
        values = self._gather(kind, _VALUE_1, 3, limit, _UNLIMITED)
        return values[::3], values[1::3], values[2::3]

    def triples(self, kind: int, limit: int = _MAX_ROWS) -> Iterator[tuple[str, str, str]]:
        """Return the three values of the rows of one kind, row by row."""
        return zip(*self.columns(kind, limit), strict=True)

    def select_links(self, limit: int) -> Table:
        """Return the numbers of those of the first `limit` links that can say something new of their targets."""
        count = self.count(RowKind.LINK)
        chosen = np.empty(count, np.int64)
        slots = np.zeros(1 << (2 * count).bit_length(), np.int64)
        return chosen[: html_links.select_links(self._state, limit, self._out, slots, chosen)]

    def gather_page(
        self, spec: Table, counts: int, max_links: int, max_text: int
    ) -> tuple[list[str], list[int], Table]:
        """Return strings of several kinds of rows and of links, how many of each, and the rows of the links.

        spec: as for the kernel of this name, which leaves so many `counts`.
        """
        links = self.count(RowKind.LINK)
        chosen, found = np.empty(links, np.int64), np.empty(counts, np.int64)
        values = int(self._state[html_state.VALUES_END] - self._state[html_state.VALUES_BEGIN])
        used, room = 0, 2 * int(self._state[html_state.TEXT_END]) + values + 4 * len(self._kind_bytes)
        while used == 0 or used > room:
            room = max(room, used)
            pieces = self._arrays.pieces = bytes_of_length(self._arrays.pieces, room + MARGIN)
            slots = np.zeros(1 << (2 * links).bit_length(), np.int64)
            used = html_columns.gather_page(
                self._state, spec, max_links, max_text, self._out, slots, chosen, pieces, found
            )
            if used == 0:
                break
        counted: list[int] = found.tolist()
        # Without any byte there may still be a row, whose strings are empty.
        strings = str(pieces[:used].data, "utf-8", "replace").split("\0")
        return strings, counted, chosen[: counted[-4]]

    def columns_of(self, rows: Table) -> tuple[list[str], list[str], list[str]]:
        """Return the three values of some rows, each as a list."""
        values = self._gather_rows(rows, _VALUE_1, 3, _UNLIMITED)
        return values[::3], values[1::3], values[2::3]

    def texts_of(self, rows: Table, max_bytes: int = _MAX_TEXT) -> list[str]:
        """Return the texts of some rows, each in one line and cut to `max_bytes`."""
        return self._gather_rows(rows, ROW_BEGIN, 1, max_bytes)

    def numbers_of(self, rows: Table) -> list[int]:
        """Return the numbers of some rows."""
        numbers: list[int] = self._table[rows, ROW_NUMBER].tolist()
        return numbers

    def rows(self, kind: int, limit: int = _MAX_ROWS) -> list[Row]:
        """Return the rows of one kind."""
        count = min(self.count(kind), limit)
        if count == 0:
            return []
        if count == 1:
            return [self._table[self._kind_bytes.index(kind)].tolist()]
        rows: list[Row] = self._table[self._kinds == kind][:limit].tolist()
        return rows

    def count_within(self, kind: int, row: Row) -> int:
        """Return how many rows of a kind begin in the text of a row."""
        starts = self._table[self._kinds == kind, ROW_BEGIN]
        return int(np.count_nonzero((starts >= row[ROW_BEGIN]) & (starts < row[ROW_END])))

    def numbered_rows(self, kinds: tuple[int, ...], limit: int) -> list[tuple[int, Row]]:
        """Return the rows of some kinds in the order of the page, each with its index."""
        present = [kind for kind in kinds if kind in self._kind_bytes]
        if not present:
            return []
        wanted = self._kinds == present[0]
        for kind in present[1:]:
            wanted |= self._kinds == kind
        indices = wanted.nonzero()[0][:limit]
        return list(zip(indices.tolist(), self._table[indices].tolist(), strict=True))

    def block_at(self, offset: int) -> str:
        """Return the text of the block around an offset in the page."""
        begin, end = self.text_spans(*(np.array([offset]),) * 2)
        return self.text[int(begin[0]) : int(end[0])]

    def row_text(self, row: Row, limit: int) -> str:
        """Return the text of a row in one line, cut to about `limit` characters."""
        begin = row[ROW_BEGIN]
        return self._string(begin, min(row[ROW_END], begin + 4 * limit)).strip().replace("\n", " ")

    def value(self, row: Row, number: int) -> str:
        """Return one of the three values of a row."""
        return self._string(row[_VALUE_1 + 2 * number], row[_VALUE_1 + 2 * number + 1])

    def _string(self, begin: int, end: int) -> str:
        return str(self._out[begin:end].data, "utf-8", "ignore")

    def _gather(self, kind: int, column: int, columns: int, limit: int, max_bytes: int) -> list[str]:
        rows = self.count(kind)
        if not rows:
            return []
        state = self._state
        count, used = -1, self._estimate_size(column) + columns * rows
        while count < 0:
            pieces = np.empty(used + MARGIN, np.uint8)
            count, used = html_columns.gather_values(state, kind, column, columns, limit, max_bytes, self._out, pieces)
        return str(pieces[:used].data, "utf-8", "replace").split("\0") if count else []

    def _gather_rows(self, rows: Table, column: int, columns: int, max_bytes: int) -> list[str]:
        count, used = -1, self._estimate_size(column) + columns * len(rows)
        while count < 0:
            pieces = np.empty(used + MARGIN, np.uint8)
            count, used = html_columns.gather_rows(self._state, rows, column, columns, max_bytes, self._out, pieces)
        return str(pieces[:used].data, "utf-8", "replace").split("\0") if count else []

    def _estimate_size(self, column: int) -> int:
        """Return the bytes of a column: nearly always pieces do not overlap, and this is enough for all of them."""
        if column == ROW_BEGIN:
            return int(self._state[html_state.TEXT_END])
        return int(self._state[html_state.VALUES_END] - self._state[html_state.VALUES_BEGIN])


def _triples(values: list[str]) -> Iterator[tuple[str, str, str]]:
    return zip(values[::3], values[1::3], values[2::3], strict=True)


_tables: Final = cache(html_tables.build_tables)


def parse_flat_page(data: bytes, max_depth: int = 512, visible: str = "") -> FlatPage:
    """Return the scan of a page in UTF-8; the text of the elements named in `visible` is kept, not hidden."""
    arrays, limits = prepare_arrays(data)
    rows = kernel.scan_page(
        *(np.frombuffer(data, np.uint8), _tables(visible)),
        *(arrays.state, arrays.out, arrays.kinds, max_depth, *limits),
    )
    return FlatPage(data, arrays, rows)


def read_flat_page(
    data: bytes, max_depth: int, spec: Table, counts: int, max_links: int, max_text: int
) -> tuple[FlatPage, list[str], list[int], Table]:
    """Return the scan of a page in UTF-8, and what its `gather_page` returns; the last of it ends with the scan."""
    arrays, limits = prepare_arrays(data)
    pieces = arrays.pieces = bytes_of_length(arrays.pieces, len(data) + MARGIN)
    numbers = arrays.numbers = numbers_of_length(arrays.numbers, limits[0] + counts)
    rows, used, hints = read_page(
        *(np.frombuffer(data, np.uint8), _tables(""), spec),
        *(arrays.state, arrays.out, arrays.kinds, pieces, numbers, max_depth, *limits, max_links, max_text),
    )
    flat = FlatPage(data, arrays, rows)
    flat.hints = hints
    if used > len(pieces) - MARGIN:
        return flat, *flat.gather_page(spec, counts, max_links, max_text)
    counted: list[int] = numbers[:counts].tolist()
    strings = str(pieces[:used].data, "utf-8", "replace").split("\0")
    return flat, strings, counted, numbers[counts : counts + counted[-4]]
