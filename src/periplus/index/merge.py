"""Several segments to one: dead documents are left behind, and the rest is what a build of it would have made.

Postings are turned back into tokens, put in the order of the merged documents, and inverted again. So impacts follow
the mean lengths of the merged segment, and documents its order for pruning; nothing wears out by merging.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors, sync_folder
from periplus.index import writer
from periplus.index.fields import Document, Field
from periplus.index.segment import Segment
from periplus.kernels import invert, lexicon, merge
from periplus.settings import IndexSettings
from periplus.text import LANGUAGES

__all__ = ["Size", "choose_merge", "merge_segments", "read_terms"]

_FAN: Final = 8
"""Merge when there are this many segments of about one size; the result is of the next size."""
_SMALLEST: Final = 32
"""Segments of fewer documents than this count as this large."""
_MOST_DEAD: Final = 0.3
"""A segment with a larger share of dead documents is written anew."""
_BYTES_PER_TOKEN: Final = 32
"""Memory that a merge takes for each token: 16 for sorting, the rest for text, postings and columns."""

Numbers = npt.NDArray[np.int64]


class Size(NamedTuple):
    """What the choice of a merge depends on."""

    documents: int
    live: int
    tokens: int


def choose_merge(sizes: Mapping[str, Size], settings: IndexSettings) -> list[str]:
    """Choose the segments to merge next, within the memory a build may take; none if it is not worth it."""
    most = settings.memory_mb * 1_000_000 // _BYTES_PER_TOKEN
    tiers: dict[int, list[str]] = {}
    for name, size in sizes.items():
        tier = int(np.log(max(size.live, _SMALLEST) / _SMALLEST) / np.log(_FAN))
        tiers.setdefault(tier, []).append(name)
    for _, names in sorted(tiers.items()):
        names.sort(key=lambda name: sizes[name].live)
        total = list(itertools.accumulate(sizes[name].tokens for name in names))
        fitting = [name for name, tokens in zip(names, total, strict=True) if tokens <= most]
        if len(fitting) >= _FAN:
            return fitting
    for name, size in sizes.items():
        if size.documents - size.live > _MOST_DEAD * size.documents and size.tokens <= most:
            return [name]
    return []


def merge_segments(folder: Path, segments: Sequence[Segment], settings: IndexSettings) -> list[Numbers]:
    """Write the live documents of `segments` as one; give for each segment where its documents went (-1: nowhere)."""
    documents, static, titles, owners = _gather(segments)
    order = writer.order_documents(documents, static)
    maps = _new_numbers(segments, owners, order)
    documents, static, titles = [documents[i] for i in order], static[order], titles[order]
    with disk_errors(folder):
        folder.mkdir(parents=True)
    lengths = _write_postings(folder, segments, maps, len(documents), settings)
    writer.write_columns(folder, documents, static, lengths, titles)
    writer.write_text(folder, documents)
    with disk_errors(folder):
        sync_folder(folder.parent)
    return maps


def _gather(
    segments: Sequence[Segment],
) -> tuple[list[Document], npt.NDArray[np.float32], npt.NDArray[np.uint64], list[tuple[int, int]]]:
    """Read all live documents, with their static ranks, title keys, and segment and number."""
    documents: list[Document] = []
    owners: list[tuple[int, int]] = []
    static, titles = [np.zeros(0, np.float32)], [np.zeros(0, np.uint64)]
    for number, segment in enumerate(segments):
        live = np.flatnonzero(segment.alive)
        static.append(segment.column("static")[live])
        titles.append(segment.column("title_key")[live])
        documents.extend(_document(segment, document) for document in live.tolist())
        owners.extend((number, document) for document in live.tolist())
    return documents, np.concatenate(static), np.concatenate(titles), owners


def _document(segment: Segment, number: int) -> Document:
    """Give a document as it was built, but for the texts that only its postings keep."""
    fields = [b""] * len(Field)
    fields[Field.BODY] = segment.text(number)
    return Document(
        int(segment.column("key")[number]),
        segment.string("url", number),
        segment.string("hosts", int(segment.column("host")[number])),
        segment.string("title", number),
        LANGUAGES[int(segment.column("language")[number])],
        float(segment.column("fetched")[number]),
        segment.string("kinds", int(segment.column("kind")[number])),
        tuple(fields),
        int(segment.column("flags")[number]),
        int(segment.column("day")[number]),
    )


def _new_numbers(segments: Sequence[Segment], owners: Sequence[tuple[int, int]], order: Numbers) -> list[Numbers]:
    # One block more than there are documents: an entry's last block may reach past them.
    maps = [np.full(segment.documents + invert.BLOCK, -1, np.int64) for segment in segments]
    for new, old in enumerate(order.tolist()):
        segment, document = owners[old]
        maps[segment][document] = new
    return maps


def _write_postings(
    folder: Path, segments: Sequence[Segment], maps: Sequence[Numbers], documents: int, settings: IndexSettings
) -> npt.NDArray[np.int32]:
    """Write lexicon and postings; give the number of tokens by document and field."""
    counts, lengths = np.zeros(documents, np.int64), np.zeros((documents, len(Field)), np.int32)
    held = [segment.terms() for segment in segments]
    for segment, terms, numbers in zip(segments, held, maps, strict=True):
        merge.take_tokens(
            segment.lists,
            terms,
            np.zeros(len(terms.frequency), np.int64),
            numbers,
            counts,
            lengths,
            np.empty(0, np.int32),
            np.empty(0, np.uint32),
        )
    starts = np.zeros(documents + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    words, tokens = _tokens(segments, held, maps, starts, lengths)
    postings = invert.make_room(tokens, documents)
    used = invert.build_postings(tokens, writer.scale_fields(lengths, settings), settings.k1, postings)
    writer.write_lists(folder, postings, used)
    writer.write_lexicon(folder, words, postings)
    return lengths


def _tokens(
    segments: Sequence[Segment],
    held: Sequence[lexicon.Terms],
    maps: Sequence[Numbers],
    starts: Numbers,
    lengths: npt.NDArray[np.int32],
) -> tuple[list[bytes], invert.Sorted]:
    """Give the terms that live documents have, in order, and all tokens by term."""
    words = [read_terms(terms) for terms in held]
    every = sorted(set().union(*words))
    numbers = {term: number for number, term in enumerate(every)}
    terms, positions = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint32)
    place = starts[:-1].copy()
    if len(terms):
        for segment, packed, own, documents in zip(segments, held, words, maps, strict=True):
            new = np.fromiter((numbers[term] for term in own), np.int64, len(own))
            merge.take_tokens(segment.lists, packed, new, documents, place, lengths, terms, positions)
    used = np.bincount(terms, minlength=len(every)) > 0
    renumbered = (np.cumsum(used) - 1).astype(np.int32)
    tokens = merge.sort_by_term(starts, renumbered[terms] if len(terms) else terms, positions, int(used.sum()))
    return list(itertools.compress(every, used)), tokens


def read_terms(terms: lexicon.Terms) -> list[bytes]:
    """Give all terms of an unpacked lexicon, in order."""
    raw, bounds = terms.blob.tobytes(), terms.start.tolist()
    return [raw[a:b] for a, b in itertools.pairwise(bounds)]
