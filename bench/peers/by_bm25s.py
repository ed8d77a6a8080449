"""bm25s: every document scored for the words of the query, in memory. Unions only; it has no other queries."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from corpus import Asked
from figures import folder_bytes
from peers import Built, Engine


class Bm25s(Engine):
    """Lucene's variant of BM25, with the same parameters."""

    name = "bm25s"
    kinds = frozenset({"term", "union"})

    def build(self, texts: Sequence[str], folder: Path) -> Built:
        began = time.perf_counter()
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(word, len(numbers)) for word in text.split(" ") if word] for text in texts]
        model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        model.index(bm25s.tokenization.Tokenized(ids=rows, vocab=numbers), show_progress=False)
        model.save(str(folder))
        return Built(time.perf_counter() - began, folder_bytes(folder))

    def open(self, folder: Path) -> None:
        self._model = bm25s.BM25.load(str(folder), mmap=True)

    def prepare(self, asked: Asked, k: int) -> Any:
        return [term for term in asked.terms if term in self._model.vocab_dict], k

    def search(self, prepared: Any) -> Any:
        terms, k = prepared
        if not terms:
            return np.zeros(0), np.zeros(0)
        scores = self._model.get_scores(terms)
        best = np.argpartition(scores, -k)[-k:] if k < len(scores) else np.arange(len(scores))
        best = best[np.argsort(-scores[best], kind="stable")]
        return best, scores[best]

    def hits(self, answer: Any) -> list[int]:
        documents, scores = answer
        return [int(d) for d, score in zip(documents, scores, strict=True) if score > 0]


def make() -> Engine:
    """Return the engine."""
    return Bm25s()
