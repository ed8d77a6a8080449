"""Features of a document itself: its title and URL, its ranks, its age."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import array_1d

__all__ = ["ALL", "HALF_LIFE", "NAMES", "DocumentColumns", "get_columns", "measure_document", "url_depths"]

NAMES: Final = (
    "first",
    *("title", "heading", "url", "anchor", "emphasis", "body"),
    *("coverage", "coverage_words", "preview", "title_sequence", "title_run", "title_fill", "title_equal"),
    *("phrase", "run", "pairs", "near", "span", "fixed", "passage", "passage_body"),
    *("title_words", "url_length", "url_depth", "url_parameters"),
    *("static", "quality", "freshness", "spam", "popularity", "clicks"),
    "title_body",
    *("query_words", "query_stop_words", "query_rarest", "query_titles"),
    "static_similarity",
    *("mentions", "name"),
)
"""The columns that `measure` fills, in order; docs/ranking.md says what each is. It leaves clicks, names and
the static similarity at 0, and the columns of the query, which are the same for all candidates."""
ALL: Final = (1 << len(NAMES)) - 1
"""All features as a mask: the bit of each is its column."""
_FILL, _EQUAL = 12, 13
_TITLE_WORDS, _LENGTH, _DEPTH, _PARAMETERS, _STATIC, _QUALITY, _FRESHNESS, _SPAM, _POPULARITY = range(22, 31)
_MENTIONS: Final = NAMES.index("mentions")
_TITLE_LENGTHS: Final = 1 << _FILL | 1 << _TITLE_WORDS
_URLS: Final = 1 << _LENGTH | 1 << _DEPTH | 1 << _PARAMETERS
HALF_LIFE: Final = 365.0
"""Days after which a page is half as fresh."""


class DocumentColumns(NamedTuple):
    """What a segment says of each document whatever is asked. A column that is the same for all may have one entry."""

    title_start: npt.NDArray[np.int64]
    title_blob: npt.NDArray[np.uint8]
    url_start: npt.NDArray[np.int64]
    url_blob: npt.NDArray[np.uint8]
    title_key: npt.NDArray[np.uint64]
    static: npt.NDArray[np.float32]
    quality: npt.NDArray[np.uint8]
    """In steps of 1/255."""
    day: npt.NDArray[np.int32]
    spam: npt.NDArray[np.uint8]
    popularity: npt.NDArray[np.float32]
    mentions: npt.NDArray[np.float32]


@njit(cache=True, nogil=True, forceinline=True)
def get_columns(addresses: Any) -> DocumentColumns:  # pragma: no cover - compiled
    """Return the columns at some addresses.

    Parameters
    ----------
    addresses: those of a `DocumentColumns` that `pointers.pin` has written down.

    Returns
    -------
    The columns, not reference-counted.
    """
    return DocumentColumns(
        array_1d(addresses, 0, np.int64),
        array_1d(addresses, 1, np.uint8),
        array_1d(addresses, 2, np.int64),
        array_1d(addresses, 3, np.uint8),
        array_1d(addresses, 4, np.uint64),
        array_1d(addresses, 5, np.float32),
        array_1d(addresses, 6, np.uint8),
        array_1d(addresses, 7, np.int32),
        array_1d(addresses, 8, np.uint8),
        array_1d(addresses, 9, np.float32),
        array_1d(addresses, 10, np.float32),
    )


@njit(cache=True, nogil=True)
def _count_words(blob: Any, begin: int, end: int) -> int:  # pragma: no cover - compiled
    """Count the runs of bytes that are not blanks."""
    count, inside = 0, False
    for at in range(begin, end):
        blank = blob[at] <= 32
        count += (not blank) and not inside
        inside = not blank
    return count


@njit(cache=True, nogil=True)
def _look_at_url(blob: Any, begin: int, end: int, row: Any) -> None:  # pragma: no cover - compiled
    """Measure a URL: its length without scheme and host, the parts of its path, the parameters of its query."""
    slashes, parts, parameters, length, asked = 0, 0, 0, 0, False
    for at in range(begin, end):
        byte = blob[at]
        length += slashes >= 3
        asked = asked or byte == ord("?")
        parameters += asked and byte == ord("=")
        if byte == ord("/") and not asked:
            slashes += 1
        elif slashes >= 3 and not asked and blob[at - 1] == ord("/"):
            parts += 1
    row[_LENGTH], row[_DEPTH], row[_PARAMETERS] = length, parts, parameters


@njit(cache=True, nogil=True)
def url_depths(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Return how many parts the path of each URL has.

    Parameters
    ----------
    blob: the bytes of all URLs, one after the other.
    start: where each begins; one more than there are URLs.

    Returns
    -------
    A number for each.
    """
    depths, row = np.empty(len(start) - 1, np.int64), np.zeros(len(NAMES))
    for url in range(len(depths)):
        _look_at_url(blob, start[url], start[url + 1], row)
        depths[url] = np.int64(row[_DEPTH])
    return depths


@njit(cache=True, nogil=True, forceinline=True)
def _entry(column: Any, document: int) -> Any:  # pragma: no cover - compiled
    """Return a document's entry of a column; 0 if the column is empty."""
    return column[document] if len(column) > 1 else column[0] if len(column) else column.dtype.type(0)


@njit(cache=True, nogil=True)
def measure_document(
    sheet: DocumentColumns, document: int, titles: Any, today: float, needed: int, row: Any
) -> None:  # pragma: no cover - compiled
    """Fill in what is known of a document whatever words were asked for.

    Parameters
    ----------
    sheet: the columns of its segment.
    document: its number.
    titles: the title keys of the query.
    today: days since 1970.
    needed: the features to be measured, as a mask; others may be left at 0.
    row: receives the features; the words of the query in the title are counted in `title_fill`.
    """
    if needed & _TITLE_LENGTHS:
        begin, end = sheet.title_start[document], sheet.title_start[document + 1]
        row[_TITLE_WORDS] = _count_words(sheet.title_blob, begin, end)
        row[_FILL] = min(1.0, row[_FILL] / max(1.0, row[_TITLE_WORDS]))
    if needed & _URLS:
        _look_at_url(sheet.url_blob, sheet.url_start[document], sheet.url_start[document + 1], row)
    for title in titles:
        row[_EQUAL] = max(row[_EQUAL], np.float64(_entry(sheet.title_key, document) == title))
    row[_STATIC] = _entry(sheet.static, document)
    row[_QUALITY] = _entry(sheet.quality, document) / 255.0
    day = _entry(sheet.day, document)
    row[_FRESHNESS] = 2.0 ** (-max(0.0, today - day) / HALF_LIFE) if day > 0 else 0.0
    row[_SPAM] = _entry(sheet.spam, document)
    row[_POPULARITY] = _entry(sheet.popularity, document)
    row[_MENTIONS] = _entry(sheet.mentions, document)
