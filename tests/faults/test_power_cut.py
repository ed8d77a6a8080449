"""Power fails at any moment of any operation: what was acknowledged is there, and work goes on."""

import random
from pathlib import Path

import pytest
from laboratory import Laboratory
from operations import OPERATIONS
from power_cut import POLICIES, DiskModel, LogEntry

_CUTS = 2


def _model(tmp_path: Path, entries: list[tuple[str, str, bytes]]) -> DiskModel:
    """A disk with the durable file `old`, and changes; inode and offset are made up from the names."""
    base = tmp_path / "base"
    base.mkdir()
    (base / "old").write_bytes(b"old")
    model = DiskModel(base, {1: "old"})
    inodes = {"old": 1}
    for kind, path, data in entries:
        inode = inodes.setdefault(path, len(inodes) + 1)
        if kind == "R":
            inodes[data.decode()] = inode
        model.apply(LogEntry(kind, False, inode, 0, path, data))
    return model


def _states(model: DiskModel) -> dict[str, dict[str, bytes | None]]:
    return {policy.name: model.cut(policy, random.Random(1)) for policy in POLICIES}


def test_an_atomic_replacement_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    steps = [("C", "new", b""), ("W", "new", b"new"), ("S", "new", b""), ("R", "new", b"old"), ("F", ".", b"")]
    for number in range(len(steps) + 1):
        (tmp_path / str(number)).mkdir()
        states = _states(_model(tmp_path / str(number), steps[:number]))
        assert {state["old"] for state in states.values()} <= {b"old", b"new"}
        if number == len(steps):
            assert all(state == {"old": b"new"} for state in states.values())


def test_a_replacement_without_syncs_loses_everything(tmp_path: Path) -> None:
    states = _states(_model(tmp_path, [("C", "new", b""), ("W", "new", b"new"), ("R", "new", b"old")]))
    assert states["names kept, data lost"] == {"old": b""}
    assert states["lengths kept, data zero"] == {"old": b"\0\0\0"}
    assert states["all unsynced changes lost"] == {"old": b"old"}
    assert states["data kept, names lost"] == {"old": b"old"}
    assert states["nothing lost"] == {"old": b"new"}


def test_a_new_folder_is_lost_with_what_is_in_it_unless_its_parent_is_synced(tmp_path: Path) -> None:
    steps = [("D", "sub", b""), ("C", "sub/a", b""), ("W", "sub/a", b"1"), ("S", "sub/a", b""), ("F", "sub", b"")]
    assert _states(_model(tmp_path, steps))["all unsynced changes lost"] == {"old": b"old"}
    (tmp_path / "2").mkdir()
    states = _states(_model(tmp_path / "2", [*steps, ("F", ".", b"")]))
    assert states["all unsynced changes lost"] == {"old": b"old", "sub": None, "sub/a": b"1"}


def test_a_folder_that_was_removed_and_made_again_has_its_new_content(tmp_path: Path) -> None:
    write = [("C", "sub/a", b""), ("W", "sub/a", b"1"), ("S", "sub/a", b""), ("F", "sub", b"")]
    remove = [("U", "sub/a", b""), ("X", "sub", b"")]
    steps = [("D", "sub", b""), *write, *remove, ("D", "sub", b""), *write, ("F", ".", b"")]
    for state in _states(_model(tmp_path, steps)).values():
        assert state == {"old": b"old", "sub": None, "sub/a": b"1"}


@pytest.mark.slow
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_nothing_acknowledged_is_lost(laboratory: Laboratory, operation: str) -> None:
    result = laboratory.cut_power(operation, _CUTS, seed=1)
    assert result.tried.total() >= _CUTS
    assert result.failures == []
