"""The end of the writer at every step, and a disk that is full at every step: what was committed stays, and opens."""

import errno
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from index import dying_writer
from index.dying_writer import CHANGED, PAGES, SEGMENTS, SETTINGS, Steps, examine, make_base, states, titles
from periplus.errors import DiskFailed
from periplus.index import LiveIndex, check_index
from periplus.index.merge import segment_merger


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in memory where there is one: syncing is what takes the time here, and no power is cut."""
    monkeypatch.setattr(segment_merger, "_MERGE_FACTOR", SEGMENTS)
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "least"), [("lives", 80), ("extends", 15), ("replaces", 20)])
def test_a_writer_that_ends_at_any_step_leaves_what_was_committed(quick: Path, scenario: str, least: int) -> None:
    program = Path(dying_writer.__file__)
    ran = subprocess.run([sys.executable, str(program), str(quick), scenario], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    cases = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [case for case in cases if case["wrong"]] == []
    assert [case["status"] for case in cases] == [9] * (len(cases) - 1) + [0]
    assert len(cases) > least
    assert {case["acknowledged"] for case in cases} == set(range(len(states(scenario))))


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["lives", "extends", "replaces"])
def test_a_full_disk_at_any_step_loses_nothing(quick: Path, scenario: str) -> None:
    make_base(quick / "base")
    failures = 0
    for last in range(1, 10_000):
        case = quick / f"case{last}"
        shutil.copytree(quick / "base", case)
        acknowledged: list[int] = []

        def full(what: str) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        steps = Steps(case, last, full, all_kinds=False)
        steps.start()
        try:
            getattr(dying_writer, scenario)(case, lambda done=acknowledged: done.append(1))
        except DiskFailed as error:
            assert "full" in str(error)  # noqa: PT017 - the steps that may fail quietly are fine, too
            failures += 1
        finally:
            steps.stop()
        assert examine(case, scenario, len(acknowledged)) == "", last
        shutil.rmtree(case)
        if steps.count < last:
            break
    assert failures > 10


def test_a_live_index_goes_on_once_there_is_room_again(quick: Path) -> None:
    make_base(quick)

    def full(what: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with LiveIndex(quick, SETTINGS, background=False) as live:
        for last in range(1, 40):
            steps = Steps(quick, last, full, all_kinds=False)
            steps.start()
            try:
                live.add(CHANGED if last % 2 else PAGES[0])
                live.publish()
            except DiskFailed:
                pass
            finally:
                steps.stop()
            live.add(PAGES[9])
            live.publish()
            assert titles(quick)[PAGES[9].url] == "page9"
            assert check_index(quick) == []
        live.merge()
        assert len(titles(quick)) == SEGMENTS + 1
