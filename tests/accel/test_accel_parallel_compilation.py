"""Kernels are compiled by several processes at once, and a process that is killed or damaged files cost only time."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numba
import pytest

from conditions import wait_until
from periplus.accel import parallel_compilation, warmup
from periplus.accel.cache_entries import folder_lock, save_entry
from periplus.accel.compile_cache import kernel_sources, reached_modules

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT")

TWO_KERNELS = """
import numpy as np
from periplus.accel import njit

@njit(cache=True, nogil=True)
def double(values):
    return 2 * values

@njit(cache=True, nogil=True)
def add_doubles(values):
    total = 0
    for value in values:
        total += double(value)
    return total
"""
PROGRAM = """
import sys
import numba
from periplus.accel import compile_cache
numba.config.CACHE_DIR = sys.argv[1]
numba.config.CACHE_LOCATOR_CLASSES = "UserProvidedCacheLocator"
sys.path.insert(0, sys.argv[2])
import two_kernels, numpy as np
print("ready", flush=True)
sys.stdin.readline()
assert two_kernels.add_doubles(np.arange(5)) == 20
assert two_kernels.add_doubles(np.arange(5, dtype=np.float32)) == 20
print(sum(kernel.stats.cache_misses.total() for kernel in (two_kernels.add_doubles, two_kernels.double)))
"""


def _start(cache: Path, folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PROGRAM, str(cache), str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@compiled
def test_two_processes_compile_at_once_and_one_is_killed(tmp_path: Path) -> None:
    (tmp_path / "two_kernels.py").write_text(TWO_KERNELS, "utf-8")
    cache = tmp_path / "cache"
    processes = [_start(cache, tmp_path) for _ in range(2)]
    killed, *others = processes
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    wait_until(lambda: any(cache.rglob("*.nb?")))
    os.kill(killed.pid, signal.SIGKILL)
    for process in others:
        process.communicate()
        assert process.returncode == 0
    killed.communicate()
    last = _start(cache, tmp_path)
    answer, _ = last.communicate("\n")
    assert (last.returncode, answer) == (0, "0\n"), "not everything came from the cache"


class _Entries:
    """What `save_entry` uses of Numba's files of a kernel."""

    def __init__(self, folder: Path, fails: bool = False) -> None:
        self._cache_path, self._index_name, self._fails = str(folder), "kernel.nbi", fails
        self._folder = folder

    def _data_name(self, number: int) -> str:
        return f"kernel.{number}.nbc"

    def _load_index(self) -> dict[str, str]:
        lines = (self._folder / self._index_name).read_text("utf-8").split()
        return dict(line.split("=") for line in lines)

    def _save_index(self, index: dict[str, str]) -> None:
        if self._fails:
            raise KeyboardInterrupt
        assert all((self._folder / name).exists() for name in index.values()), "the index came before the code"
        (self._folder / self._index_name).write_text(" ".join(map("=".join, index.items())), "utf-8")

    def _save_data(self, name: str, data: str) -> None:
        (self._folder / name).write_text(data, "utf-8")

    def load(self, key: str) -> str:
        return (self._folder / self._load_index()[key]).read_text("utf-8")


def test_an_index_never_refers_to_other_code(tmp_path: Path) -> None:
    entries = _Entries(tmp_path)
    save_entry(entries, "int", "of integers")
    save_entry(entries, "float", "of floats")
    with pytest.raises(KeyboardInterrupt):
        save_entry(_Entries(tmp_path, fails=True), "int", "newer")
    assert (entries.load("int"), entries.load("float")) == ("of integers", "of floats")
    save_entry(entries, "int", "newest")
    assert (entries.load("int"), entries.load("float")) == ("newest", "of floats")
    assert len(list(tmp_path.glob("*.nbc"))) == 2, "code that nothing refers to is left"
    (tmp_path / "kernel.nbi").unlink()
    save_entry(entries, "int", "again")
    assert entries.load("int") == "again"


def test_one_process_compiles_and_another_waits_for_it(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    turns: list[object] = []

    def wait() -> None:
        with warmup.compiling_turn(tmp_path, lambda: True, lambda *now: seen.append(now)) as tell:
            turns.append(tell)

    other = threading.Thread(target=wait)
    with warmup.compiling_turn(tmp_path, lambda: False, lambda *_: None) as tell:
        assert tell is not None
        tell(3, 7)
        other.start()
        wait_until(lambda: (3, 7) in seen)
        assert turns == []
        with folder_lock(tmp_path):
            pass
    other.join()
    assert turns == [None], "there was nothing left to compile"


def test_processes_compile_what_no_other_is_compiling() -> None:
    sources = {
        "a": b"from periplus.shared import x\n" + b"#" * 10,
        "b": b"from periplus.shared import x\n" + b"#" * 9,
        "c": b"#" * 50,
        "shared": b"#" * 100,
    }
    assert reached_modules("a", sources) == {"a", "shared"}
    assert parallel_compilation.choose_module(["c", "b", "a"], [], sources) == "a"
    assert parallel_compilation.choose_module(["b", "c"], ["a"], sources) == "c"
    assert parallel_compilation.choose_module(["b", "c"], [], sources) == "b"


@compiled
def test_modules_are_compiled_in_processes_and_a_bad_one_is_left(capfd: pytest.CaptureFixture[str]) -> None:
    sources = {name: kernel_sources()[name] for name in ("publish.kernels", "graph.kernels.pagerank")}
    reports: list[tuple[int, int]] = []
    left = parallel_compilation.compile_modules(
        [*sources, "no.such"], sources | {"no.such": b""}, 2, lambda *now: reports.append(now)
    )
    assert left == ["no.such"]
    assert reports[0] == (0, 2)
    assert all(done < total for done, total in reports)
    assert capfd.readouterr().out == ""


def test_every_kernel_is_counted() -> None:
    for name, source in kernel_sources().items():
        if not name.startswith("accel"):
            assert len(parallel_compilation.kernels_of(name, source)) == source.count(b"\n@njit"), name


def test_processes_need_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parallel_compilation.count_processes() >= 1
    monkeypatch.setattr(parallel_compilation, "_free_memory", lambda: 100)
    assert parallel_compilation.count_processes() == 1
