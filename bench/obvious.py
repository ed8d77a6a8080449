"""Queries as people type them, each with the one page that should come first: success@1 and @3 by kind.

.venv/bin/python bench/obvious.py [--queries FILE] [--collection FOLDER] [--keep FOLDER] [--list] [--dry]

The queries are those of ../shared/data/ir/obvious.jsonl, the pages those of simplewiki_entity: titles and texts alone,
without links, without embeddings. Every query passes through the whole path, spelling correction included. The index is
stored (--keep, by default a folder of the temporary directory) and used again while its source and its settings are
the same. --list prints what came first where it should not have.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

import record
from periplus.evaluate import read_documents
from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import read_lines

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
KEPT = Path(tempfile.gettempdir()) / f"periplus-obvious-{os.getuid()}"
TARGETS = {1: (0.65, 0.75), 3: (0.80, 0.88)}
"""By number of results: the least, and the goal."""


class ObviousQuery(msgspec.Struct):
    """A query, and the pages any of which should come first."""

    id: str
    text: str
    kind: str
    docs: tuple[str, ...]


class Answer(NamedTuple):
    """Which result is the right one (0: none of the first ten), and what came first."""

    query: ObviousQuery
    rank: int
    first: str
    seconds: float


def open_searcher(collection: Path, folder: Path, settings: Settings) -> tuple[Searcher, dict[int, str], float]:
    """Return a searcher of the collection, its identifiers by key, and the seconds of building (0: it was stored)."""
    source = next(path for path in sorted(collection.glob("docs.jsonl*")))
    stamp = f"{source.stat().st_size} {source.stat().st_mtime_ns} {settings.index}"
    note, ids, seconds = folder / "source.json", list[str](), 0.0
    if not note.exists() or msgspec.json.decode(note.read_bytes())["source"] != stamp:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "index").mkdir(parents=True)
        began = time.perf_counter()
        build_index(read_documents(source, ids), folder / "index", settings.index)
        seconds = time.perf_counter() - began
        note.write_bytes(msgspec.json.encode({"source": stamp, "ids": ids}))
    names = msgspec.json.decode(note.read_bytes())["ids"]
    searcher = Searcher.open(folder, settings)
    assert searcher._session
    searcher._session.index.spelling.load()  # A server has them a second later.
    return searcher, {fingerprint_text(str(number)): name for number, name in enumerate(names)}, seconds


def ask(searcher: Searcher, ids: dict[int, str], query: ObviousQuery) -> Answer:
    """Return where the right page is."""
    began = time.perf_counter()
    hits = searcher.search(Query(query.text)).hits
    seconds = time.perf_counter() - began
    ranks = [rank for rank, hit in enumerate(hits[:10], 1) if ids[hit.key] in query.docs]
    return Answer(query, min(ranks, default=0), hits[0].title if hits else "", seconds)


def success(answers: list[Answer], results: int) -> int:
    """Return how many queries have a right page among their first results."""
    return sum(0 < answer.rank <= results for answer in answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=Path, default=SHARED / "obvious.jsonl")
    parser.add_argument("--collection", type=Path, default=SHARED / "simplewiki_entity")
    parser.add_argument("--keep", type=Path, default=KEPT)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--dry", action="store_true", help="do not write results")
    given = parser.parse_args()
    if not given.queries.exists():
        parser.exit(1, f"There is no {given.queries}: name queries (id, text, kind, docs) with --queries.\n")
    queries = [msgspec.json.decode(line, type=ObviousQuery) for line in read_lines(given.queries) if line.strip()]
    searcher, ids, seconds = open_searcher(given.collection, given.keep, Settings())
    ask(searcher, ids, queries[0])  # Kernels are loaded.
    answers = [ask(searcher, ids, query) for query in queries]
    kinds = {kind: [a for a in answers if a.query.kind == kind] for kind in sorted({q.kind for q in queries})}
    print(f"{'kind':<20}{'queries':>9}{'@1':>6}{'@3':>6}")
    for kind, own in kinds.items():
        print(f"{kind:<20}{len(own):>9}{success(own, 1):>6}{success(own, 3):>6}")
    for answer in answers if given.list else ():
        if answer.rank != 1:
            query = answer.query
            print(f"  {query.kind:<18}{query.text[:40]:<42}{answer.rank or '-':>3}  first: {answer.first[:50]}")
    shares = {n: success(answers, n) / len(answers) for n in (1, 3)}
    times = np.array([answer.seconds for answer in answers]) * 1000
    index_bytes = sum(file.stat().st_size for file in (given.keep / "index").rglob("*") if file.is_file())
    figures = {
        "queries": len(answers),
        "success@1": round(shares[1], 4),
        "success@3": round(shares[3], 4),
        "kinds": {k: {"queries": len(v), "@1": success(v, 1), "@3": success(v, 3)} for k, v in kinds.items()},
        "index_bytes": index_bytes,
        "p50_ms": round(float(np.percentile(times, 50)), 2),
        "p99_ms": round(float(np.percentile(times, 99)), 2),
    }
    if seconds:
        print(f"index built in {seconds:.1f} s")
        figures["build_seconds"] = round(seconds, 1)
    print(f"index {index_bytes / 1e6:.1f} MB, p50 {figures['p50_ms']} ms, p99 {figures['p99_ms']} ms")
    for results, (least, goal) in TARGETS.items():
        state = "goal met" if shares[results] >= goal else "met" if shares[results] >= least else "NOT MET"
        print(f"{state:<9}success@{results} at least {least:.0%}, goal {goal:.0%}")
    if not given.dry:
        record.save("obvious", figures)
    print(f"success@1 {shares[1]:.1%} success@3 {shares[3]:.1%}")


if __name__ == "__main__":
    main()
