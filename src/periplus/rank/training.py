"""Learning to rank: boosted trees that correct the weights, made from judged queries, let in only if they are better.

LightGBM's LambdaMART begins at the score that the weights give, so that with little to learn from little changes. Every
query is scored once by trees that never saw it (cross-validation by query); the model passes the gate if nDCG@10 of
those scores beats that of the weights by more than chance (paired bootstrap). Where samples come from several
collections, each is also left out whole: trees that are worse on a collection they never saw, by more than chance, do
not pass either. A collection of too few queries, or with too few beside it, is reported but not judged.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput, MissingPart
from periplus.rank.kernels import trees
from periplus.rank.ranking_model import FEATURES, TreeModel
from periplus.rank.training_samples import Sample, join

__all__ = ["ChangedResult", "LeftOutSource", "TrainingResult", "flatten", "ndcg", "train_model"]

_SCALE: Final = 20.0
"""What a share of a query's best score counts in the trees: neighbours differ by a hundredth or so."""
_FOLDS: Final = 5
_ROUNDS: Final = 80
_FEWEST: Final = 20
"""Queries; fewer say nothing."""
_DRAWS: Final = 5_000
_LEVEL: Final = 0.05
_EXAMPLES: Final = 5
"""Queries whose first result changed that a card names, of those that won and of those that lost."""
_RISING: Final = (
    *("title", "heading", "anchor", "coverage", "preview", "title_run", "title_equal", "pairs", "near", "fixed"),
    *("static", "quality", "popularity", "clicks", "name", "mentions", "passage", "passage_body", "title_body"),
    "static_similarity",
)
"""Features that can only speak for a page."""
_SETTINGS: Final = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "learning_rate": 0.07,
    "min_data_in_leaf": 50,
    "lambda_l2": 5.0,
    "feature_fraction": 0.8,
    "lambdarank_truncation_level": 15,
    "use_missing": False,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "seed": 7,
    "verbose": -1,
    "monotone_constraints": [1 if name in _RISING else -1 if name == "spam" else 0 for name in FEATURES],
}


class ChangedResult(msgspec.Struct, frozen=True):
    """A query whose first result the model changes."""

    query: str
    before: str
    """The URL that was first."""
    after: str
    gain: float
    """In nDCG@10, by trees that never saw the query."""


class LeftOutSource(msgspec.Struct, frozen=True):
    """How a collection is ranked by trees that were trained on the other ones."""

    source: str
    queries: int
    before: float
    """nDCG@10 by the weights."""
    after: float
    """nDCG@10 by the trees; that by the weights where there are too few queries to judge."""
    high: float
    """The difference is at most this, with 95 % confidence."""
    judged: bool = True
    """Whether there are enough queries, of the collection and of the others, to judge by."""

    @property
    def worse(self) -> bool:
        """Whether the trees are worse than the weights by more than chance."""
        return self.judged and self.high < 0.0


class TrainingResult(NamedTuple):
    """A model and how good it is on queries it was not made from."""

    model: TreeModel
    queries: int
    before: float
    """nDCG@10 by the weights."""
    after: float
    """nDCG@10 by the model, every query scored by trees that never saw it."""
    low: float
    """The difference is at least this, with 95 % confidence."""
    p: float
    """The share of samples of the queries in which the model is not better."""
    importance: dict[str, float]
    """What each feature did for the trees, as a share."""
    left_out: tuple[LeftOutSource, ...] = ()
    """By collection: how trees of the others rank it; none where all samples are of one."""
    examples: tuple[ChangedResult, ...] = ()
    """Queries whose first result the model changes, those that won most first."""

    @property
    def passed(self) -> bool:
        """Whether the model is better by more than chance, and worse on no collection that was left out."""
        return self.after > self.before and self.p < _LEVEL and not any(source.worse for source in self.left_out)


def train_model(
    samples: Sequence[Sample], report: Callable[[str, int, int], None] = lambda stage, done, total: None
) -> TrainingResult:
    """Make a model of all samples, and measure it on held-out queries."""
    if len(samples) < _FEWEST:
        raise BadInput(
            f"There are {len(samples)} queries to learn from; {_FEWEST} are the fewest.",
            "Judge more results, or give a judged collection: periplus learn --judgements FOLDER.",
        )
    sources = list(dict.fromkeys(sample.source for sample in samples))
    steps = _FOLDS + (len(sources) if len(sources) > 1 else 0) + 1
    held_out = np.random.default_rng(7).permutation(len(samples)) % _FOLDS
    before = np.array([ndcg(sample, sample.base) for sample in samples])
    scores: list[npt.NDArray[np.float64]] = [sample.base for sample in samples]
    for fold in range(_FOLDS):
        report("learning", fold, steps)
        model, _ = _train([sample for sample, out in zip(samples, held_out, strict=True) if out != fold])
        for number in np.flatnonzero(held_out == fold).tolist():
            scores[number] = samples[number].base + model.correct(samples[number].rows)
    after = np.array([ndcg(sample, score) for sample, score in zip(samples, scores, strict=True)])
    left_out = []
    for number, source in enumerate(sources if len(sources) > 1 else ()):
        report("learning", _FOLDS + number, steps)
        left_out.append(_leave_out(samples, source))
    model, importance = _train(samples)
    report("learning", steps, steps)
    low, _, p = _bootstrap(after - before)
    examples = _find_examples(samples, scores, after - before)
    means = float(before.mean()), float(after.mean())
    return TrainingResult(model, len(samples), *means, low, p, importance, tuple(left_out), examples)


