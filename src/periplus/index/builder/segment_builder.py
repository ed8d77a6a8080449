"""Buffers the documents of a segment as they arrive, tokenized, until all are there and can be ordered.

Words and names of hosts stay in memory; tokens, texts and columns are spooled to files when they are many. Nothing is
sorted or packed before the last document has arrived, so that each step is taken once, whatever the size.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors
from periplus.index.builder.memory_trim import trim_heap
from periplus.index.builder.spool import Spool
from periplus.index.document_fields import Document, Field
from periplus.index.kernels import forward_index
from periplus.records import Media
from periplus.score import PageBatch, PageScorer
from periplus.settings import IndexSettings
from periplus.static_embeddings import PassageRows, WordNumbers, load_static_model
from periplus.text import ANALYSIS, Tokens, WordTable, analyse_words, ascii_forms, language_number
from periplus.typed_decoding import parse_msgpack

__all__ = ["BufferedDocuments", "SegmentBuilder", "TokenizedBatch", "tokenize_batch"]

_SPILL_SHARE: Final = 32
"""Tokens, texts and media are each spooled to a file beyond this part of the memory of a build."""

_COLUMN_SHARE: Final = 256
"""Each column, and the URLs and titles, beyond this one: there are two dozen of them."""

_TRIM_BYTES: Final = 8 << 20
"""Bytes of texts after which memory that batches left is given back: with four times as many, a build took no less time
and 15 MB more of its own memory with five million documents."""

AnyArray = npt.NDArray[Any]
Columns = dict[str, AnyArray]


class TokenizedBatch(NamedTuple):
    """A batch of documents, tokenized."""

    table: WordTable
    tokens: npt.NDArray[np.int32]
    """Numbers of words in `table`."""
    data: bytes
    """All texts, one after the other."""
    columns: Columns
    """A value for each document; for its fields, `sizes` in bytes and `lengths` in tokens."""
    hosts: Sequence[str]
    kinds: Sequence[str]
    urls: bytes
    titles: bytes
    media: Sequence[bytes]
    signs: npt.NDArray[np.uint8]
    """Vectors of passages by the static model, see `static_vectors`; `passages` of each document."""
    own_fields: bytes
    """Objects of own fields, one after the other."""


class _Column(NamedTuple):
    """The values of one column, as they arrive."""

    spool: Spool
    type: np.dtype[Any]
    shape: tuple[int, ...]
    """Of the value of one document."""

    def array(self) -> AnyArray:
        return self.spool.array().view(self.type).reshape(-1, *self.shape)


class BufferedDocuments(NamedTuple):
    """All documents of a segment, in the order in which they arrived; its arrays are read-only."""

    columns: Columns
    """A value for each document; `host` and `kind` are numbers in `hosts` and `kinds`."""
    hosts: list[str]
    kinds: list[str]
    urls: npt.NDArray[np.uint8]
    titles: npt.NDArray[np.uint8]
    tokens: npt.NDArray[np.int32]
    data: npt.NDArray[np.uint8]
    media: npt.NDArray[np.uint8]
    passages: PassageRows
    own_fields: npt.NDArray[np.uint8]


def tokenize_batch(
    batch: Sequence[Document],
    static: npt.NDArray[np.float32],
    scorer: PageScorer,
    table: WordTable,
    pieces: npt.NDArray[np.uint64] | None = None,
) -> TokenizedBatch:
    """Return a batch with its texts split into words, which are added to `table`, and its pages measured.

    pieces: of the words of the table, from `StaticModel.number_pieces`, if it has had batches before.
    """
    (keys, urls, hosts, titles, languages, fetched, kinds, fields, flags, days, simhashes, media, news, *rest) = zip(
        *batch, strict=True
    )
    _, own_fields, contents, popularity = rest
    texts = list(itertools.chain.from_iterable(fields))
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=bounds[1:])
    data = b"".join(texts)
    language_numbers = _language_numbers(languages)
    tokens = table.split(data, bounds, np.repeat(language_numbers, len(Field)))
    sizes = np.diff(bounds).reshape(len(batch), len(Field))
    addresses, names = [url.encode() for url in urls], [title.encode("utf-8", "replace") for title in titles]
    media_bytes = [msgspec.msgpack.encode(item) if item else b"" for item in media]
    columns: Columns = {
        "key": np.array(keys, np.uint64),
        "static": np.maximum(static, np.array(popularity, np.float32)),
        "language": language_numbers,
        "day": np.array(days, np.int32),
        "flags": (np.array(flags, np.int64) & 0xFFFF).astype(np.uint16),
        "fetched": np.array(fetched, np.float64),
        "simhash": np.array(simhashes, np.uint64),
        "news": np.array(news, np.bool_),
        "analysis": np.full(len(batch), ANALYSIS, np.uint8),
        "sizes": sizes.astype(np.int32),
        "lengths": tokens.lengths.reshape(len(batch), len(Field)),
        "url_size": _sizes(addresses),
        "title_size": _sizes(names),
        "media_size": _sizes(media_bytes),
        "own_size": _sizes(own_fields),
        "content": np.array(contents, np.uint64),
    }
    joined = b"".join(addresses)
    words = _number_words(table, tokens, len(batch), pieces)
    passages = _embed(data, bounds[:-1].reshape(sizes.shape), sizes, languages, words)
    columns["passages"] = passages.rows
    columns["quality"] = _measure_quality(data, bounds, columns, joined, scorer)
    return TokenizedBatch(
        table,
        tokens.words,
        data,
        columns,
        hosts,
        kinds,
        joined,
        b"".join(names),
        media_bytes,
        passages.signs,
        b"".join(own_fields),
    )


def _sizes(strings: Sequence[bytes]) -> npt.NDArray[np.int32]:
    return np.fromiter(map(len, strings), np.int32, len(strings))


def _language_numbers(codes: Sequence[str]) -> npt.NDArray[np.uint8]:
    numbers = {code: language_number(code) for code in set(codes)}
    return np.fromiter(map(numbers.__getitem__, codes), np.uint8, len(codes))


def _number_words(
    table: WordTable, tokens: Tokens, documents: int, pieces: npt.NDArray[np.uint64] | None
) -> WordNumbers:
    """Return titles and bodies as numbers of words."""
    lengths = tokens.lengths.reshape(documents, len(Field))
    begin = np.cumsum(tokens.lengths, dtype=np.int64).reshape(lengths.shape) - lengths
    titles, bodies = _field_spans(begin, lengths)
    rows = load_static_model().number_pieces() if pieces is None else pieces
    return WordNumbers(tokens.words, titles, bodies, *table.as_arrays(), ascii_forms(), rows)


def _field_spans(begin: AnyArray, sizes: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return where titles and bodies begin and end."""
    titles, bodies = (
        np.stack((begin[:, field], begin[:, field] + sizes[:, field]), axis=1) for field in (Field.TITLE, Field.BODY)
    )
    return titles, bodies


