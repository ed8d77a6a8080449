"""Keys and deletions that several processes change at once: no change is lost."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from periplus.errors import BadInput, DiskFailed
from periplus.publish import DeletionList
from periplus.serve import ApiKeys

_ADD = """
import sys
from pathlib import Path
from periplus.serve import ApiKeys
keys = ApiKeys(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(5):
    keys.add(f"{sys.argv[2]}-{number}", "publish")
keys.remove(f"{sys.argv[2]}-0")
"""
_DELETE = """
import sys
from pathlib import Path
from periplus.publish import DeletionList
deleted = DeletionList(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(5):
    deleted.add([f"https://a.test/{sys.argv[2]}/{number}"])
deleted.remove([f"https://a.test/{sys.argv[2]}/0"])
"""


def run_together(program: str, folder: Path) -> None:
    """Run a program six times at once, each with a number."""
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), str(number)], stdin=subprocess.PIPE)
        for number in range(6)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 6


def test_processes_that_add_and_remove_keys_lose_none(tmp_path: Path) -> None:
    run_together(_ADD, tmp_path)
    names = {key.name for key in ApiKeys(tmp_path).all()}
    assert names == {f"{number}-{count}" for number in range(6) for count in range(1, 5)}


def test_processes_that_delete_pages_lose_none(tmp_path: Path) -> None:
    run_together(_DELETE, tmp_path)
    urls = set(DeletionList(tmp_path).pages())
    assert urls == {f"https://a.test/{number}/{count}" for number in range(6) for count in range(1, 5)}


def test_a_removal_that_was_renamed_but_not_synced_is_synced_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ApiKeys(tmp_path).add("first", "publish")
    sync, synced = os.fsync, []

    def is_folder(descriptor: int) -> bool:
        return stat.S_ISDIR(os.fstat(descriptor).st_mode)

    def fail(descriptor: int) -> None:
        if is_folder(descriptor) and b"first" not in (tmp_path / "keys.json").read_bytes():
            raise OSError(errno.EIO, "the disk has failed")
        sync(descriptor)

    def record(descriptor: int) -> None:
        synced.append(is_folder(descriptor))
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(DiskFailed):
            ApiKeys(tmp_path).remove("first")
    monkeypatch.setattr(os, "fsync", record)
    with pytest.raises(BadInput):  # there is no such key any more: its removal must be durable then
        ApiKeys(tmp_path).remove("first")
    assert synced == [True]
