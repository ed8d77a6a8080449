"""Kernels over vectors against their naive twins."""

import numpy as np
import pytest

from naive import vectors as naive
from periplus.embeddings import kernels


def random_store(seed: int, documents: int, lists: int, width: int = 24) -> kernels.VectorStore:
    chance = np.random.default_rng(seed)
    counts = chance.integers(0, 4, documents)
    total = int(counts.sum())
    floats = chance.standard_normal((total, width)).astype(np.float32)
    floats /= np.linalg.norm(floats, axis=1, keepdims=True)
    vectors, scales = kernels.quantise(floats)
    owners = np.repeat(np.arange(documents, dtype=np.int32), counts)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    list_of = np.sort(chance.integers(0, lists, total))
    order = chance.permutation(total)
    rows = np.empty(total, np.int32)
    rows[order] = np.arange(total, dtype=np.int32)
    list_start = np.concatenate([[0], np.cumsum(np.bincount(list_of, minlength=lists))]).astype(np.int64)
    centres = chance.standard_normal((lists, width)).astype(np.float32)
    store = kernels.VectorStore(vectors[order], scales[order], owners[order], start, rows, centres, list_start)
    for array in store:
        array.flags.writeable = False
    return store


def query(seed: int, width: int = 24) -> np.ndarray:
    value = np.random.default_rng(seed + 1000).standard_normal(width).astype(np.float32)
    return value / np.linalg.norm(value)


@pytest.mark.parametrize("seed", range(5))
def test_documents_are_scored_by_their_best_passage(seed: int) -> None:
    store = random_store(seed, 40, 3)
    documents = np.random.default_rng(seed).permutation(40).astype(np.int32)
    out = np.empty(40, np.float32)
    kernels.score_documents(store, query(seed), documents, out)
    assert np.allclose(out, naive.score_documents(store, query(seed), documents), atol=1e-5, equal_nan=True)
    assert np.isnan(out).any()


@pytest.mark.parametrize("probe", [1, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_of_the_probed_lists_are_found(seed: int, probe: int) -> None:
    store = random_store(seed, 60, 7)
    alive = np.random.default_rng(seed).random(60) > 0.3
    vector = query(seed)
    order = np.argsort(-(store.centres @ vector), kind="stable")[:probe]
    expected = naive.find_nearest(store, vector, alive, order, 10)
    documents, scores = np.empty(10, np.int32), np.empty(10, np.float32)
    count = kernels.find_nearest(store, vector, alive, probe, documents, scores)
    assert count == len(expected)
    assert set(documents[:count].tolist()) == {document for document, _ in expected}
    assert np.allclose(sorted(scores[:count]), sorted(value for _, value in expected), atol=1e-5)


def test_nothing_is_nearest_to_nothing() -> None:
    store = random_store(1, 5, 1)
    documents, scores = np.empty(3, np.int32), np.empty(3, np.float32)
    assert kernels.find_nearest(store, query(1), np.zeros(5, np.bool_), 1, documents, scores) == 0


def test_every_vector_goes_to_its_nearest_centre() -> None:
    store = random_store(2, 50, 6)
    out = np.empty(len(store.vectors), np.int32)
    kernels.assign_centres(store.vectors, store.centres, out)
    assert out.tolist() == naive.assign_centres(store.vectors, store.centres)


def test_bytes_lose_little() -> None:
    chance = np.random.default_rng(3)
    floats = chance.standard_normal((200, 384)).astype(np.float32)
    floats /= np.linalg.norm(floats, axis=1, keepdims=True)
    vectors, scales = kernels.quantise(floats)
    assert np.abs((vectors * scales[:, None] * floats).sum(axis=1) - 1).max() < 1e-3
    assert kernels.quantise(np.zeros((1, 4), np.float32))[0].tolist() == [[0, 0, 0, 0]]
