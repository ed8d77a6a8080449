"""Supervision: no thread dies silently, no child survives its parent, and health is known to other processes."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conditions import wait_until
from periplus.files import lock_folder
from periplus.health import part, read_health, share_health
from periplus.supervision import Backoff, run_supervised, start_supervised, supervise_once


def test_a_thread_that_raises_is_logged_counted_and_restarted(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise ZeroDivisionError("boom")

    with caplog.at_level(logging.ERROR):
        start_supervised("test-thread", work, threading.Event()).join()
    health = part("test-thread").health
    assert (len(calls), health.restarts, health.failures) == (3, 2, 2)
    assert health.error == "ZeroDivisionError: boom"
    assert "Traceback" in caplog.text


def test_a_stopped_thread_is_not_restarted() -> None:
    stopped = threading.Event()

    def work() -> None:
        stopped.set()
        raise ZeroDivisionError

    run_supervised("test-stopped", work, stopped)
    assert part("test-stopped").health.restarts == 0


def test_delays_grow_to_a_limit() -> None:
    backoff = Backoff(1.0, 5.0)
    assert [backoff.next_seconds() for _ in range(5)] == [1, 2, 4, 5, 5]
    backoff.reset()
    assert backoff.next_seconds() == 1


def test_a_job_that_raises_is_reported_until_it_succeeds() -> None:
    results = [ZeroDivisionError(), None]

    def work() -> None:
        error = results.pop(0)
        if error:
            raise error

    supervise_once("test-job", work)()
    assert part("test-job").health.is_failing()
    supervise_once("test-job", work)()
    assert not part("test-job").health.is_failing()
    assert part("test-job").health.failures == 1


def test_health_is_shared_with_other_processes_until_this_one_ends(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from periplus.health import part, share_health\n"
        "with share_health(Path(sys.argv[1])):\n"
        "    part('publisher').fail('The disk is full.'); print('ready', flush=True); sys.stdin.read()"
    )
    with (
        share_health(tmp_path),
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        (health,) = [health for health in read_health(tmp_path) if health.process == other.pid]
        assert (health.name, health.error) == ("publisher", "The disk is full.")
        assert health.is_failing()
        assert not health.is_failing(seconds=1000)
        other.kill()
        other.wait()
        assert [health for health in read_health(tmp_path) if health.process == other.pid] == []
        with share_health(tmp_path):
            assert not (tmp_path / "health" / f"{other.pid}.json").exists()


_PARENT = """
import multiprocessing, os, sys, time
from pathlib import Path
from periplus.files import lock_folder
from periplus.supervision import die_with_parent

def child(parent, folder):
    die_with_parent(parent)
    with lock_folder(Path(folder), "index"):
        print(os.getpid(), flush=True)
        time.sleep(600)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    context.Process(target=child, args=(os.getpid(), sys.argv[1])).start()
    time.sleep(600)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_dies_with_its_parent_and_so_do_its_locks(tmp_path: Path, method: str) -> None:
    program = tmp_path / "parent.py"
    program.write_text(_PARENT)
    with subprocess.Popen(
        [sys.executable, str(program), str(tmp_path), method],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        try:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            parent.kill()
            parent.wait()
            wait_until(lambda: not is_alive(child))
            with lock_folder(tmp_path, "index"):
                pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)


def is_alive(process: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