def _embed(data: bytes, begin: AnyArray, sizes: AnyArray, languages: Sequence[str], words: WordNumbers) -> PassageRows:
    """Return the vectors of documents by the static model."""
    titles, bodies = _field_spans(begin, sizes)
    return load_static_model().embed_documents(np.frombuffer(data, np.uint8), titles, bodies, languages, words)


def _measure_quality(
    data: bytes, bounds: npt.NDArray[np.int64], columns: Columns, urls: bytes, scorer: PageScorer
) -> npt.NDArray[np.uint8]:
    """Return the quality of each document by itself, in steps of 1/255: the static ranker of docs/ranking.md."""
    raw, sizes = np.frombuffer(data, np.uint8), columns["sizes"].astype(np.int64)
    begin = bounds[:-1].reshape(sizes.shape)
    titles = forward_index.count_spaces(raw, begin[:, Field.TITLE].copy(), sizes[:, Field.TITLE].copy())
    start = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(columns["url_size"], out=start[1:])
    pages = PageBatch(
        raw,
        begin[:, Field.BODY],
        begin[:, Field.BODY] + sizes[:, Field.BODY],
        sizes[:, Field.BODY],
        titles + (sizes[:, Field.TITLE] > 0),
        sizes[:, Field.HEADING],
        columns["language"],
        columns["flags"],
        np.frombuffer(urls, np.uint8),
        start,
    )
    return np.rint(scorer.score_batch(pages) * 255).astype(np.uint8)


