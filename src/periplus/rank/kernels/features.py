"""What the best candidates have of a query: where its words stand in them, how near, in which order.

One call measures all candidates of a query, whatever segments they are in.

For each candidate the places of all words are merged into one row of events, ascending; one walk over it counts pairs,
runs and the tightest span. A word may have several terms (its stems in several languages); their places are one list.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import array_1d, pin
from periplus.index.kernels.inversion import BODY_FIELD, FIELD_SHIFT
from periplus.index.kernels.positions import read_positions
from periplus.index.kernels.postings_reader import TINY_ENTRY, get_postings, make_tiny_postings
from periplus.index.kernels.postings_scan import look_up_documents
from periplus.index.kernels.term_dictionary import entry_of_row
from periplus.rank.kernels.best_passage import MOST_WORDS, best_passage

__all__ = ["HALF_LIFE", "NAMES", "PREVIEW", "WINDOW", "DocumentColumns", "FeatureQuery", "measure"]

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
_FIELD: Final = 1
_COVERAGE, _COVERAGE_WORDS, _PREVIEW, _SEQUENCE, _TITLE_RUN, _FILL, _EQUAL = range(7, 14)
_PHRASE, _RUN, _PAIRS, _NEAR, _SPAN, _FIXED, _PASSAGE, _PASSAGE_BODY, _TITLE_WORDS = range(14, 23)
_LENGTH, _DEPTH, _PARAMETERS, _STATIC, _QUALITY, _FRESHNESS, _SPAM, _POPULARITY = range(23, 31)

_TITLE_BODY: Final = NAMES.index("title_body")
_MENTIONS: Final = NAMES.index("mentions")

HALF_LIFE: Final = 365.0
"""Days after which a page is half as fresh."""
PREVIEW: Final = 100
"""Tokens at the beginning of the body that count as its preview."""
WINDOW: Final = 8
"""Tokens within which two words are near each other."""
_MOST_WORDS: Final = MOST_WORDS
_MOST_PLACES: Final = 512
"""Places of one term in one document that are looked at."""
_MOST_EVENTS: Final = 4096
_TITLE: Final = 0
_BODY: Final = BODY_FIELD
_MEASURED: Final = (1 << BODY_FIELD + 1) - 1
"""The fields that features are made of, as a mask: all but the boilerplate, which is behind the body."""
_PLACE: Final = (1 << FIELD_SHIFT) - 1


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


class FeatureQuery(NamedTuple):
    """The words of a query, as the segments of an index know them, and the candidates."""

    place: npt.NDArray[np.int64]
    """By segment and term, as `lexicon.find_term` gives it; frequency 0 where the segment does not have it."""
    word: npt.NDArray[np.int32]
    """The word that each term is a form of."""
    weight: npt.NDArray[np.float64]
    """What each word counts: its rarity."""
    spot: npt.NDArray[np.int32]
    """Where each word stands in the query, ascending."""
    bond: npt.NDArray[np.float64]
    """How firmly each word belongs to the next, 0 to 1: above 0 the two are a fixed phrase."""
    excluded: npt.NDArray[np.bool_]
    """By candidate and term: whether the term does not count there, being a stem of another language; may be empty."""
    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]


@njit(cache=True, nogil=True, forceinline=True)
def _get_columns(addresses: Any) -> DocumentColumns:  # pragma: no cover - compiled
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
def _merge(
    events: Any, count: int, word: int, places: Any, size: int, spare: Any
) -> int:  # pragma: no cover - compiled
    """Merge the ascending places of a word into the events of a document; give how many there are now."""
    size = min(size, len(events) - count)
    if count == 0 or (size and events[count - 1] < places[0] * _MOST_WORDS):
        for i in range(size):
            events[count + i] = places[i] * _MOST_WORDS + word
        return count + size
    spare[:count] = events[:count]
    i = j = 0
    for n in range(count + size):
        if j == size or (i < count and spare[i] < places[j] * _MOST_WORDS + word):
            events[n] = spare[i]
            i += 1
        else:
            events[n] = places[j] * _MOST_WORDS + word
            j += 1
    return count + size


@njit(cache=True, nogil=True)
def _walk_title(events: Any, count: int, spot: Any, row: Any, best: Any) -> None:  # pragma: no cover - compiled
    """Find the longest common subsequence of query and title."""
    words = len(spot)
    best[:words] = 0
    longest = 0
    for n in range(count):
        place, word = events[n] // _MOST_WORDS, events[n] % _MOST_WORDS
        if place >> FIELD_SHIFT != _TITLE:
            break
        before = 0
        for other in range(word):
            before = max(before, best[other])
        best[word] = max(best[word], before + 1)
        longest = max(longest, best[word])
    row[_SEQUENCE] = longest / words


@njit(cache=True, nogil=True)
def _walk_runs(
    events: Any, count: int, asked: Any, row: Any, sizes: Any, together: Any
) -> None:  # pragma: no cover - compiled
    """Count whole phrases, find the longest run of query words that stand as in the query, in title and body.

    Fixed phrases of the query count wherever they stand together.
    """
    words, spot = len(asked.spot), asked.spot
    together[:words] = 0
    for n in range(count):
        place, word = events[n] // _MOST_WORDS, events[n] % _MOST_WORDS
        sizes[n] = 1
        if word:
            wanted = (place - (spot[word] - spot[word - 1])) * _MOST_WORDS + word - 1
            m = n - 1
            while m >= 0 and events[m] > wanted:
                m -= 1
            if m >= 0 and events[m] == wanted:
                sizes[n] = sizes[m] + 1
                together[word - 1] += 1
        field = place >> FIELD_SHIFT
        if field == _TITLE:
            row[_TITLE_RUN] = max(row[_TITLE_RUN], sizes[n] / words)
        elif field == _BODY:
            row[_RUN] = max(row[_RUN], sizes[n] / words)
            row[_PHRASE] += words > 1 and sizes[n] == words
    whole = max(1e-12, asked.weight.sum())
    for word in range(words - 1):
        share = (asked.weight[word] + asked.weight[word + 1]) / whole
        row[_FIXED] += asked.bond[word] * share * together[word] / (together[word] + 1.0)


@njit(cache=True, nogil=True)
def _walk_pairs(
    events: Any, first: int, count: int, asked: Any, row: Any, ordered: Any, near: Any
) -> None:  # pragma: no cover - compiled
    """Count neighbours of the query that are neighbours in the body, in order, and that are near each other there."""
    words = len(asked.spot)
    ordered[:words] = 0
    near[:words] = 0
    for n in range(first, count):
        place, word = events[n] // _MOST_WORDS, events[n] % _MOST_WORDS
        m = n - 1
        while m >= first and place - events[m] // _MOST_WORDS <= WINDOW:
            other = events[m] % _MOST_WORDS
            if abs(other - word) == 1:
                near[min(word, other)] += 1
                if word > other and place - events[m] // _MOST_WORDS == asked.spot[word] - asked.spot[other]:
                    ordered[other] += 1
            m -= 1
    whole = 0.0
    for word in range(words - 1):
        share = min(asked.weight[word], asked.weight[word + 1])
        whole += share
        row[_PAIRS] += share * ordered[word] / (ordered[word] + 1.0)
        row[_NEAR] += share * near[word] / (near[word] + 1.0)
    if whole > 0:
        row[_PAIRS] /= whole
        row[_NEAR] /= whole


@njit(cache=True, nogil=True)
def _walk_span(
    events: Any, first: int, count: int, words: int, row: Any, seen: Any
) -> None:  # pragma: no cover - compiled
    """Find the tightest stretch of the body that has all words it has anywhere; 1 when they touch each other."""
    seen[:words] = 0
    kinds = 0
    for n in range(first, count):
        word = events[n] % _MOST_WORDS
        kinds += seen[word] == 0
        seen[word] = 1
    if kinds < 2:
        return
    seen[:words] = 0
    inside, tightest, low = 0, _PLACE, first
    for high in range(first, count):
        word = events[high] % _MOST_WORDS
        inside += seen[word] == 0
        seen[word] += 1
        while inside == kinds:
            tightest = min(tightest, events[high] // _MOST_WORDS - events[low] // _MOST_WORDS)
            word = events[low] % _MOST_WORDS
            seen[word] -= 1
            inside -= seen[word] == 0
            low += 1
    row[_SPAN] = min(1.0, (kinds - 1) / max(1, tightest))


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
def _share_fields(asked: Any, masks: Any, row: Any) -> None:  # pragma: no cover - compiled
    """Set the share of the query's weight that each field, and the whole document, has."""
    whole = max(1e-12, asked.weight.sum())
    for word in range(len(masks)):
        for field in range(_BODY + 1):
            if (masks[word] >> field) & 1:
                row[_FIELD + field] += asked.weight[word] / whole
        if masks[word]:
            row[_COVERAGE] += asked.weight[word] / whole
            row[_COVERAGE_WORDS] += 1.0 / len(masks)
        if (masks[word] >> _TITLE) & (masks[word] >> _BODY) & 1:
            row[_TITLE_BODY] += asked.weight[word] / whole


