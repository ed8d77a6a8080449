"""A call to the disk fails: the operation says so or goes on, loses nothing, and succeeds when it is run again."""

from pathlib import Path

import pytest
from fault_shim import FAULT_KINDS
from laboratory import Laboratory
from long_running import TRANSIENT_FAULTS, serve_through_faults
from operations import OPERATIONS

_KINDS_AT_ONCE = 2
"""Kinds of faults that one operation meets here; together, the operations meet them all. The benchmark tries all."""


@pytest.mark.slow
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_a_fault_is_reported_and_loses_nothing(laboratory: Laboratory, operation: str) -> None:
    first = sorted(OPERATIONS).index(operation) * _KINDS_AT_ONCE
    failures = []
    for number in range(first, first + _KINDS_AT_ONCE):
        failures += laboratory.inject(operation, FAULT_KINDS[number % len(FAULT_KINDS)], most=1, seed=1).failures
    assert failures == []


def test_a_server_goes_on_when_there_are_descriptors_again(shim: Path, tmp_path: Path) -> None:
    kinds = tuple(kind for kind in TRANSIENT_FAULTS if kind.name == "no descriptors")
    acknowledged, failures = serve_through_faults(shim, tmp_path, kinds)
    assert failures == []
    assert acknowledged
