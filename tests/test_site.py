"""The documentation as a site: links between the root and docs/, navigation, and a build without warnings."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"script_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = script("site_pages")


@pytest.mark.parametrize(
    ("target", "folder", "at_root", "expected"),
    [
        ("docs/api.md", ".", True, "api.md"),
        ("CONTRIBUTING.md", ".", True, "contributing.md"),
        ("LICENSE", ".", True, "license.txt"),
        ("docs/pictures/results.png", ".", True, "pictures/results.png"),
        ("https://example.org/docs/", ".", True, "https://example.org/docs/"),
        ("../ARCHITECTURE.md", ".", False, "architecture.md"),
        ("../../README.md", "decisions", False, "../index.md"),
        ("../ranking.md", "decisions", False, "../ranking.md"),
        ("formats/segment.md", ".", False, "formats/segment.md"),
    ],
)
def test_links_become_those_of_the_site(target: str, folder: str, at_root: bool, expected: str) -> None:
    assert PAGES.site_path(target, Path(folder), at_root) == expected


def test_decisions_and_formats_are_listed_by_themselves() -> None:
    listed = PAGES._filled({"Decisions": "decisions/"})["Decisions"]
    pages = {path for entry in listed for path in entry.values()}
    there = {f"decisions/{path.name}" for path in (ROOT / "docs" / "decisions").glob("*.md")}
    assert there - pages == {"decisions/000-template.md"}
    other: dict[str, Any] = {"Use": [{"Queries": "query-language.md"}]}
    assert PAGES._filled(other) == other


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")]
    done = subprocess.run(
        command, cwd=ROOT, env={"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    pages = [path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html")]
    assert len(pages) > 40
    assert [page for page in pages if "fonts.googleapis" in page or "cdn." in page or "unpkg" in page] == []
