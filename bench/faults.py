"""Power failures, failing system calls and damaged files, against every operation and every kind of file.

    .venv/bin/python bench/faults.py [--cuts 30] [--faults 10] [--flips 200] [--parts operations ...] [--only WORDS]

Three parts, each with counts of what must never happen (acknowledged data lost, wrong answers, hangs, tracebacks,
processes killed by a signal, errors that name no file, commands that cannot be repeated):

- power cuts: the write log of every operation is replayed up to many moments, with unsynced changes lost in eight ways;
- faults: every operation runs with nine kinds of failing calls, `--faults` calls of each kind (0 is all of them), then
  again without; servers and crawls run while calls fail for a second;
- damage: every kind of file is truncated and has bits flipped.

Ends with 1 if anything failed. The table is in docs/reliability.md.
"""

import argparse
import json
import queue
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "crawl"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "faults"))

from fault_shim import FAULT_KINDS, build_shim, find_compiler
from laboratory import Failure, Laboratory, Result
from long_running import TRANSIENT_FAULTS, crawl_through_faults, serve_through_faults
from operations import OPERATIONS

from fault_tables import render_tables, summarise_arrays, write_page
from file_damage import damage_every_file_kind
from periplus.app import compile_kernels
from record import RESULTS, save
from segment_damage import damage_every_array

PARTS = ("operations", "processes", "damage")


class Task(NamedTuple):
    """One part of the work: an operation, and what happens to it."""

    part: str
    operation: str
    kind: int = 0


