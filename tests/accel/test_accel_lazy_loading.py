"""Compiled kernels come back without what only compiling needs, and compiling still works afterwards."""

import subprocess
import sys

import numba
import pytest

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT")

LOADING = """
import sys
from periplus.rank.kernels import features
features.warm()
assert features.measure.stats.cache_hits and not features.measure.stats.cache_misses, features.measure.stats
assert "numba.np.arraymath" not in sys.modules, "loading prepared for compiling"
from numba.core import entrypoints
assert not entrypoints._already_initialized, "loading looked for extensions of Numba"
"""

COMPILING = (
    LOADING
    + """
import numpy as np
from numba import njit
from periplus.accel.lazy_loading import LoadedLibrary
from periplus.score.kernels import weighting

weighting.warm()
assert all(isinstance(one.library, LoadedLibrary) for one in weighting.weigh_features.overloads.values())
weigh = weighting.weigh_features

@njit
def calls_a_loaded_kernel(rows, weight, shape):
    return 2 * weigh(rows, weight, shape)

@njit
def sorts(values):
    if values[0] < 0:
        raise ValueError("below")
    return values[np.argsort(values)]

given = np.arange(6.0).reshape(2, 3), np.array([0.5, 1.0, 2.0]), np.array([0, 1, 3], np.int32)
assert (calls_a_loaded_kernel(*given) == 2 * weigh(*given)).all()
assert sorts(np.array([3, 1, 2])).tolist() == [1, 2, 3]
assert entrypoints._already_initialized, "compiling did not look for extensions of Numba"
try:
    sorts(np.array([-1]))
except ValueError as error:
    assert str(error) == "below"
else:
    raise AssertionError("no error came through")
"""
)


def _run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_loading_kernels_does_not_prepare_for_compiling() -> None:
    _run("from periplus.rank.kernels import features\nfeatures.warm()\n")  # compiled now, if need be
    _run(LOADING)


def test_what_was_loaded_can_be_linked_into_what_is_compiled() -> None:
    _run("from periplus.rank.kernels import features\nfeatures.warm()\n")
    _run("from periplus.score.kernels import weighting\nweighting.warm()\n")
    _run(COMPILING)
