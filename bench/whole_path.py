"""The whole path as a person meets it: words to hits with titles and snippets (T4), start (T12), memory (T13)."""

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from corpus import Asked, make_queries, read_queries
from figures import cpu_seconds, memory_mb, summarise
from material import Material
from peers.ours import build, page_visits
from periplus.records import Query
from periplus.search import Searcher, make_snippet
from periplus.settings import Settings
from periplus.text import token_spans

_PATIENCE = 120.0


def measure_whole_path(material: Material, options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Build an index with default settings from the passages themselves, and search it as `periplus serve` does."""
    folder = scratch / "data"
    settings = Settings(folder=str(folder))
    size = max(map(int, options.sizes.split(","))) if options.sizes else len(material.passages)
    passages = material.passages[:size]
    built = build(page_visits(passages), folder / "index", settings.index)
    asked = read_queries(Path(options.queries)) if options.queries else make_queries(material.tokens[:size])
    figures: dict[str, Any] = {"passages": len(passages), "build_seconds": round(built.seconds, 1)}
    figures |= measure_snippets([passage.text for passage in passages[:1000]])
    figures |= search_all(folder, settings, asked, options.rounds)
    figures |= serve(folder, asked)
    print(
        f"whole path, {len(passages):,} passages, words to hits with titles and snippets: "
        f"mean {figures['mean_ms']} ms, p50 {figures['p50_ms']} ms, p99 {figures['p99_ms']} ms; "
        f"of the core p50 {figures['cpu_p50_ms']} ms, p99 {figures['cpu_p99_ms']} ms; "
        f"never asked before p50 {figures['cold_p50_ms']} ms, p99 {figures['cold_p99_ms']} ms\n"
        f"start of 'periplus serve' to the first answer: {figures['start_seconds']} s, "
        f"{figures['start_cpu_seconds']} s of a core; "
        f"memory after {figures['served']:,} queries: {figures['memory_mb']} MB"
    )
    return figures


def search_all(folder: Path, settings: Settings, asked: list[Asked], rounds: int) -> dict[str, Any]:
    """Ask everything, the first time as a query nobody has asked; give the time it took and the time of the core."""
    searcher = Searcher.open(folder, settings)
    for query in asked[:: max(1, len(asked) // 20)]:  # Kernels are loaded at their first call.
        searcher.search(Query(query.typed))
    figures: dict[str, Any] = {}
    best = {"": [1 << 62] * len(asked), "cpu_": [1 << 62] * len(asked)}
    for turn in range(max(2, rounds // 2)):
        for number, query in enumerate(asked):
            words = Query(query.typed)
            began, cpu = time.perf_counter_ns(), time.thread_time_ns()
            searcher.search(words)
            took = {"": time.perf_counter_ns() - began, "cpu_": time.thread_time_ns() - cpu}
            for clock, times in best.items():
                times[number] = min(times[number], took[clock])
        for clock, times in best.items():
            figures |= _named(f"cold_{clock}" if turn == 0 else clock, times)
    return figures


def _named(name: str, nanoseconds: list[int]) -> dict[str, float]:
    names = (f"{name}mean_ms", f"{name}p50_ms", f"{name}p99_ms")
    return dict(zip(names, [round(value / 1000, 3) for value in summarise(nanoseconds)], strict=True))


def measure_snippets(texts: Sequence[str], rounds: int = 20, size: int = 10_000) -> dict[str, Any]:
    """Cut snippets out of texts of 10 kB, for the three words in the middle of each; give microseconds for one."""
    best = []
    joined = " ".join(texts)
    for begin in range(0, min(len(joined) - size, 50 * size), size):
        text = joined[begin : begin + size].encode("utf-8", "replace")[:size]
        words = [text[a:b].lower() for a, b in token_spans(text).tolist()]
        middle = words[len(words) // 2 : len(words) // 2 + 3]
        places = [np.array([n for n, word in enumerate(words) if word == wanted], np.int64) for wanted in middle]
        times = []
        for _ in range(rounds):
            began = time.perf_counter_ns()
            make_snippet(text, places, [1.0, 2.0, 3.0], 165)
            times.append(time.perf_counter_ns() - began)
        best.append(min(times))
    found = summarise(best)
    print(f"snippet of a text of {size:,} bytes: mean {found.mean:.1f} us, p99 {found.p99:.1f} us")
    return {"snippet_us": round(found.mean, 1), "snippet_p99_us": round(found.p99, 1)}


def serve(folder: Path, asked: list[Asked]) -> dict[str, Any]:
    """Start the server, wait for its first answer, ask it everything, look at its memory.

    Started once before, so that there is byte code of all modules, as there is wherever a package is installed.
    """
    with tempfile.TemporaryDirectory() as compiled:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = compiled
        _serve_once(folder, asked[:1], environment)
        return _serve_once(folder, asked, environment)


def _serve_once(folder: Path, asked: list[Asked], environment: dict[str, str]) -> dict[str, Any]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).parent / "periplus"), "serve", "--folder", str(folder), "--port", str(port)]
    began = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        while not _ask(port, asked[0].typed):
            if time.perf_counter() - began > _PATIENCE or server.poll() is not None:
                raise SystemExit("periplus serve did not answer")
            time.sleep(0.01)
        seconds, core = time.perf_counter() - began, cpu_seconds(server.pid)
        memory = memory_mb(server.pid)
        for query in asked:
            _ask(port, query.typed)
        return {
            "start_seconds": round(seconds, 2),
            "start_cpu_seconds": round(core, 2),
            "start_memory_mb": round(memory),
            "served": len(asked),
            "memory_mb": round(memory_mb(server.pid)),
        }
    finally:
        server.terminate()
        server.wait(20)


def _ask(port: int, words: str) -> bool:
    """Ask the API one query; say whether it answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", f"/api/search?q={quote(words)}")
        answer = connection.getresponse()
        return answer.status == 200 and "results" in json.loads(answer.read())
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
