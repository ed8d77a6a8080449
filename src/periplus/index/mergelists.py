"""Postings of several segments to those of one, some terms at a time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import writer
from periplus.index.fields import Field
from periplus.index.segment import Segment
from periplus.index.spool import Spool
from periplus.kernels import invert, merge, pack, strings
from periplus.settings import IndexSettings

__all__ = ["write_postings"]

_BYTES_PER_TOKEN: Final = 64
"""Memory that is allowed for each token of the terms in hand: 16 for sorting, the rest for what is held besides."""

Numbers = npt.NDArray[np.int64]


class _Plan(NamedTuple):
    """What is to be merged: the terms of all segments joined, and where they and the documents go."""

    segments: Sequence[Segment]
    parts: list[merge.Part]
    blob: npt.NDArray[np.uint8]
    start: Numbers
    totals: Numbers
    """Tokens of each term."""
    lengths: npt.NDArray[np.int32]
    """Tokens by document and field."""


def write_postings(
    folder: Path, segments: Sequence[Segment], maps: Sequence[Numbers], documents: int, settings: IndexSettings
) -> npt.NDArray[np.int32]:
    """Write lexicon and postings of all documents that `maps` numbers anew; give tokens by document and field."""
    plan = _survey(segments, maps, documents)
    most = settings.memory_mb * 1_000_000 // _BYTES_PER_TOKEN
    scale = writer.scale_fields(plan.lengths, settings)
    with ExitStack() as stack:
        spools = {
            name: stack.enter_context(Spool(folder / f"{name}.part")) for name in ("stream", "positions", "groups")
        }
        pieces: list[invert.Postings] = []
        for first, last in _runs(plan.totals, most):
            tokens = _tokens(plan, first, last, documents)
            postings = invert.make_room(tokens, documents)
            used = invert.build_postings(tokens, scale, settings.k1, postings)
            pieces.append(_shift(postings, spools, used))
        whole = _join(pieces)
        arrays: writer.Columns = {name: spool.array() for name, spool in spools.items()}
        arrays["groups"] = arrays["groups"].view(np.uint32).reshape(-1, 3)
        writer.write_lists(folder, arrays | {"plain_impact": whole.plain_impact, "wide": whole.wide})
    writer.write_lexicon(folder, plan.start, plan.blob, whole)
    return plan.lengths


def _survey(segments: Sequence[Segment], maps: Sequence[Numbers], documents: int) -> _Plan:
    """Join the lexicons, and count the tokens of each term and the lengths of fields; terms of the dead go."""
    held = [segment.terms() for segment in segments]
    tables = np.cumsum([0, *(len(terms.frequency) for terms in held)], dtype=np.int64)
    offsets = np.cumsum([0, *(len(terms.blob) for terms in held)], dtype=np.int64).tolist()
    blob = np.concatenate([np.zeros(0, np.uint8), *(terms.blob for terms in held)])
    moved = [terms.start + offset for terms, offset in zip(held, offsets, strict=False)]
    begin = np.concatenate([np.zeros(0, np.int64), *(start[:-1] for start in moved)])
    end = np.concatenate([np.zeros(0, np.int64), *(start[1:] for start in moved)])
    numbers, owners = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.int64)
    count = strings.join_sorted(blob, begin, end, tables, numbers, owners)
    lengths, totals = np.zeros((documents, len(Field)), np.int32), np.zeros(count, np.int64)
    edges = list(zip(tables[:-1].tolist(), tables[1:].tolist(), strict=True))
    for segment, terms, new, (a, b) in zip(segments, held, maps, edges, strict=True):
        merge.survey(segment.lists, merge.Part(terms, 0, b - a, numbers[a:b], new), lengths, totals)
    used = totals > 0
    numbers = (np.cumsum(used) - 1)[numbers]
    parts = [merge.Part(t, 0, b - a, numbers[a:b], new) for t, new, (a, b) in zip(held, maps, edges, strict=True)]
    return _Plan(segments, parts, *strings.lay(blob, begin, end, owners[:count][used]), totals[used], lengths)


def _runs(totals: Numbers, most: int) -> Iterator[tuple[int, int]]:
    """Part terms into runs of at most so many tokens; one term at least. Without terms there is one empty run."""
    sums = np.cumsum(totals)
    first, passed = 0, 0
    while True:
        last = min(len(totals), max(first + 1, int(np.searchsorted(sums, passed + most, side="right"))))
        yield first, last
        if last == len(totals):
            return
        first, passed = last, int(sums[last - 1])


def _tokens(plan: _Plan, first: int, last: int, documents: int) -> invert.Sorted:
    """Give the tokens of some terms, in order."""
    parts = []
    for part in plan.parts:
        begin, end = np.searchsorted(part.numbers, (first, last)).tolist()
        parts.append(part._replace(first=begin, last=end))
    counts = np.zeros(documents, np.int64)
    for segment, part in zip(plan.segments, parts, strict=True):
        merge.count_tokens(segment.lists, part, counts)
    starts = np.zeros(documents + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    terms, positions = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint32)
    place = starts[:-1].copy()
    for segment, part in zip(plan.segments, parts, strict=True):
        merge.take_tokens(segment.lists, part, first, place, terms, positions)
    tokens: invert.Sorted = merge.sort_by_term(starts, terms, positions, last - first)
    return tokens


def _shift(postings: invert.Postings, spools: dict[str, Spool], used: tuple[int, int, int]) -> invert.Postings:
    """Put packed postings behind those before them; give the rest, with places moved accordingly."""
    stream, positions, groups = spools["stream"].size, spools["positions"].size, spools["groups"].size // 12
    for name, size in zip(spools, used, strict=True):
        spools[name].add(getattr(postings, name)[:size].reshape(-1).view(np.uint8).data)
    wide = postings.wide.copy()
    wide[:, 0] += stream
    none = np.zeros(0, np.uint8)
    return postings._replace(
        stream_end=postings.stream_end + stream,
        position_end=postings.position_end + positions,
        row=np.where(postings.kind == pack.IS_SPARSE, 0, postings.row + groups).astype(np.int32),
        wide=wide,
        stream=none,
        positions=none,
        groups=none.view(np.uint32),
    )


def _join(pieces: Sequence[invert.Postings]) -> invert.Postings:
    """Put the columns of all pieces one after the other; impacts of plain postings are the same in all."""
    columns = zip(invert.Postings._fields[:-1], zip(*(piece[:-1] for piece in pieces), strict=True), strict=True)
    return pieces[0]._replace(**{name: np.concatenate(parts) for name, parts in columns})
