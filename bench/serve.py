"""HTTP search under load: start, cold and warm requests a second, publish to found, a crowd (T10, T11, T12, R5).

    python bench/serve.py [--folder FOLDER] [--corpus JSONL] [--queries JSONL] [--seconds N] [--crowd-seconds N]
                          [--new SHARE]

Without a folder that is indexed already, one is made of the corpus, or of 150,000 generated passages. The server is
`periplus serve` with as many processes as cores, as installed. Requests come from `wrk` where it is installed, else
from a client of our own; both share the machine with the server, so that the figures are those of server and client
together. Cold: answers are not kept, and queries follow one another as in the log. Warm: queries come by Zipf's law, as
people ask them, once the caches of all processes have what is asked for. Crowd: 1,000 connections that ask again once
they were answered; a tenth of its queries (`--new`) nobody asked before, pairs of words of the log, and the time of
these and of the others is told apart. Beside each rate stands the time of processors that the server took for a
request, which other work on the machine changes less.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from clients import Pairs, lua, ours, percentile, words_of, wrk
from corpus import make_passages, make_queries, read_passages, tokenise
from peers.ours import page_visits
from periplus.index import build_index
from periplus.serve import ApiKeys
from periplus.settings import Settings
from record import save

CONNECTIONS = 64
CROWD = 1_000
PARTS = [(kind, name, part) for kind in ("new", "known") for name, part in (("p50", 0.5), ("p99", 0.99))]
PROBES = 8
ROUNDS = 12
WARM = 0.995
"""The caches are warm when this part of the answers comes from them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="a data folder with an index; made if it has none")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--documents", type=int, default=150_000)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--crowd-seconds", type=int, default=120)
    parser.add_argument("--new", type=float, default=0.1, help="share of the crowd's queries that nobody asked before")
    parser.add_argument("--try", action="store_true", dest="trying", help="print the figures, but keep none")
    parser.add_argument("--pages", type=int, default=20, help="how many are published")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        prepare(folder, options)
        figures = measure(folder, options, Path(name))
    if not options.trying:
        save("serve", figures)
    print(last_line(figures))


def last_line(figures: dict[str, Any]) -> str:
    cold, warm, crowd = figures["cold"], figures["warm"], figures["crowd"]
    return (
        f"serve: {figures['documents']:,} pages, {CONNECTIONS} connections, {figures['processes']} processes on "
        f"{figures['cores']} cores with the client: cold {cold['rate']:,.0f}/s p50 {cold['p50_ms']:.0f} p99 "
        f"{cold['p99_ms']:.0f} ms, {cold['cpu_ms']:.2f} ms of one core each, warm {warm['rate']:,.0f}/s "
        f"p50 {warm['p50_ms']:.1f} p99 {warm['p99_ms']:.1f} ms, {warm['cpu_ms']:.3f} ms of one core each, "
        f"errors {cold['errors'] + warm['errors']}; start {figures['start_seconds']:.1f} s; published page found after "
        f"{figures['published']['median_ms']:.0f} ms (worst {figures['published']['worst_ms']:.0f}); "
        f"crowd of {CROWD:,} for {crowd['seconds']} s, {crowd['new_share']:.0%} of it new: accepted p99 "
        f"{crowd['accepted_p99_ms']:.0f} ms (new p50 {crowd['new_p50_ms']:.0f} p99 {crowd['new_p99_ms']:.0f}, "
        f"known p50 {crowd['known_p50_ms']:.0f} p99 {crowd['known_p99_ms']:.0f}), {crowd['accepted']:,} answered, "
        f"{crowd['refused']:,} refused, {crowd['failed']:,} failed, {crowd['cpu_share']:.0%} of the cores, "
        f"memory {crowd['memory_mb'][0]:.0f} to {max(crowd['memory_mb']):.0f} MB"
    )


def prepare(folder: Path, options: argparse.Namespace) -> None:
    """Make an index if there is none."""
    if (folder / "index").exists():
        return
    passages = read_passages(options.corpus, 200) if options.corpus else make_passages(200)
    build_index(page_visits(islice(passages, options.documents)), folder / "index", Settings().index)


