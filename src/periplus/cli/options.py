"""Options that commands share: the settings, which one function loads and passes to the command."""

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from periplus.cli.console import log
from periplus.errors import CorruptFile, SettingsError
from periplus.settings import Setting, Settings, load, table

__all__ = ["AsJson", "Command", "Seeds", "with_settings"]

Command = Callable[..., None]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs, nothing else.")]

Seeds = Annotated[
    list[str] | None,
    typer.Argument(
        help="URLs to begin at, @FILE for a file of URLs, - for standard input; none to resume the last crawl."
    ),
]

_FILE: Final = Path("periplus.toml")
_TYPES: Final[dict[str, type]] = {"int": int, "float": float, "str": str, "bool": bool}

_COMMON: Final[dict[str, Any]] = {
    "folder": Annotated[
        str | None, typer.Option("--folder", help="Data folder.  [default: periplus-data]", metavar="FOLDER")
    ],
    "config": Annotated[
        Path | None,
        typer.Option("--config", help="Settings file.  [default: periplus.toml, if there is one]", metavar="FILE"),
    ],
    "flags": Annotated[
        list[str] | None,
        typer.Option("--set", help="Set any setting (docs/settings.md); may be repeated.", metavar="NAME=VALUE"),
    ],
    "debug": Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
}


def with_settings(**shortcuts: str) -> Callable[[Command], Command]:
    """Return a decorator that passes `settings` to a command, read from file, environment and flags.

    Each shortcut adds an option for one setting: `pages="crawl.pages"` adds --pages, with the help of the setting.
    """
    rows = _rows_by_name()

    def decorate(command: Command) -> Command:
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "settings"]
        added = [_parameter(name, rows[setting]) for name, setting in shortcuts.items()]
        common = [_keyword(name, kind) for name, kind in _COMMON.items()]

        @functools.wraps(command)
        def run(**arguments: Any) -> None:
            common = {name: arguments.pop(name) for name in _COMMON}
            options = {setting: arguments.pop(name) for name, setting in shortcuts.items()}
            settings = _load(common, options)
            try:
                command(**arguments, settings=settings)
            except CorruptFile as error:
                from periplus.app import with_remedy

                raise with_remedy(error, Path(settings.folder)) from error

        parameters = [*own, *added, *common]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


@functools.cache
def _rows_by_name() -> dict[str, Setting]:
    return {row.name: row for row in table()}


def _keyword(name: str, kind: Any) -> inspect.Parameter:
    default = False if name == "debug" else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _parameter(name: str, setting: Setting) -> inspect.Parameter:
    """Return an option for a setting; several values are separated by commas."""
    kind = _TYPES.get(setting.type, str)
    default = ",".join(setting.default) if isinstance(setting.default, tuple) else setting.default
    shown = f"  [default: {default}]" if default != "" else ""
    option = typer.Option("--" + name.replace("_", "-"), help=setting.help + "." + shown)
    return _keyword(name, Annotated[kind | None, option])


def _load(common: dict[str, Any], options: dict[str, Any]) -> Settings:
    """Read the settings once: the file, then the environment, then --set, then options; the last one counts."""
    file = common["config"] or (_FILE if _FILE.exists() else None)
    flags = list(common["flags"] or ())
    flags += [f"{name}={value}" for name, value in options.items() if value is not None]
    if common["folder"] is not None:
        flags.append(f"folder={common['folder']}")
    settings = load(file, os.environ, flags, lambda text: log(f"periplus: {text}"))
    if "\0" in settings.folder:
        raise SettingsError("The name of the data folder contains a zero byte.")
    return settings
