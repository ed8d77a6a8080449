"""Kernels that a package was built with are taken over where they fit, and only there."""

import json
import pickle
import shutil
from pathlib import Path

import numba
import pytest

from periplus.accel import cache_folder, precompiled
from periplus.publish import kernels

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT")
GENERIC = ("some-system", "generic", "+sse2")
NAME = "publish"


def _index(path: Path) -> tuple[object, dict[tuple[object, ...], str]]:
    with path.open("rb") as source:
        pickle.load(source)
        stamp, entries = pickle.load(source)
    return stamp, entries


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder of compiled kernels as a wheel has it, compiled for a processor that has little."""
    kernels.warm()
    folder = precompiled._source_folders(Path(kernels.__file__).parents[1])[NAME]
    shutil.copytree(
        cache_folder() / folder, tmp_path / "cache" / folder, ignore=shutil.ignore_patterns("*.tmp.*", "*.lock")
    )
    (tmp_path / "cache" / folder / "index.lock").touch()
    assert precompiled.collect(tmp_path / "cache", tmp_path / "built") >= 1
    for path in (tmp_path / "built" / NAME).glob("*.nbi"):
        path.write_bytes(precompiled._name_processor(path.read_bytes(), GENERIC))
    _change(tmp_path / "built", processor="generic", features="+sse2,-avx512f")
    return tmp_path / "built"


def _change(folder: Path, **values: str) -> None:
    path = folder / precompiled.TARGET_FILE
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


def test_what_fits_is_what_would_have_been_compiled(built: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    assert precompiled.take_over(new, built) == ""
    (folder,) = new.iterdir()
    original = cache_folder() / folder.name
    indexes = sorted(path.name for path in folder.glob("*.nbi"))
    assert indexes == sorted(path.name for path in original.glob("*.nbi"))
    for name in indexes:
        assert _index(folder / name) == _index(original / name)
        assert all((folder / code).read_bytes() for code in _index(folder / name)[1].values())
    assert not list(folder.glob("*.lock"))
    assert precompiled.take_over(new, built) == "", "a second time, after the first was killed"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"features": "+sse2,+no-such-feature"}, "this processor lacks no-such-feature"),
        ({"numba": "0.1"}, "numba differ: 0.1 there"),
        ({"llvmlite": "0.1"}, "llvmlite differ"),
        ({"python": "cpython-27"}, "python differ"),
        ({"sources": "0"}, "sources differ"),
        ({"system": "m68k"}, "system differ"),
    ],
)
def test_what_does_not_fit_is_left_and_the_reason_is_said(
    built: Path, tmp_path: Path, changed: dict[str, str], reason: str
) -> None:
    _change(built, **changed)
    assert precompiled.take_over(tmp_path / "nowhere", built).startswith(reason)


def test_a_package_without_compiled_kernels_says_so(tmp_path: Path) -> None:
    assert precompiled.take_over(tmp_path, tmp_path) == "the package has no compiled kernels"
    (tmp_path / precompiled.TARGET_FILE).write_text("{", "utf-8")
    assert precompiled.take_over(tmp_path, tmp_path) == "the package has no compiled kernels"


def test_this_processor_can_run_what_is_compiled_for_it() -> None:
    assert precompiled.find_obstacle(precompiled.describe_build()) == ""
