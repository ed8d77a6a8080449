"""Search by embeddings: the vector of a query, similarities of documents, nearest documents."""

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
from periplus.embeddings.model_languages import is_query_supported
from periplus.embeddings.on_demand_embedder import OnDemandEmbedder
from periplus.embeddings.safetensors import Floats
from periplus.embeddings.vector_file import FOLDER, VectorFile, open_vectors, segment_fingerprint, vector_path
from periplus.errors import PeriplusError
from periplus.index import Index, Segment
from periplus.settings import EmbeddingSettings

__all__ = ["EmbeddingSearcher", "NearestDocuments", "VectorCoverage", "count_probed_lists", "vector_coverage"]

_REFRESH_SECONDS: Final = 1.0
"""Interval of checks for new vectors."""
_MIN_ROWS: Final = 20_000
"""Minimum number of passages to compare with a query."""
_CHECKED: Final = 10
"""Candidates whose languages are read."""
_RETRY_SECONDS: Final = 30.0
"""Interval of attempts to load a model that could not be loaded."""


class NearestDocuments(NamedTuple):
    """The documents nearest to a query, best first."""

    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    scores: Floats


class VectorCoverage(NamedTuple):
    """The number of documents that have vectors."""

    documents: int
    covered: int
    passages: int
    complete: bool
    """Whether all documents that the model supports have vectors."""


@functools.lru_cache(maxsize=2)
def _load_encoder(encoder: str, model: str, threads: int, early_exit: bool) -> Encoder:
    """Return the encoder, which all generations of the index in a process share."""
    return open_encoder(EmbeddingSettings(encoder=encoder, model=model, threads=threads, early_exit=early_exit))


@functools.lru_cache(maxsize=64)
def _open_cached(path: Path, stamp: object) -> VectorFile | None:
    """Return a vector file, opened and checked once: successive generations share most of their segments."""
    return open_vectors(path)


def _open_for_segment(folder: Path, segment: Segment) -> VectorFile | None:
    """Return the vectors of a segment, None if there are none."""
    path = vector_path(folder, segment.name)
    file = _open_cached(path, _stamp(path))
    return file if file is not None and file.segment == segment_fingerprint(segment) else None


def _of_model(file: VectorFile | None, model: str) -> VectorFile | None:
    """Return a file if its vectors are of this model, or if that is ''."""
    return file if file is not None and (not model or file.recipe.startswith(f"{model}/")) else None


def vector_coverage(index: Index, model: str = "") -> VectorCoverage:
    """Return the number of documents that have vectors of a model, by the name in its files; of any if it is ''."""
    files = [_of_model(_open_for_segment(index.folder, segment), model) for segment in index.segments]
    present = [file for file in files if file is not None]
    complete = all(file is not None and file.complete for file in files)
    passages = sum(len(file.store.vectors) for file in present)
    return VectorCoverage(index.documents, sum(file.document_count for file in present), passages, complete)


