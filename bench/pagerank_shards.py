"""PageRank of a real web graph over several shards beside one: seconds, rounds, bytes exchanged, memory, difference.

.venv/bin/python bench/pagerank_shards.py [--graph FILE] [--shards 1,2,4] [--tolerance 1e-12]

The graph has no URLs: runs of consecutive nodes, which are pages of one host as a rule, are dealt to the shards by
hash, as domains are. All shards run in one process, one after the other, on one core; the processor time of the longest
shard of each round is what a cluster would wait for. Memory is what each shard allocates. Exact ranks are those of
scipy, to 1e-14.
"""

import argparse
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from pagerank import CNR, DAMPING, edges_of
from periplus.graph.adjacency import pack_pairs
from periplus.graph.exchange.imports import ValueExchange
from periplus.graph.exchange.rounds import run_programs
from periplus.graph.external_sort import PairSorter
from periplus.graph.ranking.pagerank_solver import PagerankSolver
from record import save

RUN = 64
"""Consecutive nodes that are on one shard."""
MEMORY = 512_000_000


class Shard:
    """The links to the nodes of one shard, and what it exchanges with others."""

    def __init__(self, number: int, owners: Any, sources: Any, targets: Any, scratch: Path) -> None:
        self.nodes = np.flatnonzero(owners == number)
        chosen = owners[targets] == number
        sources, targets = sources[chosen], targets[chosen]
        remote = np.unique(sources[owners[sources] != number])
        # Imported nodes are numbered shard by shard.
        self.imported = remote[np.argsort(owners[remote], kind="stable")]
        self.imported_owners = owners[self.imported]
        local = np.zeros(len(owners), np.uint64)
        local[self.nodes] = np.arange(len(self.nodes))
        local[self.imported] = len(self.nodes) + np.arange(len(self.imported))
        sorter = PairSorter(scratch, f"shard-{number}", MEMORY)
        sorter.add(local[targets] << np.uint64(32) | local[sources])
        self.links = pack_pairs(sorter, len(self.nodes) + len(self.imported), scratch / f"packed-{number}")
        self.positions = local


def exchanges(shards: list[Shard]) -> list[ValueExchange]:
    """Agree on the order of the vectors."""
    agreed = []
    for number, shard in enumerate(shards):
        counts = {origin: int((shard.imported_owners == origin).sum()) for origin in range(len(shards))}
        exported = {
            other: shard.positions[far.imported[far.imported_owners == number]].astype(np.int64)
            for other, far in enumerate(shards)
            if (far.imported_owners == number).any()
        }
        agreed.append(ValueExchange(len(shard.nodes), {o: n for o, n in counts.items() if n}, exported))
    return agreed


def program(solver: PagerankSolver, total: int, tolerance: float, clock: list[float]) -> Any:
    """Run the rounds of one shard, and time what it computes in each of them."""
    inner = rounds(solver, total, tolerance)
    arrivals: Any = None
    try:
        while True:
            began = time.process_time()
            sent = inner.send(arrivals)
            clock.append(time.process_time() - began)
            arrivals = yield sent
    except StopIteration as stop:
        return stop.value


def rounds(solver: PagerankSolver, total: int, tolerance: float) -> Any:
    yield from solver.share_out_weights("weights")
    base = np.full(solver.own_nodes, (1 - DAMPING) / total)
    return (yield from solver.rounds("ranks", base, DAMPING, tolerance))


