"""What the best candidates have of a query: where its words stand in them, how near, in which order.

One call measures all candidates of a query, whatever segments they are in.

For each candidate the places of all words are merged into one row of events, ascending; one walk over it counts pairs,
runs and the tightest span. A word may have several terms (its stems in several languages); their places are one list.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import pin
from periplus.index.kernels.inversion import BODY_FIELD, FIELD_SHIFT
from periplus.index.kernels.positions import read_positions
from periplus.index.kernels.postings_reader import TINY_ENTRY, get_postings, make_tiny_postings
from periplus.index.kernels.postings_scan import look_up_documents
from periplus.index.kernels.term_dictionary import entry_of_row
from periplus.rank.kernels.best_passage import MOST_WORDS, best_passage
from periplus.rank.kernels.document_features import (
    ALL,
    HALF_LIFE,
    NAMES,
    DocumentColumns,
    get_columns,
    measure_documents,
    url_depths,
)
from periplus.rank.kernels.field_lookup import look_up_fields

__all__ = ["ALL", "HALF_LIFE", "NAMES", "PREVIEW", "WINDOW", "DocumentColumns", "FeatureQuery", "field_bit", "measure"]

_FIELD: Final = 1
_COVERAGE, _COVERAGE_WORDS, _PREVIEW, _SEQUENCE, _TITLE_RUN, _FILL = range(7, 13)
_PHRASE, _RUN, _PAIRS, _NEAR, _SPAN, _FIXED, _PASSAGE, _PASSAGE_BODY = range(14, 22)

_TITLE_BODY: Final = NAMES.index("title_body")
_RUNS: Final = 1 << _TITLE_RUN | 1 << _PHRASE | 1 << _RUN | 1 << _FIXED
_NEIGHBOURS: Final = 1 << _PAIRS | 1 << _NEAR
_PASSAGES: Final = 1 << _PASSAGE | 1 << _PASSAGE_BODY
_PLACED: Final = 1 << _SEQUENCE | _RUNS | _NEIGHBOURS | 1 << _SPAN | _PASSAGES | 1 << _PREVIEW
"""Features that are made of positions."""
_FIELDED: Final = (
    ((1 << BODY_FIELD + 1) - 1) << _FIELD | 1 << _COVERAGE | 1 << _COVERAGE_WORDS | 1 << _FILL | 1 << _TITLE_BODY
)
"""Features that are made of the fields that have the words."""
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


def field_bit(field: int) -> int:
    """Return the feature of what stands in a field, as a mask; 0 for a field that has none."""
    return 1 << (_FIELD + field) if field <= BODY_FIELD else 0


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


@njit(cache=True, nogil=True)
def _look_at_places(
    asked: Any, events: Any, count: int, needed: int, row: Any, spare: Any, one: Any, two: Any
) -> None:  # pragma: no cover - compiled
    """Fill in what the places of the words say; the shares of fields are there."""
    words, first = len(asked.spot), 0
    while first < count and (events[first] // _MOST_WORDS) >> FIELD_SHIFT < _BODY:
        first += 1
    if needed & 1 << _SEQUENCE:
        _walk_title(events, first, asked.spot, row, one)
    if needed & _RUNS:
        _walk_runs(events, count, asked, row, spare, one)
    if needed & _NEIGHBOURS:
        _walk_pairs(events, first, count, asked, row, one, two)
    if needed & 1 << _SPAN:
        _walk_span(events, first, count, words, row, one)
    if needed & _PASSAGES:
        row[_PASSAGE_BODY] = best_passage(events, first, count, asked.weight, two)
        row[_PASSAGE] = max(row[_FIELD + _TITLE], row[_PASSAGE_BODY])
    if needed & 1 << _PREVIEW:
        one[:] = 0
        for n in range(first, count):
            if (events[n] // _MOST_WORDS) & _PLACE < PREVIEW:
                one[events[n] % _MOST_WORDS] = 1
        for word in range(words):
            row[_PREVIEW] += one[word] * asked.weight[word]
        row[_PREVIEW] /= max(1e-12, asked.weight.sum())


@njit(cache=True, nogil=True)
def _fill_fields(asked: Any, masks: Any, row: Any) -> None:  # pragma: no cover - compiled
    """Fill in what the fields of the words say: masks of them, by word."""
    _share_fields(asked, masks, row)
    for word in range(len(masks)):
        row[_FILL] += masks[word] & 1


@njit(cache=True, nogil=True)
def _measure_fields(
    lists: Any, asked: Any, segment: int, which: Any, documents: Any, rows: Any
) -> None:  # pragma: no cover - compiled
    """Measure candidates of a segment by the fields that have the words.

    Parameters
        lists, segment: its postings and its number
        asked: the query
        which, documents: the candidates, and their documents, ascending
        rows: features of all candidates; filled
    """
    fields = np.zeros((len(asked.spot), len(documents)), np.int64)
    excluded = np.zeros(len(documents), np.bool_)
    for term in range(len(asked.word)):
        if asked.place[segment, term, 0]:
            if len(asked.excluded):
                for i in range(len(documents)):
                    excluded[i] = asked.excluded[which[i], term]
            entry = entry_of_row(asked.place[segment], term)
            look_up_fields(lists, entry, documents, excluded, fields[asked.word[term]])
    masks = np.empty(len(asked.spot), np.int64)
    for i in range(len(documents)):
        for word in range(len(masks)):
            masks[word] = fields[word, i] & _MEASURED
        _fill_fields(asked, masks, rows[which[i]])


@njit(cache=True, nogil=True)
def _measure_places(
    lists: Any, asked: Any, segment: int, which: Any, documents: Any, needed: int, rows: Any
) -> None:  # pragma: no cover - compiled
    """Measure candidates by the places of the words too; parameters as for `_measure_fields`."""
    terms, words = len(asked.word), len(asked.spot)
    events, spare = np.empty(_MOST_EVENTS, np.int64), np.empty(_MOST_EVENTS, np.int64)
    places, masks = np.empty(_MOST_PLACES, np.int64), np.empty(words, np.int64)
    one, two = np.empty(words, np.int64), np.empty(words, np.int64)
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
                size = read_positions(lists, at, code, mask, places)
                count = _merge(events, count, asked.word[term], places, size, spare)
        _fill_fields(asked, masks, row)
        _look_at_places(asked, events, count, needed, row, spare, one, two)


@njit(cache=True, nogil=True)
def measure(
    lists_at: npt.NDArray[np.int64],
    sheets_at: npt.NDArray[np.int64],
    asked: FeatureQuery,
    titles: Any,
    today: float,
    needed: int,
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return the features of each candidate.

    Parameters
    ----------
    lists_at, sheets_at: addresses of the postings and of the columns of each segment, a row each.
    asked: the query, of 1 to 64 words, and its candidates.
    titles: the title keys of the query.
    today: days since 1970.
    needed: the features to be measured, as a mask; others may be left at 0. `ALL` is all of them.

    Returns
    -------
    A row for each candidate, with the columns `NAMES`.
    """
    rows = np.zeros((len(asked.documents), len(NAMES)))
    rows[:, 0] = asked.scores / max(1e-12, asked.weight.sum())
    for segment in range(len(lists_at)):
        which = np.flatnonzero(asked.segments == segment)
        if not len(which):
            continue
        which = which[np.argsort(asked.documents[which])]
        documents = asked.documents[which]
        lists, sheet = get_postings(lists_at[segment]), get_columns(sheets_at[segment])
        if needed & _PLACED:
            _measure_places(lists, asked, segment, which, documents, needed, rows)
        elif needed & _FIELDED:
            _measure_fields(lists, asked, segment, which, documents, rows)
        measure_documents(sheet, documents, which, titles, today, needed, rows)
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
    measure(lists, held.addresses.reshape(1, -1), asked, np.zeros(1, np.uint64), 0.0, ALL)
    start.flags.writeable = blob.flags.writeable = False
    url_depths(blob, start)
