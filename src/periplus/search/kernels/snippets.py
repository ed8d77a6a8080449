"""Snippets: the piece of each text that says most about a query, cut out, cleaned, and its words marked.

For every document of an answer that lies in one segment, by one call: where the query's words stand comes from the
positions of the index; the best window of tokens is the one with the most different, weightiest words; it begins with
its sentence if that begins nearby. If other words of the query are elsewhere in the text, two shorter pieces are shown
instead of one. Only as much of a text is split into tokens as the pieces need.
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
from periplus.search.kernels.clean_text import put_clean
from periplus.search.kernels.token_spans import find_spans
from periplus.text.kernels.symbols import max_tokens
from periplus.text.kernels.tokenizer import ANALYSIS, TABLE_SIZE

__all__ = ["MOST_PLACES", "SnippetBuffer", "SnippetQuery", "cut_all", "cut_one", "make_buffer"]

MOST_PLACES = 2_000
"""Places of one word that are weighed; later ones are only marked."""
_MOST_POSITIONS = 1 << 14
_TOKEN_CHARS = 6
_AGAIN = 0.1
"""What a word counts, of its weight, that the window has already."""
_BODY = np.int64(BODY_FIELD) << FIELD_SHIFT
_UP_TO_BODY = (1 << BODY_FIELD + 1) - 1
"""The fields up to the body, as a mask."""
_MORE = np.frombuffer("… ".encode() + " …".encode(), np.uint8)
"""What stands before and behind a piece from within a text: four bytes each."""


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


class SnippetBuffer(NamedTuple):
    """Where snippets are written."""

    text: npt.NDArray[np.uint8]
    """UTF-8, piece after piece."""
    pieces: npt.NDArray[np.int64]
    """Of each piece: where it ends in `text`, and whether it is marked."""
    ends: npt.NDArray[np.int64]
    """By snippet: how many pieces there are up to its end."""
    has: npt.NDArray[np.bool_]
    """By snippet and word: whether the document has the word, in any field."""


@njit(cache=True, nogil=True)
def _window(found: Any, weights: Any, width: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Find the run of at most `width` tokens that is worth most; `found` is place << 16 | word, in order."""
    counts = np.zeros(len(weights), np.int64)
    best, first, last = 0.0, np.int64(0), np.int64(0)
    worth, left = 0.0, 0
    for i in range(len(found)):
        place, word = found[i] >> 16, found[i] & 0xFFFF
        worth += weights[word] * (1.0 if counts[word] == 0 else _AGAIN)
        counts[word] += 1
        while place - (found[left] >> 16) >= width:
            gone = found[left] & 0xFFFF
            counts[gone] -= 1
            worth -= weights[gone] * (1.0 if counts[gone] == 0 else _AGAIN)
            left += 1
        if worth > best + 1e-9:
            best, first, last = worth, found[left] >> 16, place
    return first, last


