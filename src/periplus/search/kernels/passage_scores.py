"""Passages: texts divided at their sentences into pieces of some length, each scored by a query.

For all documents of an answer that lie in one segment, by one call. A passage is a run of whole sentences, as many as
fit; a sentence that is too long by itself is divided. It scores by the words of the query that it has: each counts its
inverse document frequency, times how often it occurs, up to a limit, and less if most passages of the text have it, as
the subject of a page is in all of them. Words that only the passage before has count a little, because a text goes on
about what it has named.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.postings_reader import get_postings, make_tiny_postings
from periplus.index.kernels.postings_scan import look_up_documents
from periplus.index.kernels.term_dictionary import entry_of_row
from periplus.search.kernels.answer_sentence import find_sentences
from periplus.search.kernels.snippets import SnippetQuery, read_places, room_for_places
from periplus.search.kernels.token_spans import find_spans
from periplus.text.kernels.symbols import max_tokens
from periplus.text.kernels.tokenizer import ANALYSIS, TABLE_SIZE

__all__ = ["BEFORE", "SATURATION", "divide_text", "score_all", "score_passages"]

SATURATION = 0.5
"""How slowly a word's further occurrences add to a passage: the first counts 1 / (1 + this)."""
BEFORE = 0.3
"""What a word counts, of its weight, that is not in a passage but in the one before."""
_COLUMNS = 4


@njit(cache=True, nogil=True)
def divide_text(starts: Any, sentences: int, width: int, bounds: Any) -> int:  # pragma: no cover - compiled
    """Divide a text into runs of sentences of at most `width` tokens; return how many there are.

    starts, sentences: as `answer_sentence.find_sentences` gives them. bounds: room for a number for each token and one
    more; it then has the first token of each passage, and behind the last of them the number of tokens.
    """
    count, begin = 0, 0
    bounds[0] = 0
    for number in range(sentences):
        end = starts[number + 1]
        if end - begin > width and starts[number] > begin:
            count += 1
            bounds[count] = begin = starts[number]
        while end - begin > width:
            count += 1
            begin += width
            bounds[count] = begin
    if starts[sentences] > begin:
        count += 1
        bounds[count] = starts[sentences]
    return count


@njit(cache=True, nogil=True)
def score_passages(
    bounds: Any, count: int, flat: Any, ends: Any, weights: Any, scores: Any
) -> None:  # pragma: no cover - compiled
    """Write the score of each passage: the share of the query's weight that it has.

    bounds, count: as `divide_text` gives them. flat, ends: the token numbers at which the words of the query stand,
    ascending for each term, word after word. weights: by word, its inverse document frequency.
    """
    words = len(weights)
    times = np.zeros((words, count + 1), np.int64)
    begin, whole = 0, 1e-12
    for word in range(words):
        whole += weights[word]
        for at in range(begin, ends[word]):
            if flat[at] < bounds[count]:
                times[word, np.searchsorted(bounds[: count + 1], flat[at], side="right") - 1] += 1
        begin = ends[word]
    scores[:count] = 0.0
    for word in range(words):
        holders = 0
        for number in range(count):
            holders += times[word, number] > 0
        value = weights[word] / whole * np.log(1.0 + count / max(1, holders)) / np.log(1.0 + count)
        for number in range(count):
            found = times[word, number]
            if found:
                scores[number] += value * found / (found + SATURATION)
            elif number and times[word, number - 1]:
                scores[number] += BEFORE * value


@njit(cache=True, nogil=True)
def _score_all(
    lists_at: Any,
    asked: SnippetQuery,
    documents: Any,
    data: Any,
    bounds: Any,
    kinds: Any,
    analyses: Any,
    width: int,
    most: int,
    out: Any,
    scores: Any,
) -> int:  # pragma: no cover - compiled
    lists = get_postings(lists_at)
    rows = np.zeros((len(asked.places), len(documents), 4), np.int64)
    for term in range(len(asked.places)):
        if asked.places[term, 0]:
            rows[term] = look_up_documents(lists, entry_of_row(asked.places, term), documents)
    room, has = room_for_places(len(asked.places)), np.zeros(len(asked.weights), np.bool_)
    ends, written = np.zeros(len(asked.weights), np.int64), 0
    for number in range(len(documents)):
        begin, stop = bounds[number], bounds[number + 1]
        spans = np.empty((max_tokens(stop - begin) + 2, 2), np.int64)
        used, _ = find_spans(data, begin, stop, kinds, analyses[number], spans, 0, len(spans))
        if used == 0:
            continue
        flat = read_places(lists, asked, rows, number, room, ends, has)
        starts, asks = np.empty(used + 2, np.int64), np.empty(used + 2, np.bool_)
        sentences = find_sentences(data, stop, spans, used, starts, asks)
        passages = np.empty(used + 2, np.int64)
        count = divide_text(starts, sentences, width, passages)
        own = np.empty(count)
        score_passages(passages, count, flat, ends, asked.weights, own)
        order = np.argsort(-own, kind="mergesort")
        for place in range(min(most, count)):
            best = order[place]
            last = passages[best + 1]
            out[written, 0], out[written, 1] = number, best
            out[written, 2] = spans[passages[best], 0] - begin if best else 0
            out[written, 3] = (spans[last, 0] if last < used else stop) - begin
            scores[written] = own[best]
            written += 1
    return written


def score_all(
    lists_at: npt.NDArray[np.int64],
    asked: SnippetQuery,
    documents: npt.NDArray[np.int32],
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.uint8],
    analyses: npt.NDArray[np.int64],
    width: int,
    most: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the best passages of some documents of one segment, given in ascending order, and their scores.

    data, bounds, kinds, analyses: as for `snippets.cut_all`. width: tokens of a passage; most: passages of a document.
    Each row is the number of the document, that of the passage in it, and the bytes of the text where it begins and
    ends; those of a document are in order of their scores.
    """
    out = np.zeros((max(1, most * len(documents)), _COLUMNS), np.int64)
    scores = np.zeros(len(out))
    written = _score_all(lists_at, asked, documents, data, bounds, kinds, analyses, width, most, out, scores)
    return out[:written], scores[:written]


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    from periplus.accel.pointers import pin

    asked = SnippetQuery(
        np.array([[1, 0, 1, 0, 0, 0, 0, -1]], np.int64), np.zeros(1, np.int64), np.ones(1), np.zeros((0, 0), np.bool_)
    )
    data, kinds = np.frombuffer(b"a b", np.uint8), np.zeros(TABLE_SIZE, np.uint8)
    handle = pin(make_tiny_postings())
    bounds, analyses = np.array([0, 3], np.int64), np.full(1, ANALYSIS, np.int64)
    score_all(handle.addresses, asked, np.zeros(1, np.int32), data, bounds, kinds, analyses, 40, 2)
