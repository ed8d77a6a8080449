"""Snippets: the piece of each text that says most about a query, cut out, cleaned, and its words marked.

For every document of an answer that lies in one segment, by one call: where the query's words stand comes from the
positions of the index; the best window of tokens is the one with the most different, weightiest words. The first
sentence from which on a piece has nearly as much of the query is shown instead, so that snippets begin at sentences; if
there is none, the window begins with its sentence if that begins nearby. If other words of the query are elsewhere in
the text, two shorter pieces are shown instead of one. For a question, the sentence that most likely answers it is shown
whole, and where it begins and ends is noted. Only as much of a text is split into tokens as the pieces need.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.inversion import BODY_FIELD, FIELD_SHIFT
from periplus.index.kernels.positions import read_positions
from periplus.index.kernels.postings_reader import PostingsReader, get_postings, make_tiny_postings
from periplus.index.kernels.postings_scan import look_up_documents
from periplus.index.kernels.term_dictionary import entry_of_row
from periplus.search.kernels.answer_sentence import find_sentences, score_sentences
from periplus.search.kernels.snippet_windows import TOKEN_CHARS, find_begin, find_end, find_window, place_piece
from periplus.search.kernels.snippet_writer import SnippetBuffer, closing, make_buffer, write_tokens
from periplus.search.kernels.token_spans import find_spans
from periplus.text.kernels.symbols import max_tokens
from periplus.text.kernels.tokenizer import ANALYSIS, TABLE_SIZE

__all__ = [
    "LEAST_SHARE",
    "MOST_PLACES",
    "SnippetBuffer",
    "SnippetQuery",
    "cut_all",
    "cut_one",
    "make_buffer",
    "read_places",
    "room_for_places",
]

MOST_PLACES = 2_000
"""Places of one word that are weighed; later ones are only marked."""
_MOST_POSITIONS = 1 << 14
LEAST_SHARE = 0.5
"""What a sentence that answers has of a query's weight at least, its neighbours included."""
_BODY = np.int64(BODY_FIELD) << FIELD_SHIFT
_UP_TO_BODY = (1 << BODY_FIELD + 1) - 1
"""The fields up to the body, as a mask."""


class SnippetQuery(NamedTuple):
    """A query's words, as far as snippets need them."""

    places: npt.NDArray[np.int64]
    """By term, as `lexicon.find_term` gives it."""
    words: npt.NDArray[np.int64]
    """The word that each term stands for; ascending."""
    weights: npt.NDArray[np.float64]
    """By word."""
    excluded: npt.NDArray[np.bool_]
    """By document and term: whether the term does not count there, being a stem of another language; may be empty."""
    answered: bool = False
    """Whether a sentence that answers the query is shown whole, where there is one."""


@njit(cache=True, nogil=True)
def _in_order(flat: Any, ends: Any, tokens: int) -> Any:  # pragma: no cover - compiled
    """Return the positions of all words as position << 16 | word, in order; `ends` separates those of each word."""
    found = np.empty(len(flat), np.int64)
    count, begin = 0, 0
    for word in range(len(ends)):
        for i in range(begin, min(ends[word], begin + MOST_PLACES)):
            if flat[i] < tokens:
                found[count] = flat[i] << 16 | word
                count += 1
        begin = ends[word]
    found = found[:count]
    found.sort()
    return found


@njit(cache=True, nogil=True)
def _elsewhere(found: Any, words: int, begin: int, end: int) -> Any:  # pragma: no cover - compiled
    """Return the positions, as in `found`, of the words that are not among tokens `begin` to `end`."""
    inside = np.zeros(words, np.bool_)
    for i in range(len(found)):
        if begin <= found[i] >> 16 < end:
            inside[found[i] & 0xFFFF] = True
    others, count = np.empty(len(found), np.int64), 0
    for i in range(len(found)):
        if not inside[found[i] & 0xFFFF]:
            others[count] = found[i]
            count += 1
    return others[:count]


