"""Inverts sorted tokens, some terms at a time, so that memory is bounded whatever their number."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index.builder.memory_trim import trim_heap
from periplus.index.builder.segment_writer import Columns, write_postings_file
from periplus.index.builder.spool import Spool
from periplus.index.kernels import inversion, postings_format
from periplus.index.skip_entries.kernels import MAX_ROW, pack_rows
from periplus.settings import IndexSettings

__all__ = ["split_runs", "write_runs"]

_SPILL_SHARE: Final = 32
"""Postings and positions are each spooled to a file beyond this part of the memory of a build; sorting takes more."""
_SINGLE_SHARE: Final = 5
"""And beyond this one if all terms are in one run: nothing is sorted after it."""

Numbers = npt.NDArray[np.int64]


def split_runs(totals: Numbers, max_tokens: int) -> Iterator[tuple[int, int]]:
    """Yield runs of terms (first, last) of at most `max_tokens` tokens, or of one term; one empty run without terms."""
    sums = np.cumsum(totals)
    first, before = 0, 0
    while True:
        last = min(len(totals), max(first + 1, int(np.searchsorted(sums, before + max_tokens, side="right"))))
        yield first, last
        if last == len(totals):
            return
        first, before = last, int(sums[last - 1])


def write_runs(
    folder: Path,
    runs: Iterable[inversion.SortedTokens],
    scale: npt.NDArray[np.float32],
    settings: IndexSettings,
    *,
    single: bool = False,
) -> inversion.Postings:
    """Write the postings of all terms, given in runs; return what the term dictionary stores of each term.

    single: whether there is one run only.
    """
    with ExitStack() as stack:
        max_memory = settings.memory_mb * 1_000_000 // (_SINGLE_SHARE if single else _SPILL_SHARE)
        names = "stream", "positions", "skips"
        spools = {name: stack.enter_context(Spool(folder / f"{name}.part", max_memory)) for name in names}
        rows = 0
        encoded: list[inversion.Postings] = []
        for tokens in runs:
            postings = inversion.allocate_postings(tokens, len(scale))
            used = inversion.build_postings(tokens, scale, settings.k1, postings)
            encoded.append(_spool(postings, spools, used, rows))
            rows += used[2]
            freed = tokens.documents.nbytes + tokens.positions.nbytes
            del tokens, postings  # Free memory before the next run is sorted.
            trim_heap(freed)
        combined = _concatenate(encoded)
        arrays: Columns = {name: spool.array() for name, spool in spools.items()}
        write_postings_file(folder, arrays | {"plain_impact": combined.plain_impact, "wide": combined.bitset_terms})
    return combined


def _spool(
    postings: inversion.Postings, spools: dict[str, Spool], used: tuple[int, int, int], groups: int
) -> inversion.Postings:
    """Append encoded postings to the spools; return the rest, with offsets moved accordingly.

    used: how much of the arrays is used; groups: skip entries of the runs before.
    """
    stream, positions = spools["stream"].size, spools["positions"].size
    spools["stream"].add(postings.stream[: used[0]].data)
    spools["positions"].add(postings.positions[: used[1]].data)
    packed = np.empty(used[2] * MAX_ROW, np.uint8)
    spools["skips"].add(packed[: pack_rows(postings.groups[: used[2]], packed)].copy().data)
    bitset_terms = postings.bitset_terms.copy()
    bitset_terms[:, 0] += stream
    empty = np.zeros(0, np.uint8)
    return postings._replace(
        stream_end=postings.stream_end + stream,
        position_end=postings.position_end + positions,
        first_group=np.where(postings.encoding == postings_format.SPARSE, 0, postings.first_group + groups).astype(
            np.int32
        ),
        bitset_terms=bitset_terms,
        stream=empty,
        positions=empty,
        groups=empty.view(np.uint32),
    )


def _concatenate(encoded: Sequence[inversion.Postings]) -> inversion.Postings:
    """Concatenate the columns of all runs; impacts of plain postings are the same in all."""
    columns = zip(inversion.Postings._fields[:-1], zip(*(piece[:-1] for piece in encoded), strict=True), strict=True)
    return encoded[0]._replace(**{name: np.concatenate(parts) for name, parts in columns})
