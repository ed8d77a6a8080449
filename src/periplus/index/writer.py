"""A batch of documents to one segment: order, split, invert, write."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.files import disk_errors, sync_folder
from periplus.index.completions import link_texts
from periplus.index.extras import write_extras
from periplus.index.fields import Document, Field, weights
from periplus.index.quality import rank_documents
from periplus.index.spool import Spool
from periplus.index.titles import title_keys
from periplus.index.vocabulary import Counted
from periplus.index.wordsfile import count_tokens, write_words
from periplus.kernels import invert, lexicon, lists, pack
from periplus.settings import IndexSettings
from periplus.store import compress
from periplus.text import WordTable, language_number

__all__ = [
    "COLUMN_TYPES",
    "block_maxima",
    "choose_tiers",
    "lay_strings",
    "scale_fields",
    "write_columns",
    "write_lexicon",
    "write_lists",
    "write_segment",
    "write_text",
]

_TIERS: Final = 4
_LISTS: Final = (*lists.Lists._fields[:4], "wide")
_TEXT_BLOCK: Final = 16_384
"""A hit costs the unpacking of one block: 25 us, where 32 kB took 40 and saved 3 % of the text."""
_TEXT_LEVEL: Final = 1
"""Of compression: level 3 takes 1.5 times as long and saves 3 % of the text."""
_WHOLE: Final = ("key", "length")
"""Arrays that are kept as they are."""
COLUMN_TYPES: Final[dict[str, Any]] = {
    "key": np.uint64,
    "static": np.float32,
    "host": np.uint32,
    "kind": np.uint16,
    "language": np.uint8,
    "day": np.int32,
    "flags": np.uint16,
    "fetched": np.float64,
    "title_key": np.uint64,
}
"""Columns with a number for each document, before they are kept in less room."""

Columns = dict[str, npt.NDArray[Any]]


def write_segment(
    folder: Path, batch: Sequence[Document], static: npt.NDArray[np.float32], settings: IndexSettings
) -> None:
    """Write `batch` (with each document's static rank) as the segment `folder`, which must not exist yet."""
    order = order_documents(batch, static)
    documents = [batch[i] for i in order]
    with disk_errors(folder):
        folder.mkdir(parents=True)
    lengths, titles, counted = _write_postings(folder, documents, settings)
    write_columns(folder, *_columns_of(documents, static[order], lengths, titles, settings))
    with Spool(folder / "text.part") as spool:
        marks = np.array([document.simhash for document in documents], np.uint64)
        write_text(folder, [document.fields[Field.BODY] for document in documents], marks, spool)
    write_words(folder, counted, link_texts(documents))
    write_extras(folder, [document.media for document in documents], [document.news for document in documents])
    with disk_errors(folder):
        sync_folder(folder.parent)


def order_documents(batch: Sequence[Document], static: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Number documents so that pruning works: tiers of static rank, best first, then neighbours on the web."""
    tiers = choose_tiers(static).tolist()
    return np.array(sorted(range(len(batch)), key=lambda i: (tiers[i], batch[i].host, batch[i].url)), np.int64)


def choose_tiers(static: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Give each document's tier, of equal size: 0 has the best static ranks. All are 0 where ranks are."""
    if not static.any():
        return np.zeros(len(static), np.int64)
    ranks = np.argsort(np.argsort(-static, kind="stable"), kind="stable")
    return ranks * _TIERS // max(1, len(static))


def _write_postings(
    folder: Path, documents: Sequence[Document], settings: IndexSettings
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64], Counted]:
    """Write lexicon and postings; give tokens by document and field, each document's title key, and words counted."""
    texts = list(itertools.chain.from_iterable([document.fields for document in documents]))
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=bounds[1:])
    languages = np.repeat(_language_numbers(documents), len(Field))
    table = WordTable()
    tokens = table.split(b"".join(texts), bounds, languages)
    terms = table.terms()
    terms_in_order = sorted(set(terms))
    numbers = {term: number for number, term in enumerate(terms_in_order)}
    term_of_word = np.fromiter(map(numbers.__getitem__, terms), np.int32, len(terms))
    by_term = invert.sort_tokens(tokens.words, term_of_word, tokens.lengths, len(terms_in_order))
    lengths = tokens.lengths.reshape(len(documents), len(Field))
    postings = invert.make_room(by_term, len(documents))
    used = invert.build_postings(by_term, scale_fields(lengths, settings), settings.k1, postings)
    sized = dict(zip(("stream", "positions", "groups"), used, strict=True))
    write_lists(folder, {name: getattr(postings, name)[: sized.get(name)] for name in _LISTS})
    laid = lay_strings("term", terms_in_order)
    write_lexicon(folder, laid["term_start"], laid["term_blob"], postings)
    words = table.words()
    keys = title_keys(words, terms, table.languages(), tokens, len(Field))
    return lengths, keys, count_tokens(words, tokens)


def _language_numbers(documents: Sequence[Document]) -> npt.NDArray[np.uint8]:
    """Give the number of each document's language."""
    codes = [document.language for document in documents]
    numbers = {code: language_number(code) for code in set(codes)}
    return np.array([numbers[code] for code in codes], np.uint8)


def write_lists(folder: Path, arrays: Columns) -> None:
    """Write the packed postings."""
    write_arrays(folder / "postings.arrays", "postings", {name: arrays[name] for name in _LISTS})