class EmbeddingSearcher:
    """The vectors of one generation of the index.

    Without a model or vectors `encode_query` returns None, and `problem` is a line that gives the reason; otherwise it
    is empty.
    """

    def __init__(self, index: Index, settings: EmbeddingSettings, encoder: Encoder | None = None) -> None:
        self.problem = ""
        self._index, self._settings = index, settings
        self._encoder = encoder
        self._lock = threading.Lock()
        self._files: list[VectorFile | None] = [None] * len(index.segments)
        self._on_demand: OnDemandEmbedder | None = None
        self._folder_stamp: object = None
        self._has_others = False
        self._next_refresh = self._next_attempt = 0.0

    def supports_query(self, words: str, segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]) -> bool:
        """Return whether a query that matched these documents, best first, is in a language of the model."""
        best = zip(segments[:_CHECKED].tolist(), documents[:_CHECKED].tolist(), strict=True)
        matched = [int(self._index.segments[segment].column("language")[document]) for segment, document in best]
        return is_query_supported(words, matched, self._settings.supported_languages)

    def encode_query(self, words: str) -> Floats | None:
        """Return the vector of a query; None if embeddings are not usable, for the reason in `problem`."""
        encoder = self._load()
        if encoder is None or not self._refresh(encoder):
            return None
        return encoder.encode_query(words)

    def _load(self) -> Encoder | None:
        if self._encoder is not None:
            return self._encoder
        if time.monotonic() < self._next_attempt:
            return None
        try:
            chosen = self._settings
            self._encoder = _load_encoder(chosen.encoder, chosen.model, chosen.threads, chosen.early_exit)
        except PeriplusError as error:
            self.problem, self._next_attempt = str(error), time.monotonic() + _RETRY_SECONDS
            return None
        return self._encoder

    def _refresh(self, encoder: Encoder) -> bool:
        """Open new vectors; return whether there are any."""
        with self._lock:
            if self._settings.on_demand and self._on_demand is None:
                self._on_demand = OnDemandEmbedder(self._index, self._settings, encoder)
            now = time.monotonic()
            if now >= self._next_refresh:
                self._next_refresh = now + _REFRESH_SECONDS
                self._open_files(encoder)
        if self._on_demand is not None or any(file is not None and file.document_count for file in self._files):
            self.problem = ""
            return True
        missing = "The vectors are of another model" if self._has_others else "No document has vectors"
        self.problem = f"{missing}. To compute them: periplus index embed."
        return False

    def _open_files(self, encoder: Encoder) -> None:
        """Reopen the vector files if their folder has changed."""
        stamp = _stamp(self._index.folder / FOLDER)
        if stamp == self._folder_stamp:
            return
        self._folder_stamp = stamp
        files = [_open_for_segment(self._index.folder, segment) for segment in self._index.segments]
        # Vectors of different models are not comparable.
        self._files = [_of_model(file, encoder.name) for file in files]
        self._has_others = any(file is not None and file.document_count for file in files)

    def similarities(self, query: Floats, segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]) -> Floats:
        """Return the cosine of each document's best passage; nan for a document without vectors."""
        out = np.full(len(documents), np.nan, np.float32)
        for number in sorted({*segments.tolist()}):
            file, rows = self._files[number], np.flatnonzero(segments == number)
            if file is not None:
                part = np.empty(len(rows), np.float32)
                kernels.score_documents(file.store, query, np.ascontiguousarray(documents[rows]), part)
                out[rows] = part
            if self._on_demand is not None:
                missing = rows[np.isnan(out[rows])]
                out[missing] = self._on_demand.similarities(query, number, documents[missing])
        return out

    def find_nearest(self, query: Floats, k: int) -> NearestDocuments:
        """Return the `k` documents nearest to a query, of those that have vectors."""
        hits = [
            self._search_file(query, k, number, file) for number, file in enumerate(self._files) if file is not None
        ]
        if not hits:
            return NearestDocuments(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
        segments, documents, scores = (np.concatenate(parts) for parts in zip(*hits, strict=True))
        order = np.lexsort((documents, segments, -scores))[:k]
        return NearestDocuments(segments[order], documents[order], scores[order])

    def _search_file(self, query: Floats, k: int, number: int, file: VectorFile) -> NearestDocuments:
        documents, scores = np.empty(k, np.int32), np.empty(k, np.float32)
        probe = count_probed_lists(file.store, self._settings.probe)
        alive = self._index.segments[number].is_live
        count = kernels.find_nearest(file.store, query, alive, probe, documents, scores) if k else 0
        return NearestDocuments(np.full(count, number, np.int32), documents[:count], scores[:count])


def count_probed_lists(store: kernels.VectorStore, share: float) -> int:
    """Return how many lists to search: a share of them, and enough for a minimum number of passages."""
    lists = len(store.centres)
    minimum = -(-_MIN_ROWS * lists // max(1, len(store.vectors)))
    return max(1, min(lists, max(minimum, round(lists * share))))


def _stamp(path: Path) -> object:
    """Return a value that changes whenever a file, or the list of a folder's files, changes."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