def queries(options: argparse.Namespace) -> list[str]:
    """Return the queries of the log, or some that fit the generated corpus."""
    if options.queries:
        lines = [json.loads(line) for line in options.queries.read_text("utf-8").splitlines() if line.strip()]
        return list(dict.fromkeys(line.get("query") or line["text"] for line in lines))
    sample = list(tokenise(p.text for p in islice(make_passages(200), 5_000)))
    return list(dict.fromkeys(asked.typed for asked in make_queries(sample)))


def measure(folder: Path, options: argparse.Namespace, work: Path) -> dict[str, Any]:
    asked = queries(options)
    random.Random(7).shuffle(asked)
    weights = [1 / n for n in range(1, len(asked) + 1)]
    cold = write_paths(work / "cold.txt", asked)
    warm = write_paths(work / "warm.txt", random.Random(8).choices(asked, weights, k=50_000))
    figures: dict[str, Any] = {"cores": os.cpu_count(), "processes": os.cpu_count(), "queries": len(asked)}
    with served(folder, "serve.cache_mb=0") as (url, start):
        figures |= {"start_seconds": start, "documents": ask(url, "/api/statistics")["documents"]}
        load(url, cold, 3, work)
        figures["cold"] = load(url, cold, options.seconds, work)
        print("cold", figures["cold"], flush=True)
    with served(folder) as (url, _):
        for _ in range(ROUNDS):
            before = cache_figures(url)
            load(url, warm, 5, work)
            if hit_rate(before, cache_figures(url)) > WARM:
                break
        before = cache_figures(url)
        figures["warm"] = load(url, warm, options.seconds, work)
        figures["warm"]["hit_rate"] = round(hit_rate(before, cache_figures(url)), 4)
        print("warm", figures["warm"], flush=True)
        figures["published"] = publish(folder, url, options.pages)
        print("published", figures["published"], flush=True)
    with served(folder) as (url, _):
        load(url, cold, 3, work)
        script = lua(cold, work, options.new, words_of(asked, work))
        paths = cold.read_text("utf-8").split("\n")
        figures["crowd"] = asyncio.run(crowd(url, paths, Pairs(asked, options.new), options.crowd_seconds, script))
    return figures


def write_paths(path: Path, asked: list[str]) -> Path:
    """Write the paths to ask for: half of them JSON, half pages."""
    forms = ("&format=json", "")
    path.write_text("\n".join("/search?q=" + urllib.parse.quote(q) + forms[n % 2] for n, q in enumerate(asked)))
    return path


