"""PageRank: exactness and time on a real web graph beside networkit and scipy, and growth up to 100 million links.

.venv/bin/python bench/pagerank.py [--graph FILE] [--links 1000000,10000000,100000000] [--part growth]

Every figure comes from a process of its own, bound to one core or to all. Times are of ranking alone: the peers have
their graph in memory, ours has its links packed on disk and unpacks them first. CPU time is given beside the time on
the clock, because a busy machine changes the second only.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from periplus.graph.ranking.edge_list import pack_edges, read_edges
from periplus.graph.ranking.pagerank_solver import PagerankSolver
from record import RESULTS, save

CNR = Path(__file__).parents[2] / "shared" / "data" / "graphs" / "cnr-2000" / "edges.tsv.zst"
DAMPING, TOLERANCE = 0.85, 1e-8
SAME_HOST = 0.8
LINKS_PER_PAGE, PAGES_PER_HOST = 12, 60
CHUNK = 1 << 21


def made_web(links: int, seed: int = 1) -> Iterator[tuple[Any, Any]]:
    """Make the links of a web, in stretches of pages: hosts of all sizes, four links in five within the host.

    A host's first pages and a few hosts get most of the links: in-degrees follow a power law.
    """
    pages = links // LINKS_PER_PAGE
    rng = np.random.default_rng([seed, links])
    sizes = np.ceil(rng.pareto(1.2, pages // PAGES_PER_HOST + 1) * 10 + 1)
    first = np.unique(np.minimum(np.concatenate(([0], np.cumsum(sizes))), pages)).astype(np.int64)
    if first[-1] < pages:
        first = np.append(first, pages)
    hosts = len(first) - 1
    famous = rng.permutation(hosts)
    for begin in range(0, pages, CHUNK // LINKS_PER_PAGE):
        own = np.arange(begin, min(begin + CHUNK // LINKS_PER_PAGE, pages))
        degrees = np.minimum(rng.lognormal(2.27, 1.0, len(own)) + 0.5, 1000).astype(np.int64)
        sources = np.repeat(own, degrees)
        host = np.searchsorted(first, sources, "right") - 1
        far = rng.random(len(sources)) >= SAME_HOST
        host[far] = famous[(hosts * rng.random(int(far.sum())) ** 4).astype(np.int64)]
        low, size = first[host], first[host + 1] - first[host]
        targets = low + (size * rng.random(len(sources)) ** 3).astype(np.int64)
        # Half of the links within a host go to neighbours, as from one page of a list to the next.
        beside = ~far & (rng.random(len(sources)) < 0.5)
        step = np.ceil(rng.pareto(1.0, int(beside.sum())) + 0.01) * rng.choice([-1, 1], int(beside.sum()))
        moved = sources[beside] + np.clip(step, -1e6, 1e6).astype(np.int64)
        targets[beside] = np.clip(moved, low[beside], low[beside] + size[beside] - 1)
        yield sources, targets


def timed(work: Any, rounds: int) -> tuple[Any, float, float]:
    """Run some work several times; give its result, and its best time on the clock and of the processor."""
    clock, cpu, result = [], [], None
    for _ in range(rounds):
        began = time.perf_counter(), time.process_time()
        result = work()
        clock.append(time.perf_counter() - began[0])
        cpu.append(time.process_time() - began[1])
    return result, min(clock), min(cpu)


def edges_of(path: str) -> tuple[Any, Any]:
    batches = list(read_edges(Path(path)))
    sources, targets = (np.concatenate([batch[side] for batch in batches]) for side in (0, 1))
    apart = sources != targets
    return sources[apart], targets[apart]


def run_periplus(path: str, rounds: int, cores: int) -> tuple[Any, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        links = pack_edges(read_edges(Path(path)), Path(scratch), 512_000_000)
        base = np.full(links.nodes, (1 - DAMPING) / links.nodes)

        def work() -> Any:
            return PagerankSolver(links, 1.0, 512_000_000, cores).solve(base, DAMPING, TOLERANCE)

        work()
        found, clock, cpu = timed(work, rounds)
        bytes_each = len(links.packed.stream) / links.links
        about = {"seconds": clock, "cpu": cpu, "rounds": found.rounds, "bytes_per_link": round(bytes_each, 3)}
        return found.shares, {**about, "nodes": links.nodes, "links": links.links}


def run_networkit(path: str, rounds: int, cores: int) -> tuple[Any, dict[str, Any]]:
    import networkit

    networkit.setNumberOfThreads(cores)
    sources, targets = edges_of(path)
    nodes = int(max(sources.max(), targets.max())) + 1
    graph = networkit.Graph(nodes, weighted=False, directed=True)
    graph.addEdges((sources.astype(np.uint64), targets.astype(np.uint64)))

    def work() -> Any:
        sinks = networkit.centrality.SinkHandling.DistributeSinks
        ranks = networkit.centrality.PageRank(graph, DAMPING, TOLERANCE, distributeSinks=sinks)
        ranks.norm = networkit.centrality.Norm.L1_NORM
        ranks.run()
        return ranks

    work()
    found, clock, cpu = timed(work, rounds)
    ranks = np.array(found.scores())
    return ranks / ranks.sum(), {"seconds": clock, "cpu": cpu, "rounds": found.numberOfIterations()}


def run_scipy(path: str, rounds: int, cores: int, tolerance: float = TOLERANCE) -> tuple[Any, dict[str, Any]]:
    import scipy.sparse

    sources, targets = edges_of(path)
    nodes = int(max(sources.max(), targets.max())) + 1
    out = np.bincount(sources, minlength=nodes)
    matrix = scipy.sparse.csr_matrix((1.0 / out[sources], (targets, sources)), shape=(nodes, nodes))
    sinks = np.flatnonzero(out == 0)

    def work() -> Any:
        ranks, change, done = np.full(nodes, 1.0 / nodes), 1.0, 0
        while change >= tolerance and done < 1000:
            spread = (1 - DAMPING + DAMPING * ranks[sinks].sum()) / nodes
            fresh = DAMPING * (matrix @ ranks) + spread
            change, done = np.abs(fresh - ranks).sum(), done + 1
            ranks = fresh
        return ranks, done

    (ranks, done), clock, cpu = timed(work, rounds)
    return ranks, {"seconds": clock, "cpu": cpu, "rounds": done}


def run_reference(path: str, rounds: int, cores: int) -> tuple[Any, dict[str, Any]]:
    return run_scipy(path, 1, cores, 1e-14)


def run_made(links: str, rounds: int, cores: int, memory: int) -> dict[str, Any]:
    """Make a web of about so many links, sort and pack it, and rank it, all in this process."""
    with tempfile.TemporaryDirectory() as scratch:
        began = time.perf_counter(), time.process_time()
        packed = pack_edges(made_web(int(links)), Path(scratch), memory)
        built = time.perf_counter() - began[0], time.process_time() - began[1]
        build_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        base = np.full(packed.nodes, (1 - DAMPING) / packed.nodes)
        solver = PagerankSolver(packed, 1.0, memory, cores)
        found, clock, cpu = timed(lambda: solver.solve(base, DAMPING, TOLERANCE), 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        each = packed.links * found.rounds
        return {
            "links": packed.links,
            "nodes": packed.nodes,
            "memory_mb": memory // 1_000_000,
            "bytes_per_link": round(len(packed.packed.stream) / packed.links, 3),
            "build_seconds": built[0],
            "build_cpu": built[1],
            "build_peak_mb": build_peak / 1e6,
            "rounds": found.rounds,
            "seconds": clock,
            "cpu": cpu,
            "ns_per_link_and_round": cpu / each * 1e9,
            "peak_mb": peak / 1e6,
        }


def child(kind: str, path: str, options: argparse.Namespace, cores: int, memory: int = 0) -> dict[str, Any]:
    """Do one thing in a process of its own, on as many cores; ranks come back in a file."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "ranks.npy"
        command = [sys.executable, __file__, "--child", kind, "--graph", path, "--rounds", str(options.rounds)]
        command += ["--cores", str(cores), "--memory", str(memory // 1_000_000), "--out", str(out)]
        threads = {name: str(cores) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **threads}, check=False)
        if done.returncode:
            raise SystemExit(f"{kind} failed:\n{done.stderr[-2000:]}")
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if out.exists():
            figures["ranks"] = np.load(out)
        return figures


def be_child(options: argparse.Namespace) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    if options.child == "made":
        print(json.dumps(run_made(options.graph, options.rounds, options.cores, options.memory * 1_000_000)))
        return
    kinds = {"periplus": run_periplus, "networkit": run_networkit, "scipy": run_scipy, "reference": run_reference}
    ranks, figures = kinds[options.child](options.graph, options.rounds, options.cores)
    np.save(options.out, ranks)
    print(json.dumps(figures))


def race(options: argparse.Namespace) -> dict[str, Any]:
    """Rank the real graph with every engine, on one core and on all."""
    reference = child("reference", options.graph, options, 1)["ranks"]
    every = len(os.sched_getaffinity(0))
    figures: dict[str, Any] = {}
    ranks: dict[str, Any] = {}
    print(f"{'engine':12}{'cores':>6}{'rounds':>8}{'seconds':>10}{'cpu':>8}{'off by (L1)':>14}{'ours is, x':>12}")
    for cores in dict.fromkeys((1, every)):
        for engine in ("periplus", "networkit", "scipy"):
            found = child(engine, options.graph, options, cores)
            ranks[engine] = found.pop("ranks")
            found["error_l1"] = float(np.abs(ranks[engine] - reference).sum())
            figures[f"{engine}, {cores}"] = found
            ours = figures[f"periplus, {cores}"]
            # On one core the processor's time counts, which neighbours do not change; on several, the clock's.
            found["ours_is"] = found["cpu"] / ours["cpu"] if cores == 1 else found["seconds"] / ours["seconds"]
            print(
                f"{engine:12}{cores:>6}{found['rounds']:>8}{found['seconds']:>10.3f}{found['cpu']:>8.3f}"
                f"{found['error_l1']:>14.2e}{found['ours_is']:>12.2f}"
            )
    between = np.abs(ranks["periplus"] - ranks["networkit"])
    figures["periplus_and_networkit_differ_l1"] = float(between.sum())
    worst = max(figures["periplus, 1"]["error_l1"], figures["periplus_and_networkit_differ_l1"])
    said = "met" if worst < 1e-6 else "MISSED"
    print(f"Off by {worst:.1e} from scipy to 1e-14 and from networkit to 1e-8; the bar is 1e-6: {said}.")
    return figures


def growth(options: argparse.Namespace) -> dict[str, Any]:
    """Make and rank webs of growing size; time per link should not grow with them."""
    sizes = [int(size) for size in options.links.split(",")]
    head = ("links", 12), ("nodes", 11), ("memory", 8), ("bytes", 7), ("build s", 9), ("rounds", 8), ("cpu s", 8)
    print("\n" + "".join(name.rjust(width) for name, width in (*head, ("ns/link/round", 15), ("peak MB", 9))))
    rows = []
    for size in sizes:
        row = child("made", str(size), options, 1, options.memory * 1_000_000)
        rows.append(row)
        show(row)
    packed = child("made", str(sizes[len(sizes) // 2]), options, 1, 4_000_000)
    show(packed)
    links, times = (np.log([row[name] for row in rows]) for name in ("links", "ns_per_link_and_round"))
    exponent = 1.0 + float(np.polyfit(links, times, 1)[0]) if len(rows) > 1 else 1.0
    most = max(row["peak_mb"] for row in rows)
    print(f"Time of a round grows with links to the power of {exponent:.3f}; most memory {most:,.0f} MB.")
    return {"sizes": rows, "unpacked_in_every_round": packed, "exponent": exponent}


def show(row: dict[str, Any]) -> None:
    print(
        f"{row['links']:>12,}{row['nodes']:>11,}{row['memory_mb']:>8}{row['bytes_per_link']:>7.2f}{row['build_cpu']:>9.1f}"
        f"{row['rounds']:>8}{row['cpu']:>8.2f}{row['ns_per_link_and_round']:>15.2f}{row['peak_mb']:>9,.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default=str(CNR))
    parser.add_argument("--links", default="1000000,10000000,100000000")
    parser.add_argument("--memory", type=int, default=1536, help="MB for sorting and ranking")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--part", choices=("real", "growth"), help="measure this only; keep the other from the last run"
    )
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--out", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        be_child(options)
        return
    last = RESULTS / "pagerank.json"
    figures: dict[str, Any] = json.loads(last.read_text())["figures"] if options.part and last.exists() else {}
    if options.part == "growth":
        pass
    elif Path(options.graph).exists():
        with tempfile.TemporaryDirectory() as scratch:
            # Text is read once, not by every engine.
            sources, targets = edges_of(options.graph)
            options.graph = str(Path(scratch) / "edges.npz")
            np.savez(options.graph, sources=sources.astype(np.int32), targets=targets.astype(np.int32))
            figures["real"] = race(options)
    else:
        print(f"{options.graph} is absent: no race.")
    if options.part != "real":
        figures["growth"] = growth(options)
    print(f"Written to {save('pagerank', figures)}")


if __name__ == "__main__":
    main()
