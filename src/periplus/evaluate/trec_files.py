"""Runs and judgements as trec_eval understands them: its order of ties, and its files.

A run is {query: {document: score}}, judgements are {query: {document: grade}}. `rankings` scores them.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from periplus.errors import BadFile
from periplus.files import write_atomically
from periplus.store import read_lines

__all__ = ["Qrels", "Run", "read_qrels", "write_run"]

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]


def ranked(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Put documents in trec_eval's order: by score in single precision, ties by the name, later names first."""
    single = np.array([*scores.values()], np.float32).astype(np.float64)
    single[np.isnan(single)] = -np.inf
    rows = sorted(zip(single.tolist(), scores, strict=True), reverse=True)
    return [(document, score) for score, document in rows]


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read lines of query, document, grade (or TREC's four columns), parted by tabs or blanks."""
    qrels: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_lines(path), 1):
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
