"""Sorted tokens to lexicon and postings, some terms at a time, so that memory is bounded whatever their number."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index.builder.memory_trim import give_back
from periplus.index.builder.segment_writer import Columns, write_lists
from periplus.index.builder.spool import Spool
from periplus.index.kernels import inversion, postings_format
from periplus.settings import IndexSettings

__all__ = ["cut_runs", "write_runs"]

_SHARE: Final = 8
"""What is written goes to a file first, beyond this part of the memory that a build may take."""

Numbers = npt.NDArray[np.int64]


def cut_runs(totals: Numbers, most: int) -> Iterator[tuple[int, int]]:
    """Part terms into runs of at most so many tokens; one term at least. Without terms there is one empty run."""
    sums = np.cumsum(totals)
    first, passed = 0, 0
    while True:
        last = min(len(totals), max(first + 1, int(np.searchsorted(sums, passed + most, side="right"))))
        yield first, last
        if last == len(totals):
            return
        first, passed = last, int(sums[last - 1])


def write_runs(
    folder: Path, runs: Iterable[inversion.SortedTokens], scale: npt.NDArray[np.float32], settings: IndexSettings
) -> inversion.Postings:
    """Write the postings of all terms, which come in runs; give what the lexicon says of each term."""
    with ExitStack() as stack:
        most = settings.memory_mb * 1_000_000 // _SHARE
        names = "stream", "positions", "groups"
        spools = {name: stack.enter_context(Spool(folder / f"{name}.part", most)) for name in names}
        pieces: list[inversion.Postings] = []
        for tokens in runs:
            postings = inversion.allocate_postings(tokens, len(scale))
            used = inversion.build_postings(tokens, scale, settings.k1, postings)
            pieces.append(_shift(postings, spools, used))
            del tokens, postings  # Before the next are sorted.
            give_back()
        whole = _join(pieces)
        arrays: Columns = {name: spool.array() for name, spool in spools.items()}
        arrays["groups"] = arrays["groups"].view(np.uint32).reshape(-1, 3)
        write_lists(folder, arrays | {"plain_impact": whole.plain_impact, "wide": whole.bitset_terms})
    return whole


def _shift(postings: inversion.Postings, spools: dict[str, Spool], used: tuple[int, int, int]) -> inversion.Postings:
    """Put packed postings behind those before them; give the rest, with places moved accordingly."""
    stream, positions, groups = spools["stream"].size, spools["positions"].size, spools["groups"].size // 12
    for name, size in zip(spools, used, strict=True):
        spools[name].add(getattr(postings, name)[:size].reshape(-1).view(np.uint8).data)
    bitset_terms = postings.bitset_terms.copy()
    bitset_terms[:, 0] += stream
    none = np.zeros(0, np.uint8)
    return postings._replace(
        stream_end=postings.stream_end + stream,
        position_end=postings.position_end + positions,
        first_group=np.where(postings.encoding == postings_format.SPARSE, 0, postings.first_group + groups).astype(
            np.int32
        ),
        bitset_terms=bitset_terms,
        stream=none,
        positions=none,
        groups=none.view(np.uint32),
    )


def _join(pieces: Sequence[inversion.Postings]) -> inversion.Postings:
    """Put the columns of all pieces one after the other; impacts of plain postings are the same in all."""
    columns = zip(inversion.Postings._fields[:-1], zip(*(piece[:-1] for piece in pieces), strict=True), strict=True)
    return pieces[0]._replace(**{name: np.concatenate(parts) for name, parts in columns})
