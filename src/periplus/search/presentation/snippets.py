"""Snippets: the piece of a page's own text that says most about the query, with the query's words marked."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index import Segment
from periplus.query import QueryPlan
from periplus.search.kernels import snippets
from periplus.text import ANALYSIS, code_point_kinds

__all__ = ["Piece", "cut_snippets", "make_snippet"]

_SPACE: Final = re.compile(r"\s+")
_LEAST: Final = 0.01
"""What a word is worth at least, so that words in every document are marked too."""

Piece = tuple[str, bool]
"""Some text, and whether it is marked."""
Snippet = tuple[Piece, ...]


def cut_snippets(
    segment: Segment, plan: QueryPlan, documents: Sequence[int], texts: Sequence[bytes], chars: int
) -> tuple[list[Snippet], npt.NDArray[np.bool_]]:
    """Cut the snippets of some documents of a segment, in ascending order, by one call.

    Gives, too, which words of the query each of them has.
    """
    numbers = np.array(documents, np.int32)
    asked = snippets.SnippetQuery(
        plan.places(segment),
        np.array([number for number, word in enumerate(plan.words) for _ in word.terms], np.int64),
        np.array([max(word.weight, _LEAST) for word in plan.words], np.float64),
        plan.excluded_terms(segment, numbers),
    )
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    buffer = snippets.cut_all(
        segment.pinned_postings.addresses,
        asked,
        numbers,
        np.frombuffer(b"".join(texts) or b"\0", np.uint8),
        bounds,
        code_point_kinds(),
        segment.column("analysis")[list(documents)].astype(np.int64),
        chars,
    )
    return _read(buffer, texts, chars), buffer.has


def make_snippet(text: bytes, places: Sequence[npt.NDArray[np.int64]], weights: Sequence[float], chars: int) -> Snippet:
    """Cut the best piece of about `chars` characters out of UTF-8 `text`.

    places: the token numbers at which each word of the query stands; weights: what each word is worth.
    """
    buffer = snippets.make_buffer(1, len(weights), len(text), chars)
    at = np.zeros(2, np.int64)
    snippets.cut_one(
        np.frombuffer(text or b"\0", np.uint8),
        0,
        len(text),
        code_point_kinds(),
        ANALYSIS,
        np.concatenate([np.zeros(0, np.int64), *places]),
        np.cumsum([len(place) for place in places], dtype=np.int64),
        np.array(weights, np.float64),
        chars,
        buffer,
        at,
    )
    buffer.ends[0] = at[0]
    return _read(buffer, [text], chars)[0]


def _read(buffer: snippets.SnippetBuffer, texts: Sequence[bytes], chars: int) -> list[Snippet]:
    """Return the snippets that the kernel wrote."""
    ends = buffer.ends.tolist()
    count = ends[-1] if ends else 0
    pieces = buffer.pieces[:count].tolist()
    raw = buffer.text[: pieces[-1][0]].tobytes() if pieces else b""
    found: list[Snippet] = []
    piece, at = 0, 0
    for text, end in zip(texts, ends, strict=True):
        snippet = []
        while piece < end:
            stop, marked = pieces[piece]
            snippet.append((raw[at:stop].decode("utf-8", "replace"), marked == 1))
            piece, at = piece + 1, stop
        found.append(tuple(snippet) or _wordless(text, chars))
    return found


def _wordless(text: bytes, chars: int) -> Snippet:
    """Show how a text begins that has no words."""
    start = _SPACE.sub(" ", text[: 4 * chars].decode("utf-8", "replace")).replace("\x00", "")
    return ((start[:chars], False),) if text.strip() else ()
