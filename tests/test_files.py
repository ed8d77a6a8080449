"""Files: nothing half-written is ever seen, a full disk is one clear error, a newer folder is refused."""

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from periplus.errors import CorruptFile, DiskFailed, FolderInUse, NewerFormat
from periplus.files import DATA_FORMAT, disk_errors, lock_folder, make_folder, open_data_folder, write_atomically


def test_a_whole_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"one")
    write_atomically(path, memoryview(b"two"))
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_litter(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "write":
        monkeypatch.setattr(Path, "open", full)
    else:
        monkeypatch.setattr(os, step, full)
    with pytest.raises(DiskFailed, match=r"The disk is full: cannot write .*a"):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "disk is full"),
        (errno.EROFS, "Not allowed to write"),
        (errno.EACCES, "Not allowed to write"),
        (errno.EIO, "The disk refused"),
    ],
)
def test_what_the_disk_says_is_told_in_words(tmp_path: Path, number: int, says: str) -> None:
    with pytest.raises(DiskFailed, match=says), disk_errors(tmp_path / "x"):
        raise OSError(number, os.strerror(number))


def test_a_data_folder_is_made_once_and_known_again(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"
    assert open_data_folder(folder, create=True) == folder
    assert open_data_folder(folder, create=False) == folder
    assert msgspec.json.decode((folder / "periplus.json").read_bytes())["format"] == DATA_FORMAT


def test_looking_does_not_create(tmp_path: Path) -> None:
    open_data_folder(tmp_path / "none", create=False)
    assert os.listdir(tmp_path) == []


def test_a_newer_folder_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "periplus.json").write_text('{"format": 99}')
    with pytest.raises(NewerFormat, match="format 99"):
        open_data_folder(tmp_path, create=True)
    assert (tmp_path / "periplus.json").read_text() == '{"format": 99}'


@pytest.mark.parametrize("text", ["", "{", '{"format": "x"}', "[]", '{"other": 1}', "\xff"])
def test_a_damaged_stamp_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "periplus.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(CorruptFile, match=r"periplus\.json"):
        open_data_folder(tmp_path, create=False)


def test_one_writer_at_a_time_and_the_lock_dies_with_it(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from periplus.files import lock_folder\n"
        "with lock_folder(pathlib.Path(sys.argv[1]), 'crawl'):\n    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(FolderInUse, match=f"process {holder.pid} is busy with 'crawl'"),
            lock_folder(tmp_path, "crawl"),
        ):
            pass
        with lock_folder(tmp_path, "index"):
            pass
        holder.kill()
    with lock_folder(tmp_path, "crawl"):
        pass


def test_what_a_killed_process_had_not_finished_goes_in_time(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from periplus.files import write_atomically\n"
        "os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomically(Path(sys.argv[1]) / 'frontier.bin', b'x' * 1000)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == -9
    (torn,) = tmp_path.glob(".frontier.bin.*.new")
    mine, other = tmp_path / f".mine.{os.getpid()}.new", tmp_path / "page.4194999.new"
    mine.touch()
    other.touch()
    elsewhere = tmp_path / ".frontier.bin.0.m00000000.4194999.new"
    older = tmp_path / ".frontier.bin.4194999.new"
    elsewhere.touch()
    older.touch()
    with lock_folder(tmp_path, "crawl"):
        assert not torn.exists()
        assert elsewhere.exists(), "its process may be alive where we cannot see it"
        assert older.exists()
    long_ago = time.time() - 10_000
    for path in (elsewhere, older, mine, other):
        os.utime(path, (long_ago, long_ago))
    with lock_folder(tmp_path, "crawl"):
        assert not elsewhere.exists()
        assert not older.exists()
    assert mine.exists()
    assert other.exists()


def test_a_forked_child_does_not_hold_the_locks_of_its_parent(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, sys, time; from periplus.files import lock_folder\n"
        "with lock_folder(pathlib.Path(sys.argv[1]), 'index', 'index build'):\n"
        "    if not os.fork():\n        print('child', flush=True); time.sleep(600)\n"
        "    sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "child\n"
        refusal = rf"process {holder.pid} is busy with 'index build' there since \d{{4}}-"
        with pytest.raises(FolderInUse, match=refusal), lock_folder(tmp_path, "index"):
            pass
        holder.kill()
        holder.wait()
        try:
            with lock_folder(tmp_path, "index"):  # its child is alive
                pass
        finally:
            os.killpg(holder.pid, signal.SIGKILL)


def test_threads_that_write_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path, contents = tmp_path / "small.json", [bytes([48 + number]) * 10_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            list(pool.map(lambda content: write_atomically(path, content), contents))
            assert path.read_bytes() in contents
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.json"]


def test_a_new_folder_is_synced_with_its_parents(tmp_path: Path) -> None:
    synced = []
    with mock.patch("periplus.files.sync_folder", side_effect=synced.append):
        make_folder(tmp_path / "a" / "b")
        make_folder(tmp_path / "a" / "b")
    assert synced == [tmp_path, tmp_path / "a"]


def test_a_new_folder_that_cannot_be_synced_is_removed(tmp_path: Path) -> None:
    with mock.patch("periplus.files.sync_folder", side_effect=OSError(5, "Input/output error")), pytest.raises(OSError):
        make_folder(tmp_path / "a")
    assert not (tmp_path / "a").exists()
