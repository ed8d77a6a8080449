"""How fast queries are answered, ours and peers', on the same tokens, one core, count off.

.venv/bin/python bench/query.py [--corpus JSONL] [--queries JSONL] [--peers tantivy,lucene,pisa,bm25s] [--sizes N,N,N]
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from corpus import KINDS, Asked, make_queries, read_queries
from figures import exponent, overlap, summarise, use_one_core
from material import Material, add_options, gather, sizes_of
from peers import Absent, Engine, load
from peers.ours import Ours, OursWhole
from periplus.accel import warm_up
from record import save
from whole_path import measure_whole_path

COLUMNS = (
    f"{'passages':>9} {'kind':<13}{'engine':<14}{'mean us':>9}{'p50':>9}{'p99':>10}"
    f"{'mean x':>8}{'p99 x':>8}{'overlap':>9}"
)


class Row(NamedTuple):
    """One engine's figures for one kind of query at one size; ratios say how much slower than ours it is."""

    passages: int
    kind: str
    engine: str
    queries: int
    mean: float
    p50: float
    p99: float
    mean_ratio: float
    p99_ratio: float
    overlap: float


def build_or_reuse(engine: Engine, texts: Sequence[str], folder: Path, keep: bool) -> None:
    """Build an engine's index, or open the one that is there if it may be kept."""
    done = folder.with_suffix(".done")
    if not (keep and done.exists()):
        shutil.rmtree(folder, ignore_errors=True)
        began = time.perf_counter()
        engine.build(texts, folder)
        done.touch()
        print(f"  {engine.name}: built in {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
    engine.open(folder)


def race(engines: list[Engine], queries: dict[str, list[Asked]], rounds: int, k: int) -> dict[tuple[str, str], Any]:
    """Time every engine on every kind, in turns, so that noise of the machine falls on all of them alike."""
    best: dict[tuple[str, str], list[int]] = {}
    found: dict[tuple[str, str], list[list[int]]] = {}
    for kind, asked in queries.items():
        able = [engine for engine in engines if kind in engine.kinds]
        for engine in able:
            engine.ready(asked, k)
            found[engine.name, kind] = engine.answers()
        for _ in range(rounds):
            for engine in able:
                times = engine.round()
                old = best.get((engine.name, kind), times)
                best[engine.name, kind] = list(map(min, old, times))
    return {place: (times, found[place]) for place, times in best.items()}


def rows_of(passages: int, raced: dict[tuple[str, str], Any]) -> list[Row]:
    """Summarise a race: each engine against our kernel."""
    rows = []
    for kind in KINDS:
        mine = raced.get((Ours.name, kind))
        for (engine, its_kind), (times, hits) in raced.items():
            if its_kind == kind and mine:
                ours, theirs = summarise(mine[0]), summarise(times)
                ratios = theirs.mean / ours.mean, theirs.p99 / ours.p99
                rows.append(Row(passages, kind, engine, len(times), *theirs, *ratios, overlap(mine[1], hits)))
    return rows


def show(row: Row) -> str:
    """Return a row as a line of the table."""
    times = f"{row.mean:>9.1f}{row.p50:>9.1f}{row.p99:>10.1f}"
    ratios = f"{row.mean_ratio:>8.2f}{row.p99_ratio:>8.2f}{row.overlap:>9.3f}"
    return f"{row.passages:>9,} {row.kind:<13}{row.engine:<14}{times}{ratios}"


def growth(rows: list[Row]) -> list[dict[str, Any]]:
    """Return how mean times grow with the number of passages."""
    found = []
    for kind, engine in dict.fromkeys((row.kind, row.engine) for row in rows):
        these = [row for row in rows if (row.kind, row.engine) == (kind, engine)]
        if len(these) > 1:
            slope = exponent([row.passages for row in these], [row.mean for row in these])
            found.append({"kind": kind, "engine": engine, "exponent": round(slope, 2)})
    return found


def last_line(rows: list[Row]) -> str:
    """Return the verdict at the largest size."""
    largest = max((row.passages for row in rows), default=0)
    ratios = {row.kind: row.mean_ratio for row in rows if row.engine == "tantivy" and row.passages == largest}
    parts = [f"{kind} {ratios[kind]:.2f}x" if kind in ratios else f"{kind} -" for kind in KINDS if kind != "term"]
    return f"{' '.join(parts)} (mean, against tantivy)"


def measure(
    size: int, material: Material, options: argparse.Namespace, engines: list[Engine], scratch: Path
) -> list[Row]:
    """Build all indexes of one size and race the engines."""
    texts = material.tokens[:size]
    kept = Path(options.keep) if options.keep else None
    shared = scratch / f"periplus-{size}"
    for engine in engines:
        if isinstance(engine, OursWhole):
            engine.open(shared)
        elif isinstance(engine, Ours):
            build_or_reuse(engine, texts, shared, keep=False)
        else:
            place = (kept or scratch) / f"{engine.name}-{material.name}-{size}"
            build_or_reuse(engine, texts, place, keep=kept is not None)
    asked = read_queries(Path(options.queries)) if options.queries else make_queries(texts)
    by_kind = {kind: [query for query in asked if query.kind == kind] for kind in KINDS}
    raced = race(engines, {kind: these for kind, these in by_kind.items() if these}, options.rounds, options.k)
    for engine in engines:
        engine.close()
    return rows_of(size, raced)


def engines_of(names: str) -> list[Engine]:
    """Return our engine and the available peers; print which are missing."""
    engines: list[Engine] = [Ours(), OursWhole()]
    for name in () if names == "none" else names.split(","):
        try:
            engines.append(load(name.strip()))
        except Absent as error:
            print(f"{name} is left out: {error}.", flush=True)
    return engines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, peers="tantivy,lucene,pisa,bm25s")
    parser.add_argument("--queries", default="", help="JSONL of {query, tags}; made from the corpus without it")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of two calls each; the best counts")
    parser.add_argument("--keep", default="", help="folder in which peers' indexes are kept between runs")
    parser.add_argument("--no-whole", action="store_true", help="leave out the whole path, start and memory")
    parser.add_argument("--record", default="query", help="name of the file of results, for runs with fewer peers")
    parser.add_argument("--only-whole", action="store_true", help="leave out the race of kernels")
    options = parser.parse_args()
    use_one_core()
    warm_up()
    with tempfile.TemporaryDirectory(prefix="periplus-bench-") as scratch:
        material = gather(options, most_tokens=20_000 if options.only_whole else None)
        engines, rows = engines_of(options.peers), list[Row]()
        print(COLUMNS)
        for size in [] if options.only_whole else sizes_of(options, len(material.tokens)):
            new = measure(size, material, options, engines, Path(scratch))
            print("\n".join(map(show, new)), flush=True)
            rows += new
        slopes = growth(rows)
        if slopes:
            print("growth of the mean with passages, as an exponent:")
        for kind in KINDS if slopes else ():
            print(f"  {kind:<13}" + "  ".join(f"{s['engine']} {s['exponent']}" for s in slopes if s["kind"] == kind))
        whole = {} if options.no_whole else measure_whole_path(material, options, Path(scratch))
        figures = {"corpus": material.name, "k": options.k, "rows": [r._asdict() for r in rows], "growth": slopes}
        save("whole_path" if options.only_whole else options.record, figures | {"whole": whole})
    print(last_line(rows))


if __name__ == "__main__":
    main()
