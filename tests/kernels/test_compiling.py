"""Every kernel is compiled ahead by `ready`, for the very types that production uses."""

import ast
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from periplus import kernels
from periplus.accel import compile_cache

PROBE = """
import tempfile, pathlib
from numba.core.dispatcher import Dispatcher
from periplus import kernels
from periplus.kernels import words, invert, lists, match
def signatures():
    return {f"{m.__name__}.{n}": len(v.signatures)
            for m in (words, invert, lists, match) for n in m.__all__ for v in [vars(m)[n]]
            if isinstance(v, Dispatcher)}
for module in (words, invert, lists, match):
    module.warm()
before = signatures()
assert before["periplus.query.kernels.match.match_best"] == before["periplus.text.kernels.tokenizer.split"] == 1, before
from periplus.index import build_index, Index
from periplus.records import *
from periplus.search import Searcher
from periplus.settings import Settings
folder = pathlib.Path(tempfile.mkdtemp())
page = Page("https://a.test/", title="Sea charts", text="A sea chart shows the sea. Straße 東京.")
build_index([Visit(page.url, 5, Outcome.OK, 1.0, 200, page=page)], folder / "index", Settings().index)
found = Searcher.open(folder, Settings()).search(Query('sea "sea chart" -land site:a.test', explain=True))
assert [hit.url for hit in found.hits] == [page.url], found
assert signatures() == before, (before, signatures())
"""


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT")
def test_using_the_engine_compiles_nothing_more() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_second_time_there_is_nothing_to_compile() -> None:
    stages: list[tuple[str, int, int]] = []
    kernels.ready(lambda *stage: stages.append(stage))
    assert kernels.compiled()
    assert kernels.ready(lambda *stage: pytest.fail("compiled twice")) is False


def test_a_kernel_is_stale_when_anything_it_imports_has_changed() -> None:
    sources = {
        "far": b"x = 1",
        "near": b"from periplus.kernels.far import x",
        "top": b"import numpy\nfrom periplus.kernels import (\n    near as n,\n)\n",
        "other": b"from periplus.kernels import far as a, near as b\n",
        "alone": b"far = near = 1",
    }
    before = {name: compile_cache.stamp(name, sources) for name in sources}
    after = {name: compile_cache.stamp(name, sources | {"far": b"x = 2"}) for name in sources}
    assert {name for name in sources if before[name] != after[name]} == {"far", "near", "top", "other"}


def test_every_import_of_a_kernel_is_seen() -> None:
    """What Python imports and what the stamp counts must be the same, however an import is written."""
    for path in Path(kernels.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_bytes())
        meant = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "periplus.kernels":
                meant |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("periplus.kernels."):
                meant.add((node.module or "").split(".")[2])
        assert compile_cache.imported(path.read_bytes()) == meant, path.name