def measure(path: str, count: int, tolerance: float) -> tuple[Any, dict[str, Any]]:
    """Rank the graph over so many shards."""
    archive = np.load(path)
    sources, targets = archive["sources"].astype(np.int64), archive["targets"].astype(np.int64)
    total = int(max(sources.max(), targets.max())) + 1
    runs = np.arange(total) // RUN
    owners = (runs * 0x9E3779B1 % (1 << 32) >> 16) % count
    with tempfile.TemporaryDirectory() as scratch:
        shards = [Shard(number, owners, sources, targets, Path(scratch)) for number in range(count)]
        agreed = exchanges(shards)
        solvers, memory = [], []
        for shard, exchange in zip(shards, agreed, strict=True):
            tracemalloc.start()
            solvers.append(PagerankSolver(shard.links, 1.0, MEMORY, 1, exchange))
            # Six vectors of a solution: ranks, two halves of shares, inverse weights, base, sums.
            memory.append(tracemalloc.get_traced_memory()[0] + 8 * 6 * exchange.nodes)
            tracemalloc.stop()
        sent: list[int] = []

        def count_bytes(every: Any) -> None:
            sent.append(sum(array.nbytes for r in every for m in r.messages.values() for array in m.values()))

        clocks: list[list[float]] = [[] for _ in shards]
        began = time.perf_counter(), time.process_time()
        programs = [program(s, total, tolerance, c) for s, c in zip(solvers, clocks, strict=True)]
        results = run_programs(programs, count_bytes)
        seconds, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
        ranks = np.zeros(total)
        for shard, result in zip(shards, results, strict=True):
            ranks[shard.nodes] = result.ranks
        pairs = sum(len(exchange.imported) for exchange in agreed)
        return ranks / ranks.sum(), {
            "shards": count,
            "nodes": total,
            "rounds": results[0].rounds,
            "seconds": seconds,
            "cpu": cpu,
            "slowest_shard_cpu": float(np.sum([max(times) for times in zip(*clocks, strict=False)])),
            "bytes_per_round": max(sent, default=0),
            "bytes": sum(sent),
            "pairs_of_shards": pairs,
            "imported_nodes": [len(shard.imported) for shard in shards],
            "memory_per_shard_mb": max(memory) / 1e6,
            "links_per_shard": [shard.links.links for shard in shards],
        }


def reference(path: str) -> Any:
    from pagerank import run_reference

    return run_reference(path, 1, 1)[0]


def measure_part(graph: str = str(CNR), shards: str = "1,2,4", tolerance: float = 1e-12) -> dict[str, Any]:
    """Return the figures of all numbers of shards; `bench/cluster.py` calls this as its part 'pagerank'."""
    with tempfile.TemporaryDirectory() as scratch:
        sources, targets = edges_of(graph)
        path = str(Path(scratch) / "edges.npz")
        np.savez(path, sources=sources.astype(np.int32), targets=targets.astype(np.int32))
        rows, ranks = [], {}
        print(f"{'shards':>6}{'rounds':>8}{'cpu s':>8}{'slowest s':>11}{'MB sent':>9}{'MB/shard':>10}{'L1 to one':>12}")
        for count in [int(number) for number in shards.split(",")]:
            measure(path, count, 1e-2)  # compiled kernels
            ranks[count], row = measure(path, count, tolerance)
            row["difference_l1"] = float(np.abs(ranks[count] - ranks[min(ranks)]).sum())
            rows.append(row)
            print(
                f"{count:>6}{row['rounds']:>8}{row['cpu']:>8.3f}{row['slowest_shard_cpu']:>11.3f}"
                f"{row['bytes'] / 1e6:>9.1f}{row['memory_per_shard_mb']:>10.1f}{row['difference_l1']:>12.1e}",
                flush=True,
            )
        try:
            exact = reference(path)
            for row in rows:
                row["error_l1"] = float(np.abs(ranks[row["shards"]] - exact).sum())
        except ImportError:
            print("scipy is not installed: no exact ranks.")
        worst = max(row["difference_l1"] for row in rows)
        print(f"Ranks of shards differ by {worst:.1e} in L1; the bar is 1e-9: {'met' if worst < 1e-9 else 'MISSED'}.")
        return {"tolerance": tolerance, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default=str(CNR))
    parser.add_argument("--shards", default="1,2,4")
    parser.add_argument("--tolerance", type=float, default=1e-12)
    options = parser.parse_args()
    if not Path(options.graph).exists():
        raise SystemExit(f"{options.graph} is absent.")
    figures = measure_part(options.graph, options.shards, options.tolerance)
    print(f"Written to {save('pagerank_shards', figures)}")


if __name__ == "__main__":
    main()
