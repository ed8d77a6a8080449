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


def ask(url: str, target: str) -> bytes:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
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
