"""Pseudo-relevance feedback: a plan widened by words that the best documents share.

The words are those of a relevance model: their share of each of the best documents, weighted by its score and by idf.
They score and match nothing, as synonyms do. It takes the text of a few documents and a second matching, both
bounded, and helps some collections while it harms others (decision 043); therefore it is off by default.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from periplus.index import CollectionView, Segment
from periplus.query.kernels import match
from periplus.query.query_plan import Leaf, QueryPlan
from periplus.query.term_lookups import idf
from periplus.records import Candidates
from periplus.text import LANGUAGES, is_stop_word, split_text, terms_of

__all__ = [
    "DocumentCounts",
    "best_documents",
    "can_expand",
    "count_document_terms",
    "expand_by_feedback",
    "is_clear",
]

_DOCUMENTS: Final = 10
"""Best documents that words are taken from ..."""
_MAX_BYTES: Final = 4_096
"""... and bytes of each of their bodies."""
_TERMS: Final = 10
"""Words that a query is widened by."""
_WEIGHT: Final = 0.3
"""What they weigh together, as a share of the weights of the query."""
_MIN_LETTERS: Final = 3
_MIN_DOCUMENTS: Final = 2
_MAX_SHARE: Final = 0.1
"""Words in more than this share of all documents (and five) say nothing of these."""
_PREDICTED_FROM: Final = 50
_CLEAR: Final = 0.16
"""Spread of the best scores, as a share of the best possible, above which a query is clear."""


def is_clear(plan: QueryPlan, candidates: Candidates) -> bool:
    """Return whether feedback is predicted to help: the best candidates stand out from the rest (NQC)."""
    scores = candidates.scores[:_PREDICTED_FROM]
    return len(scores) >= _DOCUMENTS and float(np.std(scores)) > _CLEAR * plan.best_score


class DocumentCounts(NamedTuple):
    """The words of a document without stop words."""

    counts: dict[bytes, int]
    """How often each term occurs."""
    words: dict[bytes, str]
    """A word that each term stands for."""
    size: int
    """Words in all, stop words counted."""


def can_expand(plan: QueryPlan) -> bool:
    """Return whether a plan may be widened: what stands in quotes or after an operator is meant as it is."""
    plain = {operation for operation, _ in plan.program} <= {match.LEAF, match.OR}
    return plain and len(plan.leaves) < match.MAX_LEAVES and bool(plan.words)


def best_documents(candidates: Candidates) -> list[tuple[int, int, float]]:
    """Return segment, document and score of the candidates that words are taken from."""
    rows = zip(candidates.segments.tolist(), candidates.documents.tolist(), candidates.scores.tolist(), strict=True)
    return list(itertools.islice(rows, _DOCUMENTS))


def expand_by_feedback(
    collection: CollectionView, plan: QueryPlan, documents: Sequence[tuple[DocumentCounts, float]]
) -> QueryPlan:
    """Return a plan that scores words of the best documents too; the same plan if there are none to add.

    documents: the words of each and its score, best first.
    """
    room = min(_TERMS, match.MAX_LEAVES - len(plan.leaves))
    if not can_expand(plan) or not documents:
        return plan
    shares, written = _relevance_model(documents)
    own = {leaf.term for leaf in plan.leaves}
    terms = [term for term in shares if term not in own and len(term) >= _MIN_LETTERS]
    plan.lookup.add(terms)
    most = _MAX_SHARE * collection.documents + 5
    scores: dict[bytes, float] = {}
    for term in terms:
        frequency = plan.lookup.frequency(term)
        if _MIN_DOCUMENTS <= frequency <= most:
            scores[term] = shares[term] * idf(collection, frequency)
    best = sorted(scores, key=lambda term: (-scores[term], term))[:room]
    total = sum(scores[term] for term in best)
    if not total:
        return plan
    scale = _WEIGHT * plan.best_score / total
    leaves = [Leaf(term, scale * scores[term], -1) for term in best]
    names = {term: f"{written[term]}, from the best results" for term in best}
    return plan._replace(leaves=(*plan.leaves, *leaves), synonyms={**plan.synonyms, **names})


def _relevance_model(
    documents: Sequence[tuple[DocumentCounts, float]],
) -> tuple[dict[bytes, float], dict[bytes, str]]:
    """Return the weighted share of each term in the best documents, and a word that it stands for."""
    shares: dict[bytes, float] = {}
    written: dict[bytes, str] = {}
    whole = sum(score for _, score in documents) or 1.0
    for document, score in documents:
        for term, count in document.counts.items():
            shares[term] = shares.get(term, 0.0) + score / whole * count / document.size
            written.setdefault(term, document.words[term])
    return shares, written


def count_document_terms(segment: Segment, document: int) -> DocumentCounts:
    """Return the words of the title of a document, and of the beginning of its body."""
    text = segment.text(document)[:_MAX_BYTES].decode("utf-8", "ignore")
    found = Counter(split_text(f"{segment.string('title', document)} {text}"))
    language = LANGUAGES[int(segment.column("language")[document])]
    counts: dict[bytes, int] = {}
    words: dict[bytes, str] = {}
    for word, term in zip(found, terms_of(list(found), language), strict=True):
        if not is_stop_word(word, language):
            counts[term] = counts.get(term, 0) + found[word]
            words.setdefault(term, word)
    return DocumentCounts(counts, words, max(1, found.total()))
