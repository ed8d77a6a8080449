"""The whole path as a person meets it: words to hits with titles and snippets (T4), start (T12), memory (T13)."""

import argparse
import http.client
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from corpus import Asked, make_queries, read_queries
from figures import memory_mb, summarise
from material import Material
from peers.ours import build, page_visits
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import Settings

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
    figures |= _search_all(folder, settings, asked, options.rounds)
    figures |= _serve(folder, asked)
    print(
        f"whole path, {len(passages):,} passages, words to hits with titles and snippets: "
        f"mean {figures['mean_ms']} ms, p50 {figures['p50_ms']} ms, p99 {figures['p99_ms']} ms\n"
        f"start of 'periplus serve' to the first answer: {figures['start_seconds']} s; "
        f"memory after {figures['served']:,} queries: {figures['memory_mb']} MB"
    )
    return figures


def _search_all(folder: Path, settings: Settings, asked: list[Asked], rounds: int) -> dict[str, Any]:
    searcher = Searcher.open(folder, settings)
    best = [1 << 62] * len(asked)
    for _ in range(max(1, rounds // 2)):
        for number, query in enumerate(asked):
            began = time.perf_counter_ns()
            searcher.search(Query(query.typed))
            best[number] = min(best[number], time.perf_counter_ns() - began)
    times = summarise(best)
    return {name: round(value / 1000, 3) for name, value in zip(("mean_ms", "p50_ms", "p99_ms"), times, strict=True)}


def _serve(folder: Path, asked: list[Asked]) -> dict[str, Any]:
    """Start the server, wait for its first answer, ask it everything, look at its memory."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).parent / "periplus"), "serve", "--folder", str(folder), "--port", str(port)]
    began = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not _ask(port, asked[0].typed):
            if time.perf_counter() - began > _PATIENCE or server.poll() is not None:
                raise SystemExit("periplus serve did not answer")
            time.sleep(0.01)
        seconds = time.perf_counter() - began
        for query in asked:
            _ask(port, query.typed)
        return {
            "start_seconds": round(seconds, 2),
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