@njit(cache=True, nogil=True)
def _begin(data: Any, spans: Any, first: int, last: int, chars: int) -> int:  # pragma: no cover - compiled
    """Begin at the start of a sentence or line if one is near before the words, else a few words before them."""
    reach = max(0, chars - int(spans[last, 1] - spans[first, 0])) * 2 // 3
    begin = first
    while begin > 0 and spans[first, 0] - spans[begin - 1, 0] < reach:
        for at in range(spans[begin - 1, 1], spans[begin, 0]):
            byte = data[at]
            stops = byte == 46 or byte == 63 or byte == 33
            if byte == 10 or (stops and at + 1 < spans[begin, 0] and data[at + 1] == 32):
                return begin
        begin -= 1
    return begin if begin == 0 else min(first, begin + max(0, (first - begin) // 2))


@njit(cache=True, nogil=True)
def _end(data: Any, stop: int, spans: Any, used: int, begin: int, chars: int) -> int:  # pragma: no cover - compiled
    """Return the token before which a piece of about `chars` characters ends, of the first `used` tokens."""
    start = int(spans[begin, 0])
    plain = True
    for at in range(start, min(stop, start + chars)):
        plain &= data[at] < 128
    token, shown, at = begin, 0, start
    while token < used:
        if plain:
            shown = spans[token, 1] - start
        elif token >= begin + chars:
            break
        else:
            while at < spans[token, 1]:
                shown += (data[at] & 0xC0) != 0x80
                at += 1
        token += 1
        if shown >= chars:
            break
    return token


@njit(cache=True, nogil=True)
def _put_piece(
    buffer: SnippetBuffer, first: int, count: int, text: int, end: int, mark: int
) -> int:  # pragma: no cover
    """Add the piece that ends at `end` of the sheet's text, begun at `text`; join it to its like. Give the count."""
    if text == end:
        return count
    pieces = buffer.pieces
    if count > first and pieces[count - 1, 1] == mark:
        pieces[count - 1, 0] = end
        return count
    if mark and count > first + 1 and pieces[count - 2, 1] == 1:
        # Words marked one after the other, with one space between them, become one mark.
        gap = pieces[count - 2, 0]
        if pieces[count - 1, 0] == gap + 1 and buffer.text[gap] == 32:
            pieces[count - 2, 0] = end
            return count - 1
    pieces[count, 0], pieces[count, 1] = end, mark
    return count + 1


@njit(cache=True, nogil=True)
def _write(
    data: Any,
    stop: int,
    spans: Any,
    used: int,
    begin: int,
    end: int,
    marked: Any,
    buffer: SnippetBuffer,
    first: int,
    count: int,
    out: int,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write tokens `begin` to `end`, those in `marked` apart; give the pieces and the bytes written so far.

    first: how many pieces there were before this snippet; if that is not `count`, this continues it.
    """
    text = buffer.text
    if count > first:
        text[out] = 32
        count = _put_piece(buffer, first, count, out, out + 1, 0)
        out += 1
    elif begin > 0:
        text[out : out + 4] = _MORE[:4]
        count = _put_piece(buffer, first, count, out, out + 4, 0)
        out += 4
    at = np.int64(spans[begin, 0])
    for token in marked:
        start, after = max(at, np.int64(spans[token, 0])), np.int64(spans[token, 1])
        done = put_clean(data, at, start, text, out, stop)
        count = _put_piece(buffer, first, count, out, done, 0)
        out = put_clean(data, start, after, text, done, stop)
        count = _put_piece(buffer, first, count, done, out, 1)
        at = max(at, after)
    done = put_clean(data, at, np.int64(spans[end - 1, 1]), text, out, stop)
    count = _put_piece(buffer, first, count, out, done, 0)
    out = done
    if end < used:
        text[out : out + 4] = _MORE[4:]
        done = out + 4
    else:
        done = put_clean(data, np.int64(spans[used - 1, 1]), stop, text, out, 3)
        while done > out and text[done - 1] == 32:
            done -= 1
    return _put_piece(buffer, first, count, out, done, 0), done


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
    first, last = _window(found, weights, max(4, chars // _TOKEN_CHARS))
    begin = _begin(data, spans, first, last, chars)
    end = _end(data, stop, spans, used, begin, chars)
    half = chars // 2
    if spans[last, 1] - spans[first, 0] > half or len(_elsewhere(found, len(weights), begin, end)) == 0:
        return begin, end, end, end
    begin = _begin(data, spans, first, last, half)
    end = _end(data, stop, spans, used, begin, half)
    others = _elsewhere(found, len(weights), begin, end)
    first, last = _window(others, weights, max(4, half // _TOKEN_CHARS))
    other_begin = _begin(data, spans, first, last, half)
    other_end = _end(data, stop, spans, used, other_begin, half)
    if first < begin:
        other_end = min(other_end, begin)
        return (other_begin, end, end, end) if other_end == begin else (other_begin, other_end, begin, end)
    other_begin = max(other_begin, end)
    return (begin, other_end, other_end, other_end) if other_begin == end else (begin, end, other_begin, other_end)


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
    buffer: SnippetBuffer,
    at: Any,
) -> None:  # pragma: no cover - compiled
    """Write the snippet of one text, from `start` to `stop` in `data`.

    analysis: the number of the rules that the text was indexed by, see `tokenizer.ANALYSIS`.
    flat, ends: the token numbers at which the words stand, word after word. at: pieces and bytes written so far, which
    this moves on. A text without tokens adds nothing.
    """
    spans = np.empty((max_tokens(stop - start) + 2, 2), np.int64)
    known = flat.max() + 1 if len(flat) else 1
    # A token is a character at least; one more says whether the text goes on.
    used, _ = find_spans(data, start, stop, kinds, analysis, spans, 0, known + chars + 2)
    if used == 0:
        return
    found, before = _in_order(flat, ends, used), at[0]
    begin, end, other_begin, other_end = _choose_pieces(data, stop, spans, used, found, weights, chars)
    for _ in range(2):
        marks = np.zeros(end - begin, np.bool_)
        for place in flat:
            if begin <= place < end:
                marks[place - begin] = True
        marked = np.flatnonzero(marks) + begin
        at[0], at[1] = _write(data, stop, spans, used, begin, end, marked, buffer, before, at[0], at[1])
        begin, end = other_begin, other_end
        if begin == end:
            break


@njit(cache=True, nogil=True)
def _read_places(
    lists: PostingsReader, asked: SnippetQuery, rows: Any, number: int, room: Any, ends: Any, has: Any
) -> Any:  # pragma: no cover - compiled
    """Return the positions of the words in the body of one document, from the postings of each term."""
    used = 0
    for term in range(len(asked.places)):
        word, mask = asked.words[term], rows[term, number, 0]
        if mask and not (len(asked.excluded) and asked.excluded[number, term]):
            has[word] = True
            out = room[used : used + _MOST_POSITIONS]
            count = read_positions(
                lists.positions, rows[term, number, 3], rows[term, number, 2], mask & _UP_TO_BODY, out
            )
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
    room = np.empty((len(asked.places) + 1) * _MOST_POSITIONS, np.int64)
    ends, at = np.zeros(len(asked.weights), np.int64), np.zeros(2, np.int64)
    for number in range(len(documents)):
        flat = _read_places(lists, asked, rows, number, room, ends, buffer.has[number])
        begin, end, analysis = bounds[number], bounds[number + 1], analyses[number]
        cut_one(data, begin, end, kinds, analysis, flat, ends, asked.weights, chars, buffer, at)
        buffer.ends[number] = at[0]


def make_buffer(snippets: int, words: int, size: int, chars: int) -> SnippetBuffer:
    """Make room for snippets of about `chars` characters of texts of `size` bytes in all."""
    # A piece may run over its length by one token, and a token may be as long as a text; nothing is written twice.
    return SnippetBuffer(
        np.empty(size + 32 * snippets, np.uint8),
        np.empty((snippets * (2 * chars + 16), 2), np.int64),
        np.zeros(snippets, np.int64),
        np.zeros((snippets, words), np.bool_),
    )


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
    cut_one(data, 0, 3, kinds, ANALYSIS, bounds[:1], bounds[:1] + 1, asked.weights, 40, buffer, np.zeros(2, np.int64))
