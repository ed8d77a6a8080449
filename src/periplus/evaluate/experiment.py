"""Measure several ways of ranking on one build of a collection, and compare them."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import MissingPart
from periplus.evaluate.collection import Collection, read_collection
from periplus.evaluate.collection_index import CollectionIndex, open_collection_index
from periplus.evaluate.collection_vectors import embed_collection
from periplus.evaluate.comparison import Comparison, compare
from periplus.evaluate.query_runner import Answers, Progress, QueryRunner
from periplus.evaluate.rankings import Floats, Judgements, Rankings, from_run, make_judgements, score
from periplus.evaluate.trec_files import Run
from periplus.evaluate.variants import Variant
from periplus.settings import Settings

__all__ = ["Evaluation", "RankingObserver", "Result", "evaluate_variants"]

RankingObserver = Callable[[str, Rankings, Judgements], None]


class Result(msgspec.Struct, frozen=True):
    """How good one way of ranking is."""

    name: str
    title: str
    ndcg: float = 0.0
    """nDCG at 10."""
    recall: float = 0.0
    """Recall at 100."""
    mrr: float = 0.0
    seconds: float = 0.0
    """That asking all queries took."""
    skipped: str = ""
    """Why it was not measured, '' when it was."""
    comparison: Comparison | None = msgspec.field(default=None, name="beside")


class Evaluation(msgspec.Struct, frozen=True):
    """How good all of them are on one collection."""

    collection: str
    documents: int
    queries: int
    """Those with at least one right document; the others say nothing."""
    results: tuple[Result, ...]
    values: dict[str, list[float]] = {}
    """nDCG of each query, by variant; the order of queries is the same in all."""

    def result(self, name: str) -> Result | None:
        """Return the result of a variant, None if it was not measured."""
        return next((result for result in self.results if result.name == name and not result.skipped), None)

    def ndcg(self, name: str) -> Floats:
        """Return the nDCG of each query."""
        return np.array(self.values[name], np.float64)


class _Experiment:
    """Measures one collection, one way of ranking after the other."""

    def __init__(
        self,
        collection: Collection,
        made: CollectionIndex,
        runner: QueryRunner,
        progress: Progress,
        found: RankingObserver,
    ) -> None:
        self._queries = collection.queries
        self._made = made
        self._runner = runner
        self._progress = progress
        self._found = found
        self.judgements: Judgements = make_judgements(collection.qrels, made.ids)
        self._words = [collection.queries.get(query, "") for query in self.judgements.queries]
        self.results: list[Result] = []
        self.values: dict[str, Floats] = {}

    def measure(self, name: str, title: str, base: str, rank: Callable[[], Rankings]) -> None:
        """Score what `rank` gives, and compare it with what was measured before."""
        began = time.monotonic()
        try:
            rankings = rank()
        except MissingPart as error:
            self.results.append(Result(name, title, skipped=str(error)))
            return
        seconds = time.monotonic() - began
        self._found(name, rankings, self.judgements)
        scores = score(rankings, self.judgements)
        comparison = self._compare(base, scores.ndcg) if self.values else None
        self.values[name] = scores.ndcg
        self.results.append(Result(name, title, *scores.means(), seconds, comparison=comparison))

    def _compare(self, base: str, ndcg: Floats) -> Comparison:
        against = base if base in self.values else next(iter(self.values))
        return compare(against, ndcg, self.values[against], self.judgements.queries, self._queries)

    def ask(self, variant: Variant) -> Rankings:
        """Ask all judged queries."""
        if variant.meaning:
            made, asked = len(self._made.ids), len(self._words)
            variant = embed_collection(self._made.folder, variant, made, asked, self._progress)
        stage, count = f"queries, {variant.title}", len(self._words)
        self._progress(stage, 0, count)
        answers = self._runner.ask(
            self._made.folder, variant, self._words, lambda done: self._progress(stage, done, count)
        )
        return Rankings(self._numbers(answers), answers.scores)

    def _numbers(self, answers: Answers) -> npt.NDArray[np.int32]:
        """Turn keys of the index into numbers of documents; -1 where there is none."""
        keys, numbers = self._made.keys, self._made.numbers
        if not len(keys):
            return np.full(answers.keys.shape, -1, np.int32)
        at = np.minimum(np.searchsorted(keys, answers.keys), len(keys) - 1)
        return np.where((keys[at] == answers.keys) & (answers.keys != 0), numbers[at], -1).astype(np.int32)


def evaluate_variants(
    folder: Path,
    settings: Settings,
    variants: Sequence[Variant],
    *,
    baselines: Mapping[str, Callable[[], Run]] | None = None,
    keep: Path | None = None,
    runner: QueryRunner | None = None,
    progress: Progress = lambda stage, done, total: None,
    found: RankingObserver = lambda name, rankings, judgements: None,
) -> Evaluation:
    """Build a collection once and measure each variant on it.

    `baselines` are runs of other engines, by name; they come first, and the first of all is what the rest is compared
    with. `keep` is a folder for the build, used again while it fits; `found` is handed what each variant found.
    """
    collection = read_collection(folder)
    with open_collection_index(folder, collection, settings, keep, progress) as made, contextlib.ExitStack() as held:
        bench = _Experiment(collection, made, runner or held.enter_context(QueryRunner()), progress, found)
        for name, run in (baselines or {}).items():
            bench.measure(name, name, "", partial(_others, run, bench.judgements))
        for variant in variants:
            bench.measure(variant.name, variant.title, variant.base, partial(bench.ask, variant))
    values = {name: [round(value, 6) for value in found.tolist()] for name, found in bench.values.items()}
    return Evaluation(folder.resolve().name, len(made.ids), len(bench.judgements.queries), tuple(bench.results), values)


def _others(run: Callable[[], Run], judgements: Judgements) -> Rankings:
    return from_run(run(), judgements)
