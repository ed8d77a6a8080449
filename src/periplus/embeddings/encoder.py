"""The encoder: word pieces of texts to vectors, as many texts in parallel as there are threads."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.embeddings.models.model_files import ModelFiles, Progress, find_or_convert_model, missing_packages
from periplus.embeddings.safetensors import Floats
from periplus.errors import CorruptFile, MissingPart, NothingHere
from periplus.settings import EmbeddingSettings
from periplus.text import stop_words

__all__ = ["Encoder", "open_encoder"]

_MAX_QUERY_CHARS: Final = 1 << 12
_MAX_CHARS: Final = 1 << 17
_QUERY_CACHE_SIZE: Final = 1_024
_NEGATIONS: Final = frozenset(("no", "nor", "not", "never", "without"))
_PRUNABLE_WORDS: Final = stop_words("en") - _NEGATIONS
_CONTINUATION_MARK, _WORD_MARK = "##", "\u0120"
"""The latter stands for a space in vocabularies of bytes."""

Pieces = npt.NDArray[np.int32]


class Encoder:
    """A loaded model. Methods may be called from any thread."""

    def __init__(self, files: ModelFiles, threads: int = 1, *, early_exit: bool = True) -> None:
        """Load a model; `early_exit` drops stop words and punctuation of texts after the first layer."""
        import onnxruntime
        from tokenizers import Tokenizer

        self.name, self.width, self.longest = files.name, files.width, files.longest
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
        self._first, self._last = (self._find_token(*names) for names in (("[CLS]", "<s>"), ("[SEP]", "</s>")))
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        self._is_prunable, self._is_continuation = (np.zeros(max(vocabulary.values()) + 1, np.bool_) for _ in range(2))
        for number, piece, continues in _classify_pieces(vocabulary):
            self._is_prunable[number] = piece in _PRUNABLE_WORDS or not any(letter.isalnum() for letter in piece)
            self._is_continuation[number] = continues
        self._is_continuation[[self._first, self._last]] = False

    def _find_token(self, *names: str) -> int:
        """Return the number of a special token, which vocabularies call by different names."""
        return int(next((number for name in names if (number := self._tokenizer.token_to_id(name)) is not None), 0))

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of texts, by number."""
        truncated = [text[:_MAX_CHARS] for text in texts]
        return [list(encoding.ids) for encoding in self._tokenizer.encode_batch(truncated, add_special_tokens=False)]

    def encode_query(self, words: str) -> Floats:
        """Return the vector of a query, all of it up to the model's limit; those of the latest queries are cached."""
        vector = self._queries.get(words)
        if vector is None:
            ids = self._tokenizer.encode(words[:_MAX_QUERY_CHARS], add_special_tokens=False).ids
            pieces = self._add_special_tokens(ids, self.longest)
            vector = self._run(pieces, np.arange(len(pieces)))[0]
            with self._lock:
                self._queries[words] = vector
                if len(self._queries) > _QUERY_CACHE_SIZE:
                    self._queries.popitem(last=False)
        return vector

    def encode(self, texts: Sequence[Sequence[int]], longest: int) -> Floats:
        """Return the vectors of texts, each of length 1; texts longer than `longest` pieces are truncated.

        Each text is encoded alone: padding texts to one length would cost more, and change each other's values.
        """
        inputs = [self._add_special_tokens(text, min(longest, self.longest)) for text in texts]
        if self._threads == 1 or len(inputs) == 1:
            rows = [self._encode_text(text) for text in inputs]
        else:
            with ThreadPoolExecutor(self._threads, "embedding") as pool:
                rows = list(pool.map(self._encode_text, inputs))
        return np.concatenate([np.zeros((0, self.width), np.float32), *rows])

    def _add_special_tokens(self, text: Sequence[int], longest: int) -> Pieces:
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


def _classify_pieces(vocabulary: Mapping[str, int]) -> Iterator[tuple[int, str, bool]]:
    """Yield the number of each piece, the word it is, and whether it continues the word before it.

    In one kind of vocabulary a mark precedes continuations; in the other, of bytes, a mark precedes the others.
    """
    is_bytes = any(piece.startswith(_WORD_MARK) for piece in vocabulary)
    for piece, number in vocabulary.items():
        if not is_bytes:
            yield number, piece, piece.startswith(_CONTINUATION_MARK)
        elif piece.startswith(_WORD_MARK):
            yield number, piece[1:].lower(), False
        else:
            # At the beginning of a text it may be a whole word, which is as good as a longer one.
            letters = any(letter.isalnum() for letter in piece)
            yield number, f"{_CONTINUATION_MARK}{piece}" if letters else piece, letters


def open_encoder(settings: EmbeddingSettings, progress: Progress = lambda stage, done, total: None) -> Encoder:
    """Load the model, converting an installed package the first time; raise `MissingPart` if there is none."""
    if missing := missing_packages():
        raise MissingPart(f"Not installed: {', '.join(missing)}.", "Install the extra 'semantic'; see periplus doctor.")
    try:
        files = find_or_convert_model(settings, progress)
    except NothingHere as error:
        raise MissingPart(error.message, error.hint) from None
    return Encoder(files, settings.threads, early_exit=settings.early_exit)
