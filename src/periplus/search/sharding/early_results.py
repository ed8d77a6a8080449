"""Results that shards present together with their candidates, before the broker has chosen.

A shard guesses what will be shown: it reranks its own candidates and selects among them, as the broker will do with
those of all shards. With one shard the guess is always right, with a few mostly; what was not guessed, the broker asks
for in a further round. The guess decides nothing: results, order and scores are the broker's.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from periplus.query import QueryPlan
from periplus.records import Card, Hit, Query
from periplus.search.index_session import IndexSession
from periplus.search.present import selection_rules
from periplus.search.presentation.cards import CardReader, may_have_card
from periplus.search.presentation.hits import HitBuilder
from periplus.search.presentation.result_selection import (
    CandidateFields,
    ContentSignature,
    Selection,
    SelectionRules,
    is_home_page,
    related_rows,
    select_columns,
    select_results,
)
from periplus.search.presentation.verticals import add_media
from periplus.search.rerank import RerankedCandidates
from periplus.search.sharding.candidate_columns import CandidateColumnReader, CandidateRows, view_words
from periplus.search.sharding.shard_records import EarlyPresentation, EarlyReply, RelatedPage
from periplus.settings import SearchSettings

__all__ = ["EarlyResults", "plan_early", "present_early"]

_MAX_EARLY: Final = 100
"""Results that a shard presents early at most: those of the first page of results."""
_WASTE: Final = 4
"""Results that all shards present early, for each that is shown."""


def plan_early(query: Query, settings: SearchSettings, shards: int) -> EarlyPresentation | None:
    """Return what each of so many shards is to present early; None where that is not worth it."""
    rules = selection_rules(query, settings)
    if query.start > 0 or query.explain or not 0 < rules.wanted <= _MAX_EARLY or not shards:
        return None
    mean = rules.wanted / shards
    count = min(rules.wanted, math.ceil(mean + math.sqrt(mean)), _WASTE * rules.wanted // shards)
    if not count:
        return None
    return EarlyPresentation(rules._replace(wanted=count), settings.snippet_chars, query.having == "media", query.words)


def present_early(
    session: IndexSession,
    plan: QueryPlan,
    candidates: RerankedCandidates,
    wanted: EarlyPresentation,
    columns: CandidateColumnReader,
    cards: CardReader,
) -> EarlyReply:
    """Return the hits of the candidates of a shard that would be shown if there were no other shards."""
    rows = columns.rows(session.index, candidates.segments, candidates.documents)
    rules = wanted.rules._replace(wanted=min(wanted.rules.wanted, _MAX_EARLY))
    selection, host = _select(session, candidates, rows, rules, columns)
    shown = selection.rows
    builder = HitBuilder(session.index, plan, _take(candidates, shown), session.cache)
    hits = builder.hits(range(len(shown)), wanted.chars, [()] * len(shown))
    if wanted.media:
        hits = add_media(hits, shown, candidates, session.index)
    related = related_rows(selection, shown, host, len(rows), with_site=bool(hits) and is_home_page(hits[0]))
    card = cards.card(hits[0].key) if hits and may_have_card(wanted.words, hits[0]) else None
    return EarlyReply(tuple(hits), _read_related(session, candidates, related), card)


def _select(
    session: IndexSession,
    candidates: RerankedCandidates,
    rows: CandidateRows,
    rules: SelectionRules,
    columns: CandidateColumnReader,
) -> tuple[Selection, Callable[[int], Hashable]]:
    """Return which candidates of a shard become results, and the host of each."""
    hosts: list[Hashable] = rows["host"].tolist()
    host = hosts.__getitem__
    selection = select_columns(view_words(rows), rules)
    if selection is not None:
        return selection, host
    simhashes, lengths = rows["simhash"].tolist(), rows["length"].tolist()

    def signature(row: int) -> ContentSignature:
        if simhashes[row]:
            return ContentSignature(simhashes[row], lengths[row], 0)
        own = _take(candidates, [row])
        read = HitBuilder(session.index, None, own, session.cache).signature(0)
        segment = session.index.segments[int(own.segments[0])]
        columns.set_simhashes(segment, own.documents.astype(np.int64), np.array([read.simhash], np.uint64))
        return read

    return select_results(rows["flags"].astype(np.int64), CandidateFields(host, signature), *rules), host


def _take(candidates: RerankedCandidates, rows: Sequence[int]) -> RerankedCandidates:
    """Return some candidates."""
    return candidates._replace(
        segments=candidates.segments[rows], documents=candidates.documents[rows], scores=candidates.scores[rows]
    )


def _read_related(
    session: IndexSession, candidates: RerankedCandidates, rows: Sequence[int]
) -> tuple[RelatedPage, ...]:
    """Return titles and URLs of pages that are shown with a result."""
    if not rows:
        return ()
    titles = HitBuilder(session.index, None, _take(candidates, rows), session.cache).titles(range(len(rows)))
    keys = candidates.keys[rows].tolist()
    return tuple(RelatedPage(key, *title) for key, title in zip(keys, titles, strict=True))


class EarlyResults:
    """What shards have presented early, by shard and key of the page."""

    def __init__(self, replies: Mapping[int, EarlyReply | None]) -> None:
        self._hits: dict[tuple[int, int], Hit] = {}
        self._titles: dict[tuple[int, int], tuple[str, str]] = {}
        self._cards: dict[tuple[int, int], Card | None] = {}
        """Of the first result of each shard."""
        for shard, reply in replies.items():
            if reply is None:
                continue
            self._hits |= {(shard, hit.key): hit for hit in reply.hits}
            self._titles |= {(shard, page.key): (page.title, page.url) for page in reply.related}
            if reply.hits:
                self._cards[shard, reply.hits[0].key] = reply.card

    def hit(self, shard: int, key: int, score: float) -> Hit | None:
        """Return the hit of a page, with the score that it has among the candidates of all shards."""
        hit = self._hits.get((shard, key))
        return hit if hit is None or hit.score == score else msgspec.structs.replace(hit, score=score)

    def title(self, shard: int, key: int) -> tuple[str, str] | None:
        """Return title and URL of a page that is shown with a result."""
        return self._titles.get((shard, key))

    def has_card(self, shard: int, hit: Hit, words: str) -> bool:
        """Return whether the card of a result is known, or none is needed, because the query does not name the page."""
        return (shard, hit.key) in self._cards or not may_have_card(words, hit)

    def card(self, shard: int, key: int) -> Card | None:
        """Return the card of a page."""
        return self._cards.get((shard, key))
