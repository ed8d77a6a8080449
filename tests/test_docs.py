"""The documents say what is so: every setting, command and option, every link, every command in the README."""

import ast
import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import typer

import periplus
from periplus.cli import app
from periplus.settings import table

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


FOLDERS = ("src", "tests", "scripts", "bench", "training")


def _writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_docs", ROOT / "scripts" / "write_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_settings_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert page == _writer().settings_page(), "run `make docs`"
    assert [row.name for row in table() if f"`{row.name}`" not in page] == []


def test_the_tree_is_up_to_date() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert page == _writer().with_tree(page), "run `make docs`"


def test_the_table_of_checksums_is_up_to_date() -> None:
    page = (ROOT / "docs" / "formats" / "checksums.md").read_text("utf-8")
    assert page == _writer().with_kinds(page), "run `make docs`"


def test_commands_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert page == _writer().commands_page(), "run `make docs`"
    for path, command in commands().items():
        assert f"## periplus {path}\n" in page
        for parameter in command.params:
            assert all(name.lower() in page.lower() for name in parameter.opts), f"{path} {parameter.opts}"


def commands() -> dict[str, object]:
    """Every command by its words: 'crawl', 'index build', ..."""
    found = {}

    def walk(prefix: str, command: object) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            found[prefix.strip()] = command
        else:
            for name, below in inner.items():
                if not below.hidden:
                    walk(f"{prefix} {name}", below)

    walk("", typer.main.get_command(app))
    return found


def test_the_commands_that_were_promised_are_there() -> None:
    promised = [
        "demo",
        "web",
        "up",
        "crawl",
        "import",
        "search",
        "serve",
        "doctor",
        "evaluate ranking",
        "evaluate sites",
    ]
    assert {*promised, "index build", "index stats", "index check"} <= set(commands())


@pytest.mark.parametrize("path", sorted(commands()))
def test_every_command_and_option_has_help(path: str) -> None:
    command = commands()[path]
    assert command.help  # type: ignore[attr-defined]
    assert [p.name for p in command.params if not p.help] == []  # type: ignore[attr-defined]


# --- links ---

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)


