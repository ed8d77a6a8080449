"""What ranking one index takes: plans with its scoring, features of its documents, the model that reranks them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from periplus.index import CollectionView, Index
from periplus.index.kernels import inversion
from periplus.query import BagOfWords, Node, QueryPlan, Scoring, filters_match, plan_query, query_text, select_allowed
from periplus.rank.external_signals import ExternalSignals, open_external_signals
from periplus.rank.feature_rows import (
    ALL_FEATURES,
    FeatureExtractor,
    Rows,
    count_words,
    without_static_similarity,
)
from periplus.rank.feature_scorer import FeatureScorer, feature_weights, length_share
from periplus.rank.ranking_model import TreeModel
from periplus.records import Candidates
from periplus.score import FeatureWeight, read_weights
from periplus.settings import EmbeddingSettings, RankSettings

if TYPE_CHECKING:
    from periplus.rank.embedding_retrieval import EmbeddingRetriever

__all__ = ["Ranker", "RerankModel", "open_rerank_model", "plan_tree", "uses_encoder"]

_LEAST_SHOWN: Final = 5e-5
"""Parts of a score below this are left out of explanations."""


class RerankModel(NamedTuple):
    """What reranking needs besides the retrieved rows; it depends on settings and the learned model, on no index."""

    scorer: FeatureScorer
    depth: int
    """How many candidates are reranked by their features; 0 is none: the order of the first stage."""
    semantic: EmbeddingSettings | None = None
    """How similarities of embeddings are weighed; None where they take no part."""
    similarity: FeatureWeight = FeatureWeight(1.0)
    """The weight of similarities (score/fusion.toml), for short queries and for long ones."""

    def supports_query(self, text: str, matched: Sequence[int]) -> bool:
        """Return whether a query is in a language of the model of embeddings.

        matched: languages of the documents that it matched, by number, best first.
        """
        from periplus.embeddings import is_query_supported

        return self.semantic is not None and is_query_supported(text, matched, self.semantic.supported_languages)

    def needed_features(self, plan: QueryPlan) -> int:
        """Return the features that scores of the candidates of a plan depend on, as a mask."""
        return self.scorer.needed_features(count_words(plan)) if plan.words else 0

    def weigh_similarity(self, words: float) -> float:
        """Return the weight of similarities for a query of so many words, stop words counted."""
        share = length_share(words)
        return (1.0 - share) * self.similarity.weight + share * self.similarity.weight_of_long


class Ranker:
    """Plans queries for one index, and holds what measures and weighs its candidates."""

    def __init__(
        self,
        index: Index,
        settings: RankSettings,
        semantic: EmbeddingSettings | None = None,
        *,
        signals: ExternalSignals | None = None,
        changes: Mapping[str, float] | None = None,
    ) -> None:
        """Open the ranking of an index.

        signals: by default the list of popular hosts alone. changes: weights of features in place of those set.
        """
        self.index = index
        self._semantic = semantic
        self.embeddings = _open_embeddings(index, semantic)
        signals = open_external_signals(None, settings) if signals is None else signals
        self.features = FeatureExtractor(index, signals, static=semantic is None or semantic.semantic != "off")
        self.model = open_rerank_model(settings, semantic if self.embeddings else None, signals.model, changes)
        self._settings = settings

    @property
    def stale(self) -> bool:
        """Whether the index has vectors of the encoder now, which it did not have when this was opened."""
        return (
            self.embeddings is None and self._semantic is not None and uses_encoder(self.index.folder, self._semantic)
        )

    @property
    def needs_words(self) -> bool:
        """Whether its features are complete only once the words of the index are loaded."""
        return self.model.scorer.uses_fixed_phrases

    def measure_features(
        self, plan: QueryPlan, candidates: Candidates, needed: int | None = None, today: float | None = None
    ) -> Rows:
        """Return the features of candidates as far as their scores depend on them.

        needed: those that a broker needs, whose weights may be others, as a mask; None is those that this model needs.
        Where embeddings take part, this model orders candidates first: what it needs is measured, too. today: days
        since 1970, by the clock of the broker.
        """
        own = self.model.needed_features(plan)
        if needed is not None:
            own = (needed | own if self.embeddings is not None else needed) & ALL_FEATURES
        return self.features.measure(plan, candidates, own, today)

    def plan(
        self, tree: Node, notes: tuple[str, ...] = (), unfinished: str = "", *, verbatim: bool = False
    ) -> QueryPlan:
        """Return the plan of a query: its words looked up and weighed, its operators compiled.

        unfinished: a word that may be the beginning of a longer one; verbatim: words are not taken for misspelt names.
        """
        return plan_tree(self.index, self._settings, tree, notes, unfinished, verbatim=verbatim)

    def explain(
        self,
        plan: QueryPlan,
        segment_number: int,
        document: int,
        embedding_points: float | None = None,
        today: float | None = None,
    ) -> tuple[tuple[str, float], ...]:
        """Return the parts of a document's score: those of the first stage, then what each feature adds.

        embedding_points: what embeddings added, as `rerank` reports it; None where they took no part. today: days since
        1970, by the clock of a broker.
        """
        reasons = self._explain_first_stage(plan, segment_number, document)
        if self.model.depth and plan.words:
            ids = np.array([segment_number], np.int32), np.array([document], np.int32)
            first = sum(reasons.values())
            candidate = Candidates(*ids, np.array([first], np.float32), 1, True, False)
            features = self.features.extract(plan, candidate, today)
            if embedding_points is not None:
                features = without_static_similarity(features)
            parts = self.model.scorer.explain(features)[0]
            parts["first"] -= first / plan.best_score
            reasons |= {name: value * plan.best_score for name, value in parts.items()}
        if embedding_points is not None:
            reasons["meaning"] = embedding_points
        return tuple((name, value) for name, value in reasons.items() if abs(value) > _LEAST_SHOWN)

    def first_stage_score(self, plan: QueryPlan, segment_number: int, document: int) -> float:
        """Return the first-stage score of a document, whether it matches or not."""
        return sum(self._explain_first_stage(plan, segment_number, document).values())

    def matches_any_word(self, plan: QueryPlan, segment_number: int, document: int) -> bool:
        """Return whether a document matches a plan that is nothing but words."""
        segment, own = self.index.segments[segment_number], np.array([document], np.int32)
        for leaf in plan.leaves:
            allowed = leaf.languages is None or bool(select_allowed(segment, leaf.languages, own)[0])
            entry = segment.find_term(leaf.term) if allowed and leaf.term not in plan.synonyms else None
            if entry and segment.positions(entry, document)[2] & leaf.fields:
                return True
        return filters_match(segment, plan.filters, document)

    def _explain_first_stage(self, plan: QueryPlan, segment_number: int, document: int) -> dict[str, float]:
        """Return the parts of a document's first-stage score by name."""
        segment = self.index.segments[segment_number]
        reasons: dict[str, float] = {}
        words = {term: word.word for word in plan.words for term in word.terms} | dict(plan.synonyms)
        present: set[int] = set()
        one = np.array([document], np.int32)
        for leaf in plan.leaves:
            counts = leaf.languages is None or bool(select_allowed(segment, leaf.languages, one)[0])
            entry = segment.find_term(leaf.term) if counts else None
            impact = segment.impact(entry, one) if entry else 0
            if impact and leaf.weight:
                name = f"word: {words.get(leaf.term, leaf.term.decode('utf-8', 'replace'))}"
                reasons[name] = reasons.get(name, 0.0) + leaf.weight * impact / inversion.MAX_IMPACT
            if impact:
                present.add(leaf.group)
        static = float(segment.column("static")[document]) * plan.scoring.static_weight
        if static:
            reasons["links and host"] = static
        if plan.groups and present >= set(range(plan.groups)):
            reasons["all words"] = plan.bonus
        return reasons


