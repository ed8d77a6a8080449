"""A short slice of `make fuzz`, the same inputs each time: every parser and reader answers or refuses them."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_runner import InputSource, inputs_of, run_turn
from fuzz_targets import TARGETS, Target, run_target, saved_inputs

SLOW = {"html": 30, "pdf": 5, "office": 30, "epub": 30, "jsonl": 10, "search": 40}
"""Targets that take long, and how many inputs they get; others get 100."""


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_a_slice_of_each_target(target: Target) -> None:
    pool = saved_inputs(target)
    source = inputs_of(target, "slice", pool)
    for data in pool:
        run_target(target, data)
    for _ in range(SLOW.get(target.name, 100)):
        data = source.next()
        source.learn(data, run_target(target, data))


def test_the_same_seed_makes_the_same_inputs() -> None:
    sources = [inputs_of(TARGETS[0], "7", [b"<p>a", b"b"]) for _ in range(2)]
    assert [sources[0].next() for _ in range(50)] == [sources[1].next() for _ in range(50)]


def test_what_leads_to_something_new_is_used_again() -> None:
    source = InputSource(Target("any", len), random.Random(1), [b"a"])
    assert source.learn(b"new", "3")
    assert not source.learn(b"old", "3")
    assert any(b"new"[:2] in source.next() for _ in range(50))


def kill_at_three(data: bytes) -> None:
    if len(data) == 3:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGSEGV)


def raise_at_three(data: bytes) -> None:
    assert len(data) != 3


@pytest.mark.parametrize(
    ("run", "kind"), [(kill_at_three, "signal 11"), (raise_at_three, "exception")], ids=["signal", "exception"]
)
def test_a_fault_is_reported_with_its_input(run, kind) -> None:
    count, fault = run_turn(Target("any", run), "1", [b"ab", b"abcd"], 20.0, 5.0, False)
    assert fault is not None
    assert count > 0
    assert fault.kind == kind
    assert len(fault.data) == 3
