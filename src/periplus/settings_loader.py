"""Reading settings: a file, then the environment, then flags, to one struct; what is wrong is named with its place.

It knows no setting by itself: `periplus.settings` hands it the struct and the table of all names.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from periplus.errors import SettingsError

__all__ = ["Setting", "read_settings"]

T = TypeVar("T")

_LONGEST: Final = 80
"""Most characters of a wrong value that are shown."""


class Setting(NamedTuple):
    """One row of the table of settings."""

    name: str
    type: str
    default: Any
    help: str


def read_settings(
    kind: type[T], rows: Iterable[Setting], file: Path | None, environment: Mapping[str, str], flags: Iterable[str]
) -> T:
    """Read settings: `file`, then PERIPLUS_ROOM_NAME of the environment, then 'room.name=value' flags. Last wins."""
    tree: dict[str, Any] = _read_file(file) if file else {}
    known = {row.name: row for row in rows}
    sources: dict[str, str] = {}
    for name, row in known.items():
        variable = "PERIPLUS_" + name.replace(".", "_").upper()
        if variable in environment:
            _put(tree, row, environment[variable])
            sources[name] = f"in the environment ({variable})"
    _refuse_unknown_variables(environment, known)
    for flag in flags:
        name, equals, text = flag.partition("=")
        if not equals:
            raise SettingsError(f"'{flag}' is no setting.", "Write it as name=value, for example fetch.timeout=10.")
        row = known.get(name.strip()) or _unknown(name.strip(), "on the command line", known)
        _put(tree, row, text)
        sources[row.name] = "on the command line"
    _refuse_unknown(tree, known, file)
    try:
        return msgspec.convert(tree, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _wrong(str(error), tree, sources, file, known) from None


def _wrong(
    error: str, tree: Mapping[str, Any], sources: Mapping[str, str], file: Path | None, known: Mapping[str, Setting]
) -> SettingsError:
    """Say which value is wrong, where it comes from and what would be right, in place of the decoder's words."""
    fault, _, path = error.partition(" - at `$.")
    name = re.sub(r"\[[^]]*\]", "", path.rstrip("`"))
    row = known.get(name)
    if row is None:
        return SettingsError(f"A setting has a wrong value: {error}.", "See docs/settings.md.")
    value: Any = tree
    for part in name.split("."):
        value = value[part]
    where = sources.get(name, f"in {file}")
    choices = re.search(r"regex '\^\((.*)\)\$'", fault)
    fault = f"give one of {choices[1]}".replace("|", ", ") if choices else fault.replace("Exp", "exp").replace("`", "")
    return SettingsError(
        f"{name} has a wrong value, '{str(value)[:_LONGEST]}', {where}: {fault}.", f"It is: {row.help}."
    )


def _read_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"Cannot read {file}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not TOML: {error}.") from None


def _put(tree: dict[str, Any], row: Setting, text: str) -> None:
    value: Any = text
    if isinstance(row.default, tuple):
        value = [part.strip() for part in text.split(",") if part.strip()]
    room, _, name = row.name.rpartition(".")
    place = tree.setdefault(room, {}) if room else tree
    if not isinstance(place, dict):
        raise SettingsError(f"'{room}' is a group of settings, not a value.")
    place[name] = value


def _refuse_unknown(tree: Mapping[str, Any], known: Mapping[str, Setting], file: Path | None) -> None:
    where = f"in {file}" if file else "in the settings"
    rooms = {name.split(".")[0] for name in known if "." in name}
    for key, value in tree.items():
        if isinstance(value, dict) and key in rooms:
            for inner in value:
                if f"{key}.{inner}" not in known:
                    _unknown(f"{key}.{inner}", where, known)
        elif key not in known:
            _unknown(key, where, known)


def _refuse_unknown_variables(environment: Mapping[str, str], known: Mapping[str, Setting]) -> None:
    """Refuse PERIPLUS_FETCH_TIMEOUTT, but not PERIPLUS_HOME: only names that begin like a room's can be mistakes."""
    variables = {"PERIPLUS_" + name.replace(".", "_").upper() for name in known}
    rooms = {name.split(".")[0] for name in known if "." in name}
    for variable in environment:
        room, _, name = variable.removeprefix("PERIPLUS_").lower().partition("_")
        if variable.startswith("PERIPLUS_") and variable not in variables and room in rooms:
            _unknown(f"{room}.{name}", f"in the environment ({variable})", known)


def _unknown(name: str, where: str, known: Mapping[str, Setting]) -> Setting:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"Did you mean '{close[0]}'?" if close else "See docs/settings.md for all of them."
    raise SettingsError(f"Unknown setting '{name}' {where}.", hint)
