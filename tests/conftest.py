"""What all tests share: where the project is, and the shared data beside it."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from patience import be_patient
from periplus import health

be_patient()

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The shared data folder beside the project; a test that needs it is skipped where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared/data beside the project")
    return folder


# Machines differ in speed and the first call may compile a kernel: no test here is about time. Input is the same each
# time: what chance finds is not the fault of whoever runs the tests. It has a profile of its own (CONTRIBUTING.md).
settings.register_profile("plain", deadline=None, derandomize=True)
settings.register_profile("chance", deadline=None)
settings.register_profile("few", deadline=None, derandomize=True, max_examples=5, suppress_health_check=HealthCheck)
settings.load_profile("plain")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the modules that have slow tests, so that no worker is left alone with one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Leave thousands of tests and all modules out of every garbage collection from here on."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _quick_disk() -> Iterator[None]:
    """Do not wait for the disk: power is cut in tests/faults, in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(os, "fdatasync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """Let child processes be interrupted, also when the tests run in the background, where SIGINT is ignored."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _all_well() -> Iterator[None]:
    """Forget after each test what failed in it: the health of a process outlives what failed."""
    yield
    health._PARTS.clear()
