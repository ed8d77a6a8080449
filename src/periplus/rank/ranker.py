"""First stage and second look."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index
from periplus.index.kernels import inversion
from periplus.query import Node, QueryPlan, Scoring, find_candidates, plan_query
from periplus.rank.external_signals import ExternalSignals, open_external_signals
from periplus.rank.feature_rows import FeatureExtractor
from periplus.rank.feature_scorer import FeatureScorer, feature_weights
from periplus.rank.ranking_model import Rows
from periplus.records import Candidates
from periplus.settings import RankSettings, SemanticSettings

if TYPE_CHECKING:
    from periplus.rank.fusion import Fusion

__all__ = ["Looked", "Ranker"]

_LEAST: Final = 5e-5
"""Parts of a score below this are not worth naming."""


class Looked(NamedTuple):
    """The candidates of the second look."""

    found: Candidates
    """In the order of the first stage."""
    rows: Rows
    shares: npt.NDArray[np.float64]
    """Scores, as shares of the query's best."""


class Ranker:
    """Puts the documents of one index in order for a query."""

    def __init__(
        self,
        index: Index,
        settings: RankSettings,
        semantic: SemanticSettings | None = None,
        *,
        signals: ExternalSignals | None = None,
        changes: Mapping[str, float] | None = None,
    ) -> None:
        """Rank by what is known from outside (by default: the list of popular hosts) and weights changed for once."""
        self._index = index
        self._settings = settings
        self._fusion = _fusion(index, semantic)
        self._scoring = Scoring(settings.static_weight, settings.all_words_bonus, settings.short_query)
        signals = open_external_signals(None, settings) if signals is None else signals
        self._features = FeatureExtractor(index, signals)
        self._dynamic = FeatureScorer(feature_weights(settings.weights, changes), signals.model)

    @property
    def needs_words(self) -> bool:
        """Whether what it ranks by is complete only once the words of the index are loaded."""
        return self._dynamic.fixed

    def plan(self, tree: Node, notes: tuple[str, ...] = ()) -> QueryPlan:
        """Look up and weigh the words of a query."""
        prepared = plan_query(self._index, tree, self._scoring, notes)
        if not self._fusion:
            return prepared
        from periplus.rank.fusion import is_plain, said

        return prepared._replace(said=said(tree), plain=is_plain(tree))

    def rank(self, prepared: QueryPlan, k: int, budget: float = float("inf")) -> Candidates:
        """Give the `k` best documents, best first."""
        found = find_candidates(self._index, prepared, max(k, self._settings.rerank), budget)
        if self._settings.rerank and prepared.words:
            found = self._look_again(prepared, found)
        found = self._fusion.fuse(prepared, found) if self._fusion else found
        return found._replace(segments=found.segments[:k], documents=found.documents[:k], scores=found.scores[:k])

    def look(self, prepared: QueryPlan) -> Looked:
        """Give the candidates of the second look with all their features, for those that learn from them."""
        found = find_candidates(self._index, prepared, self._settings.rerank or 100)
        rows = self._features.of(prepared, found)
        return Looked(found, rows, self._dynamic.score(rows))

    def _look_again(self, prepared: QueryPlan, found: Candidates) -> Candidates:
        """Put the best candidates in order by all their features; the others stay behind them."""
        most = self._settings.rerank
        best = found._replace(
            segments=found.segments[:most], documents=found.documents[:most], scores=found.scores[:most]
        )
        shares = self._dynamic.score(self._features.of(prepared, best, fixed=self._dynamic.fixed))
        order = np.argsort(-shares, kind="stable")
        scores = (shares[order] * _whole(prepared)).astype(np.float32)
        if len(found.documents) == len(order):
            return found._replace(segments=best.segments[order], documents=best.documents[order], scores=scores)
        behind = np.minimum(found.scores[most:], scores[-1])
        return found._replace(
            segments=np.concatenate((best.segments[order], found.segments[most:])),
            documents=np.concatenate((best.documents[order], found.documents[most:])),
            scores=np.concatenate((scores, behind)),
        )

    def explain(self, prepared: QueryPlan, segment_number: int, document: int) -> tuple[tuple[str, float], ...]:
        """Say what a document's score is made of: the parts of the first stage, then what each feature adds."""
        reasons = self._explain_first(prepared, segment_number, document)
        if self._settings.rerank and prepared.words:
            one = np.array([segment_number], np.int32), np.array([document], np.int32)
            first = sum(reasons.values())
            found = Candidates(*one, np.array([first], np.float32), 1, True, False)
            parts = self._dynamic.explain(self._features.of(prepared, found))[0]
            parts["first"] -= first / _whole(prepared)
            reasons |= {name: value * _whole(prepared) for name, value in parts.items()}
        if self._fusion:
            reasons["meaning"] = self._fusion.added(prepared, segment_number, document)
        return tuple((name, value) for name, value in reasons.items() if abs(value) > _LEAST)

    def _explain_first(self, prepared: QueryPlan, segment_number: int, document: int) -> dict[str, float]:
        """Name the parts of a document's score in the first stage."""
        segment = self._index.segments[segment_number]
        reasons: dict[str, float] = {}
        words = {term: word.word for word in prepared.words for term in word.terms} | dict(prepared.widened)
        present: set[int] = set()
        for leaf in prepared.leaves:
            place = segment.find(leaf.term)
            impact = segment.positions(place, document)[1] if place else 0
            if impact and leaf.weight:
                name = f"word: {words.get(leaf.term, leaf.term.decode('utf-8', 'replace'))}"
                reasons[name] = reasons.get(name, 0.0) + leaf.weight * impact / inversion.LEVELS
            if impact:
                present.add(leaf.group)
        static = float(segment.column("static")[document]) * prepared.scoring.static_weight
        if static:
            reasons["links and host"] = static
        if prepared.groups and present >= set(range(prepared.groups)):
            reasons["all words"] = prepared.bonus
        return reasons


def _fusion(index: Index, semantic: SemanticSettings | None) -> "Fusion | None":
    """Give what ranks by meaning, if that is on; else none of it is even imported."""
    if semantic is None or not semantic.on:
        return None
    from periplus.rank.fusion import Fusion

    return Fusion(index, semantic)


def _whole(prepared: QueryPlan) -> float:
    """Give the best score that the words of a query could have."""
    return sum(word.weight for word in prepared.words) or 1.0
