"""How good a ranking is, as trec_eval counts it: nDCG with linear gain, recall, reciprocal rank; and TREC's files.

A run is {query: {document: score}}, judgements are {query: {document: grade}}. A document is right when its grade is
at least 1. Means are over all judged queries; one that was not run counts 0.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from periplus.errors import BadFile
from periplus.files import write_atomically
from periplus.store import open_text

__all__ = ["Qrels", "Run", "mrr", "ndcg_at", "read_qrels", "recall_at", "write_run"]

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]
_Grades = npt.NDArray[np.float64]


def ndcg_at(run: Run, qrels: Qrels, k: int) -> float:
    """Give the mean nDCG of the first `k` documents; a grade is its own gain, discounted by log2 of rank + 1."""

    def one(found: _Grades, judged: _Grades) -> float:
        best = _discounted(np.sort(judged)[::-1][:k])
        return _discounted(found[:k]) / best if best > 0 else 0.0

    return _mean(run, qrels, one)


def recall_at(run: Run, qrels: Qrels, k: int) -> float:
    """Give the mean share of right documents that are among the first `k`."""

    def one(found: _Grades, judged: _Grades) -> float:
        right = int((judged > 0).sum())
        return int((found[:k] > 0).sum()) / right if right else 0.0

    return _mean(run, qrels, one)


def mrr(run: Run, qrels: Qrels) -> float:
    """Give the mean of 1 / rank of the first right document, over the whole run."""

    def one(found: _Grades, judged: _Grades) -> float:
        right = np.flatnonzero(found > 0)
        return 1.0 / (int(right[0]) + 1) if len(right) else 0.0

    return _mean(run, qrels, one)


def _mean(run: Run, qrels: Qrels, one: Callable[[_Grades, _Grades], float]) -> float:
    if not qrels:
        return 0.0
    total = 0.0
    for query, grades in qrels.items():
        found = _array([grades.get(document, 0) for document, _ in ranked(run.get(query, {}))])
        total += one(found, _array(list(grades.values())))
    return total / len(qrels)


def _array(grades: list[int]) -> _Grades:
    """Give grades as gains: a negative grade (spam) is worth no less than nothing."""
    return np.maximum(np.array(grades, np.float64), 0.0)


def _discounted(gains: _Grades) -> float:
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())


def ranked(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Put documents in trec_eval's order: by score in single precision, ties by the name, later names first."""
    single = np.array([*scores.values()], np.float32).astype(np.float64)
    single[np.isnan(single)] = -np.inf
    rows = sorted(zip(single.tolist(), scores, strict=True), reverse=True)
    return [(document, score) for score, document in rows]


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read lines of query, document, grade (or TREC's four columns), parted by tabs or blanks."""
    qrels: dict[str, dict[str, int]] = {}
    for number, line in enumerate(open_text(path), 1):
        if not line.strip():
            continue
        try:
            query, document, grade = _columns(line)
            qrels.setdefault(query, {})[document] = int(grade)
        except ValueError:
            # Some collections name their columns in the first line.
            if number > 1:
                raise BadFile(f"{path} line {number} is not query, document, grade.") from None
    if not qrels:
        raise BadFile(f"{path} holds no judgements.")
    return qrels


def _columns(line: bytes) -> tuple[str, str, str]:
    text = line.decode("utf-8")
    parts = text.split("\t") if "\t" in text else text.split()
    if len(parts) == 4:
        del parts[1]
    query, document, grade = (part.strip() for part in parts)
    return query, document, grade


def write_run(path: Path, run: Run, name: str) -> None:
    """Write a run in TREC's format: query, Q0, document, rank, score, name."""
    lines = []
    for query, scores in run.items():
        for rank, (document, score) in enumerate(ranked(scores), 1):
            lines.append(f"{_word(query)} Q0 {_word(document)} {rank} {score:.9g} {_word(name)}\n")
    write_atomically(path, "".join(lines).encode("utf-8", "replace"))


def _word(text: str) -> str:
    """Make one word: the format parts its columns by blanks."""
    return "_".join(text.split()) or "_"
