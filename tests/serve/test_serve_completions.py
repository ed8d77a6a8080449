"""Completions that many ask for: counted by all processes of a server together, still there after a restart."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from asgi_caller import get
from fake_searcher import FakeSearcher

from index.made_pages import visit
from periplus.index import build_index
from periplus.serve import make_app
from periplus.serve.api.query_counter import QueryCounter
from periplus.settings import ServeSettings, Settings

PATIENCE = 60.0


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Run `periplus serve` with two processes; give its port."""
    options = ["search.popular_after=3", "serve.behind_proxy=true", "serve.workers=2", "serve.port=0", "serve.rate=0"]
    options += ["serve.deadline=60", "search.budget_ms=60000"]  # a busy machine may take longer than half a second
    command = [sys.executable, "-m", "periplus.cli", "serve", "--folder", str(folder)]
    for option in options:
        command += ["--set", option]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            while "http://" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            yield int(said.partition("http://")[2].partition("/")[0].rpartition(":")[2])
        finally:
            os.kill(process.pid, signal.SIGTERM)
            process.wait(PATIENCE)


def ask(port: int, target: str, address: str = "45.67.89.9") -> bytes:
    """Ask over a connection of its own, so that either process may answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", target, headers={"x-forwarded-for": address})
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read()
    finally:
        connection.close()


def first_offered(port: int) -> str:
    """Ask for completions, in words that no kept answer has."""
    found: list[str] = json.loads(ask(port, f"/suggest?q=harb&n={time.monotonic_ns()}"))[1]
    return found[0]


def test_what_many_ask_is_shared_and_survives_a_restart(tmp_path: Path) -> None:
    pages = [visit(f"https://a.test/{n}", f"Harbour {n}", "water") for n in range(40)]
    build_index(pages, tmp_path / "index", Settings().index)
    with serving(tmp_path) as port:
        offered: list[str] = json.loads(ask(port, "/suggest?q=harb"))[1]
        wanted = next(f"Harbour {n}" for n in range(40) if f"Harbour {n}" not in offered)
        for number in range(30):
            ask(port, f"/search?q={quote(wanted)}", f"45.67.89.{number}")  # one network is one visitor
            ask(port, f"/search?q=harbour+secret&n={number}", f"45.{number}.89.7")
        assert first_offered(port) != wanted
        end = time.monotonic() + PATIENCE
        while first_offered(port) != wanted:
            for number in range(3):  # again and again, as the day may end meanwhile, and all are counted anew
                ask(port, f"/api/search?q={quote(wanted)}", f"45.{number}.1.9")
            assert time.monotonic() < end
            time.sleep(0.1)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "popular").iterdir())
    assert b"secret" not in kept
    assert not re.search(rb"45\.\d+\.", kept)  # Hashes may happen to have three of these bytes.
    with serving(tmp_path) as port:
        assert {first_offered(port) for _ in range(10)} == {wanted}, "whichever process answers"


def test_only_first_pages_that_were_answered_count() -> None:
    searcher = FakeSearcher()
    queries = QueryCounter(searcher)
    for raw, client in (
        (b"q=tides", "45.67.89.9"),
        (b"q=tides&page=2", "45.67.89.9"),
        (b"q=tides&start=10", "45.67.89.9"),
        (b"q=", "45.67.89.9"),
        (b"q=tides", "nonsense"),
        (b"q=\xff%ff&page=x", "45.67.89.9"),
    ):
        queries.add(raw, client)
    queries.flush()
    assert searcher.counted == [("tides", "45.67.89.0/24")]
    queries.flush()
    assert len(searcher.counted) == 1


def test_a_crowd_fills_no_memory_and_completions_are_no_questions() -> None:
    searcher = FakeSearcher()
    queries = QueryCounter(searcher)
    for number in range(10_000):
        queries.add(b"q=tides%d" % number, "45.67.89.9")
    queries.flush()
    assert len(searcher.counted) == 2_000
    app = make_app(searcher, ServeSettings())
    assert get(app, "/suggest?q=tide").status == 200
    assert get(app, "/search?q=tide").status == 200
    taken = app._middleware._handlers.record_query.__self__  # type: ignore[attr-defined]
    assert [raw for raw, _ in taken._queue] == [b"q=tide"]
