"""Vectors for the documents of an index: made in the background, in bounded memory, and never twice for the same text.

What is made goes to the log first, block by block; when a segment has been gone through, its vectors are written to its
own file. A run that was killed goes on where it was. Documents that moved into another segment by a merge, or that came
back unchanged in a new build, bring their vectors along.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.embeddings import kernels
from periplus.embeddings.embedding_log import NAME, EmbeddingLog
from periplus.embeddings.encoder import Encoder, open_encoder
from periplus.embeddings.model_files import Progress
from periplus.embeddings.model_languages import readable
from periplus.embeddings.passages import cut_passages, print_of, source
from periplus.embeddings.vector_file import FOLDER, VectorFile, Vectors, open_vectors, vector_path, write_vectors
from periplus.files import lock_folder
from periplus.index import Index, Segment
from periplus.settings import EmbeddingSettings
from periplus.text import LANGUAGES

__all__ = ["EmbedStatistics", "Text", "embed_index", "embed_texts", "read_text", "recipe_of"]

_CHUNK: Final = 256
"""Documents that are embedded and kept at once: what a killed run loses at most."""


class EmbedStatistics(msgspec.Struct, frozen=True):
    """What one run has done."""

    documents: int
    """Documents that were embedded."""
    passages: int
    reused: int
    """Documents whose vectors were there already."""
    passed_over: int
    """Documents in languages that the model does not know."""
    waiting: int
    """Documents that are still without, because the run was bounded."""
    seconds: float


class Text(NamedTuple):
    """What of a document is embedded."""

    document: int
    mark: int
    """Its print."""
    title: str
    text: str


def recipe_of(model: str, settings: EmbeddingSettings) -> str:
    """Name all that vectors depend on besides the text."""
    return f"{model}/{settings.passage_tokens}/{settings.overlap}/{settings.passages}" + "/whole" * (
        not settings.early_exit
    )


def read_text(segment: Segment, document: int, settings: EmbeddingSettings, recipe: str) -> Text | None:
    """Read what of a document is to be embedded; None if the model cannot read it."""
    number = int(segment.column("language")[document])
    language = LANGUAGES[number] if number < len(LANGUAGES) else "?"
    if language and language not in settings.languages:
        return None
    title, text = source(segment.string("title", document), segment.text(document), settings)
    if not readable(language, title, text, settings.languages):
        return None
    return Text(document, print_of(title, text, recipe), title, text)


def embed_texts(encoder: Encoder, texts: Sequence[Text], settings: EmbeddingSettings) -> list[Vectors]:
    """Give the vectors of each text's passages."""
    titles = encoder.pieces([text.title for text in texts])
    bodies = encoder.pieces([text.text for text in texts])
    passages = [cut_passages(title, body, settings) for title, body in zip(titles, bodies, strict=True)]
    made = encoder.encode([passage for several in passages for passage in several], settings.passage_tokens)
    whole, scales = kernels.quantise(made)
    ends = np.cumsum([len(several) for several in passages])[:-1]
    return [Vectors(*part) for part in zip(np.split(whole, ends), np.split(scales, ends), strict=True)]


class _Known:
    """Vectors that stand in files of segments, those of segments that are gone too."""

    def __init__(self, folder: Path, recipe: str) -> None:
        self._files: list[VectorFile] = []
        for path in sorted((folder / FOLDER).glob("seg-*.arrays")):
            if file := open_vectors(path, recipe=recipe):
                self._files.append(file)
        marks = np.concatenate([np.zeros(0, np.uint64), *(file.prints for file in self._files)])
        self._order = np.argsort(marks, kind="stable")
        self._marks = marks[self._order]
        self._ends = np.cumsum([len(file.prints) for file in self._files])

    def get(self, mark: int) -> Vectors | None:
        """Give the vectors of a print."""
        at = int(np.searchsorted(self._marks, np.uint64(mark)))
        if at == len(self._marks) or int(self._marks[at]) != mark:
            return None
        place = int(self._order[at])
        number = int(np.searchsorted(self._ends, place, side="right"))
        document = place - (int(self._ends[number - 1]) if number else 0)
        store = self._files[number].store
        rows = store.rows[store.start[document] : store.start[document + 1]]
        return Vectors(store.vectors[rows], store.scales[rows])


