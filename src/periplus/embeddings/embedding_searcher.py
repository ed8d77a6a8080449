"""A query's words to a vector, and the vector to what is near it: the half of this room that serves queries."""

import functools
import os
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.embeddings import kernels
from periplus.embeddings.encoder import Encoder, open_encoder
from periplus.embeddings.model_languages import asked_among
from periplus.embeddings.on_demand_embedder import OnDemandEmbedder
from periplus.embeddings.safetensors import Floats
from periplus.embeddings.vector_file import FOLDER, VectorFile, open_vectors, segment_fingerprint, vector_path
from periplus.errors import PeriplusError
from periplus.index import Index, Segment
from periplus.settings import EmbeddingSettings

__all__ = ["EmbeddingSearcher", "NearestDocuments", "VectorCoverage", "lists_to_probe", "vector_coverage"]

_LOOK: Final = 1.0
"""Seconds until somebody looks again whether there are new vectors."""
_LEAST_ROWS: Final = 20_000
"""Passages that are looked at, at least, where there are so many."""
_PATIENCE: Final = 30.0
"""Seconds until a model that could not be opened is tried again."""


class NearestDocuments(NamedTuple):
    """Documents near a query, best first."""

    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    scores: Floats


class VectorCoverage(NamedTuple):
    """How many documents have vectors."""

    documents: int
    covered: int
    passages: int
    whole: bool
    """Whether all that the model can read have them."""


@functools.lru_cache(maxsize=2)
def _load(model: str, threads: int, skim: bool) -> Encoder:
    """Load the encoder once in a process: every generation of the index uses the same."""
    return open_encoder(EmbeddingSettings(model=model, threads=threads, early_exit=skim))


@functools.lru_cache(maxsize=64)
def _held(path: Path, stamp: object) -> VectorFile | None:
    """Open and check a file of vectors once: generations that follow each other share most of their segments."""
    return open_vectors(path)


def _file_of(folder: Path, segment: Segment) -> VectorFile | None:
    """Give the vectors of a segment, None if there are none."""
    path = vector_path(folder, segment.name)
    file = _held(path, _stamp(path))
    return file if file is not None and file.segment == segment_fingerprint(segment) else None


def vector_coverage(index: Index) -> VectorCoverage:
    """Count the documents that have vectors, by whatever model."""
    files = [_file_of(index.folder, segment) for segment in index.segments]
    held = [file for file in files if file is not None]
    whole = all(file is not None and file.whole for file in files)
    return VectorCoverage(index.documents, sum(f.covered for f in held), sum(len(f.store.vectors) for f in held), whole)


class EmbeddingSearcher:
    """The vectors of one generation of the index. Without model or vectors it says so, and has nothing to give.

    `problem` is '' when all is well, else one line for people.
    """

    def __init__(self, index: Index, settings: EmbeddingSettings, encoder: Encoder | None = None) -> None:
        self.problem = ""
        self._index, self._settings = index, settings
        self._given = encoder
        self._lock = threading.Lock()
        self._files: list[VectorFile | None] = [None] * len(index.segments)
        self._lazy: OnDemandEmbedder | None = None
        self._seen: object = None
        self._next_look = self._next_try = 0.0

    def supports_query(self, words: str, segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]) -> bool:
        """Say whether a query that found these documents, best first, is in a language that the model knows."""
        return asked_among(words, self._index, segments, documents, self._settings.languages)

    def encode_query(self, words: str) -> Floats | None:
        """Give the vector of a query; None if meaning has nothing to say, and `problem` says why."""
        encoder = self._encoder()
        if encoder is None or not self._refresh(encoder):
            return None
        return encoder.query(words)

    def _encoder(self) -> Encoder | None:
        if self._given is not None:
            return self._given
        if time.monotonic() < self._next_try:
            return None
        try:
            self._given = _load(self._settings.model, self._settings.threads, self._settings.early_exit)
        except PeriplusError as error:
            self.problem, self._next_try = str(error), time.monotonic() + _PATIENCE
            return None
        return self._given

    def _refresh(self, encoder: Encoder) -> bool:
        """Open vectors that have come; say whether there are any."""
        with self._lock:
            if self._settings.on_demand and self._lazy is None:
                self._lazy = OnDemandEmbedder(self._index, self._settings, encoder)
            now = time.monotonic()
            if now >= self._next_look:
                self._next_look = now + _LOOK
                self._open(encoder)
        if self._lazy is not None or any(file is not None and file.covered for file in self._files):
            self.problem = ""
            return True
        self.problem = "No document has vectors. Make them: periplus index embed."
        return False

    def _open(self, encoder: Encoder) -> None:
        """Open the files of vectors anew if their folder has changed."""
        seen = _stamp(self._index.folder / FOLDER)
        if seen == self._seen:
            return
        self._seen = seen
        files = [_file_of(self._index.folder, segment) for segment in self._index.segments]
        # Vectors of another model have nothing to do with this one's.
        self._files = [file if file and file.recipe.startswith(f"{encoder.name}/") else None for file in files]

    def similarities(self, query: Floats, segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]) -> Floats:
        """Give the cosine of each document's best passage; nan for a document without vectors."""
        out = np.full(len(documents), np.nan, np.float32)
        for number in sorted({*segments.tolist()}):
            file, rows = self._files[number], np.flatnonzero(segments == number)
            if file is not None:
                part = np.empty(len(rows), np.float32)
                kernels.score(file.store, query, np.ascontiguousarray(documents[rows]), part)
                out[rows] = part
            if self._lazy is not None:
                lacking = rows[np.isnan(out[rows])]
                out[lacking] = self._lazy.similarities(query, number, documents[lacking])
        return out

    def find_nearest(self, query: Floats, k: int) -> NearestDocuments:
        """Give the `k` documents nearest to a query, of those that have vectors."""
        found = [self._nearest(query, k, number, file) for number, file in enumerate(self._files) if file is not None]
        if not found:
            return NearestDocuments(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
        segments, documents, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort((documents, segments, -scores))[:k]
        return NearestDocuments(segments[order], documents[order], scores[order])

    def _nearest(self, query: Floats, k: int, number: int, file: VectorFile) -> NearestDocuments:
        documents, scores = np.empty(k, np.int32), np.empty(k, np.float32)
        probe = lists_to_probe(file.store, self._settings.probe)
        alive = self._index.segments[number].is_live
        count = kernels.nearest(file.store, query, alive, probe, documents, scores) if k else 0
        return NearestDocuments(np.full(count, number, np.int32), documents[:count], scores[:count])


def lists_to_probe(store: kernels.Store, share: float) -> int:
    """Say how many lists to look into: a share of them, and enough for a certain number of passages."""
    lists = len(store.centres)
    least = -(-_LEAST_ROWS * lists // max(1, len(store.vectors)))
    return max(1, min(lists, max(least, round(lists * share))))


def _stamp(path: Path) -> object:
    """Tell one state of a file, or of a folder's names, from the next."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
