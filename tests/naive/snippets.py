"""Snippets in plain Python: what `kernels.snippets` must give, too."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.search.kernels.answer_sentence import BEFORE, BEHIND, LONG, QUESTION, TYPICAL
from periplus.search.kernels.snippets import LEAST_SHARE
from periplus.search.kernels.token_spans import find_spans
from periplus.text import ANALYSIS, code_point_kinds, token_spans

__all__ = ["make_answer", "make_snippet"]

_TOKEN_CHARS: Final = 6
_MOST_PLACES: Final = 2_000
_SPACE: Final = re.compile(r"\s+")
_SPACED: Final = re.compile(rb"[\x00-\x20]")
_STOPS: Final = re.compile("[!\u06d4\u0964\u0965\u3002\uff01]")
_INITIAL: Final = re.compile("[A-Z][a-z]{0,2}")
_NUMBER: Final = re.compile("[0-9]{1,2}")
_NOWHERE: Final = np.zeros(0, np.int64)

Piece = tuple[str, bool]


def make_snippet(
    text: bytes, places: Sequence[npt.NDArray[np.int64]], weights: Sequence[float], chars: int
) -> tuple[Piece, ...]:
    """Cut the best piece of about `chars` characters out of UTF-8 `text`.

    places: the token numbers at which each word of the query stands; weights: what each word is worth.
    """
    spans = token_spans(text)
    if len(spans) == 0:
        return ((_clean(text[: 4 * chars])[:chars], False),) if text.strip() else ()
    chosen = _choose(text, spans, places, weights, chars)
    every = np.concatenate([_NOWHERE, *places])
    pieces: list[Piece] = []
    for begin, end in chosen:
        marked = sorted(set(every[(every >= begin) & (every < end)].tolist()))
        pieces += _pieces(text, spans, begin, end, marked, is_first=not pieces)
    return _joined(pieces)


def make_answer(
    text: bytes, places: Sequence[npt.NDArray[np.int64]], weights: Sequence[float], chars: int
) -> tuple[tuple[Piece, ...], tuple[int, int]]:
    """Do the same for a question; give, too, the characters at which the sentence that answers begins and ends."""
    every = np.concatenate([_NOWHERE, *places])
    most = (int(every.max()) + 1 if len(every) else 1) + chars * 3 // 2 + 2
    room = np.zeros((len(text) + 4, 2), np.int64)
    data = np.frombuffer(text or b"\0", np.uint8)
    used, _ = find_spans(data, 0, len(text), code_point_kinds(), ANALYSIS, room, 0, most)
    spans = room[:used].astype(np.int32)
    chosen = _choose_sentence(text, spans, places, weights, chars) if used else None
    if chosen is None:
        return make_snippet(text, places, weights, chars), (0, 0)
    begin, end, first, last = chosen
    start, stop = int(spans[first, 0]), int(spans[last - 1, 1])
    after = int(spans[last, 0]) if last < used else len(text)
    closing = _SPACED.split(text[stop:after])[0][:8].decode("utf-8", "ignore").encode()
    stop += len(closing)
    marked = sorted(set(every[(every >= begin) & (every < end)].tolist()))
    pieces = _pieces(text, spans, begin, end, marked, is_first=True, closing=stop)
    before = 2 * (begin > 0) + len(_shown(text, spans, int(spans[begin, 0]), start))
    return _joined(pieces), (before, before + len(_shown(text, spans, start, stop)))


def _choose_sentence(
    text: bytes,
    spans: npt.NDArray[np.int32],
    places: Sequence[npt.NDArray[np.int64]],
    weights: Sequence[float],
    chars: int,
) -> tuple[int, int, int, int] | None:
    """Choose the tokens of a piece, and those of the sentence that answers in it."""
    sentences = _sentences(text, spans)
    near = [set(at[:_MOST_PLACES].tolist()) for at in places]
    has = [[any(first <= at < last for at in word) for word in near] for first, last, _ in sentences]
    count = len(sentences)
    if not any(map(any, has)):
        return None
    spread = [max(1, sum(row[word] for row in has)) for word in range(len(near))]
    values = [w * np.log(1 + count / n) / np.log(1 + count) for w, n in zip(weights, spread, strict=True)]
    none = [False] * len(near)
    best, chosen = 0.0, (0, 0.0, False)
    for number, (first, last, asks) in enumerate(sentences):
        before, own, behind = ([none, *has, none][number + step] for step in range(3))
        if not any(own):
            continue
        factors = [
            1.0 if o else BEFORE if b else BEHIND if n else 0.0 for b, o, n in zip(before, own, behind, strict=True)
        ]
        score = sum(factor * value for factor, value in zip(factors, values, strict=True))
        score *= (QUESTION if asks else 1.0) / (1 + LONG * max(0, last - first - TYPICAL) / TYPICAL)
        if score > best + 1e-9:
            share = sum(w for factor, w in zip(factors, weights, strict=True) if factor) / (sum(weights) + 1e-12)
            best, chosen = score, (number, share, any(b and not o for b, o in zip(before, own, strict=True)))
    number, share, leans = chosen
    if share < LEAST_SHARE:
        return None
    first, last, _ = sentences[number]
    most = chars * 3 // 2
    if _end(text, spans, first, most) < last:
        inside = [np.array(sorted(at for at in word if first <= at < last), np.int64) for word in near]
        low, high = _window(inside, weights, max(4, most // _TOKEN_CHARS), len(spans))
        begin = max(first, _begin(text, spans, low, high, most))
        end = min(last, _end(text, spans, begin, most))
        return begin, end, begin, end
    begin = first
    if leans and _end(text, spans, sentences[number - 1][0], chars) >= last:
        begin = sentences[number - 1][0]
    return begin, max(last, _end(text, spans, begin, chars)), first, last


def _sentences(text: bytes, spans: npt.NDArray[np.int32]) -> list[tuple[int, int, bool]]:
    """Return the first token of each sentence, the one behind its last, and whether it is a question."""
    sentences, first = [], 0
    for token in range(len(spans) - 1):
        gap = text[spans[token, 1] : spans[token + 1, 0]].decode("utf-8", "replace")
        lower = text[spans[token + 1, 0] : spans[token + 1, 0] + 1].islower()
        begin = int(spans[token, 0])
        name = text[begin : spans[token, 1]].decode("utf-8", "replace")
        foreign = token > 0 and text[begin - 1] >= 0x80
        short = _NUMBER.fullmatch(name) or (_INITIAL.fullmatch(name) and not foreign)
        asks = any(mark in gap for mark in "?؟？")
        stops = asks or _STOPS.search(gap) or ("." in gap and not short)
        spaced = any(letter <= " " or letter in "。！？" for letter in gap)
        lines = gap.count("\n")
        if (stops and spaced and not lower) or lines > 1 or (lines == 1 and not lower):
            sentences.append((first, token + 1, asks))
            first = token + 1
    end = int(spans[-1, 1])
    return [*sentences, (first, len(spans), b"?" in text[end : end + 4])]


def _choose(
    text: bytes,
    spans: npt.NDArray[np.int32],
    places: Sequence[npt.NDArray[np.int64]],
    weights: Sequence[float],
    chars: int,
) -> list[tuple[int, int]]:
    """Choose one piece, or two of half its length if one does not have all words that the text has."""
    begin, first, last, aligned = _place(text, spans, places, weights, chars)
    end = _end(text, spans, begin, chars)
    half = chars // 2
    if int(spans[last, 1]) - int(spans[begin if aligned else first, 0]) > half or not any(
        map(len, _others(places, begin, end, len(spans)))
    ):
        return [(begin, end)]
    begin = begin if aligned else _begin(text, spans, first, last, half)
    end = _end(text, spans, begin, half)
    others = _others(places, begin, end, len(spans))
    start, first, last, _ = _place(text, spans, others, weights, half)
    stop = _end(text, spans, start, half)
    pieces = [(start, min(stop, begin)), (begin, end)] if first < begin else [(begin, end), (max(start, end), stop)]
    return [(pieces[0][0], pieces[1][1])] if pieces[0][1] == pieces[1][0] else pieces


def _place(
    text: bytes,
    spans: npt.NDArray[np.int32],
    places: Sequence[npt.NDArray[np.int64]],
    weights: Sequence[float],
    chars: int,
) -> tuple[int, int, int, bool]:
    """Return where the best piece begins, its first and last word, and whether it begins at a sentence."""
    first, last = _window(places, weights, max(4, chars // _TOKEN_CHARS), len(spans))
    found = sorted((n, word) for word, at in enumerate(places) for n in at[:_MOST_PLACES].tolist() if n < len(spans))
    begins = sorted({0, *(begin for begin, _, _ in _sentences(text, spans))})
    best, chosen, tried = 0.0, None, set[int]()
    for i, (place, _) in enumerate(found[:256]):
        start = max(begin for begin in begins if begin <= place)
        if int(spans[place, 0]) - int(spans[start, 0]) > chars // 2 or start in tried:
            continue
        tried.add(start)
        inside = [(n, word) for n, word in found[i:] if int(spans[n, 1]) - int(spans[start, 0]) <= chars]
        words, bonus, before = set[int](), 0.0, -2
        for n, word in inside:
            if word not in words and n == before + 1:
                bonus += 0.25 * weights[word]
            words.add(word)
            before = n
        worth = sum(weights[word] for word in words)
        if worth + bonus > best + 1e-9:
            best, chosen = worth + bonus, (start, place, inside[-1][0] if inside else place, worth)
    window = sum(weights[word] for word in {word for n, word in found if first <= n <= last})
    if chosen is not None and chosen[3] >= 0.7 * window:
        return (*chosen[:3], True)
    return _begin(text, spans, first, last, chars), first, last, False


def _others(places: Sequence[npt.NDArray[np.int64]], begin: int, end: int, tokens: int) -> list[npt.NDArray[np.int64]]:
    """Return the places of words that a piece does not have, none of those that it has."""
    near = [at[:_MOST_PLACES][at[:_MOST_PLACES] < tokens] for at in places]
    return [_NOWHERE if ((at >= begin) & (at < end)).any() else at for at in near]


def _window(
    places: Sequence[npt.NDArray[np.int64]], weights: Sequence[float], width: int, tokens: int
) -> tuple[int, int]:
    """Find the run of at most `width` tokens with the most different, weightiest words; give its ends."""
    found = sorted((n, word) for word, at in enumerate(places) for n in at[:_MOST_PLACES].tolist() if n < tokens)
    best, ends = 0.0, (0, 0)
    counts = [0] * len(places)
    worth, left = 0.0, 0
    for place, word in found:
        worth += weights[word] * (1.0 if counts[word] == 0 else 0.1)
        counts[word] += 1
        while place - found[left][0] >= width:
            gone = found[left][1]
            counts[gone] -= 1
            worth -= weights[gone] * (1.0 if counts[gone] == 0 else 0.1)
            left += 1
        if worth > best + 1e-9:
            best, ends = worth, (found[left][0], place)
    return ends


def _begin(text: bytes, spans: npt.NDArray[np.int32], first: int, last: int, chars: int) -> int:
    """Begin at the start of a sentence or line if one is near before the words, else a few words before them."""
    reach = max(0, chars - int(spans[last, 1] - spans[first, 0])) * 2 // 3
    low = int(np.searchsorted(spans[: first + 1, 0], int(spans[first, 0]) - reach, side="right"))
    near = spans[max(0, low - 1) : first + 1].tolist()
    begin = first
    for step in range(len(near) - 1, 0, -1):
        if near[-1][0] - near[step - 1][0] >= reach:
            break
        gap = text[near[step - 1][1] : near[step][0]]
        if b"\n" in gap or b". " in gap or b"? " in gap or b"! " in gap:
            return begin
        begin -= 1
    return begin if begin == 0 else min(first, begin + max(0, (first - begin) // 2))


def _end(text: bytes, spans: npt.NDArray[np.int32], begin: int, chars: int) -> int:
    """Give the token before which a piece of about `chars` characters that starts with token `begin` ends."""
    start = int(spans[begin, 0])
    if text[start : start + chars].isascii():
        return min(len(spans), int(np.searchsorted(spans[begin:, 1], start + chars)) + begin + 1)
    token = begin
    ends = spans[begin : begin + chars, 1].tolist()
    used = 0
    for token, stop in enumerate(ends, begin + 1):  # noqa: B007 where it ends is the answer
        used += len(text[start:stop].decode("utf-8", "replace"))
        start = max(start, stop)
        if used >= chars:
            break
    return token


def _pieces(
    text: bytes,
    spans: npt.NDArray[np.int32],
    begin: int,
    end: int,
    marked: list[int],
    *,
    is_first: bool,
    closing: int = 0,
) -> list[Piece]:
    """Cut tokens `begin` to `end` out of the text, those in `marked` apart; up to byte `closing` at least."""
    pieces: list[Piece] = [("… " if is_first else " ", False)] if begin > 0 else []
    at = int(spans[begin, 0])
    for token in marked:
        start, stop = max(at, int(spans[token, 0])), int(spans[token, 1])
        pieces += [(_shown(text, spans, at, start), False), (_clean(text[start:stop]), True)]
        at = max(at, stop)
    last = max(at, int(spans[end - 1, 1]), closing)
    pieces.append((_shown(text, spans, at, last), False))
    rest = "" if end < len(spans) else _clean(text[last:])
    pieces.append((" …" if end < len(spans) else rest[:3].rstrip(), False))
    return pieces


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Join neighbours of one kind; words marked one after the other become one mark."""
    joined: list[Piece] = []
    for text, mark in pieces:
        if not text:
            continue
        if joined and joined[-1][1] == mark:
            joined[-1] = (joined[-1][0] + text, mark)
        elif len(joined) > 1 and mark and joined[-1][0] == " " and joined[-2][1]:
            joined[-2:] = [(joined[-2][0] + " " + text, True)]
        else:
            joined.append((text, mark))
    return tuple(joined)


def _clean(raw: bytes) -> str:
    return _SPACE.sub(" ", raw.decode("utf-8", "replace")).replace("\x00", "")


def _shown(text: bytes, spans: npt.NDArray[np.int32], begin: int, end: int) -> str:
    """Clean a part of the text; the end of a heading becomes ' · '."""
    floor, part = int(spans[0, 0]), text[begin:end].decode("utf-8", "replace")

    def space(match: re.Match[str]) -> str:
        at, after = (begin + len(part[:place].encode()) for place in match.span())
        line = text[floor:at].rpartition(b"\n")[2]
        last = line.decode("utf-8", "replace")[-1:]
        closed = "\u2000" <= last < "\u2040" or "\u3000" <= last < "\u3040" or "\uff00" <= last < "\uff40"
        word = last == ")" or (last.isascii() and last.isalnum()) or (last >= "\x80" and not closed)
        heading = "\n" in match[0] and word and len(line) <= 60 and not text[after : after + 1].islower()
        return " · " if heading else " "

    return _SPACE.sub(space, part).replace("\x00", "")
