"""A batch of documents to one segment: order, split, invert, write."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.files import disk_errors, sync_folder
from periplus.index.fields import Document, Field, weights
from periplus.index.titles import title_keys
from periplus.kernels import invert, lexicon, lists, pack
from periplus.settings import IndexSettings
from periplus.store import compress
from periplus.text import WordTable, language_number

__all__ = [
    "order_documents",
    "scale_fields",
    "write_columns",
    "write_lexicon",
    "write_lists",
    "write_segment",
    "write_text",
]

_TIERS: Final = 4
_TEXT_BLOCK: Final = 32_768
_TEXT_LEVEL: Final = 1
"""Of compression: level 3 takes 1.5 times as long and saves 3 % of the text."""
_WHOLE: Final = ("key", "length")
"""Arrays that are kept as they are."""


def write_segment(
    folder: Path, batch: Sequence[Document], static: npt.NDArray[np.float32], settings: IndexSettings
) -> None:
    """Write `batch` (with each document's static rank) as the segment `folder`, which must not exist yet."""
    order = order_documents(batch, static)
    documents = [batch[i] for i in order]
    with disk_errors(folder):
        folder.mkdir(parents=True)
    lengths, titles = _write_postings(folder, documents, settings)
    write_columns(folder, documents, static[order], lengths, titles)
    write_text(folder, documents)
    with disk_errors(folder):
        sync_folder(folder.parent)


def order_documents(batch: Sequence[Document], static: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Number documents so that pruning works: tiers of static rank, best first, then neighbours on the web."""
    ranks = np.argsort(np.argsort(-static, kind="stable"), kind="stable")
    tiers = (ranks * _TIERS // max(1, len(batch))).tolist() if static.any() else [0] * len(batch)
    return np.array(sorted(range(len(batch)), key=lambda i: (tiers[i], batch[i].host, batch[i].url)), np.int64)


def _write_postings(
    folder: Path, documents: Sequence[Document], settings: IndexSettings
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
    """Write lexicon and postings; give the number of tokens by document and field, and each document's title key."""
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
    write_lists(folder, postings, used)
    write_lexicon(folder, terms_in_order, postings)
    return lengths, title_keys(table.words(), terms, table.languages(), tokens, len(Field))


def _language_numbers(documents: Sequence[Document]) -> npt.NDArray[np.uint8]:
    """Give the number of each document's language."""
    codes = [document.language for document in documents]
    numbers = {code: language_number(code) for code in set(codes)}
    return np.array([numbers[code] for code in codes], np.uint8)


def write_lists(folder: Path, postings: invert.Postings, used: tuple[int, int, int]) -> None:
    """Write the packed postings, cut to what was used."""
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(postings, name) for name in (*lists.Lists._fields[:4], "wide")}
    for name, size in zip(("stream", "positions", "groups"), used, strict=True):
        arrays[name] = arrays[name][:size]
    write_arrays(folder / "postings.arrays", "postings", arrays)


def write_lexicon(folder: Path, terms: Sequence[bytes], postings: invert.Postings) -> None:
    """Pack and write the terms with where their parts end."""
    blob = lay_strings("term", terms)
    unpacked = lexicon.Terms(
        blob["term_blob"],
        blob["term_start"],
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
    arrays = packed._replace(pages=packed.pages[:size])._asdict() | {"terms": np.array([len(terms)], np.int64)}
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


def write_columns(
    folder: Path,
    documents: Sequence[Document],
    static: npt.NDArray[np.float32],
    lengths: npt.NDArray[np.int32],
    titles: npt.NDArray[np.uint64],
) -> None:
    """Write what filters, ranking and result pages read of each document."""
    hosts = sorted({document.host for document in documents})
    kinds = sorted({document.kind for document in documents})
    host_number = {host: number for number, host in enumerate(hosts)}
    kind_number = {kind: number for number, kind in enumerate(kinds)}
    blocks = -(-len(documents) // invert.BLOCK)
    padded = np.zeros(blocks * invert.BLOCK, np.float32)
    padded[: len(documents)] = static
    columns: dict[str, npt.NDArray[Any]] = {
        "key": np.array([d.key for d in documents], np.uint64),
        "static": static.astype(np.float32),
        "block_static": padded.reshape(blocks, invert.BLOCK).max(axis=1),
        "host": np.array([host_number[d.host] for d in documents], np.uint32),
        "kind": np.array([kind_number[d.kind] for d in documents], np.uint16),
        "language": _language_numbers(documents),
        "day": np.array([d.day for d in documents], np.int32),
        "flags": np.array([d.flags & 0xFFFF for d in documents], np.uint16),
        "fetched": np.array([d.fetched for d in documents], np.float64),
        "title_key": titles,
        "length": lengths.sum(axis=0, dtype=np.int64) if len(lengths) else np.zeros(len(Field), np.int64),
    }
    strings: dict[str, npt.NDArray[Any]] = (
        lay_strings("url", [d.url.encode() for d in documents])
        | lay_strings("title", [d.title.encode("utf-8", "replace") for d in documents])
        | lay_strings("hosts", [host.encode() for host in hosts])
        | lay_strings("kinds", [kind.encode() for kind in kinds])
    )
    tight = {name: column if name in _WHOLE else _tighten(column) for name, column in columns.items()}
    write_arrays(folder / "documents.arrays", "documents", {**tight, **strings})


def _tighten(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Keep one value of a column that has no other; keep whole numbers in the smallest type that holds them."""
    if len(column) > 1 and (column == column[0]).all():
        return column[:1]
    if column.dtype.kind in "iu" and len(column) and column.min() >= 0:
        return column.astype(np.min_scalar_type(column.max()))
    return column


def write_text(folder: Path, documents: Sequence[Document]) -> None:
    """Write the bodies in compressed blocks: `first` is each block's first document, `start` its place."""
    first, starts, packed, waiting, ends = [0], [0], bytearray(), bytearray(), []
    for number, document in enumerate(documents):
        waiting += document.fields[Field.BODY]
        ends.append(len(waiting))
        if len(waiting) >= _TEXT_BLOCK or number + 1 == len(documents):
            packed += compress(waiting, _TEXT_LEVEL)
            starts.append(len(packed))
            first.append(number + 1)
            waiting.clear()
    arrays: dict[str, npt.NDArray[Any]] = {
        "first": np.array(first, np.uint32),
        "start": np.array(starts, np.uint64),
        "end": np.array(ends, np.uint32),
        "text": np.frombuffer(bytes(packed), np.uint8),
    }
    write_arrays(folder / "text.arrays", "text", arrays)


def lay_strings(name: str, values: Sequence[bytes]) -> dict[str, npt.NDArray[Any]]:
    """Lay strings out as one blob and where each begins."""
    starts = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in values], out=starts[1:])
    return {f"{name}_start": starts, f"{name}_blob": np.frombuffer(b"".join(values), np.uint8)}
