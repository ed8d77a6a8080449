"""Features of a document itself: its title and URL, its ranks, its age."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import array_1d

__all__ = ["ALL", "HALF_LIFE", "NAMES", "DocumentColumns", "get_columns", "measure_documents", "url_depths"]

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
_TITLE_BITS = np.uint64((1 << 40) - 1)
"""The bits of title keys that segments have; earlier ones have more."""
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


@njit(cache=True, nogil=True, forceinline=True)
def _count_parts(blob: Any, begin: int, end: int) -> int:  # pragma: no cover - compiled
    """Return how many parts the path of a URL has: without branches, which cannot be foreseen."""
    slashes, parts, open_path, before = 0, 0, 1, 0
    for at in range(begin, end):
        byte = blob[np.uint64(at)]
        open_path &= byte != ord("?")
        slash = np.int64(byte == ord("/"))
        parts += (slashes >= 3) & open_path & before & ~slash
        slashes += slash & open_path
        before = slash
    return parts


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
    depths = np.empty(len(start) - 1, np.int64)
    for url in range(len(depths)):
        depths[url] = _count_parts(blob, start[url], start[url + 1])
    return depths


@njit(cache=True, nogil=True, forceinline=True)
def _gather(column: Any, documents: Any, which: Any, rows: Any, feature: int) -> None:  # pragma: no cover - compiled
    """Set a feature of candidates to the entries of their documents in a column; 0 if the column is empty."""
    if len(column) > 1:
        for i in range(len(documents)):
            rows[which[i], feature] = column[documents[i]]
    elif len(column):
        for i in range(len(documents)):
            rows[which[i], feature] = column[0]


@njit(cache=True, nogil=True, forceinline=True)
def _fetch_strings(start: Any, blob: Any, documents: Any, spans: Any) -> None:  # pragma: no cover - compiled
    """Write where the strings of documents begin and end to `spans`, and read the beginning of each.

    They are anywhere in memory: reading all of them one after the other, with nothing between, takes a fraction of the
    time that waiting for each takes. The last row of `spans` is there for what is read to go to.
    """
    for i in range(len(documents)):
        spans[i, 0], spans[i, 1] = start[documents[i]], start[documents[i] + 1]
    total = np.int64(0)
    for i in range(len(documents)):
        if spans[i, 0] < spans[i, 1]:
            total += blob[spans[i, 0]]
    spans[len(documents), 0] = total


@njit(cache=True, nogil=True)
def measure_documents(
    sheet: DocumentColumns, documents: Any, which: Any, titles: Any, today: float, needed: int, rows: Any
) -> None:  # pragma: no cover - compiled
    """Fill in what is known of documents whatever words were asked for: column by column.

    Parameters
    ----------
    sheet: the columns of their segment.
    documents: their numbers.
    which: the row of each.
    titles: the title keys of the query.
    today: days since 1970.
    needed: the features to be measured, as a mask; others may be left at 0.
    rows: receive the features; the words of the query in the title are counted in `title_fill`.
    """
    spans = np.empty((len(documents) + 1, 2), np.int64)
    if needed & _TITLE_LENGTHS:
        _fetch_strings(sheet.title_start, sheet.title_blob, documents, spans)
        for i in range(len(documents)):
            row = rows[which[i]]
            row[_TITLE_WORDS] = _count_words(sheet.title_blob, spans[i, 0], spans[i, 1])
            row[_FILL] = min(1.0, row[_FILL] / max(1.0, row[_TITLE_WORDS]))
    if needed & _URLS:
        _fetch_strings(sheet.url_start, sheet.url_blob, documents, spans)
        for i in range(len(documents)):
            if needed & _URLS & ~(1 << _DEPTH):
                _look_at_url(sheet.url_blob, spans[i, 0], spans[i, 1], rows[which[i]])
            else:
                rows[which[i], _DEPTH] = _count_parts(sheet.url_blob, spans[i, 0], spans[i, 1])
    single = len(sheet.title_key) == 1
    for title in titles:
        for i in range(len(documents) if len(sheet.title_key) else 0):
            if (sheet.title_key[0 if single else documents[i]] ^ title) & _TITLE_BITS == 0:
                rows[which[i], _EQUAL] = 1.0
    _gather(sheet.static, documents, which, rows, _STATIC)
    _gather(sheet.quality, documents, which, rows, _QUALITY)
    _gather(sheet.day, documents, which, rows, _FRESHNESS)
    _gather(sheet.spam, documents, which, rows, _SPAM)
    _gather(sheet.popularity, documents, which, rows, _POPULARITY)
    _gather(sheet.mentions, documents, which, rows, _MENTIONS)
    for i in range(len(documents)):
        row = rows[which[i]]
        row[_QUALITY] /= 255.0
        day = row[_FRESHNESS]
        row[_FRESHNESS] = 2.0 ** (-max(0.0, today - day) / HALF_LIFE) if day > 0 else 0.0
