"""Answers to questions about postings, for the planner of a broker."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from periplus.errors import BadInput, NothingHere
from periplus.index import Index
from periplus.query import And, Link, count_document_terms, filter_matches_any, restore_filter
from periplus.search.link_queries import resolve_filter, resolve_links
from periplus.search.sharding.shard_records import DocumentTerms, StatisticsAnswer, StatisticsQuestion

__all__ = ["answer_statistics"]

_MAX_ITEMS: Final = 4_096
"""Items of each part of a question."""
_MAX_PHRASE_TERMS: Final = 64
_MAX_DOCUMENTS: Final = 64


def answer_statistics(index: Index, question: StatisticsQuestion, graph: Path) -> StatisticsAnswer:
    """Return what postings say; graph: the folder of the shard's link graph. Raise `BadInput` for what is too much."""
    parts = question[:-1]
    if any(len(part) > _MAX_ITEMS for part in parts) or len(question.documents) > _MAX_DOCUMENTS:
        raise BadInput("A question has too many items.")
    if any(not 0 < len(terms) <= _MAX_PHRASE_TERMS for terms, _ in question.phrases):
        raise BadInput("A phrase of a question is too long.")
    filters = [resolve_filter(restore_filter(record), graph) for record in question.filters]
    return StatisticsAnswer(
        tuple(index.count_phrase(terms, fields) for terms, fields in question.phrases),
        _have_terms(index, question.language_terms),
        _count_together(index, question.cooccurrences),
        tuple(filter_matches_any(index, wanted) for wanted in filters),
        _link_notes(index, question.links, graph),
        tuple(_document_terms(index, segment, document) for segment, document in question.documents),
    )


def _have_terms(index: Index, items: Sequence[tuple[bytes, tuple[int, ...]]]) -> tuple[bool, ...]:
    if not items:
        return ()
    groups = {languages: number for number, languages in enumerate(dict.fromkeys(languages for _, languages in items))}
    sets = [frozenset(languages) for languages in groups]
    present = index.have_terms([term for term, _ in items], [groups[languages] for _, languages in items], sets)
    return tuple(present.tolist())


def _count_together(index: Index, pairs: Sequence[tuple[bytes, bytes]]) -> tuple[int, ...]:
    """Return how many documents have both terms of each pair; pairs with the same first are counted together."""
    others: dict[bytes, list[bytes]] = {}
    for first, second in pairs:
        others.setdefault(first, []).append(second)
    counts = {
        (first, second): count
        for first, seconds in others.items()
        for second, count in zip(seconds, index.count_together(first, seconds), strict=True)
    }
    return tuple(counts[pair] for pair in pairs)


def _link_notes(index: Index, targets: Sequence[str], graph: Path) -> tuple[str, ...]:
    if not targets:
        return ()
    return resolve_links(And(tuple(Link(target) for target in targets)), graph, index.manifest.record_count)[1]


def _document_terms(index: Index, segment: int, document: int) -> DocumentTerms:
    if not (0 <= segment < len(index.segments) and 0 <= document < index.segments[segment].documents):
        raise NothingHere("The index does not have this document.")
    counted = count_document_terms(index.segments[segment], document)
    return DocumentTerms(
        tuple(counted.counts), tuple(counted.counts.values()), tuple(counted.words.values()), counted.size
    )
