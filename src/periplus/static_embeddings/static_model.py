"""The static model in use: batches of pages to vectors, a query to a vector."""

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.static_embeddings.kernels import numbered_words, passage_vectors, word_memory, word_pieces
from periplus.static_embeddings.model_file import MODEL_PATH, read_model

__all__ = ["PASSAGES", "PASSAGE_WORDS", "TITLE_WORDS", "PassageRows", "StaticModel", "WordNumbers", "load_static_model"]

TITLE_WORDS: Final = 32
"""Words of a title before each passage."""
PASSAGE_WORDS: Final = 110
PASSAGES: Final = 3
"""Passages of one document. More of them gained nothing, fewer lost a tenth of the gain."""
_MAX_QUERY_BYTES: Final = 4_096
"""Bytes of a query that are read."""
_ASCII: Final = 128
_REMEMBERED_WORDS: Final = 1 << 15
"""Short words whose pieces are remembered, from one batch to the next: 1 MB for each thread that embeds documents."""
_NUMBERED_WORDS: Final = 1 << 17
"""Numbered words whose pieces are remembered: 1 MB for each table of words. Frequent ones have low numbers."""
_LANGUAGES: Final = frozenset(("en", ""))
"""Languages of pages that get vectors, and pages of unknown language."""
_MIN_WHOLE: Final = 0.5
"""Minimum share of the words that are one piece. It is 0.75 or more on English pages, 0.47 on German ones at the
median; text of another language, of source code or of random letters consists of short pieces, which say nothing."""

Spans = npt.NDArray[np.int64]


class PassageRows(NamedTuple):
    """The vectors of the passages of some documents, one document after the other."""

    signs: npt.NDArray[np.uint8]
    """A row for each passage, the signs of its components, eight to a byte."""
    rows: npt.NDArray[np.int32]
    """How many passages each document has."""


class WordNumbers(NamedTuple):
    """Titles and bodies that are split into words already."""

    numbers: npt.NDArray[np.int32]
    """Words, by their numbers in a table."""
    titles: Spans
    bodies: Spans
    """Where in `numbers` those of each document begin and end."""
    blob: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    """All words of the table, folded, and where each begins."""
    forms: npt.NDArray[np.uint8]
    """What splitting makes of each code point: `text.ascii_forms`."""
    pieces: npt.NDArray[np.uint64]
    """From `StaticModel.number_pieces`, one for each table; filled in."""


class StaticModel:
    """A table of word pieces."""

    def __init__(self, path: Path = MODEL_PATH) -> None:
        model = read_model(path)
        self.table, self.card = model.table, model.card
        self._local = threading.local()
        self._is_alike: npt.NDArray[np.uint8] | None = None
        self.width = int(self.table.vectors.shape[1])
        self.recipe = f"{model.name}/{TITLE_WORDS}/{PASSAGE_WORDS}/{PASSAGES}"
        """Everything that vectors depend on besides the text: those of different recipes are not comparable."""

    def embed_documents(
        self,
        data: npt.NDArray[np.uint8],
        titles: Spans,
        bodies: Spans,
        languages: Sequence[str],
        words: WordNumbers | None = None,
    ) -> PassageRows:
        """Return the vectors of documents, none for those that the table does not cover.

        titles, bodies: where those of each document begin and end in `data`. languages: the code of each document's,
        '' if unknown. words: the same texts, if they are split already; vectors are the same, and take less time.
        """
        count = len(titles)
        signs = np.empty((count * PASSAGES, self.width // 8), np.uint8)
        rows, counts = np.empty(count, np.int32), np.empty((count, len(passage_vectors.TextCounts._fields)), np.int32)
        supported = np.fromiter(map(_LANGUAGES.__contains__, languages), np.bool_, count)
        # A document in another language is not read.
        titles, bodies = (np.where(supported[:, None], spans, 0) for spans in (titles, bodies))
        limits = TITLE_WORDS, PASSAGE_WORDS, PASSAGES
        memory = self._memory()
        numbered = self._numbered_texts(words) if words else numbered_words.no_numbers()
        used = passage_vectors.embed_documents(
            self.table, data, titles, bodies, limits, memory, numbered, signs, rows, counts
        )
        covered = counts[:, 1] >= _MIN_WHOLE * counts[:, 0]
        if covered.all():
            return PassageRows(signs[:used], rows)
        return PassageRows(signs[:used][np.repeat(covered, rows)], np.where(covered, rows, 0).astype(np.int32))

    def number_pieces(self) -> npt.NDArray[np.uint64]:
        """Return memory for the pieces of the words of one table of words, for one thread at a time."""
        return np.zeros(_NUMBERED_WORDS, np.uint64)

    def _numbered_texts(self, words: WordNumbers) -> numbered_words.NumberedTexts:
        is_alike = self._alike(words.forms)
        if not is_alike[:_ASCII].all():
            return numbered_words.no_numbers()
        numbers, titles, bodies, blob, start, _, pieces = words
        return numbered_words.NumberedTexts(numbers, titles, bodies, blob, start, is_alike, pieces)

    def _alike(self, forms: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Return for which code points splitting words and the table agree; always of the same forms."""
        if self._is_alike is None:
            kinds = self.table.kinds
            is_known = (kinds <= word_pieces.DROPPED) | (kinds > word_pieces.EXPANDED)
            self._is_alike = ((kinds == forms) & is_known).astype(np.uint8)
        return self._is_alike

    def _memory(self) -> word_memory.WordMemory:
        """Return the word memory of this thread."""
        if not hasattr(self._local, "memory"):
            self._local.memory = word_memory.allocate_memory(self.table, _REMEMBERED_WORDS)
        memory: word_memory.WordMemory = self._local.memory
        return memory

    def encode_query(self, text: str) -> tuple[npt.NDArray[np.float32], int] | None:
        """Return the vector of a query, of length 1, and how many words it has; None if the table does not cover it.

        Nor does it cover a query without a letter: the pieces of numbers ('9/11') are digits, which say nothing of what
        is meant.
        """
        if not any(map(str.isalpha, text[:_MAX_QUERY_BYTES])):
            return None
        data = np.frombuffer(text.encode("utf-8", "replace")[:_MAX_QUERY_BYTES], np.uint8)
        vector, counts = np.empty(self.width, np.float32), np.empty(3, np.int32)
        passage_vectors.embed_text(self.table, data, vector, counts)
        words, whole, pieces = counts.tolist()
        return (vector, words) if pieces and whole >= _MIN_WHOLE * words else None

    def split_pieces(self, text: str) -> list[str]:
        """Return the pieces of a text as strings; one within a word begins with '##'."""
        data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
        numbers = np.empty(len(data) * 18 + 1, np.int32)
        count, _ = word_pieces.split_pieces(self.table, data, 0, len(data), numbers)
        return [self.pieces[number] for number in numbers[:count].tolist()]

    @functools.cached_property
    def pieces(self) -> list[str]:
        """The vocabulary."""
        names = [""] * len(self.table.vectors)
        letters = "0123456789abcdefghijklmnopqrstuvwxyz"
        prefixes = {0: "", 1: "##"}
        for node in range(len(self.table.symbols)):
            prefix = prefixes.pop(node)
            child, symbols = int(self.table.children[node]), int(self.table.symbols[node])
            for number, letter in enumerate(letters):
                if symbols >> number & 1:
                    prefixes[child] = prefix + letter
                    child += 1
            if (piece := int(self.table.pieces[node])) >= 0:
                names[piece] = prefix
        return names


@functools.cache
def load_static_model() -> StaticModel:
    """Return the model of the package, loaded once per process."""
    return StaticModel()
