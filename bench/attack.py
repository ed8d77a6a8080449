"""Everything hostile at once, for minutes: is ordinary use still served, and is nothing lost?

    python bench/attack.py [--seconds 300] [--silent 2000] [--slow 200] [--clients 50] [--publications 5]
                           [--hostile 4] [--documents 20000] [--corpus JSONL] [--queries JSONL] [--try]

A data folder is made of the corpus: imported into a store, and indexed. Then `periplus serve` runs with as many
processes as cores and its default settings, and at the same time:

- attackers (attackers.py) keep 2,000 silent sockets open and 200 connections each with slow headers, slow bodies, slow
  chunks, slow readers, readers that stopped and HTTP/2 prefaces, from addresses of their own;
- clients send worst-case queries one after the other, as bench/hostile_queries.py does;
- `periplus crawl` runs in the same data folder over a hostile web (bombs, traps, broken and lying hosts);
- 5 pages are published a second over HTTP, each with a word of its own;
- `periplus index build` runs again and again, with a pause between;
- 50 ordinary clients, each from an address of its own, ask a query of the log, read the answer, and think for half a
  second on average. Their time counts from the request to the last byte; a refusal or a failure is counted apart.

At the end every page whose publication was acknowledged must be found. The figures: p99 of ordinary clients (within
1 s), publications lost (0), growth of the server's memory from the second quarter to the last, builds that succeeded.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from attackers import KINDS
from clients import percentile
from hostile_crawl import PROGRAM, hostile_web
from hostile_queries import CORPUS, QUERIES, gather, hostile_queries, ordinary_paths, read_pages, send_hostile
from periplus.serve import ApiKeys
from record import save
from serve import ask, served, server_memory

THINK_SECONDS = 0.5
BUILD_PAUSE_SECONDS = 5.0
SETTLE_SECONDS = 15.0
FOUND_SECONDS = 180.0
"""How long after the attack an acknowledged page may take to be found."""
BOUND_MS = 1000.0
ANSWERED = 0.95
"""Least share of ordinary requests that are answered at once; a refusal says when to come back (R5: refusals instead of
collapse), and one within the deadline counts in the percentiles like any answer."""
GROWTH = 1.15
SEED = 14


class Ordinary(NamedTuple):
    """A response to an ordinary client."""

    status: int
    seconds: float


class Totals:
    """What the parts of the attack count while it runs."""

    def __init__(self) -> None:
        self.ordinary: list[Ordinary] = []
        self.published: list[str] = []
        self.publications = Counter[str]()
        self.builds = Counter[str]()
        self.build_errors: list[str] = []
        self.hostile = Counter[str]()
        self.hostile_worst = 0.0
        self.memory: list[float] = []
        self.attackers: dict[str, list[int]] = {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--silent", type=int, default=2_000, help="silent sockets")
    parser.add_argument("--slow", type=int, default=200, help="connections of each other kind")
    parser.add_argument("--clients", type=int, default=50, help="ordinary clients")
    parser.add_argument("--publications", type=float, default=5.0, help="a second")
    parser.add_argument("--hostile", type=int, default=4, help="clients with worst-case queries")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=0, help="server processes; 0 is one per core")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--queries", type=Path, default=QUERIES)
    parser.add_argument("--try", action="store_true", dest="trying", help="print the figures, but keep none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        prepare(folder, options, Path(name))
        figures = asyncio.run(measure(folder, options, Path(name)))
    if not options.trying:
        save("attack", figures)
    for error in figures["build_errors"]:
        print("build:", error)
    print(last_line(figures))
    sys.exit(0 if all(figures["met"].values()) else 1)


def prepare(folder: Path, options: argparse.Namespace, work: Path) -> None:
    """Import the pages of the corpus and index them, as a user would."""
    pages = work / "pages.jsonl"
    with pages.open("w", encoding="utf-8") as file:
        for page in islice(read_pages(options.corpus), options.documents):
            file.write(json.dumps({"url": page.url, "title": page.title, "text": page.text}) + "\n")
    for command in (["import", str(pages)], ["index", "build"]):
        subprocess.run([PROGRAM, *command, "--folder", str(folder)], check=True, stdout=subprocess.DEVNULL)


async def measure(folder: Path, options: argparse.Namespace, work: Path) -> dict[str, Any]:
    totals, paths = Totals(), ordinary_paths(options.queries)
    hostile = hostile_queries(gather(options.corpus), 5_000)
    random.Random(SEED).shuffle(hostile)
    secret = ApiKeys(folder).add("attack", "publish")
    with (work / "server.log").open("wb") as log, served(folder, workers=options.workers, errors=log) as (url, _):
        documents = ask(url, "/api/statistics")["documents"]
        await ordinary_clients(url, paths, options.clients, Totals(), SETTLE_SECONDS)
        alone = Totals()
        await ordinary_clients(url, paths, options.clients, alone, min(30.0, options.seconds / 4))
        print(f"ordinary alone: p99 {percentile(sorted(r.seconds for r in alone.ordinary), 0.99):.0f} ms", flush=True)
        with attackers(url, options, totals), hostile_web(folder, work) as crawl:
            await asyncio.gather(
                ordinary_clients(url, paths, options.clients, totals, options.seconds),
                publish(url, secret, options.publications, totals, options.seconds),
                build(folder, totals, options.seconds),
                worst_cases(url, hostile, options.hostile, totals, options.seconds),
                watch(url, totals, options.seconds),
            )
            crawling = crawl()
        missing = await asyncio.to_thread(find_all, url, totals.published)
        restarts = restart_counts(url)
    tracebacks = (work / "server.log").read_text("utf-8", "replace").count("Traceback")
    return figures_of(options, totals, alone, missing) | {
        "documents": documents,
        "crawl": crawling,
        "restarts": restarts,
        "tracebacks": tracebacks,
    }


async def ordinary_clients(url: str, paths: Iterator[str], count: int, totals: Totals, seconds: float) -> None:
    """Run ordinary clients, each from an address of its own, until the time is over."""
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_ordinary(url, paths, number, totals, end) for number in range(count)))


async def _ordinary(url: str, paths: Iterator[str], number: int, totals: Totals, end: float) -> None:
    chance, port = random.Random(number), urllib.parse.urlsplit(url).port
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    await asyncio.sleep(chance.random() * THINK_SECONDS)
    while time.perf_counter() < end:
        path, began = next(paths), time.perf_counter()
        try:
            async with asyncio.timeout(30):
                if streams is None:
                    local = (f"127.0.2.{number % 250 + 1}", 0)
                    streams = await asyncio.open_connection("127.0.0.1", port, local_addr=local)
                status, closing = await _request(streams, path)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            status, closing = 0, True
        totals.ordinary.append(Ordinary(status, time.perf_counter() - began))
        if closing and streams is not None:
            streams[1].close()
            streams = None
        await asyncio.sleep(min(5.0, chance.expovariate(1 / THINK_SECONDS)))
    if streams is not None:
        streams[1].close()


async def _request(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], path: str) -> tuple[int, bool]:
    reader, writer = streams
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    size = head.partition(b"content-length:")[2].split(b"\r\n")[0].strip()
    await reader.readexactly(int(size or b"0"))
    return int(head[9:12]), b"connection: close" in head


async def publish(url: str, secret: str, rate: float, totals: Totals, seconds: float) -> None:
    """Publish pages at a steady rate, each with a word of its own; keep the words of those that were acknowledged."""
    end, number, running = time.perf_counter() + seconds, 0, set[asyncio.Task[None]]()
    while time.perf_counter() < end:
        number += 1
        task = asyncio.create_task(asyncio.to_thread(_publish, url, secret, f"zq{SEED}word{number}x", totals))
        running.add(task)
        task.add_done_callback(running.discard)
        await asyncio.sleep(1 / rate)
    await asyncio.gather(*running)


def _publish(url: str, secret: str, word: str, totals: Totals) -> None:
    body = json.dumps({"title": f"Page {word}", "content": f"{word} is written here and nowhere else."}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {secret}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url + "/api/publish", body, headers), timeout=30) as answer:
            totals.publications[str(answer.status)] += 1
            if answer.status in (200, 201, 202):
                totals.published.append(word)
    except OSError as error:  # a refusal is one of them
        totals.publications[str(getattr(error, "code", type(error).__name__))] += 1


async def build(folder: Path, totals: Totals, seconds: float) -> None:
    """Build the index again and again."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        process = await asyncio.create_subprocess_exec(
            PROGRAM, "index", "build", "--folder", str(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        output, _ = await process.communicate()
        totals.builds["succeeded" if process.returncode == 0 else "failed"] += 1
        if process.returncode:
            totals.build_errors.append(output.decode("utf-8", "replace").strip()[-300:])
        await asyncio.sleep(BUILD_PAUSE_SECONDS)


async def worst_cases(url: str, queries: list[tuple[str, str]], clients: int, totals: Totals, seconds: float) -> None:
    """Send worst-case queries until the time is over."""
    end = time.perf_counter() + seconds
    batches = iter(range(0, len(queries), 40))
    while time.perf_counter() < end:
        begin = next(batches, None)
        if begin is None:
            batches = iter(range(0, len(queries), 40))
            continue
        for response in await send_hostile(url, queries[begin : begin + 40], clients):
            totals.hostile[str(response.status)] += 1
            totals.hostile_worst = max(totals.hostile_worst, response.seconds)


async def watch(url: str, totals: Totals, seconds: float) -> None:
    """Record the memory of the server once a second."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        totals.memory.append(await asyncio.to_thread(server_memory, url))
        await asyncio.sleep(1.0)


@contextlib.contextmanager
def attackers(url: str, options: argparse.Namespace, totals: Totals) -> Iterator[None]:
    """Run all kinds of attackers for as long as the block runs."""
    port, script = str(urllib.parse.urlsplit(url).port), str(Path(__file__).parent / "attackers.py")
    processes = {}
    for kind in KINDS:
        count = options.silent if kind == "silent sockets" else options.slow
        processes[kind] = subprocess.Popen(
            [sys.executable, script, kind, port, str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
    try:
        yield
    finally:
        for kind, process in processes.items():
            with contextlib.suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=20)
                lines = output.splitlines()
                totals.attackers[kind] = [int(part) for part in lines[-1].split()] if lines else []
            process.kill()


def find_all(url: str, words: list[str]) -> list[str]:
    """Return the words of acknowledged pages that cannot be found, long after the attack."""
    end, missing = time.monotonic() + FOUND_SECONDS, list(words)
    while missing and time.monotonic() < end:
        missing = [word for word in missing if not _finds(url, word)]
        if missing:
            time.sleep(1.0)
    return missing


def _finds(url: str, word: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(ask(url, f"/api/search?q={word}&verbatim=1&n={time.time_ns()}")["number_of_results"])
    return False


def restart_counts(url: str) -> dict[str, float]:
    """Return the restarts of workers and threads that the server reports."""
    with urllib.request.urlopen(url + "/metrics", timeout=30) as answer:
        lines = [line.decode() for line in answer]
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("periplus_") and "restart" in line)
    return {name: float(value) for name, value in pairs}


def figures_of(options: argparse.Namespace, totals: Totals, alone: Totals, missing: list[str]) -> dict[str, Any]:
    times = {name: sorted(r.seconds for r in part.ordinary) for name, part in (("alone", alone), ("attacked", totals))}
    quarter = max(1, len(totals.memory) // 4)
    second, last = totals.memory[quarter : 2 * quarter], totals.memory[-quarter:]
    memory = [round(statistics.median(part or [0.0]), 1) for part in (second, last)]
    statuses = Counter(str(r.status) for r in totals.ordinary)
    p99 = {name: percentile(part, 0.99) for name, part in times.items()}
    met = {
        "ordinary p99": p99["attacked"] <= BOUND_MS,
        "ordinary answered": statuses["200"] > ANSWERED * len(totals.ordinary)
        and statuses["200"] + statuses["503"] == len(totals.ordinary),
        "nothing lost": not missing and bool(totals.published),
        "memory flat": memory[1] <= GROWTH * memory[0],
        "builds": totals.builds["succeeded"] > 0 and not totals.builds["failed"],
    }
    return {
        "seconds": options.seconds,
        "cores": os.cpu_count(),
        "processes": options.workers or os.cpu_count(),
        "clients": options.clients,
        "ordinary": len(totals.ordinary),
        "ordinary_statuses": dict(sorted(statuses.items())),
        "p50_ms": {name: percentile(part, 0.5) for name, part in times.items()},
        "p99_ms": p99,
        "worst_ms": round(1000 * times["attacked"][-1]) if times["attacked"] else 0,
        "publications": dict(totals.publications),
        "lost": len(missing),
        "builds": dict(totals.builds),
        "build_errors": totals.build_errors[:3],
        "hostile_statuses": dict(totals.hostile),
        "hostile_worst_ms": round(1000 * totals.hostile_worst),
        "memory_mb": memory,
        "memory_worst_mb": round(max(totals.memory, default=0.0), 1),
        "attackers": {
            kind: dict(zip(("open", "closed", "refused"), c, strict=False)) for kind, c in totals.attackers.items()
        },
        "met": met,
    }


def last_line(figures: dict[str, Any]) -> str:
    p99 = figures["p99_ms"]
    return (
        f"attack: {figures['seconds']} s, {figures['clients']} ordinary clients, {figures['processes']} processes on "
        f"{figures['cores']} cores with the attackers: ordinary p99 {p99['attacked']:.0f} ms ({p99['alone']:.0f} "
        f"alone), worst {figures['worst_ms']} ms, statuses {figures['ordinary_statuses']}; publications "
        f"{figures['publications']}, lost {figures['lost']}; builds {figures['builds']}; memory "
        f"{figures['memory_mb'][0]:.0f} to {figures['memory_mb'][1]:.0f} MB; worst-case queries "
        f"{figures['hostile_statuses']}, slowest {figures['hostile_worst_ms']} ms; "
        + ", ".join(f"{name} {'ok' if met else 'MISSED'}" for name, met in figures["met"].items())
    )


if __name__ == "__main__":
    main()
