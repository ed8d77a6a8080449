"""Compute the vectors of the documents of an index: in the background, in bounded memory, never twice for one text.

New vectors are appended to the log, block by block; when a segment is complete, its vectors are written to a file of
its own. A run that was killed is resumed. Documents that moved to another segment by a merge, or that came back
unchanged in a new build, keep their vectors.
"""

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np

from periplus.embeddings import kernels
from periplus.embeddings.embedding_log import LOG_NAME, EmbeddingLog
from periplus.embeddings.embedding_progress import write_progress
from periplus.embeddings.encoder import Encoder, open_encoder
from periplus.embeddings.model_languages import is_readable
from periplus.embeddings.models.model_files import Progress
from periplus.embeddings.passages import cut_passages, source_fingerprint, truncate_source
from periplus.embeddings.vector_file import FOLDER, PassageVectors, VectorFile, open_vectors, vector_path, write_vectors
from periplus.files import lock_folder
from periplus.index import Index, Segment
from periplus.settings import EmbeddingSettings
from periplus.text import LANGUAGES

__all__ = ["EmbedStatistics", "SourceText", "embed_index", "embed_texts", "embedding_recipe", "read_source"]

_REPORT_SECONDS: Final = 5.0
_CHUNK: Final = 256
"""Documents that are embedded and written at a time: the most that a killed run loses."""


class EmbedStatistics(msgspec.Struct, frozen=True):
    """The results of one run."""

    documents: int
    """Documents that were embedded."""
    passages: int
    reused: int
    """Documents that already had vectors."""
    skipped: int = msgspec.field(name="passed_over")
    """Documents in languages that the model does not support."""
    pending: int = msgspec.field(name="waiting")
    """Documents left without vectors because of the limit of the run."""
    seconds: float


class SourceText(NamedTuple):
    """The text of a document that is embedded."""

    document: int
    fingerprint: int
    title: str
    text: str


def embedding_recipe(model: str, settings: EmbeddingSettings) -> str:
    """Return a string of everything that vectors depend on besides the text."""
    return f"{model}/{settings.passage_tokens}/{settings.overlap}/{settings.passages}" + "/whole" * (
        not settings.early_exit
    )


def read_source(segment: Segment, document: int, settings: EmbeddingSettings, recipe: str) -> SourceText | None:
    """Return the text of a document to embed; None if the model does not support it."""
    number = int(segment.column("language")[document])
    language = LANGUAGES[number] if number < len(LANGUAGES) else "?"
    if language and language not in settings.supported_languages:
        return None
    title, text = truncate_source(segment.string("title", document), segment.text(document), settings)
    if not is_readable(language, title, text, settings.supported_languages):
        return None
    return SourceText(document, source_fingerprint(title, text, recipe), title, text)


def embed_texts(encoder: Encoder, texts: Sequence[SourceText], settings: EmbeddingSettings) -> list[PassageVectors]:
    """Return the vectors of each text's passages."""
    titles = encoder.tokenize([text.title for text in texts])
    bodies = encoder.tokenize([text.text for text in texts])
    passages = [cut_passages(title, body, settings) for title, body in zip(titles, bodies, strict=True)]
    floats = encoder.encode([passage for several in passages for passage in several], settings.passage_tokens)
    vectors, scales = kernels.quantise(floats)
    ends = np.cumsum([len(several) for several in passages])[:-1]
    return [PassageVectors(*part) for part in zip(np.split(vectors, ends), np.split(scales, ends), strict=True)]


class _ExistingVectors:
    """The vectors in the files of all segments, including segments that no longer exist."""

    def __init__(self, folder: Path, recipe: str) -> None:
        self._files: list[VectorFile] = []
        for path in sorted((folder / FOLDER).glob("seg-*.arrays")):
            if file := open_vectors(path, recipe=recipe):
                self._files.append(file)
        fingerprints = np.concatenate([np.zeros(0, np.uint64), *(file.fingerprints for file in self._files)])
        self._order = np.argsort(fingerprints, kind="stable")
        self._fingerprints = fingerprints[self._order]
        self._ends = np.cumsum([len(file.fingerprints) for file in self._files])

    def get(self, fingerprint: int) -> PassageVectors | None:
        """Return the vectors of a text by its fingerprint."""
        at = int(np.searchsorted(self._fingerprints, np.uint64(fingerprint)))
        if at == len(self._fingerprints) or int(self._fingerprints[at]) != fingerprint:
            return None
        position = int(self._order[at])
        number = int(np.searchsorted(self._ends, position, side="right"))
        document = position - (int(self._ends[number - 1]) if number else 0)
        store = self._files[number].store
        rows = store.rows[store.start[document] : store.start[document + 1]]
        return PassageVectors(store.vectors[rows], store.scales[rows])


class _SegmentVectors:
    """The vectors of a segment's documents, as they are gathered."""

    def __init__(self, documents: int) -> None:
        self.fingerprints = np.zeros(documents, np.uint64)
        self.parts: list[PassageVectors | None] = [None] * documents

    def set(self, text: SourceText, vectors: PassageVectors) -> None:
        """Set the vectors of a document."""
        self.parts[text.document], self.fingerprints[text.document] = vectors, text.fingerprint


