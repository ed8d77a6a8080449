"""Worst-case queries against a real server, with ordinary ones beside them: slowest answer, latency, statuses.

    python bench/hostile_queries.py [--folder FOLDER] [--corpus JSONL] [--queries JSONL] [--documents N] [--hostile N]
                                    [--clients N] [--rate N] [--rounds N] [--workers N] [--try]

Without a folder that is indexed already, one is made of the corpus. The server is `periplus serve` as installed, with
its default settings but for the cache of responses and the rate limit, which are off: every request is a search.

Ordinary queries of a log come at a steady rate, whatever became of those before; their time counts from when they were
due. Hostile queries come from a few clients, each of which sends the next one when it has its answer; one that is
refused is sent again, a few times. Phases with and without hostile queries alternate, so that whatever else the machine
does falls on both. Refusals are declared: status 429 or 503 with Retry-After. The bounds are those of issue 13: no
answer later than twice the deadline, ordinary p99 within 1.5 times of that without hostile queries, no other 5xx.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import tempfile
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from clients import percentile
from corpus import Passage
from peers.ours import page_visits
from periplus.index import build_index
from periplus.settings import Settings
from periplus.store import read_lines
from record import save
from serve import ask, served

DATA = Path(__file__).parents[2] / "shared" / "data"
CORPUS = DATA / "ir" / "simplewiki_entity" / "docs.jsonl.zst"
QUERIES = DATA / "queries" / "search-benchmark-game.jsonl"
RATIO = 1.5
RETRIES = 6
RETRY_SECONDS = 0.25
SAMPLE = 3_000
"""Pages whose words and addresses hostile queries are made of."""
SETTLE_SECONDS = 15.0
SEED = 13


class Response(NamedTuple):
    """One answer, as a client sees it."""

    kind: str
    status: int
    seconds: float
    declared: bool
    """Whether a refusal says when to come back."""


class Material(NamedTuple):
    """What hostile queries are made of."""

    frequent: list[str]
    """The most frequent words, the most frequent first."""
    words: list[str]
    urls: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="a data folder with an index; made if it has none")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--queries", type=Path, default=QUERIES)
    parser.add_argument("--documents", type=int, default=0, help="pages of the corpus; 0 is all of them")
    parser.add_argument("--hostile", type=int, default=2_000)
    parser.add_argument("--clients", type=int, default=4, help="clients that send hostile queries")
    parser.add_argument("--rate", type=float, default=40.0, help="ordinary queries a second")
    parser.add_argument("--rounds", type=int, default=8, help="phases with hostile queries, and as many without")
    parser.add_argument("--workers", type=int, default=1, help="server processes; 0 is one per core")
    parser.add_argument("--try", action="store_true", dest="trying", help="print the figures, but keep none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        prepare(folder, options)
        figures = asyncio.run(measure(folder, options, Path(name)))
    if not options.trying:
        save("hostile_queries", figures)
    print(last_line(figures))


def prepare(folder: Path, options: argparse.Namespace) -> None:
    """Make an index if there is none."""
    if (folder / "index").exists():
        return
    pages = islice(read_pages(options.corpus), options.documents or None)
    build_index(page_visits(pages), folder / "index", Settings().index)


def read_pages(corpus: Path) -> Iterator[Passage]:
    """Read the whole documents of a JSONL corpus."""
    for line in read_lines(corpus):
        entry = json.loads(line)
        url = entry.get("url") or f"https://corpus.example/{entry.get('id', '')}"
        yield Passage(url, entry.get("title", ""), entry.get("text", ""))


def gather(corpus: Path) -> Material:
    """Return words and addresses of the first pages of a corpus."""
    counts, urls = Counter[str](), list[str]()
    for page in islice(read_pages(corpus), SAMPLE):
        counts.update(set(re.findall(r"[a-z]{1,12}|\d{1,6}", page.text.lower())))
        urls.append(page.url.partition("://")[2])
    ordered = [word for word, _ in counts.most_common(20_000)]
    return Material(ordered[:80], ordered, urls)


def hostile_queries(material: Material, count: int) -> list[tuple[str, str]]:
    """Return kinds and paths of worst-case queries, the kinds in turn; the same for the same corpus."""
    chance = random.Random(SEED)
    kinds = list(makers(material, chance).items())
    return [(kinds[n % len(kinds)][0], kinds[n % len(kinds)][1]()) for n in range(count)]


def makers(material: Material, chance: random.Random) -> dict[str, Callable[[], str]]:
    """Return what makes a path of each kind."""
    frequent, words, urls = material

    def some(number: int, most: int = 80) -> list[str]:
        return [chance.choice(frequent[:most]) for _ in range(number)]

    def prefix() -> str:
        word = chance.choice(words)
        return word[: chance.randint(1, max(1, len(word) - 1))] + "*"

    def sites(number: int) -> list[str]:
        return [f"site:{url[: chance.randint(len(url) // 2, len(url))]}" for url in chance.sample(urls, number)]

    def ranges(number: int) -> list[str]:
        return [f"{chance.randint(0, 50)}..{chance.randint(2_000, 999_999)}" for _ in range(number)]

    def phrases(number: int, size: int) -> list[str]:
        return ['"' + " ".join(some(size, 20)) + '"' for _ in range(number)]

    def nested(depth: int) -> str:
        text = chance.choice(frequent)
        for _ in range(depth):
            text = f"({text} {chance.choice(('OR', 'AND', '-'))} {chance.choice(frequent)})"
        return text

    def path(text: str, **more: object) -> str:
        options = {"q": text, "n": chance.randrange(1 << 30), **more}
        where = "/search" if chance.random() < 0.3 and "start" not in more else "/api/search"
        return where + "?" + urllib.parse.urlencode(options)

    def mixture() -> str:
        parts = [prefix(), *sites(4), *ranges(3), *phrases(3, 2), *some(6), nested(4), f"-{prefix()}"]
        chance.shuffle(parts)
        return " OR ".join(parts) if chance.random() < 0.5 else " ".join(parts)

    return {
        "one prefix many times": lambda: path(f"{chance.choice('abcdefghijklmnopqrstuvwxyz')}* " * 200),
        "many prefixes": lambda: path(" ".join(prefix() for _ in range(60))),
        "prefixes joined by OR": lambda: path(" OR ".join(prefix() for _ in range(40))),
        "paths of sites joined by OR": lambda: path(" OR ".join(sites(40))),
        "paths of sites excluded": lambda: path(frequent[0] + " " + " ".join("-" + site for site in sites(30))),
        "ranges joined by OR": lambda: path(" OR ".join(ranges(40))),
        "ranges": lambda: path(" ".join(ranges(40))),
        "a long phrase": lambda: path('"' + " ".join(some(60, 12)) + '"'),
        "phrases": lambda: path(" ".join(phrases(60, 2))),
        "phrases joined by OR": lambda: path(" OR ".join(phrases(60, chance.randint(2, 5)))),
        "phrases excluded": lambda: path(f"{frequent[1]} " + " ".join("-" + p for p in phrases(60, 2))),
        "a chain of NEAR": lambda: path(" NEAR ".join(some(64, chance.choice((2, 8, 30))))),
        "a chain of AROUND": lambda: path(" AROUND(999) ".join(some(40, 4))),
        "deep nesting": lambda: path(nested(63)),
        "many frequent words": lambda: path(" ".join(some(300))),
        "frequent words joined by OR": lambda: path(" OR ".join(some(100))),
        "frequent words required": lambda: path(" ".join("+" + word for word in some(60, 20))),
        "frequent words excluded": lambda: path(frequent[0] + " " + " ".join("-" + word for word in some(60))),
        "titles": lambda: path(" ".join(f"intitle:{word}" for word in some(60))),
        "titles joined by OR": lambda: path(
            " OR ".join(f'intitle:"{a} {b}"' for a, b in zip(some(30), some(30), strict=True))
        ),
        "links": lambda: path(" OR ".join(f"link:{url}" for url in chance.sample(urls, 40))),
        "dates": lambda: path(" OR ".join(f"after:{chance.randint(1800, 2100)}" for _ in range(60))),
        "20,000 characters": lambda: path("(" + " OR ".join(some(4_000)) + ")"),
        "misspelt words": lambda: path(" ".join(w[::-1] + chance.choice("aeiou") for w in chance.sample(words, 30))),
        "a deep page": lambda: path(" ".join(some(4)), start=990, count=10),
        "a deep page of a prefix": lambda: path(prefix(), start=900, count=100),
        "explanations": lambda: path(" ".join(some(20)), explain=1, count=100),
        "everything excluded": lambda: path(" ".join(f"-{prefix()}" for _ in range(30))),
        "a mixture": lambda: path(mixture()),
        "a long mixture": lambda: path(" ".join(f"({mixture()})" for _ in range(6))),
    }


class Client:
    """One connection to the server, opened again when it is closed."""

    def __init__(self, url: str) -> None:
        self._address = urllib.parse.urlsplit(url)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, kind: str, path: str, due: float = 0.0) -> Response:
        """Request a path; due: when it should have been, if earlier than now."""
        began = due or time.perf_counter()
        try:
            status, declared = await asyncio.wait_for(self._request(path), 60)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self.close()
            status, declared = 0, False
        return Response(kind, status, time.perf_counter() - began, declared)

    async def _request(self, path: str) -> tuple[int, bool]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._address.hostname, self._address.port)
        reader, writer = self._streams
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = re.search(rb"content-length: (\d+)", head)
        await reader.readexactly(int(size[1]) if size else 0)
        if b"connection: close" in head:
            self.close()
        return int(head[9:12]), b"retry-after:" in head

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def send_hostile(url: str, queries: list[tuple[str, str]], clients: int) -> list[Response]:
    """Send hostile queries from some clients at once; one that is refused is sent again a few times."""
    waiting, responses = iter(queries), list[Response]()

    async def work() -> None:
        client = Client(url)
        for kind, path in waiting:
            for _ in range(1 + RETRIES):
                response = await client.get(kind, path)
                responses.append(response)
                if response.status not in (429, 503):
                    break
                await asyncio.sleep(RETRY_SECONDS)
        client.close()

    await asyncio.gather(*(work() for _ in range(clients)))
    return responses


async def send_ordinary(url: str, paths: Iterator[str], rate: float, until: Callable[[], bool]) -> list[Response]:
    """Send ordinary queries at a steady rate until some condition; a query is late if those before are not answered."""
    responses, idle, running = list[Response](), list[Client](), set[asyncio.Task[None]]()

    async def one(path: str, due: float) -> None:
        client = idle.pop() if idle else Client(url)
        responses.append(await client.get("ordinary", path, due))
        idle.append(client)

    due = time.perf_counter()
    while not until():
        due += 1 / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(one(next(paths), due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    for client in idle:
        client.close()
    return responses


def ordinary_paths(queries: Path) -> Iterator[str]:
    """Yield the queries of a log again and again, in a seeded order."""
    lines = [json.loads(line) for line in queries.read_text("utf-8").splitlines() if line.strip()]
    texts = list(dict.fromkeys(line.get("query") or line["text"] for line in lines))
    random.Random(SEED).shuffle(texts)
    while True:
        for number, text in enumerate(texts):
            yield "/search?q=" + urllib.parse.quote(text) + ("&format=json" if number % 2 else "")


async def measure(folder: Path, options: argparse.Namespace, work: Path) -> dict[str, Any]:
    hostile = hostile_queries(gather(options.corpus), options.hostile)
    random.Random(SEED).shuffle(hostile)
    paths, log = ordinary_paths(options.queries), work / "server.log"
    alone: list[Response] = []
    beside: list[Response] = []
    answers: list[Response] = []
    with log.open("wb") as errors:
        settings = ("serve.cache_mb=0", "serve.rate=0")
        with served(folder, *settings, workers=options.workers, errors=errors) as (url, _):
            documents = ask(url, "/api/statistics")["documents"]
            await settle(url, paths)
            for number in range(options.rounds):
                part, before = hostile[number :: options.rounds], len(beside)
                began = time.perf_counter()
                sending = asyncio.create_task(send_hostile(url, part, options.clients))
                beside += await send_ordinary(url, paths, options.rate, sending.done)
                answers += await sending
                seconds = time.perf_counter() - began
                end = time.perf_counter() + seconds
                alone += await send_ordinary(url, paths, options.rate, lambda end=end: time.perf_counter() > end)
                print_round(number, beside[before:], alone[-(len(beside) - before) :], answers[-len(part) :], seconds)
    slow = log.read_text("utf-8", "replace").count("Slow query")
    return figures_of(documents, options, alone, beside, answers) | {"slow_logged": slow}


def print_round(
    number: int, beside: list[Response], alone: list[Response], answers: list[Response], seconds: float
) -> None:
    """Print what one round came to."""
    times = {name: sorted(r.seconds for r in part) for name, part in (("beside", beside), ("alone", alone))}
    worst = max(answers, key=lambda response: response.seconds)
    print(
        f"round {number + 1}: {seconds:.0f} s, slowest {1000 * worst.seconds:.0f} ms ({worst.kind}), ordinary "
        + ", ".join(
            f"{name} p50 {percentile(part, 0.5):.1f} p99 {percentile(part, 0.99):.1f} worst {1000 * part[-1]:.0f}"
            for name, part in times.items()
        ),
        flush=True,
    )


async def settle(url: str, paths: Iterator[str]) -> None:
    """Send ordinary queries until kernels are loaded and files are in memory, and one that loads what they do not."""
    client = Client(url)
    for path in islice(paths, 300):
        await client.get("ordinary", path)
    end = time.perf_counter() + SETTLE_SECONDS  # the first expensive query starts the process that answers the others
    while time.perf_counter() < end:
        for text in ("amerikan histery", "a* 1..2 site:x/y", '"of the"'):
            await client.get(
                "hostile", "/api/search?" + urllib.parse.urlencode({"q": text, "explain": 1, "start": 900})
            )
        await asyncio.sleep(RETRY_SECONDS)
    client.close()


def figures_of(
    documents: int,
    options: argparse.Namespace,
    alone: list[Response],
    beside: list[Response],
    answers: list[Response],
) -> dict[str, Any]:
    deadline = Settings().serve.deadline
    times = {name: sorted(r.seconds for r in part) for name, part in (("alone", alone), ("beside", beside))}
    kinds: dict[str, float] = {}
    for response in answers:
        kinds[response.kind] = max(kinds.get(response.kind, 0.0), response.seconds)
    everything = [*alone, *beside, *answers]
    failures = [r for r in everything if r.status == 0 or (r.status >= 500 and not (r.status == 503 and r.declared))]
    p99 = {name: percentile(part, 0.99) for name, part in times.items()}
    return {
        "documents": documents,
        "cores": os.cpu_count(),
        "processes": options.workers or os.cpu_count(),
        "deadline_ms": 1000 * deadline,
        "hostile": options.hostile,
        "hostile_statuses": dict(sorted(Counter(str(r.status) for r in answers).items())),
        "hostile_p50_ms": percentile(sorted(r.seconds for r in answers if r.status == 200), 0.5),
        "hostile_p99_ms": percentile(sorted(r.seconds for r in answers if r.status == 200), 0.99),
        "slowest_ms": round(1000 * max((r.seconds for r in answers), default=0.0), 1),
        "slowest_by_kind_ms": {kind: round(1000 * t) for kind, t in sorted(kinds.items(), key=lambda item: -item[1])},
        "ordinary_rate": options.rate,
        "ordinary": {name: len(part) for name, part in times.items()},
        "ordinary_statuses": dict(sorted(Counter(str(r.status) for r in [*alone, *beside]).items())),
        "p50_ms": {name: percentile(part, 0.5) for name, part in times.items()},
        "p99_ms": p99,
        "ratio": round(p99["beside"] / max(0.001, p99["alone"]), 2),
        "failures": len(failures),
    }


def last_line(figures: dict[str, Any]) -> str:
    late = figures["slowest_ms"] > 2 * figures["deadline_ms"]
    verdicts = {"slowest": not late, "ratio": figures["ratio"] <= RATIO, "failures": not figures["failures"]}
    with contextlib.suppress(KeyError):
        print(json.dumps(figures["slowest_by_kind_ms"], indent=1))
    p50, p99 = figures["p50_ms"], figures["p99_ms"]
    return (
        f"hostile queries: {figures['hostile']:,} against {figures['documents']:,} pages, {figures['processes']} "
        f"processes on {figures['cores']} cores with the clients: slowest {figures['slowest_ms']:.0f} ms of "
        f"{2 * figures['deadline_ms']:.0f}, p50 {figures['hostile_p50_ms']:.0f} p99 {figures['hostile_p99_ms']:.0f}, "
        f"statuses {figures['hostile_statuses']}; ordinary at {figures['ordinary_rate']:.0f}/s: p50 {p50['alone']:.1f} "
        f"ms alone {p50['beside']:.1f} beside, p99 {p99['alone']:.1f} alone {p99['beside']:.1f} beside, ratio "
        f"{figures['ratio']:.2f} of {RATIO}, statuses {figures['ordinary_statuses']}; failures {figures['failures']}; "
        f"slow queries logged {figures['slow_logged']}; "
        + ", ".join(f"{name} {'ok' if met else 'MISSED'}" for name, met in verdicts.items())
    )


if __name__ == "__main__":
    main()
