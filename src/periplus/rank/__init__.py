"""Candidates to an order.

In: a prepared query and an index. Out: `Candidates`, best first.
The first stage is BM25F (its weights are baked into the stored impacts; idf comes from the collection at query time)
with static rank and an all-words bonus mixed in, inside the match kernel. The second look measures the best of them
(`FEATURES`, one kernel call) and re-orders them by weights that people can read, or by a model learned from judgements.
Every part of a score has a name: `Ranker.explain`. See docs/ranking.md.

Judgements and clicks become grades (`read_grades`), judged queries become samples (`collect_samples`), `train_model`
trains a model on them, and `save_model` puts it into use if it is better than the weights alone.
"""

from periplus.rank.external_signals import ExternalSignals, open_external_signals
from periplus.rank.feature_scorer import feature_weights
from periplus.rank.model_store import ModelCard, list_models, save_model, select_model
from periplus.rank.ranker import Looked, Ranker
from periplus.rank.ranking_model import FEATURES
from periplus.rank.training import TrainingResult, train_model
from periplus.rank.training_samples import Grades, Sample, collect_samples, read_grades

__all__ = [
    "FEATURES",
    "ExternalSignals",
    "Grades",
    "Looked",
    "ModelCard",
    "Ranker",
    "Sample",
    "TrainingResult",
    "collect_samples",
    "feature_weights",
    "list_models",
    "open_external_signals",
    "read_grades",
    "save_model",
    "select_model",
    "train_model",
]
