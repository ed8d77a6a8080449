"""Passages of pages on several shards: each finds those of its pages, the broker chooses, and shards give evidence."""

import hashlib
import time
from collections.abc import Callable
from typing import Any

from periplus.query import PlanRecord, QueryPlan
from periplus.records import ResultPage
from periplus.search.answering.passage_finder import (
    MAX_PAGES,
    heading_path,
    make_passage,
    read_passages,
    select_quotable,
    stored_blocks,
    warc_position,
)
from periplus.search.index_session import IndexSession
from periplus.search.presentation.cards import CardReader
from periplus.search.presentation.page_passages import Passage, PassageSpan, choose_passages
from periplus.search.sharding.shard_records import (
    EvidenceReply,
    EvidenceRequest,
    PageEvidence,
    PagePassages,
    PassagesReply,
    PassagesRequest,
)
from periplus.settings import ParseSettings

__all__ = ["find_evidence", "find_shard_passages", "gather_passages"]

_MAX_KEY = 1 << 64


def find_shard_passages(session: IndexSession, plan: QueryPlan, request: PassagesRequest) -> PassagesReply:
    """Return the best passages of those pages that an index has."""
    keys = [key for key in dict.fromkeys(request.keys) if 0 <= key < _MAX_KEY][:MAX_PAGES]
    texts, spans = read_passages(session, plan, keys)
    return PassagesReply(
        tuple(
            PagePassages(
                keys[number],
                hashlib.sha256(texts[number]).hexdigest(),
                tuple(span for span in spans if span.page == number),
            )
            for number in sorted(texts)
        )
    )


def find_evidence(cards: CardReader, request: EvidenceRequest, settings: ParseSettings) -> EvidenceReply:
    """Return headings above passages and stored responses of pages; after its time, no more are read for headings."""
    end = time.monotonic() + request.seconds
    pages = []
    for key, texts in request.pages[:MAX_PAGES]:
        blocks = stored_blocks(cards, key, settings) if time.monotonic() < end else ()
        pages.append(PageEvidence(key, tuple(heading_path(blocks, text) for text in texts), warc_position(cards, key)))
    return EvidenceReply(tuple(pages))


def gather_passages(
    ask: Callable[[str, Any, float], list[Any]], record: PlanRecord, page: ResultPage, tokens: int, end: float
) -> tuple[Passage, ...]:
    """Return the best passages of the pages of an answer, within a budget of tokens, as one index finds them.

    ask: sends one request to all shards, within some seconds; end: of the time for it (monotonic).
    """
    hits = select_quotable(page)
    numbers = {hit.key: number for number, hit in enumerate(hits)}
    found: dict[int, PagePassages] = {}
    replies: list[PassagesReply] = ask("passages", PassagesRequest(record, tuple(numbers)), _left(end))
    for reply in replies:
        for own in reply.pages:
            if own.key in numbers:
                found.setdefault(numbers[own.key], own)
    chosen = choose_passages(
        [span._replace(page=number) for number in sorted(found) for span in found[number].spans], tokens
    )
    evidence = _ask_for_evidence(ask, {number: found[number].key for number in found}, chosen, end)
    passages = []
    for number, span in enumerate(chosen):
        headings, warc = evidence.get(number, ((), ""))
        passages.append(make_passage(hits[span.page], span, found[span.page].content, headings, warc))
    return tuple(passages)


def _ask_for_evidence(
    ask: Callable[[str, Any, float], list[Any]], keys: dict[int, int], chosen: list[PassageSpan], end: float
) -> dict[int, tuple[tuple[str, ...], str]]:
    """Return headings and stored response of each passage, by its place."""
    places: dict[int, list[int]] = {}
    for place, span in enumerate(chosen):
        places.setdefault(keys[span.page], []).append(place)
    if not places:
        return {}
    pages = tuple((key, tuple(chosen[place].text for place in own)) for key, own in places.items())
    evidence: dict[int, tuple[tuple[str, ...], str]] = {}
    replies: list[EvidenceReply] = ask("evidence", EvidenceRequest(pages, _left(end)), _left(end))
    for reply in replies:
        for page in reply.pages:
            if not page.warc or len(page.headings) != len(places.get(page.key, ())):
                continue  # the page of another shard
            for place, headings in zip(places[page.key], page.headings, strict=True):
                evidence[place] = headings, page.warc
    return evidence


def _left(end: float) -> float:
    return max(0.05, end - time.monotonic())
