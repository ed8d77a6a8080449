"""Keys of URLs in files: a snapshot writes what is new, finds its files after a crash, and notices damage."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.errors import CorruptFile
from periplus.frontier import Frontier, seen_set
from periplus.frontier.seen_set import SeenSet
from periplus.records import FetchRequest
from periplus.settings import FrontierSettings
from periplus.url import parse_address


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(seen_set, "FILE_KEYS", 64)
    monkeypatch.setattr(seen_set, "_NEWEST", 16)
    monkeypatch.setattr(seen_set, "_MAX_RUN", 512)


def restore(dumped, folder):
    rest, files = dumped
    return SeenSet.load(np.frombuffer(rest, "<u8"), folder, files)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["add", "dump", "restart", "killed"]), max_size=60), st.integers(0, 1_000))
def test_whatever_happens_it_is_a_set(tmp_path_factory, steps, number):
    folder = tmp_path_factory.mktemp("seen") / "seen"
    chance = random.Random(number)
    seen, truth = SeenSet(folder=folder), set[int]()
    saved, saved_truth = seen.dump(), set[int]()
    for step in steps:
        if step == "add":
            keys = [chance.randrange(1 << 64) for _ in range(chance.randrange(1, 200))] + list(truth)[:5]
            assert {keys[index] for index in seen.unseen(keys)} == set(keys) - truth
            seen.update([keys[index] for index in seen.unseen(keys)])
            truth |= set(keys)
        elif step == "killed":  # after a snapshot was begun that was never written
            seen.dump()
            seen, truth = restore(saved, folder), set(saved_truth)
        else:
            saved, saved_truth = seen.dump(), set(truth)
            seen = restore(saved, folder) if step == "restart" else seen
        assert len(seen) == len(truth)
    assert set(restore(saved, folder).keys().tolist()) == saved_truth
    assert set(seen.keys().tolist()) == truth


def test_a_snapshot_writes_what_is_new_and_files_go_when_they_are_merged(tmp_path):
    folder = tmp_path / "seen"
    seen, sizes = SeenSet(folder=folder), []
    for begin in range(0, 20_000, 100):
        seen.update(range(begin, begin + 100))
        rest, files = seen.dump()
        sizes.append(len(rest))
    assert max(sizes) < 8 * 200
    assert all(file.keys <= 512 for file in files)
    named = {f"{file.number:08d}.keys" for file in files}
    assert named <= {path.name for path in folder.iterdir()}
    assert len(list(folder.iterdir())) < len(named) + 12
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    seen.dump()
    assert all(before[path] == path.stat().st_mtime_ns for path in folder.iterdir())


def test_damage_is_noticed_and_a_frontier_resumes_with_its_files(tmp_path):
    spill, plain = tmp_path / "spill", FrontierSettings()
    frontier = Frontier(plain, spill)
    requests = [FetchRequest(parse_address(f"http://h{number % 9}.test/{number}")) for number in range(500)]
    for begin in range(0, 500, 20):
        assert frontier.add(requests[begin : begin + 20]) == 20
    data = frontier.dump()
    frontier.close()
    again = Frontier.load(data, plain, spill)
    assert (again.add(requests), again.statistics().seen) == (0, 500)
    again.close()
    path = next((tmp_path / "seen").iterdir())
    whole = path.read_bytes()
    for damaged in (whole[:-8], whole[:40] + b"\x55" + whole[41:], b""):
        path.write_bytes(damaged)
        with pytest.raises(CorruptFile):
            Frontier.load(data, plain, spill)
    Path.unlink(path)
    with pytest.raises(CorruptFile):
        Frontier.load(data, plain, spill)
