"""Options that many commands share: the settings, which one function loads and hands to the command."""

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from periplus.cli.remedies import with_remedy
from periplus.errors import CorruptFile, SettingsError
from periplus.settings import Setting, Settings, load, table

__all__ = ["AsJson", "Command", "with_settings"]

Command = Callable[..., None]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs, nothing else.")]

_FILE: Final = Path("periplus.toml")
_TYPES: Final[dict[str, type]] = {"int": int, "float": float, "str": str, "bool": bool}

_ALWAYS: Final[dict[str, Any]] = {
    "folder": Annotated[
        str | None, typer.Option("--folder", help="Data folder.  [default: periplus-data]", metavar="FOLDER")
    ],
    "config": Annotated[
        Path | None,
        typer.Option("--config", help="Settings file.  [default: periplus.toml, if there is one]", metavar="FILE"),
    ],
    "flags": Annotated[
        list[str] | None,
        typer.Option("--set", help="Set anything of docs/settings.md; may be repeated.", metavar="NAME=VALUE"),
    ],
    "debug": Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")],
}


def with_settings(**shortcuts: str) -> Callable[[Command], Command]:
    """Hand a command its `settings`, read from file, environment and flags.

    Each shortcut adds an option for one setting: `pages="crawl.pages"` adds --pages, with the setting's own help.
    """
    known = _known()

    def decorate(command: Command) -> Command:
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "settings"]
        added = [_parameter(name, known[setting]) for name, setting in shortcuts.items()]
        always = [_keyword(name, kind) for name, kind in _ALWAYS.items()]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            shared = {name: given.pop(name) for name in _ALWAYS}
            picked = {setting: given.pop(name) for name, setting in shortcuts.items()}
            settings = _load(shared, picked)
            try:
                command(**given, settings=settings)
            except CorruptFile as error:
                raise with_remedy(error, Path(settings.folder)) from error

        parameters = [*own, *added, *always]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


@functools.cache
def _known() -> dict[str, Setting]:
    return {row.name: row for row in table()}


def _keyword(name: str, kind: Any) -> inspect.Parameter:
    default = False if name == "debug" else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _parameter(name: str, setting: Setting) -> inspect.Parameter:
    """Make an option of a setting; several values are given with commas between them."""
    kind = _TYPES.get(setting.type, str)
    default = ",".join(setting.default) if isinstance(setting.default, tuple) else setting.default
    shown = f"  [default: {default}]" if default != "" else ""
    option = typer.Option("--" + name.replace("_", "-"), help=setting.help + "." + shown)
    return _keyword(name, Annotated[kind | None, option])


def _load(shared: dict[str, Any], picked: dict[str, Any]) -> Settings:
    """Read the settings once. Options beat --set, which beats the environment, which beats the file."""
    file = shared["config"] or (_FILE if _FILE.exists() else None)
    flags = list(shared["flags"] or ())
    flags += [f"{name}={value}" for name, value in picked.items() if value is not None]
    if shared["folder"] is not None:
        flags.append(f"folder={shared['folder']}")
    settings = load(file, os.environ, flags)
    if "\0" in settings.folder:
        raise SettingsError("The data folder's name has a zero byte in it.")
    return settings
