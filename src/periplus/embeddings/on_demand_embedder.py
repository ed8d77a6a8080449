"""Vectors computed while a query waits, for documents that have none.

Slow for the first search that meets a document (some 50 passages a second), hence a setting that is off by default.
"""

import contextlib
import threading
from collections import OrderedDict
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.embeddings.embedder import SourceText, embed_texts, embedding_recipe, read_source
from periplus.embeddings.embedding_log import LOG_NAME, EmbeddingLog
from periplus.embeddings.encoder import Encoder
from periplus.embeddings.safetensors import Floats
from periplus.embeddings.vector_file import FOLDER, PassageVectors
from periplus.errors import PeriplusError
from periplus.files import lock_folder
from periplus.index import Index
from periplus.settings import EmbeddingSettings

__all__ = ["OnDemandEmbedder"]

_CACHE_SIZE: Final = 50_000
"""Documents whose vectors are cached in memory."""


class OnDemandEmbedder:
    """Embeds documents of an index as they are needed; appends them to the log unless another process writes it."""

    def __init__(self, index: Index, settings: EmbeddingSettings, encoder: Encoder) -> None:
        self._index, self._settings, self._encoder = index, settings, encoder
        self._recipe = embedding_recipe(encoder.name, settings)
        self._cache: OrderedDict[tuple[int, int], PassageVectors | None] = OrderedDict()
        self._lock = threading.Lock()
        self._resources = contextlib.ExitStack()
        self._log: EmbeddingLog | None = None
        with contextlib.suppress(PeriplusError):
            folder = index.folder / FOLDER
            self._resources.enter_context(lock_folder(folder, "embed"))
            self._log = self._resources.enter_context(EmbeddingLog(folder / LOG_NAME, self._recipe, encoder.width))

    def similarities(self, query: Floats, segment: int, documents: npt.NDArray[np.int32]) -> Floats:
        """Return the cosine of each document's best passage; nan where the model does not support the document."""
        with self._lock:
            self._embed_missing(segment, documents.tolist())
            parts = [self._cache.get((segment, document)) for document in documents.tolist()]
        values = [(part.vectors @ query * part.scales).max() if part is not None else np.nan for part in parts]
        return np.array(values, np.float32)

    def _embed_missing(self, segment: int, documents: list[int]) -> None:
        """Compute missing vectors with one call of the encoder."""
        new: list[SourceText] = []
        for document in documents:
            if (segment, document) not in self._cache:
                text = read_source(self._index.segments[segment], document, self._settings, self._recipe)
                vectors = self._log.get(text.fingerprint) if text and self._log else None
                self._put(segment, document, vectors)
                new += [text] if text and vectors is None else []
        if not new:
            return
        parts = embed_texts(self._encoder, new, self._settings)
        for text, part in zip(new, parts, strict=True):
            self._put(segment, text.document, part)
        if self._log is not None:
            # A full disk must not fail a search: the vectors are in memory.
            with contextlib.suppress(PeriplusError):
                self._log.append([text.fingerprint for text in new], parts)

    def _put(self, segment: int, document: int, vectors: PassageVectors | None) -> None:
        self._cache[segment, document] = vectors
        if len(self._cache) > _CACHE_SIZE:
            self._cache.popitem(last=False)
