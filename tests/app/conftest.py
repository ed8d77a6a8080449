"""What tests of `periplus check` and `periplus repair` share: a whole data folder, and the program that damages it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def damage() -> ModuleType:
    """Return the program that damages files."""
    spec = importlib.util.spec_from_file_location("file_damage", ROOT / "bench" / "file_damage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["file_damage"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def searched(damage: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with pages, graph, index and a deletion."""
    folder = tmp_path_factory.mktemp("searched") / "whole"
    folder.mkdir()
    damage.write_searched_folder(folder)
    return folder