@contextlib.contextmanager
def served(folder: Path, *settings: str, workers: int = 0, errors: Any = None) -> Iterator[tuple[str, float]]:
    """Run `periplus serve` for as long as the block runs; give its address and the seconds to the first answer.

    workers: processes, 0 for one per core; errors: a file for its log.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).parent / "periplus"), "serve", "--folder", str(folder), "--port", str(port)]
    command += ["--workers", str(workers)] + [word for one in settings for word in ("--set", one)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            with contextlib.suppress(OSError):
                ask(url, "/api/search?q=first")
                break
            if process.poll() is not None:
                raise SystemExit("The server did not start.")
            time.sleep(0.02)
        yield url, round(time.perf_counter() - began, 2)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def ask(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path, timeout=30) as answer:
        return json.load(answer)


def load(url: str, paths: Path, seconds: int, work: Path) -> dict[str, Any]:
    """Ask with 64 connections for some seconds; the rate is that of answers, refusals not counted."""
    begun = server_seconds(url)
    if shutil.which("wrk") is None:
        found = asyncio.run(ours(url, paths.read_text("utf-8").split("\n"), CONNECTIONS, seconds))["load"]
        return found | {"cpu_ms": 1000 * (server_seconds(url) - begun) / max(1, found["rate"] * seconds)}
    found = wrk(url, lua(paths, work), CONNECTIONS, seconds)
    return {
        "client": "wrk",
        "rate": round((found["requests"] - found["refused"]) / found["seconds"], 1),
        "p50_ms": found["p50_ms"],
        "p99_ms": found["p99_ms"],
        "errors": found["refused"] + found["failed"],
        "cpu_ms": round(1000 * (server_seconds(url) - begun) / max(1, found["requests"]), 4),
    }


async def crowd(url: str, paths: list[str], pairs: Pairs, seconds: int, script: Path) -> dict[str, Any]:
    """Run a thousand clients at once and record the memory of the server."""
    memory: list[float] = [server_memory(url)]
    begun = server_seconds(url)

    async def watch() -> None:
        while True:
            await asyncio.sleep(1.0)
            memory.append(server_memory(url))

    watching = asyncio.create_task(watch())
    if shutil.which("wrk") is None:
        probe, rest = await ours(url, paths, CROWD, seconds, pairs), {"requests": 0, "refused": 0, "failed": 0}
    else:
        # A thousand clients in one interpreter would measure their own waiting: a few of ours probe among wrk's.
        probe, rest = await asyncio.gather(
            ours(url, paths, PROBES, seconds, pairs), asyncio.to_thread(wrk, url, script, CROWD - PROBES, seconds)
        )
    watching.cancel()
    return {
        "clients": CROWD,
        "seconds": seconds,
        "accepted": probe["accepted"] + rest["requests"] - rest["refused"],
        "accepted_p50_ms": probe["load"]["p50_ms"],
        "accepted_p99_ms": probe["load"]["p99_ms"],
        "new_share": pairs.share,
        **{f"{kind}_{name}_ms": percentile(probe["apart"][kind], part) for kind, name, part in PARTS},
        "refused": probe["refused"] + rest["refused"],
        "failed": probe["failed"] + rest["failed"],
        "cpu_share": round((server_seconds(url) - begun) / seconds / (os.cpu_count() or 1), 2),
        "memory_mb": [round(value, 1) for value in memory],
    }


def server_processes(url: str) -> list[str]:
    """Return the process numbers of the server."""
    port = url.rpartition(":")[2]
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and f"--port\0{port}\0".encode() in (entry / "cmdline").read_bytes():
                found = [entry.name, *(entry / "task" / entry.name / "children").read_text().split()]
                if Path(f"/proc/{entry.name}/stat").read_text().split()[3] not in found:
                    return sorted(set(found) | {c for one in found[1:] for c in children(one)}, key=int)
    return []


def children(process: str) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return []


def server_memory(url: str) -> float:
    """Return the private memory of all server processes in MB; maps of the index are shared."""
    total = 0
    for one in server_processes(url):
        with contextlib.suppress(OSError):
            total += int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{one}/status").read_text())[1])  # type: ignore[index]
    return total / 1024


def server_seconds(url: str) -> float:
    """Return the CPU time of the server processes."""
    ticks = 0
    for one in server_processes(url):
        with contextlib.suppress(OSError):
            ticks += sum(int(n) for n in Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def cache_figures(url: str) -> tuple[float, float]:
    """Return the numbers of cache hits and misses."""
    time.sleep(1.2)  # processes tell one another once a second
    with urllib.request.urlopen(url + "/metrics") as answer:
        text = answer.read().decode()
    found = dict(re.findall(r"^periplus_cache_(hits|misses)_total (\S+)$", text, re.MULTILINE))
    return float(found["hits"]), float(found["misses"])


def hit_rate(before: tuple[float, float], after: tuple[float, float]) -> float:
    hits, misses = after[0] - before[0], after[1] - before[1]
    return hits / max(1.0, hits + misses)


def publish(folder: Path, url: str, pages: int) -> dict[str, Any]:
    """Publish pages over HTTP one by one, and ask for each until it is found."""
    name = f"bench-{time.time_ns()}"
    secret = ApiKeys(folder).add(name, "publish")
    time.sleep(1.1)  # servers notice new keys within a second
    taken = []
    for number in range(pages):
        word = f"w{time.time_ns()}x{number}"
        body = json.dumps({"title": f"Page {word}", "content": f"{word} is said here and nowhere else."}).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {secret}"}
        began = time.perf_counter()
        urllib.request.urlopen(urllib.request.Request(url + "/api/publish", body, headers)).read()
        while not ask(url, f"/api/search?q={word}&n={time.time_ns()}")["number_of_results"]:
            time.sleep(0.005)
        taken.append(1000 * (time.perf_counter() - began))
    ApiKeys(folder).remove(name)
    return {
        "pages": pages,
        "first_ms": round(taken[0]),
        "median_ms": round(statistics.median(taken)),
        "worst_ms": round(max(taken)),
    }


if __name__ == "__main__":
    main()
