"""Coordinate ascent: weights of features that raise nDCG@10 on several collections at once.

What is raised is a utility, not the mean: a gain of one collection counts for less the larger it is, and a loss
counts several times. Otherwise the collection that gains most from one feature decides for all others. Weights are
not negative (every feature speaks for a page), and stay at 0 unless they earn more than a penalty.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from candidate_dump import CandidateDump
from ranking_objective import gain_utility, ndcg_at_ten

from periplus.rank import FEATURES
from periplus.rank.feature_scorer import LONG, SHORT
from periplus.score import SHAPES, FeatureWeight
from periplus.score.kernels import weighting

__all__ = ["LEARNED", "LearnedWeight", "Sampled", "choose_features", "learn_weights", "prepare"]

LEARNED: Final = ("title", "title_sequence", "title_fill", "title_body", "run", "pairs", "passage")
"""One feature for each kind of evidence: how much of the query a title has, in which order, with what else, and whether
the body supports it; order, neighbours and passages in the body. Others say the same again, and have no weight."""
_CAP: Final = 0.06
"""The relative gain of one collection that utility approaches at most."""
_PENALTY: Final = 0.001
"""Utility that a weight of one step must earn."""
_STEP: Final = 0.03
_MOST: Final = 0.8
_SWEEPS: Final = 4
_DRAWS: Final = 6
_DOUBT: Final = 1.0
"""Standard deviations among ascents that are taken off a weight."""
_LEAST: Final = 0.01
"""A lower weight is 0: it moves next to no result, and its feature would have to be measured for every query."""
_SHRINK: Final = 0.6
"""How much smaller steps become from sweep to sweep."""
_MOST_QUERIES: Final = 400
"""Queries of one collection that take part in learning."""
_LEAST_QUERIES: Final = 0.2
"""Share of queries among whose candidates a feature must vary, for it to be learned from a collection."""
_LEAST_COLLECTIONS: Final = 4
"""Collections that a feature must be learned from; the weight of others is not learned."""
_WORDS: Final = FEATURES.index("query_words")

Floats = npt.NDArray[np.float64]


class LearnedWeight(NamedTuple):
    """The weight of a feature for short queries and for long ones."""

    short: float
    long: float


class Sampled(NamedTuple):
    """What learning needs of a collection."""

    base: Floats
    """By row: the score without what is learned."""
    columns: Floats
    """By feature and row: features in their shapes, for short queries, then for long ones."""
    grades: Floats
    offsets: npt.NDArray[np.int64]
    ideal: Floats
    times: Floats
    """By query: its share in the mean."""
    first: float
    """nDCG@10 of `base`."""


def choose_features(dumps: Sequence[CandidateDump]) -> tuple[str, ...]:
    """Return the features of `LEARNED` that vary among the candidates of enough collections."""
    chosen = []
    for name in LEARNED:
        number = FEATURES.index(name)
        if sum(_varies(dump, number) >= _LEAST_QUERIES for dump in dumps) >= _LEAST_COLLECTIONS:
            chosen.append(name)
    return tuple(chosen)


def _varies(dump: CandidateDump, number: int) -> float:
    """Return the share of queries among whose first candidates a feature varies."""
    column = dump.features[:, number]
    spans = zip(dump.offsets[:-1].tolist(), dump.offsets[1:].tolist(), strict=True)
    return float(np.mean([end > begin and np.ptp(column[begin : min(end, begin + 20)]) > 0 for begin, end in spans]))


def prepare(dump: CandidateDump, weights: Mapping[str, FeatureWeight], learned: Sequence[str]) -> Sampled:
    """Return the rows of a collection, nearest documents left out, and of at most some hundred queries."""
    spans = list(zip(dump.offsets[:-1].tolist(), dump.offsets[1:].tolist(), strict=True))
    queries = np.random.default_rng(7).permutation(len(spans))[:_MOST_QUERIES]
    spans = [spans[number] for number in np.sort(queries).tolist()]
    rows = [np.arange(begin, end)[~dump.joined[begin:end]] for begin, end in spans]
    chosen = np.concatenate(rows)
    features = dump.features[chosen].astype(np.float64)
    numbers = [FEATURES.index(name) for name in learned]
    shapes = np.array([SHAPES.index(weights[name].shape) for name in FEATURES], np.int32)
    shaped = weighting.weigh_features(features, np.ones(len(FEATURES)), shapes)
    fixed = np.array([0.0 if name in learned else weights[name].weight for name in FEATURES])
    share = np.clip((features[:, _WORDS] - SHORT) / (LONG - SHORT), 0.0, 1.0)
    columns = shaped[:, numbers].T
    base = shaped @ fixed
    grades, offsets = dump.grades[chosen].astype(np.float64), np.cumsum([0, *map(len, rows)])
    ideal = dump.ideal[np.sort(queries)].astype(np.float64)
    times = np.full(len(ideal), 1.0 / len(ideal))
    first = float(times @ ndcg_at_ten(base, grades, offsets, ideal))
    both = np.concatenate((columns * (1.0 - share), columns * share))
    return Sampled(base, np.ascontiguousarray(both), grades, offsets, ideal, times, first)


def learn_weights(samples: Sequence[Sampled], learned: Sequence[str]) -> dict[str, LearnedWeight]:
    """Return the weights of the learned features that are best for these collections together.

    They are the mean of several ascents, each over queries drawn again with replacement: one ascent chooses among
    features that say nearly the same, and which of them it chooses is chance. What the ascents do not agree on is
    taken off: a weight is the mean less one standard deviation, and the first stage's order stays where that is 0.
    """
    chance = np.random.default_rng(7)
    drawn = np.array([_ascend([_redraw(sample, chance) for sample in samples], chance) for _ in range(_DRAWS)])
    weights = np.maximum(0.0, drawn.mean(axis=0) - _DOUBT * drawn.std(axis=0))
    short, long = np.where(weights < _LEAST, 0.0, np.round(weights, 3)).reshape(2, -1).tolist()
    return {name: LearnedWeight(*pair) for name, *pair in zip(learned, short, long, strict=True)}


def _redraw(sample: Sampled, chance: np.random.Generator) -> Sampled:
    """Return a collection with as many queries, drawn with replacement."""
    times = np.bincount(chance.integers(0, len(sample.ideal), len(sample.ideal)), minlength=len(sample.ideal))
    values = ndcg_at_ten(sample.base, sample.grades, sample.offsets, sample.ideal)
    return sample._replace(times=times / len(times), first=float(times @ values / len(times)))


def _ascend(samples: Sequence[Sampled], chance: np.random.Generator) -> Floats:
    """Return weights that no step of one of them improves, found from 0."""
    weights = np.zeros(len(samples[0].columns))
    scores = [sample.base for sample in samples]
    best = 0.0
    for sweep in range(_SWEEPS):
        before = weights.copy()
        for number in chance.permutation(len(weights)).tolist():
            best = _try_steps(samples, scores, weights, number, _STEP * _SHRINK**sweep, best)
        if sweep and (weights == before).all():
            break
    return weights


def _try_steps(
    samples: Sequence[Sampled], scores: list[Floats], weights: Floats, number: int, step: float, best: float
) -> float:
    """Move one weight to the best of a few values near it; return the utility then."""
    start, chosen, moved = float(weights[number]), float(weights[number]), scores
    for steps in (-2, -1, 1, 2, 4):
        value = min(max(start + steps * step, 0.0), _MOST)
        if value == start:
            continue
        trial = [
            score + (value - start) * sample.columns[number] for score, sample in zip(scores, samples, strict=True)
        ]
        penalty = _PENALTY * (weights.sum() - start + value) / _STEP
        utility = _utility(samples, trial) - penalty
        if utility > best + 1e-6:
            best, chosen, moved = utility, value, trial
    weights[number] = chosen
    scores[:] = moved
    return best


def _utility(samples: Sequence[Sampled], scores: Sequence[Floats]) -> float:
    """Return the mean utility of the gains over what is there without the learned weights."""
    values = [
        sample.times @ ndcg_at_ten(score, sample.grades, sample.offsets, sample.ideal)
        for score, sample in zip(scores, samples, strict=True)
    ]
    gains = np.array(values) / np.maximum([sample.first for sample in samples], 1e-9) - 1.0
    return float(gain_utility(gains, _CAP).mean())
