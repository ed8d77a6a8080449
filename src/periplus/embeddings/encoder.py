"""Text to vectors: the word pieces of a text through the encoder, as many texts at once as there are threads."""

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

_SHORT, _LONG, _CUT = 16, 32, 24
"""Word pieces of a query, each a sixth of a millisecond: of a short one all count; of others, those that say little end
behind the first layer; a long one goes without them, and has so many at most."""
_QUERY_CHARS: Final = 1 << 11
_MOST_CHARS: Final = 1 << 17
_KEPT: Final = 1_024
"""Queries whose vectors are kept."""
_NEGATIONS: Final = frozenset(("no", "nor", "not", "never", "without"))

Pieces = npt.NDArray[np.int32]


class Encoder:
    """A loaded model. Methods may be called from any thread."""

    def __init__(self, files: ModelFiles, threads: int = 1, *, skim: bool = True) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.name, self.width = files.name, files.width
        self._threads, self._skim = threads, skim
        self._queries: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()
        options = onnxruntime.SessionOptions()
        # Texts side by side keep all cores busy; parts of one text would wait for each other.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._words: Any = Tokenizer.from_file(str(files.tokenizer))
            self._session: Any = onnxruntime.InferenceSession(
                str(files.encoder), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise CorruptFile(
                f"The model in {Path(files.encoder).parent} cannot be loaded: {str(error)[:200]}.",
                "Fetch it again: periplus embeddings fetch.",
            ) from error
        self._words.no_truncation()
        self._words.no_padding()
        self._first, self._last = (int(self._words.token_to_id(mark) or 0) for mark in ("[CLS]", "[SEP]"))
        vocabulary: dict[str, int] = self._words.get_vocab()
        self._little, self._parts = (np.zeros(max(vocabulary.values()) + 1, np.bool_) for _ in range(2))
        self._little[[*_say_little(vocabulary)]] = True
        self._parts[[number for piece, number in vocabulary.items() if piece.startswith("##")]] = True

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Cut texts into word pieces, by number."""
        bounded = [text[:_MOST_CHARS] for text in texts]
        return [list(found.ids) for found in self._words.encode_batch(bounded, add_special_tokens=False)]

    def query(self, words: str) -> Floats:
        """Give the vector of a query; those of the last queries are kept."""
        found = self._queries.get(words)
        if found is None:
            pieces = self._asked(words)
            kept = np.arange(len(pieces)) if len(pieces) <= _SHORT else self._telling(pieces)
            found = self._run(pieces, kept)[0]
            with self._lock:
                self._queries[words] = found
                if len(self._queries) > _KEPT:
                    self._queries.popitem(last=False)
        return found

    def _asked(self, words: str) -> Pieces:
        """Cut a query into word pieces, with the marks around them; a long one is told in fewer."""
        pieces = self._marked(self._words.encode(words[:_QUERY_CHARS], add_special_tokens=False).ids)
        if len(pieces) > _LONG:
            pieces = self._marked(pieces[self._telling(pieces)][1:-1], _CUT)
        return pieces

    def encode(self, texts: Sequence[Sequence[int]], longest: int) -> Floats:
        """Give the vectors of texts, each of length 1; what is longer than `longest` is cut off.

        Each goes through alone: texts filled up to one length would cost more, and change each other's values.
        """
        marked = [self._marked(text, longest) for text in texts]
        if self._threads == 1 or len(marked) == 1:
            rows = [self._read(text) for text in marked]
        else:
            with ThreadPoolExecutor(self._threads, "embedding") as pool:
                rows = list(pool.map(self._read, marked))
        return np.concatenate([np.zeros((0, self.width), np.float32), *rows])

    def _marked(self, text: Sequence[int] | Pieces, longest: int = _MOST_CHARS) -> Pieces:
        """Put the marks that the model expects around a text of at most `longest` pieces."""
        return np.array([self._first, *text[: longest - 2], self._last], np.int32)

    def _read(self, text: Pieces) -> Floats:
        """Give the vector of a text; words that say little go through the first layer only, unless all are to count."""
        return self._run(text, self._telling(text) if self._skim else np.arange(len(text)))

    def _telling(self, text: Pieces) -> npt.NDArray[np.int64]:
        """Give the places of pieces that say something; the beginning of a longer word always does."""
        little = self._little[text]
        little[:-1] &= ~self._parts[text[1:]]
        return np.flatnonzero(~little)

    def _run(self, text: Pieces, kept: npt.NDArray[np.int64]) -> Floats:
        vectors: Floats = self._session.run(None, {"words": text[None], "kept": kept})[0]
        return vectors


def _say_little(vocabulary: Mapping[str, int]) -> Iterator[int]:
    """Give the numbers of stop words and of punctuation; marks of the model's own are neither."""
    stops = stop_words("en") - _NEGATIONS
    for piece, number in vocabulary.items():
        if piece in stops or not any(letter.isalnum() for letter in piece):
            yield number


def open_encoder(settings: EmbeddingSettings, progress: Progress = lambda stage, done, total: None) -> Encoder:
    """Load the model; one whose package is installed is converted the first time. `MissingPart` says what to do."""
    if missing := missing_packages():
        raise MissingPart(
            f"Not installed: {', '.join(missing)}.", "Install the extra 'semantic'; periplus doctor says how."
        )
    try:
        files = find_or_convert_model(settings, progress)
    except NothingHere as error:
        raise MissingPart(error.message, error.hint) from None
    return Encoder(files, settings.threads, skim=settings.early_exit)
