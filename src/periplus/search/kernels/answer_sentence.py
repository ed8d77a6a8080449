"""The sentence of a text that most likely answers a query.

Sentences end at full stops, question and exclamation marks of any script, and at the ends of blocks. A sentence scores
by the words of the query that it has and, less, by those that its neighbours have: 'He died in 1943' follows a sentence
that names him. Words weigh by idf, and by how few of the page's sentences have them: the subject of the page is in most
of them and separates none.
"""

from typing import Any

import numpy as np

from periplus.accel import njit

__all__ = ["BEFORE", "BEHIND", "LONG", "QUESTION", "TYPICAL", "end_of_sentence", "find_sentences", "score_sentences"]

BEFORE = 0.4
"""What a word counts, of its weight, that is not in a sentence but in the one before."""
BEHIND = 0.2
"""The same for the one behind."""
LONG = 0.1
"""What a sentence loses, of its score, for every `TYPICAL` tokens over as many: it has more words by chance."""
TYPICAL = 20
QUESTION = 0.5
"""What a question scores, of what it would score as a statement: it repeats the query and does not answer it."""
_MOST_WORDS = 64
_STOP, _ASKS = 1, 2


@njit(cache=True, nogil=True)
def _is_abbreviation(data: Any, begin: int, end: int, opens: bool) -> bool:  # pragma: no cover - compiled
    """Return whether a full stop behind this token is part of it: an initial, 'Dr', 'St', a number such as '12'.

    opens: whether nothing is before the token.
    """
    size = end - begin
    if size > 3:
        return False
    digits = True
    for at in range(begin, end):
        digits &= 48 <= data[at] <= 57
    if digits:
        return size < 3
    if not 65 <= data[begin] <= 90 or (not opens and data[begin - 1] >= 0x80):  # '°C' is not an initial.
        return False
    lower = True
    for at in range(begin + 1, end):
        lower &= 97 <= data[at] <= 122
    return lower


@njit(cache=True, nogil=True)
def _mark_at(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the code point at `at` if it ends sentences in some script other than Latin, else 0."""
    first = data[at]
    if first < 0xD8 or at + 1 >= end:
        return 0
    second = data[at + 1]
    if first == 0xD8 and second == 0x9F:
        return 0x061F
    if first == 0xDB and second == 0x94:
        return 0x06D4
    if first < 0xE0 or at + 2 >= end:
        return 0
    code = (np.int64(first) & 0x0F) << 12 | (np.int64(second) & 0x3F) << 6 | (np.int64(data[at + 2]) & 0x3F)
    return code if code in (0x0964, 0x0965, 0x3002, 0xFF01, 0xFF1F) else 0


@njit(cache=True, nogil=True)
def end_of_sentence(data: Any, begin: int, end: int, after: int, opens: bool) -> int:  # pragma: no cover - compiled
    """Return whether a sentence ends between the token from `begin` to `end` and the one at `after`: 0, 1 or 2.

    2 is the end of a question.
    """
    kind, spaced, lines = 0, False, 0
    for at in range(end, after):
        byte = data[at]
        spaced |= byte <= 32
        lines += byte == 10
        if byte == 63:
            kind = _ASKS
        elif byte == 33 or (byte == 46 and (kind or not _is_abbreviation(data, begin, end, opens))):
            kind = max(kind, _STOP)
        elif byte >= 0xD8:
            mark = _mark_at(data, at, after)
            if mark in (0x061F, 0xFF1F):
                kind = _ASKS
            elif mark:
                kind = max(kind, _STOP)
            spaced |= mark >= 0x3002  # No spaces follow these.
    lower = 97 <= data[after] <= 122
    if lines > 1 or (lines == 1 and not lower):
        return max(kind, _STOP)
    return kind if spaced and not lower else 0


@njit(cache=True, nogil=True)
def find_sentences(data: Any, stop: int, spans: Any, used: int, starts: Any, asks: Any) -> int:  # pragma: no cover
    """Find the sentences of a text.

    Parameters
    ----------
    data, stop: UTF-8, and where the text ends in it.
    spans, used: begin and end of each token, and how many tokens there are.
    starts, asks: room for a number for each token and one more.

    Returns
    -------
    How many sentences there are. `starts` then has the first token of each, and behind the last of them `used`; `asks`
    has whether each is a question.
    """
    count = 0
    starts[0] = 0
    for token in range(used - 1):
        kind = end_of_sentence(data, spans[token, 0], spans[token, 1], spans[token + 1, 0], token == 0)
        if kind:
            asks[count] = kind == _ASKS
            count += 1
            starts[count] = token + 1
    asks[count] = False
    for at in range(spans[used - 1, 1], min(stop, spans[used - 1, 1] + 4)):
        asks[count] |= data[at] == 63
    starts[count + 1] = used
    return count + 1


@njit(cache=True, nogil=True)
def score_sentences(
    starts: Any, asks: Any, count: int, found: Any, weights: Any
) -> tuple[int, float, bool]:  # pragma: no cover - compiled
    """Return which sentence most likely answers a query.

    Parameters
    ----------
    starts, asks, count: sentences as `find_sentences` gives them.
    found: positions of the query's words, each position << 16 | word, ascending.
    weights: by word, its inverse document frequency.

    Returns
    -------
    The number of the sentence, the share of the query's weight that it or its neighbours have, and whether the one
    before is what the neighbours are needed for.
    """
    words = min(len(weights), _MOST_WORDS)
    masks, sentences = np.zeros(count + 2, np.uint64), np.zeros(words, np.int64)
    number = 0
    for event in found:
        word = event & 0xFFFF
        if word >= words:
            continue
        while starts[number + 1] <= event >> 16:
            number += 1
        bit = np.uint64(1) << np.uint64(word)
        if not masks[number + 1] & bit:
            masks[number + 1] |= bit
            sentences[word] += 1
    values, whole = np.zeros(words), 1e-12
    for word in range(words):
        whole += weights[word]
        values[word] = weights[word] * np.log(1.0 + count / max(1, sentences[word])) / np.log(1.0 + count)
    best, chosen, share, leans = 0.0, 0, 0.0, False
    for number in range(count):
        own, before, behind = masks[number + 1], masks[number], masks[number + 2]
        if own == 0:
            continue
        score, covered, led = 0.0, 0.0, False
        for word in range(words):
            bit = np.uint64(1) << np.uint64(word)
            if own & bit:
                score += values[word]
                covered += weights[word]
            elif before & bit:
                score += BEFORE * values[word]
                covered += weights[word]
                led = True
            elif behind & bit:
                score += BEHIND * values[word]
                covered += weights[word]
        length = starts[number + 1] - starts[number]
        score /= 1.0 + LONG * max(0, length - TYPICAL) / TYPICAL
        score *= QUESTION if asks[number] else 1.0
        if score > best + 1e-9:
            best, chosen, share, leans = score, number, covered / whole, led
    return chosen, share, leans
