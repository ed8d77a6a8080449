"""The tiers of embeddings behind one interface: the table of word pieces, and the models of the extra."""

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from periplus.embeddings import open_encoder
from periplus.embeddings.embedder import SourceText, embed_texts
from periplus.embeddings.passages import truncate_source
from periplus.settings import EmbeddingSettings
from periplus.static_embeddings import load_static_model
from periplus.static_embeddings.kernels import passage_vectors

Pages = Sequence[tuple[str, str]]
"""Titles and texts."""
CHUNK = 256


class Tier(Protocol):
    """A model, and how passages are made for it."""

    name: str
    model_bytes: int
    passage_bytes: int
    vectors: np.ndarray | None
    """Vectors of all passages embedded so far, as floats; None where they are not to be had."""

    def embed(self, pages: Pages) -> int:
        """Embed pages, in place of those before; return the number of passages."""

    def encode(self, words: str) -> np.ndarray | None:
        """Return the vector of a query; None if the model does not support it."""

    def similarities(self, query: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the similarity of each page's best passage; nan for pages without vectors."""


class StaticTier:
    """The table of word pieces in the package: vectors of pages are signs."""

    def __init__(self) -> None:
        self._model = load_static_model()
        self.name = "static"
        self.model_bytes = _static_bytes()
        self.passage_bytes = self._model.width // 8
        self.vectors = None

    def embed(self, pages: Pages) -> int:
        parts = [part.encode() for page in pages for part in page]
        ends = np.cumsum([len(part) for part in parts]).astype(np.int64)
        spans = np.stack((np.concatenate(([0], ends[:-1])), ends), axis=1)
        data = np.frombuffer(b"".join(parts), np.uint8)
        titles, bodies = (np.ascontiguousarray(spans[at::2]) for at in (0, 1))
        rows = self._model.embed_documents(data, titles, bodies, ["en"] * len(pages))
        self._signs = rows.signs
        self._start = np.concatenate(([0], np.cumsum(rows.rows))).astype(np.int64)
        return len(rows.signs)

    def encode(self, words: str) -> np.ndarray | None:
        encoded = self._model.encode_query(words)
        return None if encoded is None else encoded[0]

    def similarities(self, query: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        out = np.empty(len(numbers), np.float32)
        passage_vectors.score_documents(self._signs, self._start, query, numbers.astype(np.int32), out)
        return out


class EncoderTier:
    """A model of the extra: vectors of pages are bytes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._settings = EmbeddingSettings(encoder=name)
        self._encoder = open_encoder(self._settings)
        self.model_bytes = sum(path.stat().st_size for path in self._settings.model_folder.iterdir())
        self.passage_bytes = self._encoder.width + 4
        self.vectors = None

    def embed(self, pages: Pages) -> int:
        made = []
        for at in range(0, len(pages), CHUNK):
            sources = [
                SourceText(number, 1, *truncate_source(title, text.encode(), self._settings))
                for number, (title, text) in enumerate(pages[at : at + CHUNK])
            ]
            made += embed_texts(self._encoder, sources, self._settings)
        self._rows = np.repeat(np.arange(len(made)), [len(part.scales) for part in made])
        self.vectors = np.concatenate([part.vectors * part.scales[:, None] for part in made]).astype(np.float32)
        self._count = len(made)
        return len(self._rows)

    def encode(self, words: str) -> np.ndarray:
        return self._encoder.encode_query(words)

    def similarities(self, query: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        assert self.vectors is not None
        best = np.full(self._count, -1.0, np.float32)
        np.maximum.at(best, self._rows, self.vectors @ query)
        return best[numbers]


def open_tier(name: str) -> Tier:
    """Return a tier by its name: 'static', or a model of `embeddings.encoder`."""
    return StaticTier() if name == "static" else EncoderTier(name)


def _static_bytes() -> int:
    from periplus.static_embeddings import MODEL_PATH

    return MODEL_PATH.stat().st_size


def measure_speed(tier: Tier, pages: Pages, queries: Sequence[str]) -> dict[str, float]:
    """Return passages per second of CPU time, and the CPU time of the vector of a query."""
    tier.embed(pages[:8])
    began = time.process_time()
    passages = tier.embed(pages)
    seconds = time.process_time() - began
    times = []
    for number, words in enumerate(queries):
        tier.encode(f"{words} indeed {number}")  # Vectors of queries are cached, so none is repeated.
        began = time.thread_time()
        tier.encode(words)
        times.append(time.thread_time() - began)
    return {
        "passages_a_second": round(passages / seconds, 1),
        "query_p50_ms": round(float(np.percentile(times, 50)) * 1e3, 3),
        "query_p99_ms": round(float(np.percentile(times, 99)) * 1e3, 3),
    }
