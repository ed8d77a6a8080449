"""Memory that a build freed goes back to the system."""

from pathlib import Path

import numpy as np
import pytest

from periplus.index.builder import memory_trim


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists() or memory_trim._trimmer() is None,
    reason="needs Linux and a C library that trims",
)
def test_what_was_freed_between_what_is_kept_is_given_back() -> None:
    pieces = [np.ones(40_000, np.uint8) for _ in range(4_000)]
    kept = pieces[::40]
    del pieces
    before = resident()
    memory_trim.trim_heap()
    assert before - resident() > 60_000_000
    assert all(int(piece.sum()) == 40_000 for piece in kept)


def test_a_library_that_cannot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_trim, "_trimmer", lambda: None)
    memory_trim.trim_heap()
