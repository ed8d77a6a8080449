"""Write docs/settings.md, docs/commands.md and the tree in ARCHITECTURE.md from the code. Run by `make docs`."""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from periplus.cli import app
from periplus.settings import Setting, Settings, table

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TREE = re.compile(r"(?<=<!-- tree: written by `make docs` -->\n)(.*?)(?=<!-- end of tree -->)", re.S)

SETTINGS_HEAD = """\
# Settings

Every setting has a name, `room.name`. Later places win over earlier ones:

1. `periplus.toml` in the current folder, or the file given with `--config`: `[fetch]` and below it `timeout = 10`.
2. The environment: `PERIPLUS_FETCH_TIMEOUT=10`.
3. `--set fetch.timeout=10`, as often as needed.
4. Options of a command that stand for a setting, such as `--pages`.

Lists are written with commas (`--set fetch.allow=127.0.0.0/8,10.0.0.0/8`), in the file as a list. An unknown name or a
value out of range is an error that says where it stands. Only variables that do not begin with `PERIPLUS_` and a room's
name, such as `PERIPLUS_HOME`, are left alone: they may be somebody else's. This page is made by `make docs`.
"""

COMMANDS_HEAD = """\
# Commands

`periplus COMMAND --help` says the same. Exit codes: 0 done, 1 could not (one line says why), 2 not understood,
130 interrupted. This page is made by `make docs`.

The options `--folder`, `--config`, `--set` and `--debug` mean the same wherever they stand.
"""


def settings_page() -> str:
    """Write the table of settings, a section for each room."""
    rooms: dict[str, list[Setting]] = {}
    for row in table():
        rooms.setdefault(row.name.rpartition(".")[0], []).append(row)
    parts = [SETTINGS_HEAD]
    for room, rows in rooms.items():
        kind = type(getattr(Settings(), room)) if room else Settings
        lines = [f"| `{row.name}` | {row.type} | {_default(row.default)} | {row.help} |" for row in rows]
        head = f"## {room or 'In general'}\n\n{(kind.__doc__ or '').strip()}\n"
        parts.append("\n".join([head, "| name | type | default | what it does |", "|---|---|---|---|", *lines, ""]))
    return "\n".join(parts)


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        value = ",".join(value)
    if isinstance(value, bool):
        value = str(value).lower()
    return f"`{value}`" if value != "" else "none"


def with_tree(page: str) -> str:
    """Return ARCHITECTURE.md with the tree of `src/periplus` as it is, two levels deep."""
    source = ROOT / "src" / "periplus"
    lines = [_tree_line("", source)]
    lines += [_tree_line(f"{folder.name}/", folder) for folder in sorted(source.iterdir()) if _is_package(folder)]
    return TREE.sub(lambda match: "\n" + "\n".join(lines) + "\n\n", page)


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").exists()


def _tree_line(name: str, folder: Path) -> str:
    inside = [f"{path.name}/" for path in sorted(folder.iterdir()) if name and _is_package(path)]
    inside += [path.stem for path in sorted(folder.glob("*.py")) if not path.stem.startswith("__")]
    head = f"    {name:<12}"
    return textwrap.fill(" ".join(inside), 118, initial_indent=head, subsequent_indent=" " * len(head))


def commands_page() -> str:
    """Write every command with its arguments and options."""
    return "\n".join([COMMANDS_HEAD, *_commands("periplus", typer.main.get_command(app))])


def _commands(path: str, command: Any) -> Iterator[str]:
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _commands(f"{path} {name}", inner)
        return
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join([path, "[OPTIONS]", *(_argument(p) for p in arguments)])
    yield f"## {path}\n\n{(command.help or '').strip()}\n\n    {usage}\n"
    lines = [f"| `{_argument(p)}` | {_cell(p.help)} |" for p in arguments]
    lines += [f"| `{', '.join(p.opts + p.secondary_opts)}` | {_cell(p.help)}{_shown(p)} |" for p in options]
    yield "\n".join(["| option | what it does |", "|---|---|", *lines, ""])


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name).upper() + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _shown(parameter: Any) -> str:
    default = parameter.default
    if (
        default is None
        or callable(default)
        or default is False
        or default in ((), [], "")
        or "default:" in (parameter.help or "")
    ):
        return ""
    return f" [default: {str(default).lower() if isinstance(default, bool) else default}]"


def main() -> int:
    """Write the pages and the tree."""
    for name, text in (("settings.md", settings_page()), ("commands.md", commands_page())):
        (DOCS / name).write_text(text, "utf-8")
    architecture = ROOT / "ARCHITECTURE.md"
    architecture.write_text(with_tree(architecture.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
