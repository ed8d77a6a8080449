"""Passages in answer to a query: the results of a search, and the best pieces of their texts with their evidence."""

import hashlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from periplus.query import QueryPlan, parse_query
from periplus.records import Hit, PageFlag, ResultPage
from periplus.search.index_session import IndexSession
from periplus.search.presentation.cards import CardReader
from periplus.search.presentation.page_passages import Passage, PassageSpan, choose_passages, find_passages
from periplus.settings import ParseSettings

if TYPE_CHECKING:
    from periplus.parse import TextBlock

__all__ = [
    "MAX_PAGES",
    "find_page_passages",
    "heading_path",
    "make_passage",
    "read_passages",
    "select_quotable",
    "stored_blocks",
    "warc_position",
]

MAX_PAGES: Final = 20
"""Results whose texts are read."""
_WITHHELD: Final = int(PageFlag.NOARCHIVE | PageFlag.SNIPPET_LIMIT)
"""Flags of pages that ask not to be shown in pieces of this length."""
_PER_PAGE: Final = 4
_LONGEST_TEXT: Final = 1 << 20
"""Bytes of a page that passages are looked for in."""
_HEADING_PROBE: Final = 40
"""Characters of a passage by which its block is found."""


def find_page_passages(
    session: IndexSession, cards: CardReader, page: ResultPage, tokens: int, settings: ParseSettings, end: float
) -> tuple[Passage, ...]:
    """Return the best passages of the pages of an answer, within a budget of tokens.

    Headings and WARC records are added once the page store is open; what opens it is the first of these calls. After
    the time `end` (monotonic), no more pages are read for their headings.
    """
    words = page.showing_for or page.query.words
    parsed = parse_query(words)
    if parsed.tree is None or not page.hits:
        return ()
    plan = session.plan(parsed, msgspec.structs.replace(page.query, words=words))
    hits = select_quotable(page)
    texts, spans = read_passages(session, plan, [hit.key for hit in hits])
    chosen = choose_passages(spans, tokens)
    hashes = {number: hashlib.sha256(texts[number]).hexdigest() for number in {span.page for span in chosen}}
    blocks = {
        number: stored_blocks(cards, hits[number].key, settings) if time.monotonic() < end else ()
        for number in sorted(hashes)
    }
    return tuple(
        make_passage(
            hits[span.page],
            span,
            hashes[span.page],
            heading_path(blocks[span.page], span.text),
            warc_position(cards, hits[span.page].key),
        )
        for span in chosen
    )


def select_quotable(page: ResultPage) -> list[Hit]:
    """Return the results of an answer whose texts may be quoted, as many as are read."""
    return [hit for hit in page.hits if not hit.flags & _WITHHELD][:MAX_PAGES]


def stored_blocks(cards: CardReader, key: int, settings: ParseSettings) -> "tuple[TextBlock, ...]":
    """Return the blocks of a page whose response is stored, if the store is open."""
    if (record := cards.known_record(key)) is None or not record.warc:
        return ()
    from periplus.search.presentation.cached_copies import read_blocks

    return read_blocks(cards, key, settings)


def read_passages(
    session: IndexSession, plan: QueryPlan, wanted: Sequence[int]
) -> tuple[dict[int, bytes], list[PassageSpan]]:
    """Return texts and best passages of those pages, given by their keys, that an index has, by place in the list."""
    numbers = {key: number for number, key in enumerate(wanted)}
    keys = np.array(list(numbers), np.uint64)
    texts: dict[int, bytes] = {}
    spans: list[PassageSpan] = []
    for segment in session.index.segments:
        column = segment.column("key")
        documents = np.flatnonzero(np.isin(column, keys) & segment.is_live).tolist()
        pages = [numbers[int(column[document])] for document in documents]
        read = [segment.text(document) for document in documents]
        texts.update(zip(pages, read, strict=True))
        found = (
            find_passages(segment, plan, documents, [text[:_LONGEST_TEXT] for text in read], _PER_PAGE)
            if documents
            else ()
        )
        spans += [span._replace(page=pages[span.page]) for span in found]
    return texts, spans


def warc_position(cards: CardReader, key: int) -> str:
    """Return where the response of a page is stored, if the store is open; '' if it is not stored."""
    record = cards.known_record(key)
    return f"{record.warc}:{record.warc_offset}" if record is not None and record.warc else ""


def make_passage(hit: Hit, span: PassageSpan, content: str, headings: tuple[str, ...], warc: str) -> Passage:
    """Return a passage of a result with its evidence."""
    return Passage(
        hit.url,
        hit.title,
        span.text,
        round(span.score, 4),
        hit.key,
        span.begin,
        span.end,
        content,
        headings,
        language=hit.language,
        fetched=hit.fetched,
        warc=warc,
        rank=span.page + 1,
    )


def heading_path(blocks: "Sequence[TextBlock]", text: str) -> tuple[str, ...]:
    """Return the headings above the block that a passage begins in, outermost first; none if it is not found."""
    probe = " ".join(text.split())[:_HEADING_PROBE]
    path: list[tuple[int, str]] = []
    for block in blocks:
        own = " ".join(block.text.split())
        if block.kind == "heading":
            path = [*((level, name) for level, name in path if level < block.level), (block.level, own)]
        elif probe and (probe in own or (len(own) >= _HEADING_PROBE and own.startswith(probe))):
            return tuple(name for _, name in path)
    return ()