class _Run:
    """One run over an index."""

    def __init__(self, index: Index, settings: EmbeddingSettings, encoder: Encoder, progress: Progress) -> None:
        self._index, self._settings, self._encoder, self._progress = index, settings, encoder, progress
        self.recipe = recipe_of(encoder.name, settings)
        self.embedded = self.passages = self.reused = self.passed_over = self.waiting = 0
        self._known = _Known(index.folder, self.recipe)
        self._total, self._done = index.documents, 0

    def segment(self, segment: Segment, log: EmbeddingLog) -> None:
        """Embed what a segment lacks and write its file."""
        path = vector_path(self._index.folder, segment.name)
        present = open_vectors(path, segment, self.recipe)
        if present is not None and present.whole:
            self._take_all(segment, present)
            return
        prints = np.zeros(segment.documents, np.uint64)
        parts: list[Vectors | None] = [None] * segment.documents
        before = self.waiting
        for texts in self._chunks(segment):
            self._chunk(texts, prints, parts, log)
        write_vectors(path, segment, self.recipe, prints, parts, whole=self.waiting == before)

    def _take_all(self, segment: Segment, present: VectorFile) -> None:
        """Count a segment that needs nothing."""
        living = int(segment.is_live.sum())
        with_vectors = int((segment.is_live & (np.diff(present.store.start) > 0)).sum())
        self.reused += with_vectors
        self.passed_over += living - with_vectors
        self._done += living
        self._progress("embedding", self._done, self._total)

    def _chunks(self, segment: Segment) -> Iterator[list[Text]]:
        texts: list[Text] = []
        for document in np.flatnonzero(segment.is_live).tolist():
            text = read_text(segment, document, self._settings, self.recipe)
            self.passed_over += text is None
            self._done += text is None
            texts += [text] if text else []
            if len(texts) == _CHUNK:
                yield texts
                texts = []
        yield texts

    def _chunk(
        self, texts: list[Text], prints: npt.NDArray[np.uint64], parts: list[Vectors | None], log: EmbeddingLog
    ) -> None:
        new: list[Text] = []
        for text in texts:
            found = self._known.get(text.mark) or log.get(text.mark)
            self.reused += found is not None
            if found is None:
                new.append(text)
            parts[text.document], prints[text.document] = found, text.mark if found is not None else 0
        self._embed(self._bounded(new), prints, parts, log)
        self._done += len(texts)
        self._progress("embedding", self._done, self._total)

    def _bounded(self, new: list[Text]) -> list[Text]:
        """Take as many as one run may."""
        most = self._settings.documents
        room = max(0, most - self.embedded) if most else len(new)
        self.waiting += max(0, len(new) - room)
        return new[:room]

    def _embed(
        self, new: list[Text], prints: npt.NDArray[np.uint64], parts: list[Vectors | None], log: EmbeddingLog
    ) -> None:
        if not new:
            return
        made = embed_texts(self._encoder, new, self._settings)
        log.append([text.mark for text in new], made)
        for text, vector in zip(new, made, strict=True):
            parts[text.document], prints[text.document] = vector, text.mark
            self.passages += len(vector.scales)
        self.embedded += len(new)


def embed_index(
    folder: Path,
    settings: EmbeddingSettings,
    progress: Progress = lambda stage, done, total: None,
    encoder: Encoder | None = None,
) -> EmbedStatistics:
    """Give vectors to all documents of the index `folder` that the model can read; `MissingPart` without the extra."""
    encoder = encoder or open_encoder(settings, progress)
    began = time.monotonic()
    Index.open(folder, verify=False)  # Nothing is made where there is no index.
    with lock_folder(folder / FOLDER, "embed"):
        index = Index.open(folder, verify=False)
        run = _Run(index, settings, encoder, progress)
        with EmbeddingLog(folder / FOLDER / NAME, run.recipe, encoder.width) as log:
            for segment in index.segments:
                run.segment(segment, log)
            _remove_gone(index)
            log.clear()
    seconds = time.monotonic() - began
    return EmbedStatistics(run.embedded, run.passages, run.reused, run.passed_over, run.waiting, seconds)


def _remove_gone(index: Index) -> None:
    """Remove the vectors of segments that are no more; what was of use is in other files by now."""
    names = {segment.name for segment in index.segments}
    for path in (index.folder / FOLDER).glob("seg-*.arrays"):
        if path.stem not in names:
            path.unlink(missing_ok=True)
