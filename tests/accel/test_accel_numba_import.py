"""Numba is imported without packages that kernels do not need, and these can be imported afterwards."""

import importlib
import subprocess
import sys
import threading

import pytest

from periplus.accel.numba_import import _hidden

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


def test_other_threads_import_them_meanwhile() -> None:
    loaded: list[str] = []
    modules = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "yaml"}
    try:
        with _hidden(frozenset({"yaml"})):
            with pytest.raises(ModuleNotFoundError):
                importlib.import_module("yaml")
            thread = threading.Thread(target=lambda: loaded.append(importlib.import_module("yaml").__name__))
            thread.start()
            thread.join()
    finally:
        sys.modules.update(modules)
    assert loaded == ["yaml"]
