"""Nearest neighbours among many vectors: what searching some of the lists, and vectors as bytes, lose.

Vectors beyond the real ones are synthetic: mixtures of two real ones with noise.
"""

import time

import numpy as np

from periplus.embeddings import kernels
from periplus.embeddings.embedding_searcher import count_probed_lists
from periplus.embeddings.vector_file import cluster_vectors
from periplus.settings import EmbeddingSettings

NEAREST = 10
PROBE = EmbeddingSettings().probe


def mix_vectors(real: np.ndarray, count: int) -> np.ndarray:
    """Return synthetic vectors between real ones."""
    chance = np.random.default_rng(count)
    first, second = (real[chance.integers(0, len(real), count)] for _ in range(2))
    made = first + 0.7 * second + 0.02 * chance.standard_normal(first.shape, dtype=np.float32)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def build_store(made: np.ndarray) -> kernels.VectorStore:
    """Return vectors as the store of a segment, one document each."""
    vectors, scales = kernels.quantise(made)
    centres, lists = cluster_vectors(vectors)
    order = np.argsort(lists, kind="stable")
    rows = np.empty(len(order), np.int32)
    rows[order] = np.arange(len(order), dtype=np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(lists, minlength=len(centres)))]).astype(np.int64)
    numbers = np.arange(len(made) + 1, dtype=np.int64)
    store = kernels.VectorStore(vectors[order], scales[order], order.astype(np.int32), numbers, rows, centres, start)
    for array in store:
        array.flags.writeable = False
    return store


def search_lists(real: np.ndarray, queries: np.ndarray, size: int) -> dict[str, float]:
    """Return the share of the ten nearest of `size` vectors that a search finds, and its time."""
    made = mix_vectors(real, size)
    exact = np.argpartition(-(queries @ made.T), NEAREST, axis=1)[:, :NEAREST]
    store = build_store(made)
    alive = np.ones(len(store.owners), np.bool_)
    lists = count_probed_lists(store, PROBE)
    documents, scores = np.empty(NEAREST, np.int32), np.empty(NEAREST, np.float32)
    shares, times = [], []
    for query, truth in zip(queries, exact, strict=True):
        began = time.thread_time()
        count = kernels.find_nearest(store, query, alive, lists, documents, scores)
        times.append(time.thread_time() - began)
        shares.append(len({*documents[:count].tolist()} & {*truth.tolist()}) / NEAREST)
    return {
        "vectors": size,
        "recall_at_10": round(float(np.mean(shares)), 4),
        "lists_searched": round(lists / len(store.centres), 3),
        "p50_ms": round(float(np.percentile(times, 50)) * 1e3, 3),
    }
