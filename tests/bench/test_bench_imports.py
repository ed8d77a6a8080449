"""The benchmarks, most of which no test runs, still find what they import from the package."""

import ast
import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


def _missing_names(source: str) -> list[str]:
    """Return the imports of the package in a source that would fail."""
    missing = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("periplus"):
            continue
        module = importlib.import_module(node.module or "")
        missing += [f"{node.module}.{name.name}" for name in node.names if not _has(module, name.name)]
    return missing


def _has(module: object, name: str) -> bool:
    if hasattr(module, name):
        return True
    try:
        importlib.import_module(f"{getattr(module, '__name__', '')}.{name}")
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.stem)
def test_imports_of_a_benchmark_exist(path: Path) -> None:
    assert _missing_names(path.read_text(encoding="utf-8")) == []


def test_a_missing_name_is_noticed() -> None:
    assert _missing_names("from periplus.store import PageStore, NoSuchName") == ["periplus.store.NoSuchName"]