def dead_links(document: Path) -> list[str]:
    """Give the relative links of a document that lead nowhere, with the part after # where that is what is missing."""
    dead = []
    for target in LINK.findall(FENCE.sub("", document.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, part = target.partition("#")
        there = document.parent / path if path else document
        if not there.exists() or (part and there.suffix == ".md" and part not in anchors(there)):
            dead.append(target)
    return dead


def anchors(document: Path) -> set[str]:
    """Give the anchors of a document's headings, as code hosts make them."""
    heads = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(document: Path) -> None:
    assert dead_links(document) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# Some Head\n")
    page = tmp_path / "a.md"
    page.write_text("[x](none.md) [y](b.md) [z](b.md#some-head) [w](b.md#other) [v](https://a.example/)\n")
    assert dead_links(page) == ["none.md", "b.md#other"]


# --- files that documents name in code style ---


def missing_files(text: str) -> list[str]:
    """Give the project paths named in `code style` that are not there."""
    named = re.findall(r"`((?:src|tests|docs|scripts|bench|training)/[\w./-]+)`", text)
    return [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_files_exist(document: Path) -> None:
    assert missing_files(document.read_text("utf-8")) == []


def test_a_missing_file_is_found() -> None:
    assert missing_files("see `src/periplus/nowhere.py` and `src/periplus/url`") == ["src/periplus/nowhere.py"]


# --- commands that documents tell people to type ---


def wrong_commands(text: str) -> list[str]:
    """Give the `make` targets and `periplus` commands in a text that do not exist."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    known = set(commands())
    wrong = [f"make {word}" for word in re.findall(r"(?:^ {4}|`)make ([a-z-]+)", text, re.M) if word not in targets]
    for first, second in re.findall(r"(?:^ {4}|`)(?:\.venv/bin/)?periplus ([a-z]+)(?: ([a-z]+))?", text, re.M):
        if (
            first not in known
            and f"{first} {second}" not in known
            and not any(k.startswith(f"{first} ") and not second for k in known)
        ):
            wrong.append(f"periplus {first} {second}".strip())
    return wrong


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_documents_exist(document: Path) -> None:
    assert wrong_commands(document.read_text("utf-8")) == []


def test_a_wrong_command_is_found() -> None:
    text = "    make demo\n    make tea\n    periplus web\n    periplus fly\n`periplus index burn`, `periplus index`"
    assert wrong_commands(text) == ["make tea", "periplus fly", "periplus index burn"]


def test_the_readme_is_one_screen_and_has_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 60
    assert {"make demo", "make test"} <= set(re.findall(r"^ {4}(make \w+)", text, re.M))


def test_the_readme_opens_with_small_pictures_and_the_way_through() -> None:
    text = (ROOT / "README.md").read_text("utf-8").partition("\n## ")[0]
    pictures = re.findall(r"^!\[[^\]]+\]\((docs/pictures/[\w.-]+)\)$", text, re.M)
    assert [Path(name).name for name in pictures] == ["results.png", "crawl.png", "way-through.svg"]
    assert {name: size for name in pictures if (size := (ROOT / name).stat().st_size) >= 150_000} == {}


# --- the changelog and the version ---


def test_the_changelog_has_the_version() -> None:
    assert re.search(rf"^## .*\b{re.escape(periplus.__version__)}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert f'version = "{periplus.__version__}"' in (ROOT / "pyproject.toml").read_text("utf-8")


# --- the newcomer's walk ---

HOP = re.compile(r"^\d+\. `([\w.]+):([\w.]+)` ", re.M)


def walks(text: str) -> list[list[tuple[str, str]]]:
    """The hops of each walk: its module below the package, and a function, class or method of it."""
    return [HOP.findall(section) for section in re.split(r"^## ", text, flags=re.M)[1:]]


def unknown_hops(hops: list[tuple[str, str]]) -> list[str]:
    """List the hops that name no function, class or method of the module."""
    missing = []
    for module, name in hops:
        path = ROOT / "src" / "periplus" / (module.replace(".", "/") + ".py")
        if not path.exists() or name not in defined(path):
            missing.append(f"{module}:{name}")
    return missing


def returning_hops(hops: list[tuple[str, str]], arrow: str = "frontier") -> list[str]:
    """List the hops that return to a package left before, those to the frontier aside."""
    returning, left, current = [], set[str](), ""
    for module, name in hops:
        package = module.split(".")[0]
        if package != current:
            if package in left and package != arrow:
                returning.append(f"{module}:{name}")
            left.add(current)
            current = package
    return returning


def defined(path: Path) -> set[str]:
    """The functions and classes of a file, methods as 'Class.method'."""
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            functions = (inner for inner in node.body if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef))
            names.update(f"{node.name}.{inner.name}" for inner in functions)
    return names


def test_the_walks_name_functions_that_exist_and_never_return() -> None:
    url, query = walks((ROOT / "docs" / "journey-of-a-page.md").read_text("utf-8"))
    assert len(url) >= 40
    assert len(query) >= 15
    assert unknown_hops(url + query) == []
    assert returning_hops(url) == []
    assert returning_hops(query, arrow="") == []
    expected = "cli app crawl url frontier robots fetch parse store graph text index search serve"
    assert set(expected.split()) <= {module.split(".")[0] for module, _ in url}


def test_a_wrong_hop_is_found() -> None:
    hops = [("files", "write_atomically"), ("files", "write_hastily"), ("url.nowhere", "f"), ("files", "disk_errors")]
    assert unknown_hops(hops) == ["files:write_hastily", "url.nowhere:f"]
    assert returning_hops(hops) == ["files:disk_errors"]
    assert returning_hops([("frontier.a", "f"), ("url.b", "g"), ("frontier.a", "h")]) == []


# --- the glossary ---


def unknown_modules(text: str) -> list[str]:
    """Return the `periplus.x.y` names in a text that are neither modules nor defined in one."""
    return [name for name in re.findall(r"`(periplus(?:\.(?!toml|json)\w+)+)`", text) if not _is_defined(name)]


def _is_defined(name: str) -> bool:
    path = ROOT / "src" / name.replace(".", "/")
    if path.with_suffix(".py").exists() or (path / "__init__.py").exists():
        return True
    parent = path.parent.with_suffix(".py")
    if parent.exists():
        return path.name in defined(parent)
    door = path.parent / "__init__.py"
    return door.exists() and re.search(rf'"{path.name}"', door.read_text("utf-8")) is not None


def missing_modules(text: str) -> list[str]:
    """Return the Python files named in `code style`, by path or by name alone, that are not in the project."""
    named = sorted(set(re.findall(r"`((?:[\w.-]+/)*[\w-]+\.py)`", text)))
    return [name for name in named if not any(path.endswith(f"/{name}") for path in PYTHON_FILES)]


PYTHON_FILES = [f"/{path.relative_to(ROOT)}" for part in FOLDERS for path in (ROOT / part).rglob("*.py")]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_modules_exist(document: Path) -> None:
    text = document.read_text("utf-8")
    assert missing_modules(text) == []
    assert unknown_modules(text) == []


def test_a_missing_module_is_found() -> None:
    assert missing_modules("`files.py`, `store/page_hoard.py`, `bench/record.py`") == ["store/page_hoard.py"]


def test_the_glossary_names_modules_that_exist() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    assert unknown_modules(text) == []
    rows = re.findall(r"^\| ([^|`]+) \| [^|]+ \| `periplus[.\w]*` \|$", text, re.M)
    assert len(rows) >= 70
    for section in text.split("\n## ")[1:]:
        terms = re.findall(r"^\| ([^|`]+) \| [^|]+ \| `", section, re.M)
        assert terms == sorted(terms, key=str.lower), section.splitlines()[0]


def test_an_unknown_module_is_found() -> None:
    text = "`periplus.nowhere`, `periplus.files`, `periplus.files.write_atomically`, `periplus.files.write_hastily`"
    assert unknown_modules(text) == ["periplus.nowhere", "periplus.files.write_hastily"]


# --- nothing of one machine ---

FOREIGN = re.compile(r"(?<![\w.~])/(?:root|work|opt)/[\w.]|https?://[\w.-]*/simple\b|--(?:extra-)?index-url|find-links")
"""Folders of one machine, and addresses or options of package registries."""


def foreign_lines(name: str, text: str) -> list[str]:
    """Give the lines with a path of one machine or the name of a registry."""
    return [f"{name}:{n}: {line.strip()}" for n, line in enumerate(text.splitlines(), 1) if FOREIGN.search(line)]


def test_nothing_committed_is_of_one_machine() -> None:
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git clone")
    found = []
    for name in listed.split("\0"):
        path = ROOT / name
        if not name or not path.is_file() or name == "tests/test_docs.py":
            continue
        data = path.read_bytes()
        if b"\0" not in data:
            found += foreign_lines(name, data.decode("utf-8", "replace"))
    assert found == []


def test_a_line_of_one_machine_is_found() -> None:
    text = "fine\nsee /opt/x\npip install --index-url x\n/opt/y\nhttps://registry.example/simple\n/workshop\n"
    assert [line.split(":")[1] for line in foreign_lines("a", text)] == ["2", "3", "4", "5"]
