"""The fault laboratory of a test session: one shim, built with the machine's compiler, and one process with it."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_shim import build_shim, find_compiler
from laboratory import Laboratory


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library; tests that need it are skipped where it cannot be built or loaded."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the shim of the fault laboratory is for Linux")
    if find_compiler() is None:
        pytest.skip("the fault laboratory needs a C compiler (cc, gcc or clang)")
    return build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def laboratory(shim: Path) -> Iterator[Laboratory]:
    """A process in which operations run, on folders in memory where that is possible.

    What a power failure leaves is computed from the calls that the shim has seen: a real disk would only be waited for.
    """
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, ignore_cleanup_errors=True) as scratch,
        Laboratory(shim, Path(scratch)) as laboratory,
    ):
        yield laboratory
