"""Ask an index all queries of a collection: in this process, or in one for each core where there are many."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.evaluate.rankings import DEPTH
from periplus.evaluate.variants import Variant
from periplus.index import Index
from periplus.query import parse_query
from periplus.rank import Ranker
from periplus.search import rerank, retrieve_relaxed
from periplus.supervision import die_with_parent

__all__ = ["Answers", "Progress", "QueryRunner"]

_WORTH_PROCESSES: Final = 2_000
"""With fewer queries, starting processes takes longer than they save."""
_PART: Final = 100
"""Queries that a process is handed at a time."""

Progress = Callable[[str, int, int], None]


class Answers(NamedTuple):
    """The best documents of each query: keys of the index, 0 where there are no more, and scores."""

    keys: npt.NDArray[np.uint64]
    scores: npt.NDArray[np.float32]


class QueryRunner:
    """Runs queries on one index after another; the processes it starts live until it is closed."""

    def __init__(self, processes: int = 0, worth: int = _WORTH_PROCESSES) -> None:
        self._processes = processes or os.cpu_count() or 1
        self._worth = worth
        self._held = ExitStack()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "QueryRunner":
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def ask(self, folder: Path, variant: Variant, queries: Sequence[str], progress: Callable[[int], None]) -> Answers:
        """Return the best documents of every query; `progress` is called with the number of queries that were run."""
        parts = [queries[at : at + _PART] for at in range(0, len(queries), _PART)]
        several = self._processes > 1 and len(queries) >= self._worth
        found, done = [], 0
        for answers in self._each(folder, variant, parts) if several else _here(folder, variant, parts):
            found.append(answers)
            done += len(answers.keys)
            progress(done)
        return Answers(
            np.concatenate([np.zeros((0, DEPTH), np.uint64), *(answers.keys for answers in found)]),
            np.concatenate([np.zeros((0, DEPTH), np.float32), *(answers.scores for answers in found)]),
        )

    def _each(self, folder: Path, variant: Variant, parts: list[Sequence[str]]) -> Iterator[Answers]:
        if self._pool is None:
            pool = ProcessPoolExecutor(
                self._processes, get_context("spawn"), initializer=die_with_parent, initargs=(os.getpid(),)
            )
            self._pool = self._held.enter_context(pool)
        count = len(parts)
        return iter(self._pool.map(_ask_there, [folder] * count, [variant] * count, parts))


def _here(folder: Path, variant: Variant, parts: list[Sequence[str]]) -> Iterator[Answers]:
    index = Index.open(folder, verify=False)
    ranker = _ranker(index, variant)
    for part in parts:
        yield _ask(index, ranker, part)


_open: list[tuple[Path, Variant, Index, Ranker]] = []
"""The last index, in a process of its own."""


def _ask_there(folder: Path, variant: Variant, queries: Sequence[str]) -> Answers:
    """Ask in a process of its own, which keeps the last index open."""
    if not _open or _open[0][:2] != (folder, variant):
        index = Index.open(folder, verify=False)
        _open[:] = [(folder, variant, index, _ranker(index, variant))]
    return _ask(*_open[0][2:], queries)


def _ranker(index: Index, variant: Variant) -> Ranker:
    settings = variant.settings
    ranker = Ranker(index, settings.rank, settings.embeddings, changes=dict(variant.changes))
    if ranker.needs_words:
        index.spelling.load()  # A server has them a second later; what is measured must not hang on that.
    return ranker


def _ask(index: Index, ranker: Ranker, queries: Sequence[str]) -> Answers:
    keys = np.zeros((len(queries), DEPTH), np.uint64)
    scores = np.zeros((len(queries), DEPTH), np.float32)
    for row, words in enumerate(queries):
        tree = parse_query(words).tree
        if tree is None:
            continue
        ranked = rerank(retrieve_relaxed(ranker, tree, DEPTH).retrieved, ranker.model, DEPTH)
        keys[row, : len(ranked.keys)] = ranked.keys
        scores[row, : len(ranked.scores)] = ranked.scores
    return Answers(keys, scores)
