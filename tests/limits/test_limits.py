"""Limits of disk space and memory: what is counted, when work pauses and when it goes on."""

import contextlib
import os
import subprocess
import sys

import pytest

from periplus import health
from periplus.errors import SettingsError, StorageFull
from periplus.limits import (
    DiskLimit,
    FolderSize,
    MemoryLimit,
    ResourceMonitor,
    divide_memory,
    measure_folder,
    pressure,
    process_tree,
    tree_memory,
)
from periplus.settings import LimitSettings, Settings, load


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def _no_parts_of_other_tests():
    health._PARTS.clear()
    yield
    health._PARTS.clear()


def test_a_folder_is_measured_as_du_does(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "page").write_bytes(b"x" * 100_000)
    (tmp_path / "small").write_bytes(b"x")
    os.link(tmp_path / "small", tmp_path / "again")
    (tmp_path / "link").symlink_to("/")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    du = subprocess.run(["du", "-s", "-B1", str(tmp_path)], capture_output=True, text=True, check=True).stdout
    own = os.lstat(tmp_path).st_blocks * 512  # du counts the folder itself, too
    assert measure_folder(tmp_path) == int(du.split()[0]) - own


def test_a_folder_that_is_missing_has_no_size(tmp_path):
    assert measure_folder(tmp_path / "missing") == 0


def test_a_folder_is_counted_less_often_the_longer_it_takes(tmp_path):
    clock, counts = Clock(), []

    def slow(folder):
        counts.append(folder)
        clock.now += 0.5
        return 1_000

    size = FolderSize(tmp_path, slow, clock)
    assert size.bytes() == 1_000
    clock.now += 49  # half a second of every fifty is the most that it may take
    assert size.bytes() == 1_000
    assert len(counts) == 1
    size.add(500)
    assert size.bytes() == 1_500
    assert size.bytes(room=1_000) == 1_000  # more was written than a quarter of the room: it is counted again
    assert len(counts) == 2
    clock.now += 60
    size.bytes()
    assert len(counts) == 3


class Disk:
    """A disk with what a test says."""

    def __init__(self, tmp_path, **settings):
        self.used, self.free = 0, 10**12
        size = FolderSize(tmp_path, lambda folder: self.used, Clock())
        self.size = size
        self.limit = DiskLimit(tmp_path, LimitSettings(**settings), size, lambda folder: self.free)

    def set(self, used, free=10**12):
        self.used, self.free = used, free
        self.size.count()


def test_the_crawl_pauses_near_the_limit_and_resumes_clearly_below_it(tmp_path):
    disk = Disk(tmp_path, disk_gb=1.0)
    disk.set(940_000_000)
    assert disk.limit.pause_reason() == ""
    disk.set(950_000_000)
    assert "0.95 GB of the 1 GB of limits.disk_gb" in disk.limit.pause_reason()
    disk.set(940_000_000)
    assert disk.limit.pause_reason()
    disk.set(920_000_000)
    assert disk.limit.pause_reason() == ""
    disk.set(940_000_000)
    assert disk.limit.pause_reason() == ""


def test_the_crawl_pauses_when_the_file_system_is_nearly_full(tmp_path):
    disk = Disk(tmp_path)
    assert disk.limit.pause_reason() == ""
    disk.set(0, 63_000_000)
    assert "limits.disk_reserve_mb" in disk.limit.pause_reason()
    disk.set(0, 70_000_000)
    assert disk.limit.pause_reason()
    disk.set(0, 97_000_000)
    assert disk.limit.pause_reason() == ""


def test_what_does_not_fit_is_refused_before_it_begins(tmp_path):
    disk = Disk(tmp_path, disk_gb=1.0)
    disk.set(900_000_000)
    disk.limit.require(90_000_000, "An index")
    with pytest.raises(StorageFull, match=r"An index needs about 200 MB, and there is room for 100 MB"):
        disk.limit.require(200_000_000, "An index")
    disk.set(999_999_000)
    with pytest.raises(StorageFull):
        disk.limit.require(0, "A page")  # a little room is needed for anything
    disk.used = 100_000_000  # removed since the last count
    disk.limit.require(200_000_000, "An index")
    disk.set(0, 100_000_000)
    with pytest.raises(StorageFull):
        disk.limit.require(50_000_000, "An index")


