"""Starts of the server, each met at once by a crowd: does every process answer, every time?

    python bench/starts.py [--starts N] [--workers 1,2,4] [--clients 64,1000] [--documents N] [--folder FOLDER] [--try]

Each start of `periplus serve` is met by clients that wait at the door: they connect as soon as the port is open, and
each asks queries that nobody has asked before over one connection that is kept alive. When the first crowd has been
answered, the next one comes. A refusal (429, 503) is not an answer: the client asks again when Retry-After says so,
until it gets one or the time is over. Counted are the clients that were answered, refusals on the way, the worst time
from the start of the server to a client's first answer, and the processes and threads that the server found stuck and
replaced.
"""

import argparse
import asyncio
import contextlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections import Counter
from pathlib import Path
from typing import Any

from record import save
from serve import prepare, queries, served

QUERIES = 1
"""Queries of each client, one after the other."""
UNKNOWN = 0.25
"""Share of the queries with a word that is in no page: they need every kernel, of spelling and relaxing too."""
SECONDS = 120.0
"""Time for all clients of one crowd."""
STUCK = re.compile(r"^periplus_(stuck_workers|stuck_threads|worker_restarts)_total (\S+)$", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--clients", default="64,1000")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, help="a data folder with an index; made if it has none")
    parser.add_argument("--try", action="store_true", dest="trying", help="print the figures, but keep none")
    options = parser.parse_args()
    options.corpus = options.queries = None
    crowds = [int(number) for number in options.clients.split(",")]
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        prepare(folder, options)
        with served(folder, workers=1):  # a first start may compile the kernels
            pass
        words = sorted({word for query in queries(options) for word in query.split()})
        figures = [
            measure(folder, words, int(workers), crowds, options.starts) for workers in options.workers.split(",")
        ]
    rows = [row for combination in figures for row in combination]
    if not options.trying:
        save("starts", {"starts": options.starts, "rows": rows})
    clean = all(row["answered"] == row["clients"] and not row["stuck"] for row in rows)
    print(f"starts: {options.starts} of each, " + ("all answered, none stuck" if clean else "NOT ALL ANSWERED"))
    sys.exit(0 if clean else 1)


def measure(folder: Path, words: list[str], workers: int, crowds: list[int], starts: int) -> list[dict[str, Any]]:
    """Start the server so many times; return a row for each crowd."""
    rows = [
        {"workers": workers, "crowd": crowd, "starts": starts, "clients": 0, "answered": 0, "refusals": 0}
        | {"failures": 0, "stuck": 0, "worst_first_seconds": 0.0, "worst_crowd_seconds": 0.0}
        for crowd in crowds
    ]
    for number in range(starts):
        meet(folder, words, workers, rows, random.Random(1_000 * workers + number))
    for row in rows:
        print(
            f"{workers} workers, {row['crowd']:>5,} clients, {starts} starts: {row['answered']:,} of "
            f"{row['clients']:,} answered ({row['answered'] / row['clients']:.2%}), "
            f"{row['refusals']:,} refusals and {row['failures']:,} lost connections on the way, "
            f"{row['stuck']} stuck, first answers after at most "
            f"{row['worst_first_seconds']:.1f} s, all after {row['worst_crowd_seconds']:.1f} s",
            flush=True,
        )
    return rows


def meet(folder: Path, words: list[str], workers: int, rows: list[dict[str, Any]], chance: random.Random) -> None:
    """Start the server once, and send it one crowd after the other."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).parent / "periplus"), "serve", "--folder", str(folder), "--port", str(port)]
    command += ["--workers", str(workers), "--set", "serve.slow_query_ms=0"]
    with tempfile.TemporaryFile() as log:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        try:
            stuck = 0
            for row in rows:
                crowd = Crowd(port, words, chance, began)
                asyncio.run(crowd.ask_all(row["crowd"]))
                row["clients"] += row["crowd"]
                row["answered"] += crowd.answered
                row["refusals"] += crowd.refusals
                row["failures"] += sum(crowd.failures.values())
                row["worst_first_seconds"] = round(max(row["worst_first_seconds"], crowd.worst_first), 2)
                row["worst_crowd_seconds"] = round(max(row["worst_crowd_seconds"], time.perf_counter() - crowd.came), 2)
                total = asyncio.run(count_stuck(port))
                row["stuck"] += total - stuck
                stuck = total
                if crowd.answered < row["crowd"]:
                    log.seek(0)
                    print(f"start with {workers} workers: {row['crowd'] - crowd.answered} not answered", flush=True)
                    print(log.read().decode("utf-8", "replace")[-4_000:], flush=True)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                print("The server did not stop.", flush=True)
                process.kill()
                process.wait()


class Crowd:
    """Clients that ask new queries until they are answered."""

    def __init__(self, port: int, words: list[str], chance: random.Random, began: float) -> None:
        self._port, self._words, self._chance, self._began = port, words, chance, began
        self.came = time.perf_counter()
        self.answered = self.refusals = 0
        self.failures: Counter[str] = Counter()
        self.worst_first = 0.0

    async def ask_all(self, number: int) -> None:
        """Ask with so many clients at once."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                await asyncio.gather(*(self._client() for _ in range(number)))

    async def _client(self) -> None:
        """Ask until all queries are answered, over a new connection if the old one is lost."""
        left = [self._path() for _ in range(QUERIES)]
        first = True
        while left:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            except OSError:  # the server does not listen yet
                await asyncio.sleep(0.02)
                continue
            try:
                while left:
                    seconds = await self._ask(reader, writer, left[-1])
                    if not seconds:
                        left.pop()
                        if first:
                            self.worst_first = max(self.worst_first, time.perf_counter() - self._began)
                            first = False
                    else:
                        self.refusals += 1
                        await asyncio.sleep(seconds * (1 + self._chance.random()))
            except (OSError, asyncio.IncompleteReadError) as error:
                self.failures[type(error).__name__] += 1
            finally:
                writer.close()
        self.answered += 1

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> float:
        """Ask once; return zero if it was answered with 200, otherwise the seconds to wait."""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"content-length: (\d+)", head)
        await reader.readexactly(int(size[1]) if size else 0)
        if head[9:12] == b"200":
            return 0.0
        wait = re.search(rb"retry-after: (\d+)", head)
        return float(wait[1]) if wait else 1.0

    def _path(self) -> str:
        """Return the path of a query that nobody asked: some words in a row that no page has, or one that is new."""
        words = self._chance.sample(self._words, self._chance.randint(3, 5))
        if self._chance.random() < UNKNOWN:
            words[-1] = f"n{self._chance.getrandbits(48):x}"
        query = urllib.parse.quote_plus(" ".join(words))
        return f"/search?q={query}" + ("&format=json" if self._chance.random() < 0.5 else "")


async def count_stuck(port: int) -> int:
    """Return how many processes and threads the server replaced."""
    await asyncio.sleep(1.1)  # processes tell one another once a second
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    return sum(int(float(value)) for _, value in STUCK.findall(text))


if __name__ == "__main__":
    main()
