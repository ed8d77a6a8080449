"""Writes buffered documents as a segment: orders them, inverts their tokens, writes the files."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors, sync_folder
from periplus.index.builder import field_scaling, segment_writer
from periplus.index.builder.byte_sort import sort_strings
from periplus.index.builder.deleted_documents import has_duplicates
from periplus.index.builder.memory_trim import trim_heap
from periplus.index.builder.segment_builder import (
    BufferedDocuments,
    Columns,
    SegmentBuilder,
    read_media,
    tokenize_batch,
)
from periplus.index.builder.spool import Spool
from periplus.index.builder.term_runs import split_runs, write_runs
from periplus.index.collection.build_statistics import BuildStatistics, folder_statistics
from periplus.index.document_fields import Document, Field
from periplus.index.document_order import order_documents
from periplus.index.kernels import forward_index, inversion, string_table
from periplus.index.media_file import write_extras
from periplus.index.merge.segment_merger import BYTES_PER_DOCUMENT
from periplus.index.own_fields.field_columns import Sources, write_own_fields
from periplus.index.own_fields.field_schema import read_schema
from periplus.index.static_vectors import select_passages, write_static_vectors
from periplus.index.vocabulary.completions import first_link_texts
from periplus.index.vocabulary.name_table import ReadBodies, write_names
from periplus.index.vocabulary.surface_forms import SAMPLE_TOKENS, count_vocabulary
from periplus.index.vocabulary.title_keys import title_keys
from periplus.index.vocabulary.words_file import write_words
from periplus.index.word_pairs.pair_lists import write_token_pairs
from periplus.score import PageScorer
from periplus.settings import IndexSettings

__all__ = ["finish_segment", "write_segment"]

_SORT_SHARE: Final = 15
"""Sixteenths of the memory of a build that sorting takes: the system rounds what it asks for up to large pages."""
_BYTES_PER_TOKEN: Final = 12
"""Memory for each token of the terms that are inverted at a time: 8 for sorting, 3 for their postings."""
_RUNS: Final = 3
"""Runs that tokens are sorted in, in the same memory, where the memory of a build has room for all at once."""
_LEAST_RUN: Final = 1 << 22
"""Tokens of a run, unless there are fewer."""
_COLUMN_ORDER: Final = (*segment_writer.COLUMN_TYPES, "quality", "block_static", "length")
"""The columns of a segment, in the order of the file."""
_LIVE_SAMPLE: Final = 1 << 16
"""Tokens among which pairs are counted in a segment of a live index: a merge adds up those of eight."""
_LIVE_NAMES: Final = 1_024
"""Bytes of each body that are searched for names there; a merge reads all of it."""
_REORDER_BYTES: Final = 1 << 22
"""Bytes of text that are reordered at a time."""

Numbers = npt.NDArray[np.int64]


def write_segment(
    folder: Path, batch: list[Document], static: npt.NDArray[np.float32], settings: IndexSettings
) -> None:
    """Write `batch` (with each document's static rank) as the segment `folder`, which must not exist yet.

    It is one of a live index, soon to be merged: what is learned of words and names is taken from a part of the text.
    """
    with SegmentBuilder(folder, settings) as builder:
        builder.add_batch(tokenize_batch(batch, static, PageScorer(settings.weights), builder.words))
        finish_segment(builder, live=True)


def finish_segment(
    builder: SegmentBuilder,
    withdrawn: Iterable[int] = (),
    collection: BuildStatistics | None = None,
    *,
    live: bool = False,
) -> int:
    """Write the documents of a builder as its segment, without the withdrawn ones; return how many there are.

    Of several documents of one page, the last counts. collection: statistics that the segment is built with; without
    any, those of the index folder. live: whether it is a small one, soon to be merged.
    """
    folder, documents = builder.folder, builder.buffered()
    size = len(documents.data)
    rows = _select_rows(documents.columns["key"], withdrawn)
    rows = _order_rows(documents, rows, builder.settings.order)
    trim_heap(size)
    texts = _document_tokens(documents, rows)
    sample = _LIVE_SAMPLE if live else SAMPLE_TOKENS
    frequency = _write_postings(builder, texts, collection or folder_statistics(folder.parent))
    statistics = count_vocabulary(*builder.words.as_arrays(), texts, frequency, sample)
    columns = {name: documents.columns[name][rows] for name in _COLUMN_ORDER if name in documents.columns}
    columns["title_key"] = title_keys(builder.words, builder.terms, builder.term_of_word(), texts)
    builder.release_words()
    columns["length"] = texts.lengths.sum(axis=0, dtype=np.int64)
    del texts
    _write_columns(folder, documents, columns, rows, builder.settings.order)
    del columns
    read_bodies = _body_reader(documents, rows)
    _write_text(folder, documents, rows, read_bodies)
    trim_heap(size)
    write_words(folder, statistics, _link_texts(documents, rows))
    sizes = documents.columns["media_size"]
    write_extras(
        folder, read_media(documents.media, _starts(sizes)[rows], sizes[rows]), documents.columns["news"][rows]
    )
    write_static_vectors(folder, select_passages(documents.passages, rows))
    _write_own_fields(folder, documents, rows)
    count = len(rows)
    del documents, rows, sizes, statistics
    builder.release_documents()
    trim_heap(size)
    # It reads what is written, and takes memory itself. Bodies are mapped if they are many.
    write_names(folder, *((_LIVE_NAMES,) if live else ()), read_bodies=read_bodies)
    with disk_errors(folder):
        sync_folder(folder.parent)
    return count


def _select_rows(keys: npt.NDArray[np.uint64], withdrawn: Iterable[int]) -> Numbers:
    """Return the documents that are neither withdrawn nor replaced by a later one, in the order of arrival."""
    rows = np.arange(len(keys))
    if has_duplicates(keys):
        _, last = np.unique(keys[::-1], return_index=True)
        rows = np.sort(len(keys) - 1 - last)
    withdrawn_keys = np.array(sorted(withdrawn), np.uint64)
    return rows[~np.isin(keys[rows], withdrawn_keys)] if len(withdrawn_keys) else rows


def _order_rows(documents: BufferedDocuments, rows: Numbers, order: str) -> Numbers:
    """Return documents in an order."""
    sizes = documents.columns["url_size"]
    begin = _starts(sizes)[rows]
    by_url = sort_strings(documents.urls, begin, begin + sizes[rows])
    hosts = _sorted_ranks(documents.hosts)[documents.columns["host"][rows]]
    return rows[order_documents(order, documents.columns["static"][rows], hosts, by_url)]


def _starts(sizes: npt.NDArray[np.int32]) -> Numbers:
    """Return where items of these sizes begin, one after the other."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return ends - sizes


def _sorted_ranks(names: list[str]) -> Numbers:
    """Return the rank of each name in sorted order."""
    ranks = np.empty(len(names), np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks


def _document_tokens(documents: BufferedDocuments, rows: Numbers) -> forward_index.DocumentTokens:
    lengths = documents.columns["lengths"]
    return forward_index.DocumentTokens(
        documents.tokens, _starts(lengths.sum(axis=1, dtype=np.int64))[rows], lengths[rows]
    )


def _write_postings(
    builder: SegmentBuilder, texts: forward_index.DocumentTokens, collection: BuildStatistics | None
) -> npt.NDArray[np.int32]:
    """Write the term dictionary and the postings; return the document frequency of each word."""
    uses = forward_index.count_word_uses(texts, builder.words.count)
    term_of_word = builder.term_of_word()
    totals = np.bincount(term_of_word, uses[:, forward_index.USES_TOKENS], builder.terms.count).astype(np.int64)
    frequency: npt.NDArray[np.int32] = uses[:, forward_index.USES_DOCUMENTS].astype(np.int32)
    del uses  # Four times as large, and sorting takes what memory there is.
    blob, start = builder.terms.as_arrays()
    used = np.flatnonzero(totals)  # Not the terms of documents that are left out.
    in_order = used[sort_strings(blob, start[used], start[used + 1])]
    new = np.full(builder.terms.count, -1, np.int32)
    new[in_order] = np.arange(len(in_order), dtype=np.int32)
    term_of_word, totals = new[term_of_word], totals[in_order]
    scale = field_scaling.scale_fields(texts.lengths, builder.settings, collection)
    at_once, count = _tokens_at_once(builder), int(totals.sum())
    spans = list(split_runs(totals, at_once if count > at_once else max(_LEAST_RUN, -(-count * 17 // (16 * _RUNS)))))
    runs = _sorted_runs(texts, term_of_word, totals, spans)
    postings = write_runs(builder.folder, runs, scale, builder.settings, single=count <= at_once)
    sorted_blob, starts = string_table.reorder_strings(blob, start[:-1], start[1:], in_order)
    segment_writer.write_lexicon(builder.folder, starts, sorted_blob, postings)
    write_token_pairs(builder.folder, texts, term_of_word, postings)
    return frequency


def _sorted_runs(
    texts: forward_index.DocumentTokens,
    term_of_word: npt.NDArray[np.int32],
    totals: Numbers,
    spans: Sequence[tuple[int, int]],
) -> Iterator[inversion.SortedTokens]:
    """Yield the sorted tokens of each run of terms, in the same memory, which is freed behind the last."""
    room = forward_index.allocate_room(max(int(totals[first:last].sum()) for first, last in spans))
    for first, last in spans:
        yield forward_index.sort_tokens(texts, term_of_word, totals[first:last], first, room)


def _tokens_at_once(builder: SegmentBuilder) -> int:
    """Return how many tokens may be sorted at a time, besides what each document takes."""
    memory = builder.settings.memory_mb * 1_000_000 * _SORT_SHARE // 16
    return max(memory // 8, memory - builder.documents * BYTES_PER_DOCUMENT) // _BYTES_PER_TOKEN


def _write_columns(folder: Path, documents: BufferedDocuments, columns: Columns, rows: Numbers, order: str) -> None:
    """Write the columns and strings of documents, for filters, ranking and result pages."""
    tables: Columns = {}
    for name, blob in (("url", documents.urls), ("title", documents.titles)):
        sizes = documents.columns[f"{name}_size"]
        begin = _starts(sizes)
        blob_in_order, starts = string_table.reorder_strings(blob, begin, begin + sizes, rows)
        tables |= {f"{name}_start": starts, f"{name}_blob": blob_in_order}
    for name, names in (("host", documents.hosts), ("kind", documents.kinds)):
        used = np.unique(columns[name])
        used_names = [names[number] for number in used.tolist()]
        columns[name] = _sorted_ranks(used_names)[np.searchsorted(used, columns[name])].astype(
            segment_writer.COLUMN_TYPES[name]
        )
        tables |= segment_writer.pack_strings(f"{name}s", [text.encode() for text in sorted(used_names)])
    columns["block_static"] = segment_writer.block_maxima(columns["static"])
    segment_writer.write_columns(folder, {name: columns[name] for name in _COLUMN_ORDER}, tables, order)


def _body_reader(documents: BufferedDocuments, rows: Numbers) -> ReadBodies:
    """Return a function that returns the bodies of some documents, from one up to another, one after the other.

    They are valid until it is called again.
    """
    data, sizes = documents.data, documents.columns["sizes"]
    begin = (_starts(sizes.sum(axis=1, dtype=np.int64)) + sizes[:, : Field.BODY].sum(axis=1))[rows]
    bodies = sizes[rows, Field.BODY]

    room = np.empty(0, np.uint8)

    def read_bodies(first: int, last: int) -> npt.NDArray[np.uint8]:
        nonlocal room
        wanted = bodies[first:last].astype(np.int64)
        size = int(wanted.sum())
        if size > len(room):  # New memory for each call would have to be cleared by the system first.
            room = np.empty(size, np.uint8)
        forward_index.copy_texts(data, begin[first:last], wanted, room)
        return room[:size]

    return read_bodies


def _write_text(folder: Path, documents: BufferedDocuments, rows: Numbers, read_bodies: ReadBodies) -> None:
    """Write the bodies in compressed blocks."""
    sizes = documents.columns["sizes"][rows, Field.BODY].astype(np.int64)
    ends, first = np.zeros(len(rows), np.uint32), np.zeros(len(rows) + 1, np.uint32)
    blocks = forward_index.assign_blocks(sizes, segment_writer.TEXT_BLOCK, ends, first)
    with Spool(folder / "text.part") as spool:
        blocks_of = _read_blocks(read_bodies, sizes, first[: blocks + 1].astype(np.int64))
        segment_writer.write_blocks(
            folder, blocks_of, first[: blocks + 1], ends, documents.columns["simhash"][rows], spool
        )


def _read_blocks(read_bodies: ReadBodies, sizes: Numbers, first: Numbers) -> Iterator[memoryview]:
    """Yield the blocks of text; some megabytes are reordered at a time."""
    block_starts = np.concatenate(([0], np.cumsum(sizes)))[first]
    block = 0
    while block < len(first) - 1:
        last = max(
            block + 1, int(np.searchsorted(block_starts, block_starts[block] + _REORDER_BYTES, side="right")) - 1
        )
        blob_in_order = read_bodies(int(first[block]), int(first[last])).data
        for a, b in itertools.pairwise((block_starts[block : last + 1] - block_starts[block]).tolist()):
            yield blob_in_order[a:b]
        block = last


def _write_own_fields(folder: Path, documents: BufferedDocuments, rows: Numbers) -> None:
    """Write the own fields of documents that were sent, by the schema of the index folder."""
    sizes = documents.columns["own_size"]
    if sizes.any():
        begin = _starts(sizes)
        data, start = string_table.reorder_strings(documents.own_fields, begin, begin + sizes, rows)
        content = documents.columns["content"][rows]
        write_own_fields(folder, Sources(start, data), content, read_schema(folder.parent))


def _link_texts(documents: BufferedDocuments, rows: Numbers) -> Iterator[tuple[int, bytes]]:
    """Yield the first few anchor texts of each document."""
    sizes = documents.columns["sizes"]
    begin = _starts(sizes.sum(axis=1, dtype=np.int64)) + sizes[:, : Field.ANCHOR].sum(axis=1)
    for number in np.flatnonzero(sizes[rows, Field.ANCHOR]).tolist():
        at, size = int(begin[rows[number]]), int(sizes[rows[number], Field.ANCHOR])
        yield from ((number, text) for text in first_link_texts(documents.data[at : at + size].tobytes()))