class _Run:
    """One run over an index."""

    def __init__(
        self, index: Index, settings: EmbeddingSettings, encoder: Encoder, progress: Progress, seconds: float
    ) -> None:
        self._index, self._settings, self._encoder, self._progress = index, settings, encoder, progress
        self.recipe = embedding_recipe(encoder.name, settings)
        self.embedded = self.passages = self.reused = self.skipped = self.pending = 0
        self._existing = _ExistingVectors(index.folder, self.recipe)
        self._total, self._done = index.documents, 0
        self._deadline = time.monotonic() + seconds if seconds else math.inf
        self._next_report = 0.0
        self._limit_name = ""

    def embed_segment(self, segment: Segment, log: EmbeddingLog) -> None:
        """Compute the missing vectors of a segment and write its file."""
        path = vector_path(self._index.folder, segment.name)
        file = open_vectors(path, segment, self.recipe)
        if file is not None and file.complete:
            self._count_complete(segment, file)
            return
        gathered = _SegmentVectors(segment.documents)
        pending = self.pending
        for texts in self._read_chunks(segment):
            self._process_chunk(texts, gathered, log)
        complete = self.pending == pending
        write_vectors(path, segment, self.recipe, gathered.fingerprints, gathered.parts, complete=complete)

    def report(self, *, finished: bool = False) -> None:
        """Write how far this run is, every few seconds and at its end."""
        now = time.monotonic()
        if not finished and now < self._next_report:
            return
        self._next_report = now + _REPORT_SECONDS
        counts = self._done, self._total, self.skipped, self.pending
        write_progress(self._index.folder, *counts, self._limit_name, finished=finished)

    def _count_complete(self, segment: Segment, file: VectorFile) -> None:
        """Count the documents of a segment that needs no new vectors."""
        live = int(segment.is_live.sum())
        with_vectors = int((segment.is_live & (np.diff(file.store.start) > 0)).sum())
        self.reused += with_vectors
        self.skipped += live - with_vectors
        self._done += live
        self._progress("embedding", self._done, self._total)

    def _read_chunks(self, segment: Segment) -> Iterator[list[SourceText]]:
        texts: list[SourceText] = []
        for document in np.flatnonzero(segment.is_live).tolist():
            text = read_source(segment, document, self._settings, self.recipe)
            self.skipped += text is None
            self._done += text is None
            texts += [text] if text else []
            if len(texts) == _CHUNK:
                yield texts
                texts = []
        yield texts

    def _process_chunk(self, texts: list[SourceText], gathered: _SegmentVectors, log: EmbeddingLog) -> None:
        new: list[SourceText] = []
        for text in texts:
            vectors = self._existing.get(text.fingerprint) or log.get(text.fingerprint)
            if vectors is None:
                new.append(text)
            else:
                self.reused += 1
                gathered.set(text, vectors)
        self._embed(self._limit(new), gathered, log)
        self._done += len(texts)
        self.report()
        self._progress("embedding", self._done, self._total)

    def _limit(self, new: list[SourceText]) -> list[SourceText]:
        """Return as many texts as this run may still embed; count the others as pending."""
        limit = self._settings.documents
        count = max(0, limit - self.embedded) if limit else len(new)
        if time.monotonic() >= self._deadline:
            count = 0
        if count < len(new) and not self._limit_name:
            self._limit_name = f"{limit:,} pages" if count or self.embedded >= limit > 0 else "time"
        self.pending += max(0, len(new) - count)
        return new[:count]

    def _embed(self, new: list[SourceText], gathered: _SegmentVectors, log: EmbeddingLog) -> None:
        if not new:
            return
        parts = embed_texts(self._encoder, new, self._settings)
        log.append([text.fingerprint for text in new], parts)
        for text, vectors in zip(new, parts, strict=True):
            gathered.set(text, vectors)
            self.passages += len(vectors.scales)
        self.embedded += len(new)


def embed_index(
    folder: Path,
    settings: EmbeddingSettings,
    progress: Progress = lambda stage, done, total: None,
    encoder: Encoder | None = None,
    *,
    seconds: float = 0.0,
) -> EmbedStatistics:
    """Embed all documents of the index `folder` that the model supports; raise `MissingPart` without the extra.

    seconds: time after which no further documents are embedded; 0 is no limit.
    """
    encoder = encoder or open_encoder(settings, progress)
    start = time.monotonic()
    Index.open(folder, verify=False)  # Create nothing where there is no index.
    with lock_folder(folder / FOLDER, "embed"):
        index = Index.open(folder, verify=False)
        run = _Run(index, settings, encoder, progress, seconds)
        with EmbeddingLog(folder / FOLDER / LOG_NAME, run.recipe, encoder.width) as log:
            for segment in index.segments:
                run.embed_segment(segment, log)
            _remove_obsolete(index)
            log.clear()
        run.report(finished=True)
    seconds = time.monotonic() - start
    return EmbedStatistics(run.embedded, run.passages, run.reused, run.skipped, run.pending, seconds)


def _remove_obsolete(index: Index) -> None:
    """Remove the vectors of segments that no longer exist; those still in use have been copied to other files."""
    names = {segment.name for segment in index.segments}
    for path in (index.folder / FOLDER).glob("seg-*.arrays"):
        if path.stem not in names:
            path.unlink(missing_ok=True)
