"""Several processes at one address: they share the work and the figures, and one that dies is replaced."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from periplus.serve.workers.heartbeats import Beats, ProgressWatch

PROGRAM = """
import os
import sys
from fake_searcher import FakeSearcher
from periplus.serve import Actions, ApiKeys, ServerResources, run_processes
from periplus.settings import ServeSettings
from periplus.records import ResultPage

def answer(query):
    return ResultPage(query, (), os.getpid(), True, False, 0.0, 1)

def opener(folder):
    return ServerResources(FakeSearcher(answer=answer), Actions(), ApiKeys(None))

if __name__ == "__main__":
    settings = ServeSettings(port=0, workers=2, deadline=60.0)
    opened = opener("x") if sys.argv[1] == "forked" else None
    run_processes(opener, ("x",), settings, lambda url: print(url, flush=True), opened)
    print("stopped", flush=True)
"""


def ask(url: str, target: str, timeout: float = 60.0) -> bytes:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=timeout)
    try:
        connection.request("GET", target)
        return connection.getresponse().read()
    finally:
        connection.close()


def who_answers(url: str, seen: set[int], most: int = 4000) -> set[int]:
    """Ask over new connections until two processes have answered."""
    for n in range(most):
        seen.add(json.loads(ask(url, f"/api/search?q=x{n}{time.time_ns()}"))["number_of_results"])
        if len(seen) >= 2:
            break
    return seen


@pytest.mark.parametrize("begun", ["anew", "forked"])
def test_processes_share_the_work_and_are_replaced(tmp_path: Path, begun: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, str(program), begun], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        both = who_answers(url, set())
        assert len(both) == 2
        gone = both.pop()
        os.kill(gone, signal.SIGKILL)
        left, again = both, set[int]()
        for _ in range(3000):
            try:
                again = who_answers(url, set(left), 5) - {gone}
            except (OSError, http.client.HTTPException):
                continue  # the connection went to the one that is gone
            if len(again) == 2:
                break
            time.sleep(0.01)
        assert len(again) == 2, "the one that was killed is replaced"
        os.kill(process.pid, signal.SIGTERM)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"stopped\n"), errors
    for one in again:
        try:
            os.kill(one, 0)
        except ProcessLookupError:
            continue
        raise AssertionError("a process was left behind")


STUCK = """
import os
import sys
import time
from fake_searcher import FakeSearcher
from periplus.records import ResultPage
from periplus.serve import Actions, ApiKeys, ServerResources, run_processes, search_executor
from periplus.settings import ServeSettings

search_executor._STUCK_SECONDS = 0.2

def answer(query):
    while query.words.startswith("endless"):
        time.sleep(1)
    return ResultPage(query, (), os.getpid(), True, False, 0.0, 1)

def opener(folder):
    return ServerResources(FakeSearcher(answer=answer), Actions(), ApiKeys(None))

if __name__ == "__main__":
    settings = ServeSettings(port=0, workers=1, threads=1, deadline=0.1, watchdog_seconds=3.0)
    run_processes(opener, ("x",), settings, lambda url: print(url, flush=True), opener("x"))
"""


@pytest.mark.parametrize("stuck", ["event loop", "searches"])
def test_a_process_that_is_stuck_is_replaced(tmp_path: Path, stuck: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(STUCK)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, str(program)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        first = json.loads(ask(url, "/api/search?q=salt"))["number_of_results"]
        if stuck == "event loop":
            os.kill(first, signal.SIGSTOP)
        second = first
        while second in (0, first):
            try:
                if stuck == "searches":
                    ask(url, f"/api/search?q=endless{time.time_ns()}")
                answer = json.loads(ask(url, f"/api/search?q=salt{time.time_ns()}", 0.5))
                second = answer.get("number_of_results", 0)
            except (OSError, http.client.HTTPException):
                continue
        while b"\nperiplus_stuck_workers_total 1\n" not in ask(url, "/metrics"):
            time.sleep(0.01)
        assert json.loads(ask(url, "/readyz"))["stuck_workers"] == 1
        os.kill(process.pid, signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert f"is stuck ({stuck})" in errors
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_progress_is_judged_by_what_the_supervisor_saw() -> None:
    watch = ProgressWatch(60.0, 20.0, 20.0, now=0.0)
    assert not any(watch.check(Beats(0, 0, 0), float(second)) for second in range(1, 61))
    assert watch.check(Beats(0, 0, 0), 61.0) == "start"
    watch = ProgressWatch(60.0, 20.0, 20.0, now=0.0)
    assert not any(watch.check(Beats(1, second, second), float(second)) for second in range(1, 100))
    assert not watch.check(Beats(1, 99, 99), 1_000.0), "it was stopped itself"
    assert not any(watch.check(Beats(1, 99 + second, 99), 1_000.0 + second) for second in range(1, 20))
    assert watch.check(Beats(1, 120, 99), 1_020.5) == "searches"
    assert not watch.check(Beats(1, 121, 100), 1_021.0)
    for second in range(1, 22):
        stuck = watch.check(Beats(1, 121, 101 + second), 1_021.0 + second)
    assert stuck == "event loop"


FORKING = """
import multiprocessing, threading
from periplus.serve.workers import worker_processes

release, compiling = threading.Event(), threading.Event()
lock = threading.RLock()  # as Numba's compiler lock: taken by a thread that loads a kernel

def load():
    with lock:
        compiling.set()
        release.wait()

loader = threading.Thread(target=load, daemon=True)
loader.start()
compiling.wait()
assert not worker_processes.wait_for_other_threads(0.01), "there is a thread"
threading.Timer(0.05, release.set).start()
assert worker_processes.wait_for_other_threads(60.0), "there is none any more"
child = multiprocessing.get_context("fork").Process(target=lock.acquire)
child.start()
child.join(60)
assert child.exitcode == 0, "the child waits for a lock that nobody will release"
"""


def test_it_forks_without_the_locks_of_other_threads() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
