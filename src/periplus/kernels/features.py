"""What the best candidates have of a query: where its words stand in them, how near, in which order.

For each candidate the places of all words are merged into one row of events, ascending; one walk over it counts pairs,
runs and the tightest span. A word may have several terms (its stems in several languages); their places are one list.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.bare import Handle, hold
from periplus.kernels.invert import FIELD_SHIFT, FIELDS
from periplus.kernels.lists import TINY_PLACE, get_lists, look_up, make_tiny_lists
from periplus.kernels.places import read_positions

__all__ = ["NAMES", "PREVIEW", "WINDOW", "Asked", "Texts", "measure", "weigh"]

NAMES: Final = (
    *("title", "heading", "url", "anchor", "emphasis", "body"),
    *("coverage", "coverage_words", "preview", "title_sequence", "title_run", "title_fill"),
    *("phrase", "run", "pairs", "near", "span", "title_words", "url_length", "url_depth", "url_parameters"),
)
"""The columns that `measure` fills, in order; docs/ranking.md says what each is."""
_COVERAGE, _COVERAGE_WORDS, _PREVIEW, _SEQUENCE, _TITLE_RUN, _FILL = range(FIELDS, FIELDS + 6)
_PHRASE, _RUN, _PAIRS, _NEAR, _SPAN, _TITLE_WORDS, _LENGTH, _DEPTH, _PARAMETERS = range(FIELDS + 6, FIELDS + 15)

PREVIEW: Final = 100
"""Tokens at the beginning of the body that count as its preview."""
WINDOW: Final = 8
"""Tokens within which two words are near each other."""
_MOST_WORDS: Final = 64
_MOST_PLACES: Final = 512
"""Places of one term in one document that are looked at."""
_MOST_EVENTS: Final = 4096
_TITLE: Final = 0
_BODY: Final = FIELDS - 1
_PLACE: Final = (1 << FIELD_SHIFT) - 1


class Asked(NamedTuple):
    """The words of a query, as one segment knows them."""

    place: npt.NDArray[np.int64]
    """Of each term, as `lexicon.find_term` gives it; frequency 0 if the segment does not have it."""
    word: npt.NDArray[np.int32]
    """The word that each term is a form of."""
    weight: npt.NDArray[np.float64]
    """What each word counts: its rarity."""
    spot: npt.NDArray[np.int32]
    """Where each word stands in the query, ascending."""


class Texts(NamedTuple):
    """Titles and URLs of a segment."""

    title_start: npt.NDArray[np.int64]
    title_blob: npt.NDArray[np.uint8]
    url_start: npt.NDArray[np.int64]
    url_blob: npt.NDArray[np.uint8]


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
def _walk_runs(events: Any, count: int, spot: Any, row: Any, sizes: Any) -> None:  # pragma: no cover - compiled
    """Count whole phrases, and find the longest run of query words that stand as in the query, in title and body."""
    words = len(spot)
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
        field = place >> FIELD_SHIFT
        if field == _TITLE:
            row[_TITLE_RUN] = max(row[_TITLE_RUN], sizes[n] / words)
        elif field == _BODY:
            row[_RUN] = max(row[_RUN], sizes[n] / words)
            row[_PHRASE] += words > 1 and sizes[n] == words


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
    """Give, for each field and for the whole document, the share of the query's weight that it has."""
    whole = max(1e-12, asked.weight.sum())
    for word in range(len(masks)):
        for field in range(FIELDS):
            if (masks[word] >> field) & 1:
                row[field] += asked.weight[word] / whole
        if masks[word]:
            row[_COVERAGE] += asked.weight[word] / whole
            row[_COVERAGE_WORDS] += 1.0 / len(masks)


@njit(cache=True, nogil=True)
def measure(
    addresses: Any, asked: Asked, texts: Texts, documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Give the features `NAMES` of each document (a row each); documents ascend, words are 1 to 64."""
    lists = get_lists(addresses)
    terms, words = len(asked.word), len(asked.spot)
    rows = np.zeros((len(documents), len(NAMES)))
    found = np.zeros((terms, len(documents), 4), np.int64)
    for term in range(terms):
        p = asked.place[term]
        if p[0]:
            found[term] = look_up(lists, (p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]), documents)
    events, spare = np.empty(_MOST_EVENTS, np.int64), np.empty(_MOST_EVENTS, np.int64)
    places, masks = np.empty(_MOST_PLACES, np.int64), np.empty(words, np.int64)
    one, two = np.empty(words, np.int64), np.empty(words, np.int64)
    for i in range(len(documents)):
        row, count = rows[i], 0
        masks[:] = 0
        for term in range(terms):
            mask, code, at = found[term, i, 0], found[term, i, 2], found[term, i, 3]
            if mask:
                masks[asked.word[term]] |= mask
                size = read_positions(lists.positions, at, code, mask, places)
                count = _merge(events, count, asked.word[term], places, size, spare)
        _share_fields(asked, masks, row)
        first = 0
        while first < count and (events[first] // _MOST_WORDS) >> FIELD_SHIFT < _BODY:
            first += 1
        _walk_title(events, first, asked.spot, row, one)
        _walk_runs(events, count, asked.spot, row, spare)
        _walk_pairs(events, first, count, asked, row, one, two)
        _walk_span(events, first, count, words, row, one)
        one[:] = 0
        for n in range(first, count):
            if (events[n] // _MOST_WORDS) & _PLACE < PREVIEW:
                one[events[n] % _MOST_WORDS] = 1
        row[_PREVIEW] = (one * asked.weight).sum() / max(1e-12, asked.weight.sum())
        document = documents[i]
        size = _count_words(texts.title_blob, texts.title_start[document], texts.title_start[document + 1])
        row[_TITLE_WORDS] = size
        for word in range(words):
            row[_FILL] += masks[word] & 1
        row[_FILL] = min(1.0, row[_FILL] / max(1, size))
        _look_at_url(texts.url_blob, texts.url_start[document], texts.url_start[document + 1], row)
    return rows


@njit(cache=True, nogil=True)
def weigh(
    rows: npt.NDArray[np.float64], weight: npt.NDArray[np.float64], shape: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Give what each feature of each row adds: the feature put into shape (see `SHAPES`), times its weight."""
    parts = np.zeros(rows.shape)
    for column in range(rows.shape[1]):
        if weight[column] == 0.0:
            continue
        for i in range(len(rows)):
            x = rows[i, column]
            if shape[column] == 1:
                x = x * x
            elif shape[column] == 2:
                x = np.sqrt(max(0.0, x))
            elif shape[column] == 3:
                x = np.log1p(max(0.0, x))
            elif shape[column] == 4:
                x = 1.0 / (1.0 + max(0.0, x))
            elif shape[column] == 5:
                x = 1.0 if x > 0 else 0.0
            parts[i, column] = x * weight[column]
    return parts


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists: Handle[Any] = hold(make_tiny_lists())
    asked = Asked(np.array([TINY_PLACE], np.int64), np.zeros(1, np.int32), np.ones(1), np.zeros(1, np.int32))
    blob, start = np.zeros(1, np.uint8), np.array([0, 1], np.int64)
    blob.flags.writeable = start.flags.writeable = False
    rows = measure(lists.addresses, asked, Texts(start, blob, start, blob), np.zeros(1, np.int32))
    weigh(rows, np.ones(len(NAMES)), np.zeros(len(NAMES), np.int32))
