"""Candidates to an order.

In: a prepared query and an index. Out: `Candidates`, best first.
The first stage is BM25F (its weights are baked into the stored impacts; idf comes from the collection at query time)
with static rank and an all-words bonus mixed in, inside the match kernel. The second look measures the best of them
(`FEATURES`, one kernel call) and re-orders them by weights that people can read, or by a model learned from judgements.
Every part of a score has a name: `Ranker.explain`. See docs/ranking.md.

What people thought of results is kept by `write_judgement` and `write_click`. `grades_of_folder` reads it,
`take_samples` runs the judged queries, `learn` makes a model of them, and `keep_model` lets it rank if it is better.
"""

from periplus.rank.external_signals import Outside, open_outside
from periplus.rank.feature_scorer import dynamic_weights
from periplus.rank.model_store import ModelCard, keep_model, list_models, use_model
from periplus.rank.ranker import Looked, Ranker
from periplus.rank.ranking_model import FEATURES
from periplus.rank.training import Learned, learn
from periplus.rank.training_samples import Grades, Sample, grades_of_folder, take_samples

__all__ = [
    "FEATURES",
    "Grades",
    "Learned",
    "Looked",
    "ModelCard",
    "Outside",
    "Ranker",
    "Sample",
    "dynamic_weights",
    "grades_of_folder",
    "keep_model",
    "learn",
    "list_models",
    "open_outside",
    "take_samples",
    "use_model",
]
