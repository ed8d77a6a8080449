"""The queue for a lock: first come, first served; a ticket ends with its process."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conditions import wait_until
from periplus.errors import FolderInUse
from periplus.files import lock_folder
from periplus.writer_queue import is_awaited, queue_for_lock

_WAIT = """
import pathlib, sys
from periplus.writer_queue import queue_for_lock
with queue_for_lock(pathlib.Path(sys.argv[1]), "index", 600, on_wait=lambda refusal: print("waiting", flush=True)):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_free_lock_is_taken_at_once(tmp_path: Path) -> None:
    with queue_for_lock(tmp_path, "index", 0.0):
        assert not is_awaited(tmp_path, "index")
        with pytest.raises(FolderInUse), lock_folder(tmp_path, "index"):
            pass
    with lock_folder(tmp_path, "index"):
        pass


def test_a_wait_is_bounded_and_names_who_holds_the_lock(tmp_path: Path) -> None:
    waits: list[FolderInUse] = []
    with (
        lock_folder(tmp_path, "index", "publishing"),
        pytest.raises(FolderInUse, match="publishing"),
        queue_for_lock(tmp_path, "index", 0.1, on_wait=waits.append),
    ):
        pass
    assert len(waits) == 1
    assert not is_awaited(tmp_path, "index")


def test_writers_get_the_lock_in_the_order_of_their_tickets(tmp_path: Path) -> None:
    order: list[int] = []

    def write(number: int) -> None:
        with queue_for_lock(tmp_path, "index", 60.0):
            order.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    with lock_folder(tmp_path, "index"):
        for number, thread in enumerate(threads):
            thread.start()
            wait_until(lambda: len(list((tmp_path / ".index.queue").glob("[0-9]*"))) == number + 1)  # noqa: B023
        assert is_awaited(tmp_path, "index")
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3]
    assert list((tmp_path / ".index.queue").iterdir()) == []


def test_a_holder_that_yields_is_served_after_those_that_wait(tmp_path: Path) -> None:
    order: list[str] = []

    def build() -> None:
        with queue_for_lock(tmp_path, "index", 60.0):
            order.append("build")

    thread = threading.Thread(target=build)
    with queue_for_lock(tmp_path, "index", 0.0):
        thread.start()
        wait_until(lambda: is_awaited(tmp_path, "index"))
    with queue_for_lock(tmp_path, "index", 60.0):
        order.append("publisher")
    thread.join()
    assert order == ["build", "publisher"]


def test_the_ticket_of_a_killed_process_holds_up_nobody(tmp_path: Path) -> None:
    with (
        lock_folder(tmp_path, "index"),
        subprocess.Popen(
            [sys.executable, "-c", _WAIT, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as waiter,
    ):
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == "waiting\n"
        assert is_awaited(tmp_path, "index")
        waiter.kill()
        waiter.wait()
        assert not is_awaited(tmp_path, "index")
    with queue_for_lock(tmp_path, "index", 0.0):
        pass
