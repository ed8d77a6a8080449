"""The strings of a page that are always read, made of the rows of its scan all at once."""

from typing import Final

import msgspec
import numpy as np

from periplus.parse.html.flat_page import FlatPage, RowKind, Table, read_flat_page
from periplus.parse.kernels.html_columns import SPEC_WIDTH
from periplus.parse.kernels.html_state import ROW_BEGIN, VALUE_1

__all__ = ["PageStrings", "gather_strings", "scan_with_strings"]

_MAX_METADATA: Final = 1_000
_MAX_HEADINGS: Final = 1_024
_MAX_HEADING_LEVEL: Final = 3
_MAX_HEADING_BYTES: Final = 4 * 300
_MAX_EMPHASIS: Final = 800
_MAX_PHRASE_BYTES: Final = 4 * 101
_MAX_LINK_TEXT_BYTES: Final = 4 * 300
_MAX_IMAGES: Final = 2_000
_MAX_TABLES: Final = 1_000
_ANY: Final = 1 << 40
_VALUE: Final = int(VALUE_1)
_TEXT: Final = int(ROW_BEGIN)

_SPEC: Final = np.array(
    [
        (RowKind.TITLE, _VALUE, 1, 1, _ANY, _ANY),
        (RowKind.LANGUAGE, _VALUE, 1, 1, _ANY, _ANY),
        (RowKind.BASE, _VALUE, 1, 1, _ANY, _ANY),
        (RowKind.TIME, _VALUE, 1, 1, _ANY, _ANY),
        (RowKind.META, _VALUE, 3, _MAX_METADATA, _ANY, _ANY),
        (RowKind.REFERENCE, _VALUE, 3, _MAX_METADATA, _ANY, _ANY),
        (RowKind.HEADING, _TEXT, 1, _MAX_HEADINGS, _MAX_HEADING_BYTES, _MAX_HEADING_LEVEL),
        (RowKind.EMPHASIS, _TEXT, 1, _MAX_EMPHASIS, _MAX_PHRASE_BYTES, _ANY),
        (RowKind.TABLE, _VALUE, 1, _MAX_TABLES, _ANY, _ANY),
        (RowKind.IMAGE, _VALUE, 3, _MAX_IMAGES, _ANY, _ANY),
    ],
    np.int64,
).ravel()
_KINDS: Final = len(_SPEC) // SPEC_WIDTH


class PageStrings(msgspec.Struct, gc=False):
    """Values and texts of rows by kind, in their order; of rows with three values, each value is every third string."""

    titles: list[str]
    languages: list[str]
    bases: list[str]
    times: list[str]
    metadata: list[str]
    references: list[str]
    headings: list[str]
    emphasis: list[str]
    tables: list[str]
    images: list[str]
    links: list[str]
    """Target without its fragment of each link that can say something new of it."""
    link_texts: list[str]
    link_labels: list[str]
    """Alternative text of an image and label of each of these links that has no text."""
    link_rows: Table
    """The rows of these links."""
    link_bits: int
    """Bits of `RowKind` that any of them has."""
    all_link_bits: int
    """Bits that any link of the page has."""


def gather_strings(flat: FlatPage, max_links: int) -> PageStrings:
    """Return the strings of a page, with those of the first `max_links` links."""
    return _strings_of(*flat.gather_page(_SPEC, _KINDS + 4, max_links, _MAX_LINK_TEXT_BYTES))


def scan_with_strings(data: bytes, max_depth: int, max_links: int) -> FlatPage:
    """Return the scan of a page in UTF-8 with its strings, which are those of `gather_strings`."""
    flat, pieces, counts, rows = read_flat_page(data, max_depth, _SPEC, _KINDS + 4, max_links, _MAX_LINK_TEXT_BYTES)
    flat.strings = _strings_of(pieces, counts, rows)
    return flat


def _strings_of(pieces: list[str], counts: list[int], rows: Table) -> PageStrings:
    links, bits, all_bits, bare = counts[_KINDS:]
    parts: list[list[str]] = []
    end = 0
    for count in counts[:_KINDS]:
        begin, end = end, end + count
        parts.append(pieces[begin:end])
    texts, labels = end + links, end + 2 * links
    titles, languages, bases, times, metadata, references, headings, emphasis, tables, images = parts
    return PageStrings(
        *(titles, languages, bases, times, metadata, references, headings, emphasis, tables, images),
        *(pieces[end:texts], pieces[texts:labels], pieces[labels:] if bare else []),
        *(rows, bits, all_bits),
    )