def run_tasks(tasks: list[Task], shim: Path, scratch: Path, options: argparse.Namespace) -> dict[Task, Result]:
    """Run all tasks in some laboratories at once."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    results: dict[Task, Result] = {}

    def work(number: int) -> None:
        with Laboratory(shim, scratch / f"laboratory-{number}") as laboratory:
            while True:
                try:
                    task = waiting.get_nowait()
                except queue.Empty:
                    return
                if task.part == "cuts":
                    result = laboratory.cut_power(task.operation, options.cuts, options.seed, rounds=2)
                else:
                    most = options.faults or sys.maxsize
                    result = laboratory.inject(task.operation, FAULT_KINDS[task.kind], most, options.seed)
                results[task] = result
                _report(task, result)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(options.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(results) < len(tasks):
        raise SystemExit("a laboratory has failed")
    return results


def _report(task: Task, result: Result) -> None:
    name = "power cuts" if task.part == "cuts" else FAULT_KINDS[task.kind].name
    print(f"{task.operation}, {name}: {result.tried.total()} tried, {len(result.failures)} failed", flush=True)
    for failure in result.failures[:3]:
        print(f"    {failure.kind}: {failure.case}: {failure.details[-600:]}", flush=True)


def run_processes(shim: Path, scratch: Path) -> tuple[list[dict[str, Any]], list[Failure]]:
    """Run servers and a crawl while calls fail for a time."""
    rows, failures = [], []
    for name in ("serve", "up", "crawl"):
        folder = scratch / name
        folder.mkdir()
        if name == "crawl":
            count, failed = crawl_through_faults(shim, folder, TRANSIENT_FAULTS)
        else:
            count, failed = serve_through_faults(shim, folder, TRANSIENT_FAULTS, name)
        failures += failed
        row = {"process": name, "faults": len(TRANSIENT_FAULTS), "acknowledged": count}
        rows.append({**row, "failures": _counts(failed)})
        print(f"{name}: {count} acknowledged, {len(failed)} failed", flush=True)
        for failure in failed:
            print(f"    {failure.kind}: {failure.case}: {failure.details[-1500:]}", flush=True)
    return rows, failures


def _counts(failures: list[Failure]) -> dict[str, int]:
    """Return how many failures of each kind there are, without zeros."""
    return dict(Counter(failure.kind for failure in failures))


def _summarise(results: dict[Task, Result]) -> dict[str, Any]:
    figures: dict[str, Any] = {"cuts": [], "faults": []}
    for operation in OPERATIONS:
        cut = [result for task, result in results.items() if task[:2] == ("cuts", operation)]
        injected = [result for task, result in results.items() if task[:2] == ("faults", operation)]
        for part, parts in (("cuts", cut), ("faults", injected)):
            if parts:
                tried = sum((result.tried for result in parts), Counter())
                failures = [failure for result in parts for failure in result.failures]
                row = {"operation": operation, "tried": tried.total(), "of": dict(sorted(tried.items()))}
                figures[part].append({**row, "failures": _counts(failures)})
    return figures


def measure(part: str, shim: Path, scratch: Path, options: argparse.Namespace) -> tuple[dict[str, Any], list[Failure]]:
    """Run one part; return its figures and its failures."""
    if part == "processes":
        rows, failures = run_processes(shim, scratch)
        return {"processes": rows}, failures
    if part == "damage":
        return damage_files(options), []
    chosen = [name for name in OPERATIONS if options.only in name]
    tasks = [Task("faults", name, kind) for name in chosen for kind in range(len(FAULT_KINDS))]
    results = run_tasks([*tasks, *(Task("cuts", name) for name in chosen)], shim, scratch, options)
    return _summarise(results), [failure for result in results.values() for failure in result.failures]


def replace_operations(figures: dict[str, Any], measured: dict[str, Any], run: dict[str, Any]) -> None:
    """Replace the rows of operations that were measured again, and their failures in the record of the run."""
    again = {row["operation"] for part in ("cuts", "faults") for row in measured[part]}
    for part in ("cuts", "faults"):
        rows = {row["operation"]: row for row in [*figures.get(part, ()), *measured[part]]}
        figures[part] = [rows[name] for name in OPERATIONS if name in rows]
    earlier = figures["runs"].get("operations", run)
    failed = [failure for failure in earlier["failed"] if failure["operation"] not in again]
    figures["runs"]["operations"] = {**earlier, "failed": [*failed, *run["failed"]]}


def damage_files(options: argparse.Namespace) -> dict[str, Any]:
    """Damage every kind of file, and every array."""
    files = [msgspec.to_builtins(row) for row in damage_every_file_kind(options.flips, seed=options.seed)]
    return {"files": files, "arrays": summarise_arrays(damage_every_array(options.rounds, options.seed))}


def count_misread(figures: dict[str, Any]) -> int:
    """Return how many damages were not noticed, or not survived."""
    rows = [*figures.get("files", ()), *figures.get("arrays", ())]
    return sum(row.get(name, 0) for row in rows for name in ("missed", "silent", "tracebacks", "hangs", "faults"))


def main() -> None:
    """Run all parts, print the tables and save them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=30, help="moments of a power failure, for each operation")
    parser.add_argument("--faults", type=int, default=10, help="calls of each kind that fail, for each operation")
    parser.add_argument("--flips", type=int, default=200, help="flipped bits, for each kind of file")
    parser.add_argument("--rounds", type=int, default=2, help="damages of each array")
    parser.add_argument("--processes", type=int, default=2, help="laboratories at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS, help="others keep the figures they had")
    parser.add_argument("--only", default="", help="operations with these words in their names; others keep theirs")
    options = parser.parse_args()
    if find_compiler() is None:
        raise SystemExit("bench/faults.py needs a C compiler (cc, gcc or clang).")
    saved = RESULTS / "faults.json"
    partly = saved.exists() and (options.only or set(options.parts) < set(PARTS))
    before = json.loads(saved.read_text("utf-8"))["figures"] if partly else {}
    figures: dict[str, Any] = {"runs": {}, **before}
    failed = 0
    compile_kernels()  # once, and not in every laboratory
    with tempfile.TemporaryDirectory(prefix="periplus-faults-") as name:
        shim = build_shim(Path(name))
        for part in ["operations"] if options.only else options.parts:
            began = time.monotonic()
            measured, failures = measure(part, shim, Path(name), options)
            names = ("cuts", "faults", "flips", "rounds", "processes", "seed")
            run = {"seconds": round(time.monotonic() - began), **{name: getattr(options, name) for name in names}}
            run["failed"] = [failure._asdict() for failure in failures[:100]]
            if options.only:
                replace_operations(figures, measured, run)
            else:
                figures["runs"][part] = run
                figures.update(measured)
            failed += len(failures) + count_misread(measured)
    print(render_tables(figures))
    print(f"saved to {save('faults', figures)}")
    write_page()
    if failed:
        raise SystemExit(f"{failed} failures")


if __name__ == "__main__":
    main()