@njit(cache=True, nogil=True)
def _choose_pieces(
    data: Any, stop: int, spans: Any, used: int, found: Any, weights: Any, chars: int
) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Return the tokens at which one piece of about `chars` characters begins and ends, or two of half of that.

    There are two if one would not have all words; otherwise the second is empty.
    """
    begin, first, last, aligned = place_piece(data, spans, found, weights, chars)
    end = find_end(data, stop, spans, used, begin, chars)
    half = chars // 2
    if (
        spans[last, 1] - spans[begin if aligned else first, 0] > half
        or len(_elsewhere(found, len(weights), begin, end)) == 0
    ):
        return begin, end, end, end
    begin = begin if aligned else find_begin(data, spans, first, last, half)
    end = find_end(data, stop, spans, used, begin, half)
    others = _elsewhere(found, len(weights), begin, end)
    other_begin, first, last, _ = place_piece(data, spans, others, weights, half)
    other_end = find_end(data, stop, spans, used, other_begin, half)
    if first < begin:
        other_end = min(other_end, begin)
        return (other_begin, end, end, end) if other_end == begin else (other_begin, other_end, begin, end)
    other_begin = max(other_begin, end)
    return (begin, other_end, other_end, other_end) if other_begin == end else (begin, end, other_begin, other_end)


@njit(cache=True, nogil=True)
def _choose_answer(
    data: Any, stop: int, spans: Any, used: int, found: Any, weights: Any, chars: int
) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Return the tokens at which a piece around the sentence that answers begins and ends, and those of the sentence.

    All are 0 if no sentence has enough of the query, by itself and with its neighbours.
    """
    starts, asks = np.empty(used + 2, np.int64), np.empty(used + 2, np.bool_)
    count = find_sentences(data, stop, spans, used, starts, asks)
    number, share, leans = score_sentences(starts, asks, count, found, weights)
    if share < LEAST_SHARE:
        return 0, 0, 0, 0
    first, last, most = starts[number], starts[number + 1], chars * 3 // 2
    if find_end(data, stop, spans, used, first, most) < last:
        low, high = np.searchsorted(found, first << 16), np.searchsorted(found, last << 16)
        inner, behind = find_window(found[low:high], weights, max(4, most // TOKEN_CHARS))
        begin = max(first, find_begin(data, spans, inner, behind, most))
        end = min(last, find_end(data, stop, spans, used, begin, most))
        return begin, end, begin, end
    begin = first
    if leans and find_end(data, stop, spans, used, starts[number - 1], chars) >= last:
        begin = starts[number - 1]
    return begin, max(last, find_end(data, stop, spans, used, begin, chars)), first, last


@njit(cache=True, nogil=True)
def cut_one(
    data: Any,
    start: int,
    stop: int,
    kinds: Any,
    analysis: int,
    flat: Any,
    ends: Any,
    weights: Any,
    chars: int,
    answered: bool,
    buffer: SnippetBuffer,
    number: int,
    at: Any,
) -> None:  # pragma: no cover - compiled
    """Write snippet `number`, that of one text, from `start` to `stop` in `data`.

    analysis: the number of the rules that the text was indexed by, see `tokenizer.ANALYSIS`.
    flat, ends: the token numbers at which the words stand, word after word. at: pieces and bytes written so far, which
    this moves on. answered: whether to look for a sentence that answers. A text without tokens adds nothing.
    """
    spans = np.empty((max_tokens(stop - start) + 2, 2), np.int64)
    known = flat.max() + 1 if len(flat) else 1
    # A token is a character at least; one more says whether the text goes on.
    most = known + (chars * 3 // 2 if answered else chars) + 2
    used, _ = find_spans(data, start, stop, kinds, analysis, spans, 0, most)
    if used == 0:
        return
    found, before, answer = _in_order(flat, ends, used), at[0], np.full(2, -1, np.int64)
    begin, end, other_begin, other_end = 0, 0, 0, 0
    if answered and len(found):
        begin, end, other_begin, other_end = _choose_answer(data, stop, spans, used, found, weights, chars)
    if end > 0:
        answer[0], answer[1] = spans[other_begin, 0], closing(data, stop, spans, used, other_end)
        other_begin = other_end = end
    else:
        begin, end, other_begin, other_end = _choose_pieces(data, stop, spans, used, found, weights, chars)
    bounds = buffer.answers[number]
    for _ in range(2):
        marks = np.zeros(end - begin, np.bool_)
        for place in flat:
            if begin <= place < end:
                marks[place - begin] = True
        marked = np.flatnonzero(marks) + begin
        at[0], at[1] = write_tokens(
            data, stop, spans, used, begin, end, marked, answer, buffer, bounds, before, at[0], at[1]
        )
        begin, end = other_begin, other_end
        if begin == end:
            break


@njit(cache=True, nogil=True)
def room_for_places(terms: int) -> Any:  # pragma: no cover - compiled
    """Return room for the positions that `read_places` reads of this many terms."""
    return np.empty((terms + 1) * _MOST_POSITIONS, np.int64)


@njit(cache=True, nogil=True)
def read_places(
    lists: PostingsReader, asked: SnippetQuery, rows: Any, number: int, room: Any, ends: Any, has: Any
) -> Any:  # pragma: no cover - compiled
    """Return the positions of the words in the body of one document, from the postings of each term."""
    used = 0
    for term in range(len(asked.places)):
        word, mask = asked.words[term], rows[term, number, 0]
        if mask and not (len(asked.excluded) and asked.excluded[number, term]):
            has[word] = True
            out = room[used : used + _MOST_POSITIONS]
            count = read_positions(lists, rows[term, number, 3], rows[term, number, 2], mask & _UP_TO_BODY, out)
            for i in range(count):  # Positions are in order of fields, and the body is the last of these.
                if out[i] >= _BODY:
                    room[used] = out[i] - _BODY
                    used += 1
        if term + 1 == len(asked.words) or asked.words[term + 1] != word:
            ends[word] = used
    return room[:used]


@njit(cache=True, nogil=True)
def _cut_all(
    lists_at: Any,
    asked: SnippetQuery,
    documents: Any,
    data: Any,
    bounds: Any,
    kinds: Any,
    analyses: Any,
    chars: int,
    buffer: SnippetBuffer,
) -> None:  # pragma: no cover - compiled
    lists = get_postings(lists_at)
    rows = np.zeros((len(asked.places), len(documents), 4), np.int64)
    for term in range(len(asked.places)):
        if asked.places[term, 0]:
            rows[term] = look_up_documents(lists, entry_of_row(asked.places, term), documents)
    room = room_for_places(len(asked.places))
    ends, at = np.zeros(len(asked.weights), np.int64), np.zeros(2, np.int64)
    for number in range(len(documents)):
        flat = read_places(lists, asked, rows, number, room, ends, buffer.has[number])
        begin, end, analysis = bounds[number], bounds[number + 1], analyses[number]
        cut_one(data, begin, end, kinds, analysis, flat, ends, asked.weights, chars, asked.answered, buffer, number, at)
        buffer.ends[number] = at[0]


def cut_all(
    lists_at: npt.NDArray[np.int64],
    asked: SnippetQuery,
    documents: npt.NDArray[np.int32],
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.uint8],
    analyses: npt.NDArray[np.int64],
    chars: int,
) -> SnippetBuffer:
    """Cut the snippets of some documents of one segment, given in ascending order, out of their texts.

    data, bounds: the texts, UTF-8, and where each begins and ends; kinds: code point classes (`tokenizer.FoldTable`);
    analyses: by document, the number of the rules that it was indexed by.
    """
    buffer = make_buffer(len(documents), len(asked.weights), len(data), chars)
    _cut_all(lists_at, asked, documents, data, bounds, kinds, analyses, chars, buffer)
    return buffer


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    from periplus.accel.pointers import pin

    asked = SnippetQuery(
        np.array([[1, 0, 1, 0, 0, 0, 0, -1]], np.int64), np.zeros(1, np.int64), np.ones(1), np.zeros((0, 0), np.bool_)
    )
    data, kinds = np.frombuffer(b"a b", np.uint8), np.zeros(TABLE_SIZE, np.uint8)
    bounds = np.array([0, 3], np.int64)
    handle = pin(make_tiny_postings())
    analyses = np.full(1, ANALYSIS, np.int64)
    buffer = cut_all(handle.addresses, asked, np.zeros(1, np.int32), data, bounds, kinds, analyses, 40)
    at = np.zeros(2, np.int64)
    cut_one(data, 0, 3, kinds, ANALYSIS, bounds[:1], bounds[:1] + 1, asked.weights, 40, False, buffer, 0, at)
