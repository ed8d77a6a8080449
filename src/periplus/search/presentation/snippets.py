"""Snippets: the piece of a page's own text that says most about the query, with the query's words marked."""

import itertools
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index import Segment
from periplus.query import QueryPlan
from periplus.records import SNIPPET_LIMITS, PageFlag
from periplus.search.kernels import snippets
from periplus.text import ANALYSIS, code_point_kinds

__all__ = [
    "NO_ANSWER",
    "Answer",
    "Piece",
    "Snippet",
    "asks_question",
    "cut_snippets",
    "limit_snippet",
    "make_answer",
    "make_snippet",
    "snippet_query",
]

_SPACE: Final = re.compile(r"\s+")
_LEAST: Final = 0.01
"""What a word is worth at least, so that words in every document are marked too."""

_LONG_QUERY: Final = 4
"""Words, function words aside, from which on a query is treated as a question."""
_ONE_LEVEL: Final = PageFlag.SNIPPET_LIMIT & -PageFlag.SNIPPET_LIMIT
_SPOKEN_QUERY: Final = 3
"""The same with function words."""
_FREQUENT: Final = 0.3
"""The idf, as a share of that of the rarest word, below which a word of a query is a function word."""

Piece = tuple[str, bool]
"""Some text, and whether it is marked."""
Snippet = tuple[Piece, ...]
Answer = tuple[int, int]
"""The characters of a snippet at which the sentence that answers begins and ends; the same twice if there is none."""
NO_ANSWER: Final = (0, 0)


def limit_snippet(snippet: Snippet, answer: Answer, flags: int) -> tuple[Snippet, Answer]:
    """Return a snippet no longer than its page permits (max-snippet, nosnippet), cut between words."""
    level = (flags & PageFlag.SNIPPET_LIMIT) // _ONE_LEVEL
    if not level:
        return snippet, answer
    left, pieces = SNIPPET_LIMITS[level - 1], list[Piece]()
    for text, marked in snippet:
        if len(text) > left:
            if part := text[:left].rpartition(" ")[0].rstrip():
                pieces.append((part, marked))
            break
        pieces.append((text, marked))
        left -= len(text)
    length = sum(len(text) for text, _ in pieces)
    return tuple(pieces), answer if answer[1] <= length else NO_ANSWER


def asks_question(plan: QueryPlan) -> bool:
    """Return whether a query is worded as people speak: by its function words, or by its length.

    Function words are those that are not searched for, or that are frequent in the index beside the rarest word of the
    query. Keywords have none. There is no list of question words.
    """
    if not plan.words:
        return False
    least = _FREQUENT * max(word.weight for word in plan.words)
    content = sum(word.weight >= least for word in plan.words)
    spoken = plan.words[-1].place + 1 - content
    return content >= _LONG_QUERY or (spoken > 0 and content + spoken >= _SPOKEN_QUERY)


def cut_snippets(
    segment: Segment, plan: QueryPlan, documents: Sequence[int], texts: Sequence[bytes], chars: int
) -> tuple[list[tuple[Snippet, Answer]], npt.NDArray[np.bool_]]:
    """Cut the snippets of some documents of a segment, in ascending order, by one call.

    Return each with the sentence that answers the query, if it is a question, and which words of the query each of the
    documents has.
    """
    numbers = np.array(documents, np.int32)
    asked = snippet_query(segment, plan, numbers)
    bounds = np.array([*itertools.accumulate(map(len, texts), initial=0)], np.int64)
    buffer = snippets.cut_all(
        segment.pinned_postings.addresses,
        asked,
        numbers,
        np.frombuffer(b"".join(texts) or b"\0", np.uint8),
        bounds,
        code_point_kinds(),
        segment.column("analysis")[numbers].astype(np.int64),
        chars,
    )
    return _read(buffer, texts, chars), buffer.has


def snippet_query(segment: Segment, plan: QueryPlan, numbers: npt.NDArray[np.int32]) -> snippets.SnippetQuery:
    """Return the words of a query as kernels look for them in some documents of a segment."""
    tables = plan.tables()
    return snippets.SnippetQuery(
        plan.places(segment),
        tables.word.astype(np.int64),
        np.maximum(tables.weight, _LEAST),
        plan.excluded_terms(segment, numbers),
        asks_question(plan),
    )


def make_snippet(text: bytes, places: Sequence[npt.NDArray[np.int64]], weights: Sequence[float], chars: int) -> Snippet:
    """Cut the best piece of about `chars` characters out of UTF-8 `text`.

    places: the token numbers at which each word of the query stands; weights: what each word is worth.
    """
    return _make_snippet(text, places, weights, chars, answered=False)[0]


def make_answer(
    text: bytes, places: Sequence[npt.NDArray[np.int64]], weights: Sequence[float], chars: int
) -> tuple[Snippet, Answer]:
    """Do the same for a question, and return where the sentence that answers it is in the snippet."""
    return _make_snippet(text, places, weights, chars, answered=True)


def _make_snippet(
    text: bytes, places: Sequence[npt.NDArray[np.int64]], weights: Sequence[float], chars: int, *, answered: bool
) -> tuple[Snippet, Answer]:
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
        answered,
        buffer,
        0,
        at,
    )
    buffer.ends[0] = at[0]
    return _read(buffer, [text], chars)[0]


def _read(buffer: snippets.SnippetBuffer, texts: Sequence[bytes], chars: int) -> list[tuple[Snippet, Answer]]:
    """Return the snippets that the kernel wrote."""
    ends = buffer.ends.tolist()
    pieces = buffer.pieces[: ends[-1] if ends else 0]
    bounds, marks = [0, *pieces[:, 0].tolist()], (pieces[:, 1] == 1).tolist()
    raw = buffer.text[: bounds[-1]].tobytes()
    # Characters of ASCII are its bytes: no piece is decoded by itself.
    plain = raw.decode("ascii") if raw.isascii() else ""
    spans = itertools.pairwise(bounds)
    shown = [plain[a:b] for a, b in spans] if plain else [raw[a:b].decode("utf-8", "replace") for a, b in spans]
    marked = list(zip(shown, marks, strict=True))
    written: list[tuple[Snippet, Answer]] = []
    first = 0
    for text, end, (begin, stop) in zip(texts, ends, buffer.answers.tolist(), strict=True):
        answer, at = NO_ANSWER, bounds[first]
        if stop > begin:
            answer = (begin - at, stop - at) if plain else (_chars(raw, at, begin), _chars(raw, at, stop))
        written.append((tuple(marked[first:end]) or _wordless(text, chars), answer))
        first = end
    return written


def _chars(raw: bytes, begin: int, end: int) -> int:
    return len(raw[begin:end].decode("utf-8", "replace"))


def _wordless(text: bytes, chars: int) -> Snippet:
    """Show how a text begins that has no words."""
    start = _SPACE.sub(" ", text[: 4 * chars].decode("utf-8", "replace")).replace("\x00", "")
    return ((start[:chars], False),) if text.strip() else ()