def test_without_limits_nothing_is_counted(tmp_path):
    size = FolderSize(tmp_path, lambda folder: pytest.fail("counted"))
    limit = DiskLimit(tmp_path, LimitSettings(disk_reserve_mb=0), size)
    assert limit.pause_reason() == ""
    limit.require(1, "A page")
    memory = MemoryLimit(LimitSettings(), measure=lambda root, above: pytest.fail("measured"))
    assert memory.pause_reason() == ""


def test_the_free_space_of_a_folder_that_does_not_exist_yet(tmp_path):
    assert DiskLimit(tmp_path / "a" / "b", LimitSettings()).room() > 0


ALLOCATE = """
import os, sys
block = bytearray(os.urandom(1)) * (64 << 20)
children = []
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        break
os.write(1, b"ready" + os.linesep.encode())
sys.stdin.read(1)
"""


@pytest.fixture
def allocating():
    started = []

    def start(children):
        process = subprocess.Popen(
            [sys.executable, "-c", ALLOCATE, str(children)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        for _ in range(children + 1):
            assert process.stdout.readline() == b"ready\n"
        return process.pid

    yield start
    for process in started:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def test_the_memory_of_all_processes_is_counted_and_shared_pages_once(allocating):
    root = allocating(2)
    tree = process_tree(root)
    assert len(tree) == 3
    assert tree[0] == root
    mb = 1 << 20
    quick, exact = tree_memory(root, exact_above=10**12), tree_memory(root)
    assert 192 * mb <= quick < 300 * mb
    assert 64 * mb <= exact < 110 * mb


def test_the_crawl_pauses_near_the_memory_limit():
    used = [0]
    memory = MemoryLimit(LimitSettings(memory_mb=1_000), measure=lambda root, above: used[0])
    for amount, pauses in ((890, False), (900, True), (850, True), (799, False), (850, False)):
        used[0] = amount * 1_000_000
        assert bool(memory.pause_reason()) is pauses, amount


def test_memory_is_divided_among_the_parts():
    settings = load(None, {}, ["limits.memory_mb=1000"])
    divided = divide_memory(settings, 2)
    assert (divided.frontier.memory_mb, divided.index.memory_mb, divided.serve.cache_mb) == (150, 250, 25)
    assert divided.graph.memory_mb <= 250
    assert divide_memory(Settings()) == Settings()
    small = load(None, {}, ["limits.memory_mb=100000", "frontier.memory_mb=5"])
    assert divide_memory(small).frontier.memory_mb == 5
    with pytest.raises(SettingsError, match=r"limits\.memory_mb is 100"):
        divide_memory(load(None, {}, ["limits.memory_mb=100"]))


def test_a_monitor_reports_and_other_processes_read_it(tmp_path):
    disk, messages, released = Disk(tmp_path, disk_gb=1.0), [], []
    used = [0]
    memory = MemoryLimit(LimitSettings(memory_mb=1_000), measure=lambda root, above: used[0])
    monitor = ResourceMonitor(
        tmp_path, LimitSettings(), messages.append, lambda: released.append(1), disk.limit, memory
    )
    with health.share_health(tmp_path):
        assert monitor.check() == ""
        disk.set(10**9)
        assert "limits.disk_gb" in monitor.check()
        assert "limits.disk_gb" in pressure(tmp_path)
        assert read_from_another_process(tmp_path) == pressure(tmp_path)
        disk.set(0)
        used[0] = 10**9
        assert "limits.memory_mb" in monitor.check()
        assert released
        used[0] = 0
        assert monitor.check() == ""
        assert pressure(tmp_path) == "" == read_from_another_process(tmp_path)
    assert [message.split(".")[0] for message in messages] == [
        "periplus: the crawl is paused",
        "periplus: the crawl is paused",
        "The crawl goes on: there is room again",
        "The crawl goes on: there is room again",
    ]


def read_from_another_process(folder):
    code = (
        "import sys, pathlib; from periplus.limits import pressure; print(pressure(pathlib.Path(sys.argv[1])), end='')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_monitor_in_a_thread_ends_with_its_block(tmp_path):
    disk = Disk(tmp_path, disk_gb=1.0)
    disk.set(10**9)
    monitor = ResourceMonitor(tmp_path, LimitSettings(), disk=disk.limit)
    with contextlib.ExitStack() as stack:
        stack.enter_context(monitor.running(0.01))
        assert pressure(tmp_path)
    assert pressure(tmp_path) == ""