class SegmentBuilder:
    """Buffers batches of documents; `segment_finisher` writes them as a segment."""

    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        self.folder = folder
        self.settings = settings
        self.words, self.terms = WordTable(), WordTable()
        """All words so far, and the terms that they are indexed as."""
        self.pieces = load_static_model().number_pieces()
        """Of the words, by the static model."""
        self.documents = 0
        self._untrimmed = 0
        self._term_of_word: list[npt.NDArray[np.int32]] = []
        self._columns: dict[str, _Column] = {}
        self._hosts: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._spools: list[Spool] = []
        self._tokens, self._data, self._media, self._signs, self._own_fields = (
            self._spool(name, _SPILL_SHARE) for name in ("tokens", "data", "media", "signs", "own")
        )
        self._urls, self._titles = (self._spool(name, _COLUMN_SHARE) for name in ("urls", "titles"))
        with disk_errors(folder):
            folder.mkdir(parents=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *rest: object) -> None:
        for spool in self._spools:
            spool.__exit__(*rest)

    def _spool(self, name: str, share: int) -> Spool:
        spool = Spool(self.folder / f"{name}.part", self.settings.memory_mb * 1_000_000 // share)
        self._spools.append(spool)
        return spool

    def add_batch(self, batch: TokenizedBatch) -> None:
        """Add a batch, tokenized with the table of this builder or with one of its own."""
        tokens = batch.tokens if batch.table is self.words else self.words.add_table(batch.table)[batch.tokens]
        analysed = analyse_words(self.words, sum(map(len, self._term_of_word)))
        self._term_of_word.append(self.terms.add_packed(analysed.blob, analysed.start))
        self._tokens.add(tokens.view(np.uint8).data)
        self._data.add(batch.data)
        self._media.add(b"".join(batch.media))
        self._signs.add(batch.signs.reshape(-1).data)
        self._own_fields.add(batch.own_fields)
        self._urls.add(batch.urls)
        self._titles.add(batch.titles)
        columns = batch.columns | {
            "host": _number_names(batch.hosts, self._hosts),
            "kind": _number_names(batch.kinds, self._kinds),
        }
        for name, column in columns.items():
            self._add_column(name, column)
        self.documents += len(columns["key"])
        self._untrimmed += len(batch.data)
        if self._untrimmed > _TRIM_BYTES:
            self._untrimmed = 0
            trim_heap()

    def _add_column(self, name: str, column: AnyArray) -> None:
        if name not in self._columns:
            self._columns[name] = _Column(self._spool(name, _COLUMN_SHARE), column.dtype, column.shape[1:])
        self._columns[name].spool.add(np.ascontiguousarray(column).reshape(-1).view(np.uint8).data)

    def buffered(self) -> BufferedDocuments:
        """Return all documents, to which none can be added; their arrays are valid until the builder is closed."""
        self.words.complete()
        self.terms.complete()
        columns: Columns = {name: column.array() for name, column in self._columns.items()}
        signs = self._signs.array().reshape(-1, load_static_model().width // 8)
        return BufferedDocuments(
            columns,
            list(self._hosts),
            list(self._kinds),
            self._urls.array(),
            self._titles.array(),
            self._tokens.array().view(np.int32),
            self._data.array(),
            self._media.array(),
            PassageRows(signs, columns["passages"]),
            self._own_fields.array(),
        )

    def release_words(self) -> None:
        """Forget the words: they take much memory, and nothing but postings and titles needs them."""
        self.words, self.terms = WordTable(), WordTable()
        self._term_of_word.clear()

    def release_documents(self) -> None:
        """Forget all documents, which must not be used any more."""
        self._columns.clear()
        self._hosts.clear()
        self.__exit__()

    def term_of_word(self) -> npt.NDArray[np.int32]:
        """Return the number of the term of each word."""
        return np.concatenate([np.zeros(0, np.int32), *self._term_of_word])


def _number_names(names: Sequence[str], numbers: dict[str, int]) -> npt.NDArray[np.uint32]:
    """Return the number of each name; new names are added to `numbers`."""
    for name in dict.fromkeys(names):
        numbers.setdefault(name, len(numbers))
    return np.fromiter(map(numbers.__getitem__, names), np.uint32, len(names))


def read_media(packed: npt.NDArray[np.uint8], begin: AnyArray, sizes: AnyArray) -> Iterator[tuple[Media, ...]]:
    """Yield the media of documents, given where those of each begin and their sizes."""
    for at, size in zip(begin.tolist(), sizes.tolist(), strict=True):
        if size:
            yield parse_msgpack(packed[at : at + size].tobytes(), tuple[Media, ...])
        else:
            yield ()
