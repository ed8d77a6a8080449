"""The real server on a real port."""

import gc
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fake_searcher import FakeSearcher

from periplus.errors import PortInUse
from periplus.records import Query, ResultPage
from periplus.serve import background_server, run, server
from periplus.serve.application import Application
from periplus.settings import ServeSettings

SETTINGS = ServeSettings(port=0, threads=2)


def ask(url: str, target: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def test_many_ask_at_once() -> None:
    searcher = FakeSearcher()
    with background_server(searcher, SETTINGS) as url, ThreadPoolExecutor(16) as clients:
        targets = [f"/api/search?q=salt+{number}&size=5" for number in range(100)]
        answers = list(clients.map(lambda target: ask(url, target), targets))
    assert [json.loads(body)["query"] for _, _, body in answers] == [f"salt {number}" for number in range(100)]
    assert len(searcher.asked) == 100


def test_pages_come_over_the_wire() -> None:
    with background_server(FakeSearcher(), SETTINGS) as url:
        status, headers, body = ask(url, "/search?q=salt+harbour")
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert b"<mark>salt</mark>" in body
        status, headers, body = ask(url, "/search?q=salt", "HEAD")
        assert (status, body) == (200, b"")
        assert ask(url, "/search?q=%00%ED%A0%80%ff&start=%zz")[0] == 200
        assert ask(url, "/x" * 20_000)[0] in (404, 414)
        assert ask(url, "/search?q=" + "word+" * 10_000)[0] == 200
        assert ask(url, "/search?q=" + "word+" * 20_000)[0] == 414


def test_overload_is_refused_and_passes() -> None:
    let_go, begun = threading.Event(), threading.Semaphore(0)

    def hold(query: Query) -> ResultPage:
        begun.release()
        let_go.wait(60)
        return ResultPage(query, (), 0, True, False, 0.0, 1)

    settings = ServeSettings(port=0, threads=1, max_waiting=2)
    with background_server(FakeSearcher(answer=hold), settings) as url, ThreadPoolExecutor(12) as clients:
        asked = [clients.submit(ask, url, f"/api/search?q=x{n}") for n in range(12)]
        assert begun.acquire(timeout=60)
        while sum(one.done() for one in asked) < 9:
            time.sleep(0.005)
        assert ask(url, "/healthz")[0] == 200
        let_go.set()
        answers = [one.result() for one in asked]
        assert sorted(status for status, _, _ in answers) == [200] * 3 + [429] * 9
        assert all(int(headers["retry-after"]) >= 1 for status, headers, _ in answers if status == 429)
        assert ask(url, "/api/search?q=x")[0] == 200


def test_a_request_under_way_is_answered_before_the_server_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.serve.server._STOP_SECONDS", 60.0)
    let_go, begun = threading.Event(), threading.Event()

    def hold(query: Query) -> ResultPage:
        begun.set()
        let_go.wait(60)
        return ResultPage(query, (), 0, True, False, 0.0, 1)

    with ThreadPoolExecutor(1) as clients:
        with background_server(FakeSearcher(answer=hold), SETTINGS) as url:
            asked = clients.submit(ask, url, "/api/search?q=last")
            assert begun.wait(60)
            threading.Timer(0.2, let_go.set).start()
        status, _, body = asked.result(60)
    assert status == 200
    assert json.loads(body)["query"] == "last"


def test_a_stuck_search_does_not_keep_the_server_up() -> None:
    let_go, begun = threading.Event(), threading.Event()

    def hold(query: Query) -> ResultPage:
        begun.set()
        let_go.wait(60)
        return ResultPage(query, (), 0, True, False, 0.0, 1)

    with ThreadPoolExecutor(1) as clients:
        with background_server(FakeSearcher(answer=hold), SETTINGS) as url:
            asked = clients.submit(ask, url, "/api/search?q=stuck")
            assert begun.wait(60)
        assert not let_go.is_set()
        assert asked.result(60)[0] == 503
    let_go.set()


def test_the_port_is_free_again_after_stopping() -> None:
    with background_server(FakeSearcher(), SETTINGS) as url:
        port = urlsplit(url).port or 0
        assert ask(url, "/healthz")[0] == 200
    with background_server(FakeSearcher(), ServeSettings(port=port)) as again:
        assert again == url


def test_a_port_in_use_is_one_clear_line() -> None:
    with background_server(FakeSearcher(), SETTINGS) as url, pytest.raises(PortInUse) as caught:
        run(FakeSearcher(), ServeSettings(port=urlsplit(url).port or 0), lambda _: None)
    assert "\n" not in str(caught.value)
    assert "already in use" in str(caught.value)
    assert "--port" in str(caught.value)


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a" * 80, "\u2603.."])
def test_an_address_that_is_not_ours_is_one_clear_line(host: str) -> None:
    with pytest.raises(PortInUse) as caught:
        run(FakeSearcher(), ServeSettings(host=host, port=0), lambda _: None)
    assert "\n" not in str(caught.value)


def test_names_and_ipv6_addresses_work() -> None:
    with background_server(FakeSearcher(), ServeSettings(host="localhost", port=0)) as url:
        assert ask(url, "/healthz")[0] == 200
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with background_server(FakeSearcher(), ServeSettings(host="::1", port=0)) as url:
        assert url.startswith("http://[::1]:")
        assert ask(url, "/healthz")[0] == 200


PROGRAM = """
import os, threading
from fake_searcher import FakeSearcher
from periplus.serve import run
from periplus.settings import ServeSettings
def threads():
    return {int(name) for name in os.listdir("/proc/self/task")}
ours = threads()
def ready(url):
    ours.update(thread.native_id for thread in threading.enumerate())
    print(url, flush=True)
run(FakeSearcher(), ServeSettings(port=0), ready)
# A thread of the server's that outlives it aborts the process when it asks for an interpreter that is gone.
print("stopped", sorted(threads() - ours), flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=Path(__file__).parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        idle = http.client.HTTPConnection(urlsplit(url).hostname or "", urlsplit(url).port, timeout=60)
        idle.request("GET", "/healthz")
        idle.getresponse().read()  # the connection stays open: an idle browser must not keep the server up
        os.kill(process.pid, number)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (0, b"stopped []\n", b"")


@pytest.mark.parametrize("exempt", [False, True])
def test_a_request_that_refers_to_itself_does_not_delay_the_stop(monkeypatch: pytest.MonkeyPatch, exempt: bool) -> None:
    """The HTTP server's thread for callbacks ends only when no object of any request is left, in no cycle either."""
    answer = Application.__call__

    async def keep(app: Application, scope: Any, receive: Any, send: Any) -> None:
        cycle: list[Any] = [receive, send]
        cycle.append(cycle)
        await answer(app, scope, receive, send)

    monkeypatch.setattr(Application, "__call__", keep)
    ended: list[set[int]] = []
    wait_for_end = server._wait_for_end

    def wait(threads: set[int], seconds: float) -> None:
        wait_for_end(threads, 60.0 if ended else 0.0)
        ended.append(threads & server._foreign_threads())

    monkeypatch.setattr(server, "_wait_for_end", wait)
    gc.disable()
    try:
        with background_server(FakeSearcher(), SETTINGS) as url:
            assert ask(url, "/search?q=salt")[0] == 200
            if exempt:  # as everything is when a server is warm
                gc.freeze()
    finally:
        gc.enable()
    assert ended[0], "the cycle kept a thread"
    assert not ended[1]
