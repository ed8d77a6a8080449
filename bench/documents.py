"""Documents pushed over HTTP to an empty server: documents a second, searchable when, facets and filters.

187,721 articles (simplewiki_entity) as JSON lines in one streamed request to `periplus serve`, a process of its own,
with two declared fields. While they arrive, a second client adds one document every two seconds and measures how long
it takes until a search finds it. Then queries with a filter, and with facets over all matches, are asked one after the
other: half of them at once, while the server still merges segments, the others once it is idle. Beside it, what
tantivy's indexing alone takes for the same text, in its own process: without HTTP, without durability of each batch,
without searches meanwhile.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import zstandard

from record import save

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir" / "simplewiki_entity"
KINDS = ("place", "person", "work", "thing", "event", "group")
SETTINGS = '[fields.kind]\ntype = "keyword"\n\n[fields.length]\ntype = "number"\n'
PIECE = 1 << 18
IDLE_SECONDS = 6
"""A server that uses no processor time for so long has nothing left to merge."""


def documents(most: int) -> Iterator[bytes]:
    """Yield documents as JSON lines: an id, no URL, a keyword and a number."""
    with zstandard.open(DATA / "docs.jsonl.zst", "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number >= most:
                return
            page = json.loads(line)
            own = {"kind": KINDS[number % len(KINDS)], "length": len(page["text"])}
            yield json.dumps({"id": page["id"], "title": page["title"], "text": page["text"], **own}).encode() + b"\n"


class Server:
    """`periplus serve` of an empty folder, and requests to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "periplus.toml").write_text(SETTINGS)
        command = [sys.executable, "-m", "periplus.cli"]
        made = [*command, "keys", "add", "bench", "publish", "--folder", str(folder / "data")]
        self._key = subprocess.run(made, check=True, capture_output=True, text=True).stdout.strip()
        options = ["--config", str(folder / "periplus.toml"), "--set", "serve.rate=0", "--set", "serve.deadline=30"]
        self.process = subprocess.Popen(
            [*command, "serve", "--folder", str(folder / "data"), "--port", "0", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        while "http://" not in (line := self.process.stdout.readline()):
            assert line, "The server did not start."
        self._address = line.partition("http://")[2].partition("/")[0]

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection of its own."""
        return http.client.HTTPConnection(self._address, timeout=3600)

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of an answer; raise `RuntimeError` for an error."""
        headers = {"x-api-key": self._key, "content-type": "application/x-ndjson"}
        connection.request(method, path, body, headers, encode_chunked=not isinstance(body, bytes | None))
        response = connection.getresponse()
        answer = json.loads(response.read())
        if response.status >= 400:
            raise RuntimeError(f"{response.status}: {answer}")
        return answer

    def memory_mb(self) -> dict[str, float]:
        """Return the peak of its memory, and what is not mapped from files now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in status if line.endswith(" kB")}
        return {"peak": round(sizes["VmHWM"]), "anonymous": round(sizes["RssAnon"])}

    def cpu_seconds(self) -> float:
        """Return the CPU time that it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def await_idle(self) -> float:
        """Wait until it has nothing to do; return how long that took, in seconds."""
        began, rest = time.monotonic(), 0
        while rest < IDLE_SECONDS:
            used = self.cpu_seconds()
            time.sleep(1.0)
            rest = rest + 1 if self.cpu_seconds() - used < 0.1 else 0
        return time.monotonic() - began - rest

    def segments(self) -> int:
        """Return how many segments its index has."""
        return len(json.loads((self._folder / "data" / "index" / "manifest.json").read_text())["segments"])

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


def pieces(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines joined to pieces, as a program that streams sends them."""
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)


def probe(server: Server, stopped: threading.Event, waits: list[float]) -> None:
    """Add a document every two seconds; note how long until a search finds it."""
    connection, number = server.connect(), 0
    while not stopped.wait(2.0):
        number += 1
        word = f"probe{number:06}x{random.getrandbits(40):010x}"
        began = time.monotonic()
        server.ask(connection, "POST", "/api/documents", json.dumps({"id": word, "title": word}).encode())
        while not server.ask(connection, "GET", f"/api/search?q={word}&verbatim=1")["results"]:
            time.sleep(0.02)
        waits.append(time.monotonic() - began)


def push(server: Server, most: int) -> dict[str, Any]:
    """Send all documents in one request; return how long that took."""
    stopped, waits = threading.Event(), list[float]()
    thread = threading.Thread(target=probe, args=(server, stopped, waits))
    thread.start()
    began, cpu = time.monotonic(), server.cpu_seconds()
    connection = server.connect()
    answer = server.ask(connection, "POST", "/api/documents", pieces(documents(most)))
    accepted = time.monotonic() - began
    while server.ask(connection, "GET", f"/api/tasks/{answer['task']}")["status"] != "indexed":
        time.sleep(0.02)
    searchable = time.monotonic() - began
    cpu = server.cpu_seconds() - cpu
    stopped.set()
    thread.join()
    return {
        "documents": answer["taken"],
        "failed": answer["failed"],
        "seconds_accepted": round(accepted, 1),
        "seconds_searchable": round(searchable, 1),
        "documents_per_second": round(answer["taken"] / searchable),
        "server_cpu_seconds": round(cpu, 1),
        "documents_per_cpu_second": round(answer["taken"] / cpu),
        "last_searchable_after_seconds": round(searchable - accepted, 2),
        "probe_searchable_seconds": percentiles(waits) | {"count": len(waits)},
        "memory_mb": server.memory_mb(),
    }


def percentiles(values: list[float]) -> dict[str, float]:
    """Return p50, p99 and the worst of some values."""
    ordered = sorted(values) or [float("nan")]
    return {
        "p50": round(ordered[len(ordered) // 2], 3),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 3),
        "worst": round(ordered[-1], 3),
    }


def latencies(server: Server, queries: list[str]) -> dict[str, Any]:
    """Return how long queries take, in milliseconds, each asked once on one connection."""
    connection, found = server.connect(), {}
    forms = {
        "plain": "",
        "filter": "&filter=" + quote("kind:person AND length:500..5000"),
        "facets": "&facets=kind,length",
        "filter and facets": "&facets=kind&filter=" + quote("length>=500"),
        "sort": "&sort=length:desc",
    }
    for query in queries[:20]:
        server.ask(connection, "GET", f"/api/search?q={quote(query)}&count=10&facets=kind&explain=0&start=10")
    for name, more in forms.items():
        waits = []
        for query in queries:
            began = time.perf_counter()
            server.ask(connection, "GET", f"/api/search?q={quote(query)}{more}")
            waits.append(1000 * (time.perf_counter() - began))
        found[name] = percentiles(waits)
    return found


def tantivy_alone(most: int) -> dict[str, Any]:
    """Return what indexing the same documents takes in tantivy, with its default tokenizer, one thread, one commit."""
    try:
        import tantivy
    except ImportError:
        return {"missing": "tantivy is not installed"}
    builder = tantivy.SchemaBuilder()
    for name in ("title", "text"):
        builder.add_text_field(name, stored=True)
    builder.add_text_field("kind", stored=True, fast=True, tokenizer_name="raw")
    builder.add_unsigned_field("length", stored=True, indexed=True, fast=True)
    lines = list(documents(most))
    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.monotonic(), time.process_time()
        index = tantivy.Index(builder.build(), folder)
        writer = index.writer(500_000_000, 1)
        for line in lines:
            page = json.loads(line)
            document = tantivy.Document()
            for name in ("title", "text", "kind"):
                document.add_text(name, page[name])
            document.add_unsigned("length", page["length"])
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    return {
        "documents_per_second": round(len(lines) / seconds),
        "documents_per_cpu_second": round(len(lines) / cpu),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Push, ask, compare, and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--busy", action="store_true", help="note that other programs ran beside it")
    options = parser.parse_args()
    texts = [json.loads(line)["text"] for line in (DATA / "queries.jsonl").read_text("utf-8").splitlines()]
    queries = list(dict.fromkeys(texts))[: options.queries]
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name))
        try:
            figures: dict[str, Any] = {
                "busy": options.busy,
                "load": os.getloadavg()[0],
                "push": push(server, options.documents),
            }
            figures["segments"] = {"at once": server.segments()}
            figures["milliseconds, at once"] = latencies(server, queries[::2])
            figures["seconds until idle"] = round(server.await_idle(), 1)
            figures["segments"]["idle"] = server.segments()
            figures["milliseconds, idle"] = latencies(server, queries[1::2])
        finally:
            server.stop()
    print(json.dumps(figures, indent=1), flush=True)
    figures["tantivy, indexing alone"] = tantivy_alone(options.documents)
    print(json.dumps(figures, indent=1))
    print(save("documents", figures))


if __name__ == "__main__":
    main()
