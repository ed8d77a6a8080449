"""First stage and second look."""

import numpy as np
import numpy.typing as npt

from periplus.index import Field, Index, Segment
from periplus.kernels import invert
from periplus.query import Node, Prepared, Scoring, prepare, run
from periplus.rank.fuse import Fusion, is_plain, said
from periplus.records import Candidates
from periplus.settings import RankSettings, SemanticSettings

__all__ = ["Ranker"]


class Ranker:
    """Puts the documents of one index in order for a query."""

    def __init__(self, index: Index, settings: RankSettings, semantic: SemanticSettings | None = None) -> None:
        self._index = index
        self._settings = settings
        self._fusion = Fusion(index, semantic) if semantic and semantic.on else None
        self._scoring = Scoring(settings.static_weight, settings.all_words_bonus, settings.short_query)

    def prepare(self, tree: Node, notes: tuple[str, ...] = ()) -> Prepared:
        """Look up and weigh the words of a query."""
        prepared = prepare(self._index, tree, self._scoring, notes)
        return prepared._replace(said=said(tree), plain=is_plain(tree)) if self._fusion else prepared

    def rank(self, prepared: Prepared, k: int, budget: float = float("inf")) -> Candidates:
        """Give the `k` best documents, best first."""
        found = run(self._index, prepared, max(k, self._settings.rerank), budget)
        scores = found.scores + self._title_bonus(prepared, found)
        order = np.lexsort((np.arange(len(scores)), -scores))
        ranked = found._replace(segments=found.segments[order], documents=found.documents[order], scores=scores[order])
        ranked = self._fusion.fuse(prepared, ranked) if self._fusion else ranked
        return ranked._replace(segments=ranked.segments[:k], documents=ranked.documents[:k], scores=ranked.scores[:k])

    def _title_bonus(self, prepared: Prepared, found: Candidates) -> npt.NDArray[np.float32]:
        """Reward titles that have the query's words, and most of all those that have nothing else."""
        bonus = np.zeros(len(found.documents), np.float32)
        for number, segment in enumerate(self._index.segments):
            rows = found.segments == number
            if prepared.words and rows.any():
                bonus[rows] = self._title_bonuses(prepared, segment, found.documents[rows])
        return bonus

    def _title_bonuses(
        self, prepared: Prepared, segment: Segment, documents: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float32]:
        """Give the title bonus of some documents of one segment."""
        masks = segment.fields([segment.find(term) for word in prepared.words for term in word.terms], documents)
        in_title = (masks & (1 << Field.TITLE)) != 0
        ends = np.cumsum([len(word.terms) for word in prepared.words])
        has = np.logical_or.reduceat(in_title, np.concatenate([[0], ends[:-1]]), axis=1)
        weights = np.array([word.weight for word in prepared.words])
        best = float(weights.sum())
        share = (has @ weights) / best if best else np.zeros(len(documents))
        same = segment.column("title_key")[documents] == prepared.title
        factor = self._settings.title_bonus * same + self._settings.title_words_bonus * share**2
        bonus: npt.NDArray[np.float64] = best * factor
        return bonus.astype(np.float32)

    def explain(self, prepared: Prepared, segment_number: int, document: int) -> tuple[tuple[str, float], ...]:
        """Say what a document's score is made of."""
        segment = self._index.segments[segment_number]
        reasons: dict[str, float] = {}
        words = {term: word.word for word in prepared.words for term in word.terms}
        present: set[int] = set()
        for leaf in prepared.leaves:
            place = segment.find(leaf.term)
            impact = segment.positions(place, document)[1] if place else 0
            if impact and leaf.weight:
                name = f"word: {words.get(leaf.term, leaf.term.decode('utf-8', 'replace'))}"
                reasons[name] = reasons.get(name, 0.0) + leaf.weight * impact / invert.LEVELS
            if impact:
                present.add(leaf.group)
        static = float(segment.column("static")[document]) * prepared.scoring.static_weight
        if static:
            reasons["links and host"] = static
        if prepared.groups and present >= set(range(prepared.groups)):
            reasons["all words"] = prepared.bonus
        title = float(self._title_bonuses(prepared, segment, np.array([document], np.int32))[0]) if words else 0.0
        if title:
            reasons["title"] = title
        return tuple(reasons.items())
