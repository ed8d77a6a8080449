"""Every kernel is compiled ahead by `warm_up`, for the very types that production uses."""

import ast
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from periplus.accel import compile_cache, is_compiled, warm_up

PROBE = """
import tempfile, pathlib
from numba.core.dispatcher import Dispatcher
from periplus.index.kernels import inversion, postings_scan
from periplus.query.kernels import match
from periplus.text.kernels import tokenizer
MODULES = (tokenizer, inversion, postings_scan, match)
def signatures():
    return {f"{m.__name__}.{n}": len(v.signatures)
            for m in MODULES for n in m.__all__ for v in [vars(m)[n]]
            if isinstance(v, Dispatcher)}
for module in MODULES:
    module.warm()
before = signatures()
assert before["periplus.query.kernels.match.match_best"] == before["periplus.text.kernels.tokenizer.split"] == 1, before
from periplus.index import build_index, Index
from periplus.records import *
from periplus.search import Searcher
from periplus.settings import SearchSettings, Settings
folder = pathlib.Path(tempfile.mkdtemp())
page = Page("https://a.test/", title="Sea charts", text="A sea chart shows the sea. Straße 東京.")
build_index([FetchRecord(page.url, 5, Outcome.OK, 1.0, 200, page=page)], folder / "index", Settings().index)
settings = Settings(search=SearchSettings(budget_ms=600_000))  # kernels may be compiled within it
found = Searcher.open(folder, settings).search(Query('sea "sea chart" -land site:a.test', explain=True))
assert [hit.url for hit in found.hits] == [page.url], found
assert signatures() == before, (before, signatures())
"""


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled with NUMBA_DISABLE_JIT")
def test_using_the_engine_compiles_nothing_more() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_second_time_there_is_nothing_to_compile() -> None:
    stages: list[tuple[str, int, int]] = []
    warm_up(lambda *stage: stages.append(stage))
    assert is_compiled()
    assert warm_up(lambda *stage: pytest.fail("compiled twice")) is False


def test_a_kernel_is_stale_when_anything_it_imports_has_changed() -> None:
    sources = {
        "a.kernels.far": b"x = 1",
        "a.kernels.near": b"from periplus.a.kernels.far import x",
        "b.kernels": b"import numpy\nfrom periplus.a.kernels import (\n    near as n,\n)\n",
        "c.kernels": b"from periplus.a.kernels import far as a, near as b\n",
        "alone": b"far = near = 1",
    }
    before = {name: compile_cache.fingerprint(name, sources) for name in sources}
    after = {name: compile_cache.fingerprint(name, sources | {"a.kernels.far": b"x = 2"}) for name in sources}
    changed = {name for name in sources if before[name] != after[name]}
    assert changed == {"a.kernels.far", "a.kernels.near", "b.kernels", "c.kernels"}


def test_a_renamed_record_type_gets_a_new_cache_folder() -> None:
    before = compile_cache.fingerprint_types({"a.kernels": b"class Rows(NamedTuple):\n    x: int\n"})
    assert before == compile_cache.fingerprint_types({"a.kernels": b"class Rows(NamedTuple):\n    y: int\n"})
    assert before != compile_cache.fingerprint_types({"a.kernels": b"class Table(NamedTuple):\n    x: int\n"})
    assert compile_cache.FOLDER.name.endswith(compile_cache.fingerprint_types(compile_cache.kernel_sources()))


def test_every_import_of_a_kernel_is_seen() -> None:
    """What Python imports and what the fingerprint counts must be the same, however an import is written."""
    sources = compile_cache.kernel_sources()
    for name, source in sources.items():
        expected = set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("periplus."):
                base = (node.module or "").removeprefix("periplus.")
                expected |= {base, *(f"{base}.{alias.name}" for alias in node.names)} & set(sources)
        assert compile_cache.imported(source) & set(sources) == expected, name


def test_every_kernel_module_is_known_to_the_cache() -> None:
    source = Path(compile_cache.__file__).parents[1]
    with_kernels = {path for path in source.rglob("*.py") if "\n@njit" in path.read_text("utf-8")}
    names = {".".join(path.relative_to(source).with_suffix("").parts) for path in with_kernels}
    assert names <= set(compile_cache.kernel_sources())