def _leave_out(samples: Sequence[Sample], source: str) -> LeftOutSource:
    """Return how the samples of one source are ranked by trees of the others, where both are enough to judge by."""
    others = [sample for sample in samples if sample.source != source]
    own = [sample for sample in samples if sample.source == source]
    before = np.array([ndcg(sample, sample.base) for sample in own])
    if min(len(own), len(others)) < _FEWEST:
        mean = float(before.mean())
        return LeftOutSource(source, len(own), mean, mean, 0.0, judged=False)
    model, _ = _train(others)
    after = np.array([ndcg(sample, sample.base + model.correct(sample.rows)) for sample in own])
    high = _bootstrap(after - before)[1]
    return LeftOutSource(source, len(own), float(before.mean()), float(after.mean()), high)


def _find_examples(
    samples: Sequence[Sample], scores: Sequence[npt.NDArray[np.float64]], gains: npt.NDArray[np.float64]
) -> tuple[ChangedResult, ...]:
    """Return queries whose first result changed: those that won most, then those that lost most."""
    changed = []
    for sample, score, gain in zip(samples, scores, gains.tolist(), strict=True):
        first, now = int(np.argmax(sample.base)), int(np.argmax(score))
        if first != now and len(sample.urls) == len(score):
            changed.append(ChangedResult(sample.query, sample.urls[first], sample.urls[now], gain))
    changed.sort(key=lambda change: -change.gain)
    won, lost = [one for one in changed if one.gain > 0], [one for one in changed if one.gain < 0]
    return (*won[:_EXAMPLES], *lost[-_EXAMPLES:])


def ndcg(sample: Sample, scores: npt.NDArray[np.float64], k: int = 10) -> float:
    """Return nDCG at `k` of one query; a grade is its own gain."""
    discount = 1 / np.log2(np.arange(2, k + 2))
    best = sample.grades[np.argsort(-scores, kind="stable")[:k]]
    ideal = sample.ideal[:k]
    return float((best * discount[: len(best)]).sum() / max(1e-12, (ideal * discount[: len(ideal)]).sum()))


def _bootstrap(difference: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Draw queries again and again: return both ends of the mean difference, and how often it is not above 0."""
    drawn = np.random.default_rng(7).integers(0, len(difference), (_DRAWS, len(difference)))
    means = difference[drawn].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975]).tolist()
    return low, high, float(((means <= 0).sum() + 1) / (_DRAWS + 1))


def _train(samples: Sequence[Sample]) -> tuple[TreeModel, dict[str, float]]:
    """Make trees of samples; give the model and what each feature did for it."""
    try:
        import lightgbm
    except ImportError:
        raise MissingPart("Learning needs LightGBM.", "Install the extra 'learn'; periplus doctor says how.") from None
    rows, base, grades, sizes = join(samples)
    data = lightgbm.Dataset(
        rows, grades, group=sizes, init_score=_SCALE * base, feature_name=list(FEATURES), params={"verbose": -1}
    )
    booster = lightgbm.train(dict(_SETTINGS), data, _ROUNDS)
    gain = booster.feature_importance("gain").astype(float)
    shares = (gain / gain.sum()).tolist() if gain.sum() else gain.tolist()
    return TreeModel(flatten(booster.dump_model()), _SCALE), dict(zip(FEATURES, shares, strict=True))


def flatten(dump: dict[str, Any]) -> trees.Trees:
    """Lay the trees of a LightGBM dump out as flat arrays, parents before their children."""
    nodes: list[list[float]] = []
    leaves: list[float] = []

    def lay(node: dict[str, Any]) -> int:
        if "leaf_value" in node:
            leaves.append(float(node["leaf_value"]))
            return ~(len(leaves) - 1)
        own = len(nodes)
        nodes.append([node["split_feature"], node["threshold"], 0, 0, node["internal_value"]])
        nodes[own][2], nodes[own][3] = lay(node["left_child"]), lay(node["right_child"])
        return own

    roots = [lay(tree["tree_structure"]) for tree in dump["tree_info"]]
    table = np.array(nodes, np.float64).reshape(-1, 5)
    return trees.Trees(
        np.array(roots, np.int32),
        table[:, 0].astype(np.int32),
        np.ascontiguousarray(table[:, 1]),
        table[:, 2:4].astype(np.int32),
        np.ascontiguousarray(table[:, 4]),
        np.array(leaves, np.float64),
    )
