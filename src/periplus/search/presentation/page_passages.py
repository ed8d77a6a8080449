"""Passages: the pieces of pages that say most about a query, for programs that read instead of people."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from periplus.index import Segment
from periplus.query import QueryPlan
from periplus.records import ResultPage
from periplus.search.kernels import passage_scores
from periplus.search.presentation.snippets import snippet_query
from periplus.text import code_point_kinds

__all__ = [
    "Passage",
    "PassageSpan",
    "choose_passages",
    "estimate_tokens",
    "find_passages",
    "passages_of_snippets",
]

_WIDTH: Final = 110
"""Tokens of a passage at most: about 600 characters of English."""
_RANK_DECAY: Final = 0.12
"""How fast passages lose with the rank of their page."""
_PAGE_SHARE: Final = 0.3
"""What a passage scores for its page alone, of the most that it can score."""
_REPEATED: Final = 0.8
"""Share of a passage's words in another one above which it repeats that."""
_BYTES_PER_TOKEN: Final = 4


class Passage(msgspec.Struct, frozen=True):
    """A piece of a page's text that says much about a query, with what it can be checked by."""

    url: str
    title: str
    text: str
    """As it is stored: the characters `begin` to `end` of the page's text."""
    score: float
    key: int
    """64-bit fingerprint of the URL."""
    begin: int
    end: int
    content: str
    """SHA-256 of the page's text, 64 hexadecimal digits."""
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first, where the stored response has them."""
    language: str = ""
    fetched: float = 0.0
    warc: str = ""
    """The WARC file with the response and the record's offset in it, 'name:offset'; '' if it is not stored."""
    rank: int = 0
    """The place of its page among the results, from 1."""


class PassageSpan(NamedTuple):
    """A passage of one of several pages."""

    page: int
    number: int
    """Its place in the page, from 0."""
    begin: int
    end: int
    """In characters of the text."""
    text: str
    score: float


def find_passages(
    segment: Segment, plan: QueryPlan, documents: Sequence[int], texts: Sequence[bytes], most: int
) -> list[PassageSpan]:
    """Return the best passages of some documents of a segment, in ascending order; at most `most` of each."""
    numbers = np.array(documents, np.int32)
    bounds = np.array([*itertools.accumulate(map(len, texts), initial=0)], np.int64)
    rows, scores = passage_scores.score_all(
        segment.pinned_postings.addresses,
        snippet_query(segment, plan, numbers),
        numbers,
        np.frombuffer(b"".join(texts) or b"\0", np.uint8),
        bounds,
        code_point_kinds(),
        segment.column("analysis")[numbers].astype(np.int64),
        _WIDTH,
        most,
    )
    return [_span(texts, row, score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)]


def _span(texts: Sequence[bytes], row: Sequence[int], score: float) -> PassageSpan:
    page, number, begin, end = row
    raw = texts[page]
    start, text = len(raw[:begin].decode("utf-8", "replace")), raw[begin:end].decode("utf-8", "replace").rstrip()
    return PassageSpan(page, number, start, start + len(text), text, score)


def choose_passages(found: Iterable[PassageSpan], tokens: int) -> list[PassageSpan]:
    """Return the passages to show, best first, within a budget of tokens; none repeats another.

    found: passages, whose pages are numbered by rank. A passage scores by its own words and by the rank of its page.
    The first is always returned, however long.
    """
    ranked = sorted((_with_rank(span) for span in found if span.text), key=lambda span: (-span.score, span.page))
    chosen: list[PassageSpan] = []
    shown: list[frozenset[str]] = []
    for span in ranked:
        cost, words = estimate_tokens(span.text), frozenset(span.text.casefold().split())
        if (chosen and cost > tokens) or any(len(words & other) > _REPEATED * len(words) for other in shown):
            continue
        chosen.append(span)
        shown.append(words)
        tokens -= cost
        if tokens <= 0:
            break
    return chosen


def passages_of_snippets(page: ResultPage, tokens: int) -> tuple[Passage, ...]:
    """Return the snippets of results as passages: what a broker knows of texts that lie elsewhere."""
    spans = [
        PassageSpan(number, 0, 0, 0, "".join(text for text, _ in hit.snippet), 1.0)
        for number, hit in enumerate(page.hits)
    ]
    return tuple(
        Passage(hit.url, hit.title, span.text, round(span.score, 4), hit.key, 0, 0, "", (), hit.language, hit.fetched)
        for span in choose_passages(spans, tokens)
        for hit in (page.hits[span.page],)
    )


def _with_rank(span: PassageSpan) -> PassageSpan:
    value = (_PAGE_SHARE + (1 - _PAGE_SHARE) * span.score) / (1 + _RANK_DECAY * span.page)
    return span._replace(score=value)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a language model makes of a text: a fourth of its ASCII, each other character."""
    size = len(text.encode("ascii", "ignore"))
    return -(-size // _BYTES_PER_TOKEN) + len(text) - size