@njit(cache=True, nogil=True, forceinline=True)
def _entry(column: Any, document: int) -> Any:  # pragma: no cover - compiled
    """Return a document's entry of a column; 0 if the column is empty."""
    return column[document] if len(column) > 1 else column[0] if len(column) else column.dtype.type(0)


@njit(cache=True, nogil=True)
def _look_at_document(
    sheet: DocumentColumns, document: int, titles: Any, today: float, row: Any
) -> None:  # pragma: no cover - compiled
    """Fill in what is known of a document whatever words were asked for."""
    begin, end = sheet.title_start[document], sheet.title_start[document + 1]
    row[_TITLE_WORDS] = _count_words(sheet.title_blob, begin, end)
    row[_FILL] = min(1.0, row[_FILL] / max(1.0, row[_TITLE_WORDS]))
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


@njit(cache=True, nogil=True)
def _look_at_words(
    asked: Any, events: Any, count: int, masks: Any, row: Any, spare: Any, one: Any, two: Any
) -> None:  # pragma: no cover - compiled
    """Fill in what the places of the words say."""
    _share_fields(asked, masks, row)
    words, first = len(masks), 0
    while first < count and (events[first] // _MOST_WORDS) >> FIELD_SHIFT < _BODY:
        first += 1
    _walk_title(events, first, asked.spot, row, one)
    _walk_runs(events, count, asked, row, spare, one)
    _walk_pairs(events, first, count, asked, row, one, two)
    _walk_span(events, first, count, words, row, one)
    row[_PASSAGE_BODY] = best_passage(events, first, count, asked.weight, two)
    row[_PASSAGE] = max(row[_FIELD + _TITLE], row[_PASSAGE_BODY])
    one[:] = 0
    for n in range(first, count):
        if (events[n] // _MOST_WORDS) & _PLACE < PREVIEW:
            one[events[n] % _MOST_WORDS] = 1
    for word in range(words):
        row[_PREVIEW] += one[word] * asked.weight[word]
        row[_FILL] += masks[word] & 1
    row[_PREVIEW] /= max(1e-12, asked.weight.sum())


@njit(cache=True, nogil=True)
def measure(
    lists_at: npt.NDArray[np.int64], sheets_at: npt.NDArray[np.int64], asked: FeatureQuery, titles: Any, today: float
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return the features `NAMES` of each candidate, a row each; addresses have a row for each segment.

    Words are 1 to 64; `titles` are the query's title keys, `today` the day since 1970.
    """
    terms, words = len(asked.word), len(asked.spot)
    rows = np.zeros((len(asked.documents), len(NAMES)))
    rows[:, 0] = asked.scores / max(1e-12, asked.weight.sum())
    events, spare = np.empty(_MOST_EVENTS, np.int64), np.empty(_MOST_EVENTS, np.int64)
    places, masks = np.empty(_MOST_PLACES, np.int64), np.empty(words, np.int64)
    one, two = np.empty(words, np.int64), np.empty(words, np.int64)
    for segment in range(len(lists_at)):
        which = np.flatnonzero(asked.segments == segment)
        if not len(which):
            continue
        which = which[np.argsort(asked.documents[which])]
        documents = asked.documents[which]
        lists, sheet = get_postings(lists_at[segment]), _get_columns(sheets_at[segment])
        found = np.zeros((terms, len(documents), 4), np.int64)
        for term in range(terms):
            if asked.place[segment, term, 0]:
                found[term] = look_up_documents(lists, entry_of_row(asked.place[segment], term), documents)
        for i in range(len(documents)):
            row, count = rows[which[i]], 0
            masks[:] = 0
            for term in range(terms):
                mask, code, at = found[term, i, 0] & _MEASURED, found[term, i, 2], found[term, i, 3]
                if mask and not (len(asked.excluded) and asked.excluded[which[i], term]):
                    masks[asked.word[term]] |= mask
                    size = read_positions(lists.positions, at, code, mask, places)
                    count = _merge(events, count, asked.word[term], places, size, spare)
            _look_at_words(asked, events, count, masks, row, spare, one, two)
            _look_at_document(sheet, documents[i], titles, today, row)
    return rows


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists = pin(make_tiny_postings()).addresses.reshape(1, -1)
    start, blob, none = np.array([0, 1], np.int64), np.zeros(1, np.uint8), np.zeros(0, np.float32)
    sheet = DocumentColumns(
        start, blob, start, blob, np.zeros(1, np.uint64), none, blob, np.zeros(1, np.int32), blob, none, none
    )
    zero = np.zeros(1, np.int32)
    place = np.array([[TINY_ENTRY]], np.int64)
    asked = FeatureQuery(
        place, zero, np.ones(1), zero, np.zeros(1), np.zeros((0, 0), np.bool_), zero, zero, np.ones(1, np.float32)
    )
    held = pin(sheet)
    measure(lists, held.addresses.reshape(1, -1), asked, np.zeros(1, np.uint64), 0.0)
