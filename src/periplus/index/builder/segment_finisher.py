"""A draft to a segment: order its documents, invert their tokens, write."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors, sync_folder
from periplus.index.builder import segment_writer
from periplus.index.builder.byte_sort import sort_pieces
from periplus.index.builder.memory_trim import give_back
from periplus.index.builder.segment_builder import Columns, Draft, Sources, read_batch, read_media
from periplus.index.builder.spool import Spool
from periplus.index.builder.term_runs import cut_runs, write_runs
from periplus.index.document_fields import Document, Field
from periplus.index.kernels import forward_index, string_table
from periplus.index.media_file import write_extras
from periplus.index.merge.segment_merger import BYTES_PER_DOCUMENT
from periplus.index.vocabulary.completions import link_texts
from periplus.index.vocabulary.surface_forms import Counted, count_words
from periplus.index.vocabulary.title_keys import title_keys
from periplus.index.vocabulary.words_file import write_words
from periplus.score import PageScorer
from periplus.settings import IndexSettings

__all__ = ["write_draft", "write_segment"]

_BYTES_PER_TOKEN: Final = 12
"""Memory that is allowed for each token of the terms in hand: 8 for sorting, 3 for what they become."""
_IN_FILE: Final = (*segment_writer.COLUMN_TYPES, "quality", "block_static", "length")
"""The columns of a segment, in the order in which they are written."""
_AT_ONCE: Final = 1 << 22
"""Bytes of text that are put in order at a time."""

Numbers = npt.NDArray[np.int64]


def write_segment(
    folder: Path, batch: list[Document], static: npt.NDArray[np.float32], settings: IndexSettings
) -> None:
    """Write `batch` (with each document's static rank) as the segment `folder`, which must not exist yet."""
    with Draft(folder, settings) as draft:
        draft.take(read_batch(batch, static, PageScorer(settings.weights), draft.words))
        write_draft(draft)


def write_draft(draft: Draft, withdrawn: Iterable[int] = ()) -> int:
    """Write what a draft has taken as its segment, but for pages withdrawn; give how many documents it has.

    Of a page that was taken several times the last counts.
    """
    folder, sources = draft.folder, draft.sources()
    rows = _order(sources, _survivors(sources.columns["key"], withdrawn))
    give_back()
    texts = _texts(sources, rows)
    counted = _write_postings(draft, texts)
    columns = {name: sources.columns[name][rows] for name in _IN_FILE if name in sources.columns}
    columns["title_key"] = title_keys(draft.words, draft.terms, draft.term_of_word(), texts)
    columns["length"] = texts.lengths.sum(axis=0, dtype=np.int64)
    del texts
    _write_columns(folder, sources, columns, rows)
    del columns
    _write_text(folder, sources, rows)
    give_back()
    write_words(folder, counted, _link_texts(sources, rows))
    sizes = sources.columns["media_size"]
    write_extras(folder, read_media(sources.media, _begins(sizes)[rows], sizes[rows]), sources.columns["news"][rows])
    with disk_errors(folder):
        sync_folder(folder.parent)
    return len(rows)


def _survivors(keys: npt.NDArray[np.uint64], withdrawn: Iterable[int]) -> Numbers:
    """Give the documents that are neither withdrawn nor taken again later, in the order in which they came."""
    _, last = np.unique(keys[::-1], return_index=True)
    rows = np.sort(len(keys) - 1 - last)
    gone = np.array(sorted(withdrawn), np.uint64)
    return rows[~np.isin(keys[rows], gone)] if len(gone) else rows


def _order(sources: Sources, rows: Numbers) -> Numbers:
    """Number documents so that pruning works: tiers of static rank, best first, then neighbours on the web."""
    begin, sizes, raw = _begins(sources.columns["url_size"]), sources.columns["url_size"], sources.urls.tobytes()
    spans = zip(begin[rows].tolist(), sizes[rows].tolist(), strict=True)
    urls = [raw[at : at + size] for at, size in spans]
    by_url = np.array(sorted(range(len(urls)), key=urls.__getitem__), np.int64)
    tiers = segment_writer.choose_tiers(sources.columns["static"][rows])
    hosts = _sorted_numbers(sources.hosts)[sources.columns["host"][rows]]
    return rows[by_url[np.lexsort((hosts[by_url], tiers[by_url]))]]


def _begins(sizes: npt.NDArray[np.int32]) -> Numbers:
    """Give where things of these sizes begin, one after the other."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return ends - sizes


def _sorted_numbers(names: list[str]) -> Numbers:
    """Give the place of each name among all of them in order."""
    places = np.empty(len(names), np.int64)
    places[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return places


def _texts(sources: Sources, rows: Numbers) -> forward_index.DocumentTokens:
    lengths = sources.columns["lengths"]
    return forward_index.DocumentTokens(
        sources.tokens, _begins(lengths.sum(axis=1, dtype=np.int64))[rows], lengths[rows]
    )


def _write_postings(draft: Draft, texts: forward_index.DocumentTokens) -> Counted:
    """Write lexicon and postings; give the words counted."""
    uses = forward_index.count_word_uses(texts, draft.words.count)
    turned = draft.term_of_word()
    totals = np.bincount(turned, uses[:, 1], draft.terms.count).astype(np.int64)
    blob, start = draft.terms.as_arrays()
    met = np.flatnonzero(totals)  # Those of documents that are left out are not.
    in_order = met[sort_pieces(blob, start[met], start[met + 1])]
    new = np.full(draft.terms.count, -1, np.int32)
    new[in_order] = np.arange(len(in_order), dtype=np.int32)
    turned, totals = new[turned], totals[in_order]
    scale = segment_writer.scale_fields(texts.lengths, draft.settings)
    runs = (
        forward_index.sort_tokens(texts, turned, totals[first:last], first)
        for first, last in cut_runs(totals, _tokens_at_once(draft))
    )
    whole = write_runs(draft.folder, runs, scale, draft.settings)
    laid, starts = string_table.reorder_strings(blob, start[:-1], start[1:], in_order)
    segment_writer.write_lexicon(draft.folder, starts, laid, whole)
    return count_words(*draft.words.as_arrays(), texts, uses[:, 0].astype(np.int32))


def _tokens_at_once(draft: Draft) -> int:
    """Say how many tokens may be sorted at a time, beside what is held of each document."""
    memory = draft.settings.memory_mb * 1_000_000
    return max(memory // 4, memory - draft.documents * BYTES_PER_DOCUMENT) // _BYTES_PER_TOKEN


def _write_columns(folder: Path, sources: Sources, columns: Columns, rows: Numbers) -> None:
    """Write what filters, ranking and result pages read of each document: numbers and strings."""
    tables: Columns = {}
    for name, blob in (("url", sources.urls), ("title", sources.titles)):
        sizes = sources.columns[f"{name}_size"]
        begin = _begins(sizes)
        laid, starts = string_table.reorder_strings(blob, begin, begin + sizes, rows)
        tables |= {f"{name}_start": starts, f"{name}_blob": laid}
    for name, names in (("host", sources.hosts), ("kind", sources.kinds)):
        met = np.unique(columns[name])
        kept = [names[number] for number in met.tolist()]
        columns[name] = _sorted_numbers(kept)[np.searchsorted(met, columns[name])].astype(
            segment_writer.COLUMN_TYPES[name]
        )
        tables |= segment_writer.lay_strings(f"{name}s", [one.encode() for one in sorted(kept)])
    columns["block_static"] = segment_writer.block_maxima(columns["static"])
    segment_writer.write_columns(folder, {name: columns[name] for name in _IN_FILE}, tables)


def _write_text(folder: Path, sources: Sources, rows: Numbers) -> None:
    """Write the bodies in compressed blocks."""
    sizes = sources.columns["sizes"]
    begin = (_begins(sizes.sum(axis=1, dtype=np.int64)) + sizes[:, : Field.BODY].sum(axis=1))[rows]
    bodies = sizes[rows, Field.BODY].astype(np.int64)
    ends, first = np.zeros(len(rows), np.uint32), np.zeros(len(rows) + 1, np.uint32)
    blocks = forward_index.assign_blocks(bodies, segment_writer.TEXT_BLOCK, ends, first)
    with Spool(folder / "text.part") as spool:
        blocks_of = _blocks_of(sources.data, begin, bodies, first[: blocks + 1].astype(np.int64))
        segment_writer.write_blocks(
            folder, blocks_of, first[: blocks + 1], ends, sources.columns["simhash"][rows], spool
        )


def _blocks_of(data: npt.NDArray[np.uint8], begin: Numbers, sizes: Numbers, first: Numbers) -> Iterator[memoryview]:
    """Give the blocks of text, one after the other; some megabytes are put in order at a time."""
    held = np.concatenate(([0], np.cumsum(sizes)))[first]
    block = 0
    while block < len(first) - 1:
        last = max(block + 1, int(np.searchsorted(held, held[block] + _AT_ONCE, side="right")) - 1)
        part = slice(int(first[block]), int(first[last]))
        laid = forward_index.concatenate_texts(data, begin[part], sizes[part]).data
        for a, b in itertools.pairwise((held[block : last + 1] - held[block]).tolist()):
            yield laid[a:b]
        block = last


def _link_texts(sources: Sources, rows: Numbers) -> Iterator[tuple[int, bytes]]:
    """Give the first few texts of links to each document."""
    sizes = sources.columns["sizes"]
    begin = _begins(sizes.sum(axis=1, dtype=np.int64)) + sizes[:, : Field.ANCHOR].sum(axis=1)
    for number in np.flatnonzero(sizes[rows, Field.ANCHOR]).tolist():
        at, size = int(begin[rows[number]]), int(sizes[rows[number], Field.ANCHOR])
        yield from ((number, text) for text in link_texts(sources.data[at : at + size].tobytes()))
