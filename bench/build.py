"""How fast an index is built and how large it is, ours and peers', from the same text in memory, one core.

.venv/bin/python bench/build.py [--corpus JSONL] [--peers tantivy,lucene,pisa,bm25s] [--sizes N,N,N]

Every engine gets the same tokens; the rows 'own words' give ours and tantivy the plain text instead, to split and stem.
Memory is that of one more build of the largest size, in a process of its own. It is limited to HEAP_MB where an engine
can be told so (T5b).
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from figures import exponent, use_one_core
from material import Material, add_options, gather, sizes_of
from own_memory import grown_mb
from peers import Absent, Built, Engine, load
from peers.ours import Ours, build, page_visits
from periplus.accel import warm_up
from periplus.settings import IndexSettings
from record import save

HEAP_MB = 512
OWN_WORDS = ", own words"
COLUMNS = (
    f"{'passages':>9} {'engine':<22}{'seconds':>9}{'docs/s':>10}{'index MB':>10}{'stored MB':>11}"
    f"{'speed x':>9}{'size x':>8}{'cpu s':>9}{'cpu x':>8}{'learned MB':>12}{'rest x':>8}{'own MB':>8}"
)
Build = Callable[[Path], Built]


class Row(NamedTuple):
    """One build. Ratios are ours against this engine's: documents per second, bytes without stored text, documents per
    second of a processor, which others on the machine disturb less (0 where it is not known), and bytes without what
    is learned of meaning and names, either. Memory is by how much that of a process grew which was not mapped from
    files, in MB, 0 where it was not measured."""

    passages: int
    engine: str
    seconds: float
    per_second: float
    bytes: int
    stored: int
    speed_ratio: float
    size_ratio: float
    cpu_seconds: float
    cpu_ratio: float
    learned: int
    rest_ratio: float
    own_memory: float = 0.0


def builds_of(names: list[str], material: Material, size: int) -> dict[str, Build]:
    """Return the functions that build an index of `size` passages, by name."""
    tokens, passages = material.tokens[:size], material.passages[:size]
    texts = [passage.text for passage in passages]
    found: dict[str, Build] = {"periplus": lambda folder: Ours(HEAP_MB).build(tokens, folder)}
    engines: list[Engine] = []
    for name in names:
        try:
            engines.append(load(name))
        except Absent as error:
            print(f"{name} is left out: {error}.", flush=True)
    for engine in engines:
        if engine.name == "tantivy":
            from peers.by_tantivy import Tantivy

            found["tantivy"] = lambda folder: Tantivy(HEAP_MB).build(tokens, folder)
            found["periplus" + OWN_WORDS] = lambda folder: build(
                page_visits(passages), folder, IndexSettings(memory_mb=HEAP_MB)
            )
            found["tantivy" + OWN_WORDS] = lambda folder: Tantivy(HEAP_MB, "en_stem").build(texts, folder)
        else:
            found[engine.name] = lambda folder, engine=engine: engine.build(tokens, folder)  # type: ignore[misc]
    return found


def memory_of(builds: dict[str, Build], scratch: Path) -> dict[str, float]:
    """Return how much memory of its own each engine of this process takes for its build, in MB."""
    return {
        name: round(grown_mb(make, scratch / f"memory-{number}"), 1)
        for number, (name, make) in enumerate(builds.items())
        if name.startswith(("periplus", "tantivy"))  # Others build in processes of their own.
    }


def measure(builds: dict[str, Build], size: int, rounds: int, scratch: Path) -> list[Row]:
    """Build everything, in turns; the fastest of each counts."""
    best: dict[str, Built] = {}
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, make in builds.items():
            folder = scratch / "index"
            built = make(folder)
            shutil.rmtree(folder)
            if name not in best or built.seconds < best[name].seconds:
                best[name] = built
            least[name] = min(least.get(name, built.cpu), built.cpu)
    return [_row(size, name, {n: b._replace(cpu=least[n]) for n, b in best.items()}) for name in best]


def _row(size: int, name: str, best: dict[str, Built]) -> Row:
    built, ours = best[name], best["periplus" + (OWN_WORDS if name.endswith(OWN_WORDS) else "")]
    ratios = built.seconds / ours.seconds, ours.bytes / built.bytes
    spent = built.cpu, built.cpu / ours.cpu
    rest = built.learned, (ours.bytes - ours.learned) / (built.bytes - built.learned)
    return Row(size, name, built.seconds, size / built.seconds, built.bytes, built.stored, *ratios, *spent, *rest)


def show(row: Row) -> str:
    """Return a row as a line of the table."""
    sizes = f"{row.bytes / 1e6:>10.1f}{row.stored / 1e6:>11.1f}"
    return (
        f"{row.passages:>9,} {row.engine:<22}{row.seconds:>9.2f}{row.per_second:>10,.0f}{sizes}"
        f"{row.speed_ratio:>9.2f}{row.size_ratio:>8.2f}{row.cpu_seconds:>9.2f}{row.cpu_ratio:>8.2f}"
        f"{row.learned / 1e6:>12.1f}{row.rest_ratio:>8.2f}{row.own_memory:>8.0f}"
    )


def last_line(rows: list[Row]) -> str:
    """Return the verdict at the largest size."""
    largest = max(row.passages for row in rows)
    for row in rows:
        if row.engine == "tantivy" and row.passages == largest:
            speed = f"build {row.speed_ratio:.2f}x documents/s, {row.cpu_ratio:.2f}x by processor time"
            ratios = f"{speed}, size without stored text {row.size_ratio:.2f}x"
            return f"{ratios} (against tantivy)"
    return "build -, size - (no tantivy here)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, peers="tantivy,lucene,pisa,bm25s")
    parser.add_argument("--rounds", type=int, default=2, help="the fastest build of so many counts")
    options = parser.parse_args()
    use_one_core()
    warm_up()
    material, rows = gather(options), list[Row]()
    print(COLUMNS)
    with tempfile.TemporaryDirectory(prefix="periplus-bench-") as scratch:
        names = [] if options.peers == "none" else [name.strip() for name in options.peers.split(",")]
        sizes = list(sizes_of(options, len(material.tokens)))
        builds = {size: builds_of(names, material, size) for size in sizes}
        memory = memory_of(builds[max(sizes)], Path(scratch))  # Before there are threads.
        for size in sizes:
            new = measure(builds[size], size, options.rounds, Path(scratch))
            if size == max(sizes):
                new = [row._replace(own_memory=memory.get(row.engine, 0.0)) for row in new]
            print("\n".join(map(show, new)), flush=True)
            rows += new
    slopes = {}
    for engine in dict.fromkeys(row.engine for row in rows):
        these = [row for row in rows if row.engine == engine]
        if len(these) > 1:
            slopes[engine] = round(exponent([row.passages for row in these], [row.seconds for row in these]), 2)
    print("growth of the time with passages, as an exponent: " + "  ".join(f"{e} {s}" for e, s in slopes.items()))
    save("index", {"corpus": material.name, "rows": [row._asdict() for row in rows], "growth": slopes})
    print(last_line(rows))


if __name__ == "__main__":
    main()
