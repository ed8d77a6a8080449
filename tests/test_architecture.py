"""The floor plan of ARCHITECTURE.md holds, and the checkers that say so can fail."""

import importlib.metadata
import re
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import plan

ROOT = Path(__file__).resolve().parents[1]
PLAN = plan.read_plan((ROOT / "ARCHITECTURE.md").read_text("utf-8"))
MODULES = plan.read_tree(ROOT / "src")


def test_the_table_is_read() -> None:
    assert PLAN.rooms["crawl"].may_import >= {"errors", "arrays", "url", "store"}
    assert "index" not in PLAN.rooms["crawl"].may_import
    assert PLAN.rooms["kernels"].may_import == frozenset()
    assert PLAN.rooms["cli"].may_import == set(PLAN.rooms) - {"cli"}
    assert PLAN.rooms["url"].owns == {"ada_url", "publicsuffixlist"}
    assert PLAN.free == {"numpy", "msgspec"}


def test_every_room_is_in_the_table_and_in_the_tree() -> None:
    assert plan.check_rooms(MODULES, PLAN) == []


def test_rooms_import_only_what_they_may() -> None:
    assert plan.check_imports(MODULES, PLAN) == []


def test_rooms_are_entered_by_their_door() -> None:
    assert plan.check_doors(MODULES) == []


def test_doors_say_what_they_offer() -> None:
    assert plan.check_offers(MODULES) == []


def test_there_are_no_circles() -> None:
    assert plan.check_circles(MODULES) == []
    assert plan.find_circle({room.name: set(room.may_import) for room in PLAN.rooms.values()}) == []


def test_a_dependency_has_one_owner() -> None:
    assert plan.check_owners(MODULES, PLAN) == []
    assert plan.check_double_owners(PLAN) == []


def test_every_default_dependency_has_an_owner_and_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[<>=]", line)[0].lower() for line in project["dependencies"]}
    provides: dict[str, set[str]] = {}
    for package, names in importlib.metadata.packages_distributions().items():
        for name in names:
            provides.setdefault(name.lower(), set()).add(package)
    owned = PLAN.free | {package for room in PLAN.rooms.values() for package in room.owns}
    used = {entry.module.split(".")[0] for module in MODULES for entry in module.imports()}
    assert [name for name in wanted if not provides.get(name, set()) & owned] == []
    assert [name for name in wanted if not provides.get(name, set()) & used] == []


def test_only_settings_and_cli_read_the_environment() -> None:
    assert plan.check_environment(MODULES) == []


def test_modules_are_short() -> None:
    assert plan.check_length(MODULES) == []


def test_everything_public_has_a_docstring() -> None:
    assert plan.check_docstrings(MODULES) == []


def test_names_say_something() -> None:
    assert plan.check_names(MODULES) == []


def test_kernels_are_cached_and_release_the_lock() -> None:
    assert plan.check_kernels(MODULES) == []
    assert any("njit" in module.text for module in MODULES if module.room == "kernels")


def test_only_cli_prints() -> None:
    assert plan.check_prints(MODULES) == []


def test_nothing_is_marked_as_unfinished() -> None:
    kinds = ("src/**/*.py", "tests/**/*.py", "scripts/*", "docs/**/*.md", "*.md")
    assert plan.check_finished(path for kind in kinds for path in ROOT.glob(kind) if path.is_file()) == []


# --- the checkers can fail ---

SMALL_PLAN = plan.read_plan(
    textwrap.dedent(
        """
        Free for all rooms: `numpy`. The rest is owned.

        | room | question | may import | owns |
        |---|---|---|---|
        | `errors` | * what | - | - |
        | `low` | a | G | `curl` |
        | `high` | b | G low | - |
        | `cli` | c | everything above | `rich` |
        """
    )
)


