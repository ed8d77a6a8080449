"""Vectors made when they are asked for: an index of a million pages has them where people search, long before all.

Slow for whoever asks first (some 50 passages a second), so it is a setting, and off unless asked for.
"""

import contextlib
import threading
from collections import OrderedDict
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.embeddings.embedder import Text, embed_texts, read_text, recipe_of
from periplus.embeddings.embedding_log import NAME, EmbeddingLog
from periplus.embeddings.encoder import Encoder
from periplus.embeddings.safetensors import Floats
from periplus.embeddings.vector_file import FOLDER, Vectors
from periplus.errors import PeriplusError
from periplus.files import lock_folder
from periplus.index import Index
from periplus.settings import EmbeddingSettings

__all__ = ["OnDemandEmbedder"]

_MOST: Final = 50_000
"""Documents whose vectors are held in memory."""


class OnDemandEmbedder:
    """Embeds documents of one index as they are needed; keeps them in the log too where no other process writes it."""

    def __init__(self, index: Index, settings: EmbeddingSettings, encoder: Encoder) -> None:
        self._index, self._settings, self._encoder = index, settings, encoder
        self._recipe = recipe_of(encoder.name, settings)
        self._held: OrderedDict[tuple[int, int], Vectors | None] = OrderedDict()
        self._lock = threading.Lock()
        self._open = contextlib.ExitStack()
        self._log: EmbeddingLog | None = None
        with contextlib.suppress(PeriplusError):
            folder = index.folder / FOLDER
            self._open.enter_context(lock_folder(folder, "embed"))
            self._log = self._open.enter_context(EmbeddingLog(folder / NAME, self._recipe, encoder.width))

    def similarities(self, query: Floats, segment: int, documents: npt.NDArray[np.int32]) -> Floats:
        """Give the cosine of each document's best passage; nan where the model cannot read it."""
        with self._lock:
            self._fill(segment, documents.tolist())
            parts = [self._held.get((segment, document)) for document in documents.tolist()]
        values = [(part.vectors @ query * part.scales).max() if part is not None else np.nan for part in parts]
        return np.array(values, np.float32)

    def _fill(self, segment: int, documents: list[int]) -> None:
        """Make what is missing, with one pass of the encoder."""
        new: list[Text] = []
        for document in documents:
            if (segment, document) not in self._held:
                text = read_text(self._index.segments[segment], document, self._settings, self._recipe)
                found = self._log.get(text.mark) if text and self._log else None
                self._keep(segment, document, found)
                new += [text] if text and found is None else []
        if not new:
            return
        made = embed_texts(self._encoder, new, self._settings)
        for text, vector in zip(new, made, strict=True):
            self._keep(segment, text.document, vector)
        if self._log is not None:
            # A disk that is full costs nobody an answer: what was made is in memory.
            with contextlib.suppress(PeriplusError):
                self._log.append([text.mark for text in new], made)

    def _keep(self, segment: int, document: int, vector: Vectors | None) -> None:
        self._held[segment, document] = vector
        if len(self._held) > _MOST:
            self._held.popitem(last=False)
