"""A segment to be: documents as they come, split into words at once, until all are there and have an order.

Words, columns and short strings stay in memory; tokens and texts go into files when they are many. Nothing is sorted
or packed before the last document has come, so that each step is taken once, whatever the size.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors
from periplus.index.builder.spool import Spool
from periplus.index.document_fields import Document, Field
from periplus.index.kernels import forward_index
from periplus.records import Media
from periplus.score import PageBatch, PageScorer
from periplus.settings import IndexSettings
from periplus.text import WordTable, language_number

__all__ = ["Draft", "Piece", "Sources", "read_batch"]

_SHARE: Final = 8
"""Tokens, texts and media each go to a file beyond this part of the memory that a build may take."""

AnyArray = npt.NDArray[Any]
Columns = dict[str, AnyArray]


class Piece(NamedTuple):
    """A batch of documents that was split."""

    table: WordTable
    tokens: npt.NDArray[np.int32]
    """Numbers of words of `table`."""
    data: bytes
    """All texts, one after the other."""
    columns: Columns
    """Numbers of each document; of its texts, `sizes` in bytes and `lengths` in tokens."""
    hosts: Sequence[str]
    kinds: Sequence[str]
    urls: bytes
    titles: bytes
    media: Sequence[bytes]


class Sources(NamedTuple):
    """All documents of a draft, in the order in which they came."""

    columns: Columns
    """A number for each document; `host` and `kind` count in the order in which they were met."""
    hosts: list[str]
    kinds: list[str]
    urls: npt.NDArray[np.uint8]
    titles: npt.NDArray[np.uint8]
    tokens: npt.NDArray[np.int32]
    data: npt.NDArray[np.uint8]
    media: npt.NDArray[np.uint8]


def read_batch(
    batch: Sequence[Document], static: npt.NDArray[np.float32], ranker: PageScorer, table: WordTable
) -> Piece:
    """Split the texts of a batch, whose words go into `table`, and measure its pages."""
    (keys, urls, hosts, titles, languages, fetched, kinds, fields, flags, days, marks, media, news) = zip(
        *batch, strict=True
    )
    texts = list(itertools.chain.from_iterable(fields))
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=bounds[1:])
    data = b"".join(texts)
    spoken = _language_numbers(languages)
    tokens = table.split(data, bounds, np.repeat(spoken, len(Field)))
    sizes = np.diff(bounds).reshape(len(batch), len(Field))
    addresses, names = [url.encode() for url in urls], [title.encode("utf-8", "replace") for title in titles]
    shown = [msgspec.msgpack.encode(one) if one else b"" for one in media]
    columns: Columns = {
        "key": np.array(keys, np.uint64),
        "static": static,
        "language": spoken,
        "day": np.array(days, np.int32),
        "flags": (np.array(flags, np.int64) & 0xFFFF).astype(np.uint16),
        "fetched": np.array(fetched, np.float64),
        "simhash": np.array(marks, np.uint64),
        "news": np.array(news, np.bool_),
        "sizes": sizes.astype(np.int32),
        "lengths": tokens.lengths.reshape(len(batch), len(Field)),
        "url_size": _sizes(addresses),
        "title_size": _sizes(names),
        "media_size": _sizes(shown),
    }
    joined = b"".join(addresses)
    columns["quality"] = _rank(data, bounds, columns, joined, ranker)
    return Piece(table, tokens.words, data, columns, hosts, kinds, joined, b"".join(names), shown)


def _sizes(strings: Sequence[bytes]) -> npt.NDArray[np.int32]:
    return np.fromiter(map(len, strings), np.int32, len(strings))


def _language_numbers(codes: Sequence[str]) -> npt.NDArray[np.uint8]:
    numbers = {code: language_number(code) for code in set(codes)}
    return np.fromiter(map(numbers.__getitem__, codes), np.uint8, len(codes))


def _rank(
    data: bytes, bounds: npt.NDArray[np.int64], columns: Columns, urls: bytes, ranker: PageScorer
) -> npt.NDArray[np.uint8]:
    """Give the static rank of each document by itself, in steps of 1/255: the static ranker of docs/ranking.md."""
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
    return np.rint(ranker.score_batch(pages) * 255).astype(np.uint8)


class Draft:
    """Takes batches of documents; gives them all at the end."""

    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        self.folder = folder
        self.settings = settings
        self.words, self.terms = WordTable(), WordTable()
        """All words met, and the terms they become."""
        self.documents = 0
        self._turned: list[npt.NDArray[np.int32]] = []
        self._columns: dict[str, list[AnyArray]] = {}
        self._hosts: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._urls, self._titles = bytearray(), bytearray()
        most = settings.memory_mb * 1_000_000 // _SHARE
        self._tokens, self._data, self._media = (
            Spool(folder / f"{name}.part", most) for name in ("tokens", "data", "media")
        )
        with disk_errors(folder):
            folder.mkdir(parents=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *rest: object) -> None:
        for spool in (self._tokens, self._data, self._media):
            spool.__exit__(*rest)

    def take(self, piece: Piece) -> None:
        """Take a batch that was split into words of our table, or of one of its own."""
        tokens = piece.tokens if piece.table is self.words else self.words.add_table(piece.table)[piece.tokens]
        self._turned.append(self.terms.add_words(self.words.terms(sum(map(len, self._turned)))))
        self._tokens.add(tokens.view(np.uint8).data)
        self._data.add(piece.data)
        self._media.add(b"".join(piece.media))
        self._urls += piece.urls
        self._titles += piece.titles
        columns = piece.columns | {
            "host": _number(piece.hosts, self._hosts),
            "kind": _number(piece.kinds, self._kinds),
        }
        for name, column in columns.items():
            self._columns.setdefault(name, []).append(column)
        self.documents += len(columns["key"])

    def sources(self) -> Sources:
        """Give all that was taken; it is of use until the draft is closed."""
        columns: Columns = {}
        for name in list(self._columns):
            columns[name] = np.concatenate(self._columns.pop(name))
        return Sources(
            columns,
            list(self._hosts),
            list(self._kinds),
            np.frombuffer(self._urls, np.uint8),
            np.frombuffer(self._titles, np.uint8),
            self._tokens.array().view(np.int32),
            self._data.array(),
            self._media.array(),
        )

    def term_of_word(self) -> npt.NDArray[np.int32]:
        """Give the number of the term that each word becomes."""
        return np.concatenate([np.zeros(0, np.int32), *self._turned])


def _number(names: Sequence[str], known: dict[str, int]) -> npt.NDArray[np.uint32]:
    """Number names by a table that grows."""
    for name in dict.fromkeys(names):
        known.setdefault(name, len(known))
    return np.fromiter(map(known.__getitem__, names), np.uint32, len(names))


def read_media(packed: npt.NDArray[np.uint8], begin: AnyArray, sizes: AnyArray) -> Iterator[tuple[Media, ...]]:
    """Give the media of documents, by the place of each."""
    for at, size in zip(begin.tolist(), sizes.tolist(), strict=True):
        if size:
            yield msgspec.msgpack.decode(packed[at : at + size].tobytes(), type=tuple[Media, ...])
        else:
            yield ()
