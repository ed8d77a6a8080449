"""Numba is imported without packages that kernels do not need, and these can be imported afterwards."""

import subprocess
import sys

PROGRAM = """
import sys
optional = {"coverage", "scipy", "yaml"}
before = optional & set(sys.modules)
import periplus.accel
import numba
assert optional & set(sys.modules) == before, sorted(optional & set(sys.modules))
import yaml
assert yaml.safe_load("a: 1") == {"a": 1}
"""


def _run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_packages_that_kernels_do_not_need_are_not_loaded() -> None:
    _run(PROGRAM)


def test_a_package_that_was_loaded_before_stays() -> None:
    _run("import yaml\n" + PROGRAM + "assert sys.modules['yaml'] is yaml")
