"""Ranking: what orders the candidates of a query.

In: an index and query plans. Out: features of candidates, and the model that weighs them.
The first stage is BM25F: its weights are part of the stored impacts, idf comes from the collection at query time, and
static rank and an all-words bonus are added in the match kernel. Reranking measures the best candidates (`FEATURES`,
one kernel call) and orders them by readable weights, corrected by a model learned from judgements. `Ranker` holds what
one index needs for both; `RerankModel` is its part that needs no index. The stages themselves are in `periplus.search`.
Every part of a score has a name: `Ranker.explain`. See docs/ranking.md.

Judgements and clicks become grades (`read_grades`), judged queries become samples (`collect_samples`), `train_model`
trains a model on them, and `save_model` puts it into use if it is better than the weights alone.
"""

from periplus.rank.external_signals import ExternalSignals, open_external_signals
from periplus.rank.feature_rows import complete_features, without_static_similarity
from periplus.rank.feature_scorer import feature_weights, query_length
from periplus.rank.fusion import Similarities, embedding_points
from periplus.rank.model_store import ModelCard, list_models, save_model, select_model
from periplus.rank.ranker import Ranker, RerankModel, open_rerank_model, plan_tree, uses_encoder
from periplus.rank.ranking_model import FEATURES
from periplus.rank.static_similarity import (
    QuerySimilarity,
    VectorFormat,
    passage_vectors,
    query_similarity,
    vector_format,
)
from periplus.rank.training import ChangedResult, LeftOutSource, TrainingResult, train_model
from periplus.rank.training_samples import Grades, Sample, collect_samples, read_grades

__all__ = [
    "FEATURES",
    "ChangedResult",
    "ExternalSignals",
    "Grades",
    "LeftOutSource",
    "ModelCard",
    "QuerySimilarity",
    "Ranker",
    "RerankModel",
    "Sample",
    "Similarities",
    "TrainingResult",
    "VectorFormat",
    "collect_samples",
    "complete_features",
    "embedding_points",
    "feature_weights",
    "list_models",
    "open_external_signals",
    "open_rerank_model",
    "passage_vectors",
    "plan_tree",
    "query_length",
    "query_similarity",
    "read_grades",
    "save_model",
    "select_model",
    "train_model",
    "uses_encoder",
    "vector_format",
    "without_static_similarity",
]
