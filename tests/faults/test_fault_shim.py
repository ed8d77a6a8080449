"""The shim sees what Periplus writes, by whatever way it reaches the disk, and fails the call that it was told to."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fault_shim import SHORT_WRITE, Calls, FaultKind, controlled, preload_environment
from power_cut import LogEntry, read_write_log

_WAYS_TO_WRITE = {
    "descriptor": "fd = os.open(f, os.O_WRONLY | os.O_CREAT); os.write(fd, DATA)",
    "positioned": "fd = os.open(f, os.O_WRONLY | os.O_CREAT); os.pwrite(fd, DATA[:9], 0); os.pwrite(fd, DATA[9:], 9)",
    "parts": "fd = os.open(f, os.O_WRONLY | os.O_CREAT); os.writev(fd, [DATA[:9], DATA[9:]])",
    "positioned parts": "fd = os.open(f, os.O_WRONLY | os.O_CREAT); os.pwritev(fd, [DATA[:9], DATA[9:]], 0)",
    "Python file": "open(f, 'wb').write(DATA)",
    "unbuffered Python file": "open(f, 'wb', buffering=0).write(DATA)",
    "Path.write_bytes": "pathlib.Path(f).write_bytes(DATA)",
    "append": "open(f, 'ab').write(DATA[:9]); open(f, 'ab').write(DATA[9:])",
    "numpy.tofile": "numpy.frombuffer(DATA, numpy.uint8).tofile(f)",
    "numpy.tofile of an open file": "g = open(f, 'wb'); numpy.frombuffer(DATA, numpy.uint8).tofile(g); g.close()",
    "shutil.copyfile": "open(f + '.a', 'wb').write(DATA); shutil.copyfile(f + '.a', f)",
    "zstandard stream": (
        "raw = zstandard.ZstdCompressor().compress(DATA)\n"
        "with open(f, 'wb') as g: zstandard.ZstdDecompressor().copy_stream(io.BytesIO(raw), g)"
    ),
    "gzip file": "g = open(f, 'wb'); g.write(gzip.decompress(gzip.compress(DATA))); g.close()",
    "dir_fd": (
        "d = os.open(os.path.dirname(f), 0)\n"
        "fd = os.open('file', os.O_WRONLY | os.O_CREAT, dir_fd=d); os.write(fd, DATA)"
    ),
    "relative": "os.chdir(os.path.dirname(f)); open('file', 'wb').write(DATA)",
    "memory view": "open(f, 'wb').write(memoryview(numpy.frombuffer(DATA, numpy.uint8)))",
    "subprocess": "subprocess.run([sys.executable, '-c', f'open({f!r}, \"wb\").write({DATA!r})'], check=True)",
    "fastwarc": ("from fastwarc.stream_io import FileStream\ng = FileStream(f, 'wb'); g.write(DATA); g.close()"),
}
_PREAMBLE = (
    "import gzip, io, json, mmap, numpy, os, pathlib, shutil, subprocess, sys, zstandard\n"
    "f = sys.argv[1]\nDATA = bytes(range(250)) * 40\n"
)
DATA = bytes(range(250)) * 40


def _run(shim: Path, program: str, file: Path, control: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PREAMBLE + program, str(file)],
        env=preload_environment(shim, control),
        capture_output=True,
        text=True,
        check=False,
    )


def _record(shim: Path, tmp_path: Path, program: str) -> tuple[list[LogEntry], int]:
    folder, log = tmp_path / "data", tmp_path / "log"
    folder.mkdir()
    with controlled(tmp_path / "control", folder, log) as control:
        ended = _run(shim, program, folder / "file", control.path)
        assert ended.returncode == 0, ended.stderr
        return read_write_log(log, folder), control.unseen_writers


def _replayed(entries: list[LogEntry], name: str) -> bytes:
    content = bytearray()
    for entry in entries:
        if entry.path == name and entry.kind == "W":
            content[entry.offset : entry.offset + len(entry.data)] = entry.data
    return bytes(content)


@pytest.mark.parametrize("way", sorted(_WAYS_TO_WRITE))
def test_every_way_to_write_is_recorded_or_reported(shim: Path, tmp_path: Path, way: str) -> None:
    entries, unseen = _record(shim, tmp_path, _WAYS_TO_WRITE[way])
    assert (tmp_path / "data" / "file").read_bytes() == DATA
    assert _replayed(entries, "file") == DATA or unseen, way
    if way != "fastwarc":  # a C++ stream; Periplus reads with it only
        assert not unseen


def test_a_writable_mapping_is_reported(shim: Path, tmp_path: Path) -> None:
    program = (
        "a = numpy.memmap(f, numpy.uint8, 'w+', shape=10_000); a[:] = numpy.frombuffer(DATA, numpy.uint8); a.flush()"
    )
    assert _record(shim, tmp_path, program)[1] == 1


def test_names_and_syncs_are_recorded_in_order(shim: Path, tmp_path: Path) -> None:
    program = (
        "d = os.path.dirname(f); os.mkdir(d + '/sub'); g = open(d + '/sub/a', 'wb'); g.write(b'1'); g.flush()\n"
        "os.fsync(g.fileno()); os.rename(d + '/sub/a', f); os.truncate(f, 0); os.link(f, d + '/b'); os.unlink(f)\n"
        "fd = os.open(d, 0); os.fsync(fd); os.fdatasync(g.fileno()); shutil.rmtree(d + '/sub')"
    )
    entries, _ = _record(shim, tmp_path, program)
    expected = [("D", "sub"), ("C", "sub/a"), ("W", "sub/a"), ("S", "sub/a"), ("R", "sub/a"), ("T", "file")]
    expected += [("L", "file"), ("U", "file"), ("F", "."), ("S", "file"), ("X", "sub")]
    assert [(entry.kind, entry.path) for entry in entries] == expected
    assert [entry.data for entry in entries if entry.kind in "RL"] == [b"file", b"b"]


@pytest.mark.parametrize(
    ("calls", "program"),
    [
        (Calls.OPEN, "open(f, 'rb')"),
        (Calls.OPEN, "os.listdir(os.path.dirname(f))"),
        (Calls.CREATE, "open(f, 'wb')"),
        (Calls.READ, "open(f, 'rb').read()"),
        (Calls.WRITE, "fd = os.open(f, os.O_WRONLY); os.write(fd, DATA)"),
        (Calls.WRITE, "numpy.frombuffer(DATA, numpy.uint8).tofile(f)"),
        (Calls.SYNC, "fd = os.open(f, os.O_WRONLY); os.fsync(fd)"),
        (Calls.SYNC, "fd = os.open(f, os.O_WRONLY); os.fdatasync(fd)"),
        (Calls.RENAME, "os.replace(f, f + '2')"),
        (Calls.TRUNCATE, "os.truncate(f, 1)"),
        (Calls.UNLINK, "os.unlink(f)"),
        (Calls.MMAP, "numpy.memmap(f, numpy.uint8, 'r')"),
        (Calls.LINK, "os.link(f, f + '2')"),
        (Calls.MKDIR, "os.mkdir(f + '2')"),
    ],
)
def test_a_call_of_each_kind_fails(shim: Path, tmp_path: Path, calls: Calls, program: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "file").write_bytes(b"old content")
    with controlled(tmp_path / "control", folder, None, FaultKind("", calls, errno.EIO), 1) as control:
        ended = _run(shim, program, folder / "file", control.path)
        assert control.fired == 1
    assert ended.returncode == 1
    assert "OSError" in ended.stderr


def test_only_the_nth_call_fails_or_all_from_there_on(shim: Path, tmp_path: Path) -> None:
    program = (
        "fd = os.open(f, os.O_WRONLY | os.O_CREAT); out = []\n"
        "for n in range(4):\n"
        "    try: out.append(os.write(fd, b'four'))\n"
        "    except OSError as e: out.append(-e.errno)\n"
        "open(os.path.dirname(os.path.dirname(f)) + '/outside', 'wb').write(DATA); print(json.dumps(out))"
    )
    folder = tmp_path / "data"
    folder.mkdir()
    cases = {
        (errno.ENOSPC, False): [4, -28, 4, 4],
        (errno.ENOSPC, True): [4, -28, -28, -28],
        (SHORT_WRITE, True): [4, 2, 2, 2],
    }
    for (error, persistent), expected in cases.items():
        kind = FaultKind("", Calls.WRITE, error, persistent)
        with controlled(tmp_path / "control", folder, None, kind, 2) as control:
            ended = _run(shim, program, folder / "file", control.path)
        assert json.loads(ended.stdout) == expected, ended.stderr


def test_interrupted_calls_are_repeated_by_python(shim: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with controlled(tmp_path / "control", folder, None, FaultKind("", Calls.WRITE, errno.EINTR), 1) as control:
        ended = _run(shim, "open(f, 'wb').write(DATA)", folder / "file", control.path)
        assert (ended.returncode, control.fired) == (0, 1)
    assert os.path.getsize(folder / "file") == len(DATA)
