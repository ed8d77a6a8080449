"""Snippets in plain Python: what `kernels.snippets` must give, too."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.text import token_spans

__all__ = ["make_snippet"]

_TOKEN_CHARS: Final = 6
_MOST_PLACES: Final = 2_000
_SPACE: Final = re.compile(r"\s+")
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


def _choose(
    text: bytes,
    spans: npt.NDArray[np.int32],
    places: Sequence[npt.NDArray[np.int64]],
    weights: Sequence[float],
    chars: int,
) -> list[tuple[int, int]]:
    """Choose one piece, or two of half its length if one does not have all words that the text has."""
    first, last = _window(places, weights, max(4, chars // _TOKEN_CHARS), len(spans))
    begin = _begin(text, spans, first, last, chars)
    end = _end(text, spans, begin, chars)
    half = chars // 2
    if int(spans[last, 1]) - int(spans[first, 0]) > half or not any(map(len, _others(places, begin, end, len(spans)))):
        return [(begin, end)]
    begin = _begin(text, spans, first, last, half)
    end = _end(text, spans, begin, half)
    others = _others(places, begin, end, len(spans))
    first, last = _window(others, weights, max(4, half // _TOKEN_CHARS), len(spans))
    start = _begin(text, spans, first, last, half)
    stop = _end(text, spans, start, half)
    pieces = [(start, min(stop, begin)), (begin, end)] if first < begin else [(begin, end), (max(start, end), stop)]
    return [(pieces[0][0], pieces[1][1])] if pieces[0][1] == pieces[1][0] else pieces


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
    text: bytes, spans: npt.NDArray[np.int32], begin: int, end: int, marked: list[int], *, is_first: bool
) -> list[Piece]:
    """Cut tokens `begin` to `end` out of the text, those in `marked` apart."""
    pieces: list[Piece] = [("… " if is_first else " ", False)] if begin > 0 else []
    at = int(spans[begin, 0])
    for token in marked:
        start, stop = max(at, int(spans[token, 0])), int(spans[token, 1])
        pieces += [(_clean(text[at:start]), False), (_clean(text[start:stop]), True)]
        at = max(at, stop)
    pieces.append((_clean(text[at : max(at, int(spans[end - 1, 1]))]), False))
    rest = "" if end < len(spans) else _clean(text[int(spans[-1, 1]) :])
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
