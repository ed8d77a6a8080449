"""Pseudo-relevance feedback: a plan widened by words that the best documents share.

The words are those of a relevance model: their share of each of the best documents, weighted by its score and by idf.
They score and match nothing, as synonyms do. It takes the text of a few documents and a second matching, both
bounded, and helps some collections while it harms others (decision 043); therefore it is off by default.
"""

from collections import Counter
from typing import Final

import numpy as np

from periplus.index import Index
from periplus.query.kernels import match
from periplus.query.query_plan import Leaf, QueryPlan
from periplus.query.term_lookups import idf
from periplus.records import Candidates
from periplus.text import LANGUAGES, is_stop_word, split_text, terms_of

__all__ = ["expand_by_feedback", "is_clear"]

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


def expand_by_feedback(index: Index, plan: QueryPlan, candidates: Candidates) -> QueryPlan:
    """Return a plan that scores words of the best candidates too; the same plan if there are none to add.

    Only for queries that are nothing but words: what stands in quotes or after an operator is meant as it is.
    """
    room = min(_TERMS, match.MAX_LEAVES - len(plan.leaves))
    plain = {operation for operation, _ in plan.program} <= {match.LEAF, match.OR}
    if not plain or room <= 0 or not plan.words or not len(candidates.documents):
        return plan
    shares, written = _relevance_model(index, candidates)
    own = {leaf.term for leaf in plan.leaves}
    terms = [term for term in shares if term not in own and len(term) >= _MIN_LETTERS]
    plan.lookup.add(terms)
    most = _MAX_SHARE * index.documents + 5
    scores: dict[bytes, float] = {}
    for term in terms:
        frequency = plan.lookup.frequency(term)
        if _MIN_DOCUMENTS <= frequency <= most:
            scores[term] = shares[term] * idf(index, frequency)
    best = sorted(scores, key=lambda term: (-scores[term], term))[:room]
    total = sum(scores[term] for term in best)
    if not total:
        return plan
    scale = _WEIGHT * plan.best_score / total
    leaves = [Leaf(term, scale * scores[term], -1) for term in best]
    names = {term: f"{written[term]}, from the best results" for term in best}
    return plan._replace(leaves=(*plan.leaves, *leaves), synonyms={**plan.synonyms, **names})


def _relevance_model(index: Index, candidates: Candidates) -> tuple[dict[bytes, float], dict[bytes, str]]:
    """Return the weighted share of each term in the best documents, and a word that it stands for."""
    shares: dict[bytes, float] = {}
    written: dict[bytes, str] = {}
    rows = zip(candidates.segments.tolist(), candidates.documents.tolist(), candidates.scores.tolist(), strict=True)
    best = [row for row, _ in zip(rows, range(_DOCUMENTS), strict=False)]
    whole = sum(score for _, _, score in best) or 1.0
    for number, document, score in best:
        segment = index.segments[number]
        text = segment.text(document)[:_MAX_BYTES].decode("utf-8", "ignore")
        counts = Counter(split_text(f"{segment.string('title', document)} {text}"))
        words, size = list(counts), max(1, counts.total())
        language = LANGUAGES[int(segment.column("language")[document])]
        for word, term in zip(words, terms_of(words, language), strict=True):
            if is_stop_word(word, language):
                continue
            shares[term] = shares.get(term, 0.0) + score / whole * counts[word] / size
            written.setdefault(term, word)
    return shares, written