def open_rerank_model(
    settings: RankSettings,
    semantic: EmbeddingSettings | None = None,
    learned: TreeModel | None = None,
    changes: Mapping[str, float] | None = None,
) -> RerankModel:
    """Return what reranking needs, by settings.

    semantic: how embeddings are weighed, None where they take no part; changes: weights in place of those set.
    """
    scorer = FeatureScorer(feature_weights(settings.weights, changes), learned)
    return RerankModel(scorer, settings.rerank, semantic, read_weights("fusion", settings.weights)["similarity"])


def plan_tree(
    collection: CollectionView,
    settings: RankSettings,
    tree: Node,
    notes: tuple[str, ...] = (),
    unfinished: str = "",
    *,
    verbatim: bool = False,
) -> QueryPlan:
    """Return the plan of a query over a collection; parameters as for `Ranker.plan`."""
    scoring = Scoring(settings.static_weight, settings.all_words_bonus, settings.short_query)
    plan = plan_query(collection, tree, scoring, notes, unfinished, verbatim=verbatim)
    return plan._replace(text=query_text(tree), any_words=isinstance(tree, BagOfWords))


def uses_encoder(folder: Path, settings: EmbeddingSettings) -> bool:
    """Return whether queries to the index `folder` are encoded: `semantic` is auto, and on or with vectors."""
    return settings.semantic == "auto" and (settings.enabled or any((folder / "meaning").glob("seg-*.arrays")))


def _open_embeddings(index: Index, semantic: EmbeddingSettings | None) -> "EmbeddingRetriever | None":
    """Return what compares vectors of the encoder, where that is on; otherwise none of it is imported."""
    if semantic is None or not uses_encoder(index.folder, semantic):
        return None
    from periplus.rank.embedding_retrieval import EmbeddingRetriever

    return EmbeddingRetriever(index, semantic)