def tree(folder: Path, **files: str) -> list[plan.Module]:
    """Write a small package; 'low__door' is low/__init__.py, 'low__inner' is low/inner.py."""
    for name, text in {"errors": '"""E."""\n__all__ = ["Bad"]\nclass Bad(Exception):\n    """B."""\n', **files}.items():
        path = (
            folder
            / "periplus"
            / (name.replace("__door", "/__init__").replace("__", "/", 1).replace("//", "/__") + ".py")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return plan.read_tree(folder)


LOW = '"""L."""\nfrom periplus.low.inner import work\n__all__ = ["work"]\n'
INNER = '"""I."""\nimport curl\nfrom periplus.errors import Bad\ndef work():\n    """W."""\n    raise Bad\n'
HIGH = '"""H."""\nfrom periplus.low import work\n__all__ = ["work"]\n'
CLI = '"""C."""\n__all__ = ["main"]\nimport rich, os\ndef main():\n    """M."""\n    print(os.environ)\n'

ALL: list[Callable[[list[plan.Module]], list[str]]] = [
    lambda modules: plan.check_rooms(modules, SMALL_PLAN),
    lambda modules: plan.check_imports(modules, SMALL_PLAN),
    plan.check_doors,
    plan.check_offers,
    plan.check_circles,
    lambda modules: plan.check_owners(modules, SMALL_PLAN),
    plan.check_environment,
    plan.check_length,
    plan.check_docstrings,
    plan.check_names,
    plan.check_kernels,
    plan.check_prints,
]


def complaints(modules: list[plan.Module]) -> list[str]:
    return [line for check in ALL for line in check(modules)]


def good() -> dict[str, str]:
    return {"low__door": LOW, "low__inner": INNER, "high__door": HIGH, "cli__door": CLI}


def test_a_good_tree_has_no_complaints(tmp_path: Path) -> None:
    assert complaints(tree(tmp_path, **good())) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("low__inner", INNER + "def late():\n    '''L.'''\n    import periplus.high\n", "low may not import high"),
        ("low__inner", INNER + "from periplus import high\n", "low may not import high"),
        ("low__inner", INNER + "from ..high import work as other\n", "low may not import high"),
        ("high__door", HIGH + "from periplus.low.inner import work as w\n", "not its door"),
        ("high__door", HIGH + "import periplus.low.inner\n", "not its door"),
        ("high__door", HIGH + "from periplus.low import secret\n", "does not offer 'secret'"),
        (
            "high__door",
            HIGH + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import curl\n",
            "curl belongs to low",
        ),
        ("high__door", HIGH + "import pandas\n", "pandas belongs to nobody"),
        ("low__door", '"""L."""\nfrom periplus.low.inner import work\n', "has no __all__"),
        ("low__door", LOW.replace('"work"]', '"work", "play"]'), "__all__ names 'play'"),
        ("low__inner", INNER + "import periplus.low.other\n", ""),
        ("low__inner", INNER + "import os\nos.environ['A']\n", "reads environ"),
        ("low__inner", INNER + "from os import getenv\n", "reads getenv"),
        ("low__inner", INNER + "from pathlib import Path\nPath.home()\n", "reads home"),
        ("low__inner", INNER + "from pathlib import Path\nPath('~').expanduser()\n", "calls expanduser"),
        ("low__inner", INNER + "#\n" * 400, "lines, more than 400"),
        ("low__inner", INNER.replace('"""I."""\n', ""), "no docstring"),
        ("low__inner", INNER + "class Thing:\n    pass\n", "Thing has no docstring"),
        ("low__helpers", '"""H."""\n', "says nothing by its name"),
        ("low__inner", INNER + "@njit(cache=True, nogil=True)\ndef _f():\n    pass\n", "compiled outside kernels"),
        ("low__inner", INNER + "print(1)\n", "prints"),
        ("attic__door", '"""A."""\n__all__ = []\n', "attic: not in ARCHITECTURE.md"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    found = complaints(tree(tmp_path, **(good() | {name: text})))
    assert any(complaint in line for line in found) if complaint else found == []


def test_a_room_that_is_gone_is_missed(tmp_path: Path) -> None:
    rooms = good()
    del rooms["high__door"]
    assert "high: in ARCHITECTURE.md, but not in the tree" in complaints(tree(tmp_path, **rooms))


def test_a_circle_between_modules_is_found(tmp_path: Path) -> None:
    modules = tree(
        tmp_path,
        **good()
        | {"low__inner": INNER + "import periplus.low.other\n", "low__other": '"""O."""\nimport periplus.low.inner\n'},
    )
    assert plan.check_circles(modules) == ["periplus.low.inner -> periplus.low.other -> periplus.low.inner"]


def test_a_circle_between_rooms_is_found(tmp_path: Path) -> None:
    rooms = good() | {"low__inner": INNER + "def late():\n    '''L.'''\n    import periplus.high\n"}
    assert any("high -> low -> high" in line for line in plan.check_circles(tree(tmp_path, **rooms)))


@pytest.mark.parametrize(
    ("decorator", "lacking"),
    [("@njit", 2), ("@njit(cache=True)", 1), ("@numba.njit(nogil=True)", 1), ("@njit(cache=True, nogil=True)", 0)],
)
def test_an_uncached_kernel_is_found(tmp_path: Path, decorator: str, lacking: int) -> None:
    modules = tree(tmp_path, kernels__words=f'"""W."""\n{decorator}\ndef _f():\n    pass\n')
    assert len(plan.check_kernels(modules)) == lacking


def test_two_owners_are_found() -> None:
    rooms = {name: plan.Room(name, frozenset(), frozenset(["curl"])) for name in ("low", "high")}
    assert plan.check_double_owners(plan.Plan(rooms, frozenset())) == ["curl: owned by low and high"]


def test_an_unfinished_line_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n# TO" + "DO: more\n")
    assert plan.check_finished([tmp_path / "a.py"]) == ["a.py:2: # TO" + "DO: more"]