def write_lexicon(
    folder: Path, start: npt.NDArray[np.int64], blob: npt.NDArray[np.uint8], postings: invert.Postings
) -> None:
    """Pack and write the terms, given as one blob and where each begins, with where their parts end."""
    unpacked = lexicon.Terms(
        blob,
        start,
        postings.frequency,
        postings.stream_end,
        postings.position_end,
        postings.kind,
        postings.row,
        postings.heads,
        _number_wide(postings.kind),
    )
    packed = lexicon.room(unpacked)
    size = lexicon.pack_terms(unpacked, packed)
    arrays = packed._replace(pages=packed.pages[:size])._asdict() | {"terms": np.array([len(start) - 1], np.int64)}
    write_arrays(folder / "lexicon.arrays", "lexicon", arrays)


def _number_wide(kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    """Number the wide terms; others get -1."""
    wide = kinds == pack.IS_WIDE
    return np.where(wide, np.cumsum(wide) - 1, -1).astype(np.int32)


def scale_fields(lengths: npt.NDArray[np.int32], settings: IndexSettings) -> npt.NDArray[np.float32]:
    """BM25F: what one occurrence in each field of each document counts."""
    weight, b = (np.array(values, np.float64) for values in weights(settings))
    mean = np.maximum(lengths.mean(axis=0), 1e-9) if len(lengths) else np.ones(len(weight))
    scale: npt.NDArray[np.float32] = (weight / (1 - b + b * lengths / mean)).astype(np.float32)
    return scale


def _columns_of(
    documents: Sequence[Document],
    static: npt.NDArray[np.float32],
    lengths: npt.NDArray[np.int32],
    titles: npt.NDArray[np.uint64],
    settings: IndexSettings,
) -> tuple[Columns, Columns]:
    """Give what filters, ranking and result pages read of each document: numbers and strings."""
    hosts = sorted({document.host for document in documents})
    kinds = sorted({document.kind for document in documents})
    host_number = {host: number for number, host in enumerate(hosts)}
    kind_number = {kind: number for number, kind in enumerate(kinds)}
    values: dict[str, Any] = {
        "key": [d.key for d in documents],
        "static": static,
        "host": [host_number[d.host] for d in documents],
        "kind": [kind_number[d.kind] for d in documents],
        "language": _language_numbers(documents),
        "day": [d.day for d in documents],
        "flags": [d.flags & 0xFFFF for d in documents],
        "fetched": [d.fetched for d in documents],
        "title_key": titles,
    }
    columns: Columns = {name: np.array(numbers, COLUMN_TYPES[name]) for name, numbers in values.items()}
    columns["quality"] = rank_documents(documents, columns["language"], settings)
    columns["block_static"] = block_maxima(columns["static"])
    columns["length"] = lengths.sum(axis=0, dtype=np.int64) if len(lengths) else np.zeros(len(Field), np.int64)
    strings: Columns = (
        lay_strings("url", [d.url.encode() for d in documents])
        | lay_strings("title", [d.title.encode("utf-8", "replace") for d in documents])
        | lay_strings("hosts", [host.encode() for host in hosts])
        | lay_strings("kinds", [kind.encode() for kind in kinds])
    )
    return columns, strings


def block_maxima(static: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Give the highest static rank of each block."""
    blocks = -(-len(static) // invert.BLOCK)
    padded = np.zeros(blocks * invert.BLOCK, np.float32)
    padded[: len(static)] = static
    highest: npt.NDArray[np.float32] = padded.reshape(blocks, invert.BLOCK).max(axis=1)
    return highest


def write_columns(folder: Path, columns: Columns, strings: Columns) -> None:
    """Write columns, in as little room as they fit into, and tables of strings."""
    tight = {name: column if name in _WHOLE else _tighten(column) for name, column in columns.items()}
    write_arrays(folder / "documents.arrays", "documents", {**tight, **strings})


def _tighten(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Keep one value of a column that has no other; keep whole numbers in the smallest type that holds them."""
    if len(column) > 1 and (column == column[0]).all():
        return column[:1]
    if column.dtype.kind in "iu" and len(column) and column.min() >= 0:
        return column.astype(np.min_scalar_type(column.max()))
    return column


def write_text(folder: Path, bodies: Iterable[bytes], marks: npt.NDArray[np.uint64], spool: Spool) -> None:
    """Write the bodies in compressed blocks: `first` is each block's first document, `start` its place.

    marks: the simhash of each page's main content, 0 where it is not known; kept if any is.
    """
    first, starts, waiting, ends = [0], [0], bytearray(), list[int]()
    for body in bodies:
        waiting += body
        ends.append(len(waiting))
        if len(waiting) >= _TEXT_BLOCK or len(ends) == len(marks):
            spool.add(compress(waiting, _TEXT_LEVEL))
            starts.append(spool.size)
            first.append(len(ends))
            waiting.clear()
    arrays: Columns = {
        "first": np.array(first, np.uint32),
        "start": np.array(starts, np.uint64),
        "end": np.array(ends, np.uint32),
        "text": spool.array(),
    }
    if marks.any():
        arrays["simhash"] = marks
    write_arrays(folder / "text.arrays", "text", arrays)


def lay_strings(name: str, values: Sequence[bytes]) -> dict[str, npt.NDArray[Any]]:
    """Lay strings out as one blob and where each begins."""
    starts = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in values], out=starts[1:])
    return {f"{name}_start": starts, f"{name}_blob": np.frombuffer(b"".join(values), np.uint8)}
