"""Read settings: a file, then the environment, then flags, into one struct. Errors name the setting and its source.

This module knows no setting by itself: `periplus.settings` passes the struct, the table of all names, and the old names
that are still accepted.
"""

import difflib
import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from periplus.errors import SettingsError
from periplus.typed_decoding import convert_to

__all__ = ["Setting", "Warn", "read_settings", "warn_of_old_name"]

T = TypeVar("T")
Warn = Callable[[str], None]

_PREFIX: Final = "PERIPLUS_"
_MAX_VALUE: Final = 80
"""Most characters of a wrong value that are shown."""
_COMMAND_LINE: Final = "on the command line"


class Setting(NamedTuple):
    """One row of the table of settings."""

    name: str
    type: str
    default: Any
    help: str


def warn_of_old_name(message: str) -> None:
    """Issue a warning about an old name of a setting; what `read_settings` does unless it is given something else."""
    warnings.warn(message, FutureWarning, stacklevel=4)


def read_settings(
    kind: type[T],
    rows: Iterable[Setting],
    file: Path | None,
    environment: Mapping[str, str],
    flags: Iterable[str],
    old_names: Mapping[str, str],
    warn: Warn = warn_of_old_name,
    tables: Mapping[str, Callable[[Any, str], Any]] = {},
) -> T:
    """Read settings: `file`, then PERIPLUS_SECTION_NAME of the environment, then 'section.name=value' flags.

    A later source takes precedence. An old name counts as the new one, and `warn` is called with a sentence about it;
    both names in one source are an error. `tables` are read from the file only, each by its function, which gets
    the table and the source.
    """
    names = _Names({row.name: row for row in rows}, old_names, warn)
    tree: dict[str, Any] = {}
    sources: dict[str, str] = {}
    file_values = _read_file(file, names, tables, tree) if file else {}
    for name, value in names.resolve(file_values, f"in {file}").items():
        _put(tree, name, value)
        sources[name] = f"in {file}"
    for texts, source in ((_read_environment(environment, names), "in the environment"), (flags, _COMMAND_LINE)):
        given = texts if isinstance(texts, dict) else _read_flags(texts, names)
        for name, text in names.resolve(given, source).items():
            _put(tree, name, _parse(names.rows[name], text))
            sources[name] = source if source == _COMMAND_LINE else f"{source} ({_variable(name)})"
    try:
        return convert_to(tree, kind, strict=False, from_attributes=True)
    except msgspec.ValidationError as error:
        raise _describe(str(error), tree, sources, names.rows) from None


class _Names:
    """The names of all settings, and their old names."""

    def __init__(self, rows: dict[str, Setting], old_names: Mapping[str, str], warn: Warn) -> None:
        self.rows = rows
        self.old_names = old_names
        self._warn = warn
        self.all = {**dict.fromkeys(rows), **dict.fromkeys(old_names)}
        self.sections = {name.split(".")[0] for name in self.all if "." in name}

    def check(self, name: str, source: str) -> str:
        """Return a name, current or old; raise `SettingsError` for any other."""
        if name in self.all:
            return name
        close = difflib.get_close_matches(name, list(self.rows), n=1)
        hint = f"Did you mean '{close[0]}'?" if close else "See docs/settings.md for all of them."
        raise SettingsError(f"Unknown setting '{name}' {source}.", hint)

    def resolve(self, values: Mapping[str, Any], source: str) -> dict[str, Any]:
        """Return the values of one source by their current names."""
        resolved: dict[str, Any] = {}
        for name, value in values.items():
            new = self.old_names.get(name, name)
            if new != name:
                if new in values:
                    raise SettingsError(
                        f"'{name}' and '{new}' are both given {source}; they are the same setting.",
                        f"Remove '{name}', the old name.",
                    )
                self._warn(f"The setting '{name}' ({source}) is now called '{new}'; the old name will be removed.")
            resolved[new] = value
        return resolved


def _variable(name: str) -> str:
    return _PREFIX + name.replace(".", "_").upper()


def _read_file(
    file: Path, names: _Names, tables: Mapping[str, Callable[[Any, str], Any]], converted: dict[str, Any]
) -> dict[str, Any]:
    """Return the values of a TOML file by the names of settings; `tables` are put into `converted`."""
    try:
        tree = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"Cannot read {file}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not TOML: {error}.") from None
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if key in tables:
            converted[key] = tables[key](value, f"in {file}")
        elif key in names.sections:
            if not isinstance(value, dict):
                raise SettingsError(f"'{key}' in {file} is a section of settings, not a value.")
            values.update({names.check(f"{key}.{inner}", f"in {file}"): inside for inner, inside in value.items()})
        else:
            values[names.check(key, f"in {file}")] = value
    return values


def _read_environment(environment: Mapping[str, str], names: _Names) -> dict[str, str]:
    """Return the values of variables. PERIPLUS_FETCH_TIMEOUTT is an error, PERIPLUS_HOME is not: no section's name."""
    variables = {_variable(name): name for name in names.all}
    values = {}
    for variable, value in environment.items():
        section, _, name = variable.removeprefix(_PREFIX).lower().partition("_")
        if variable in variables:
            values[variables[variable]] = value
        elif variable.startswith(_PREFIX) and section in names.sections:
            names.check(f"{section}.{name}", f"in the environment ({variable})")
    return values


def _read_flags(flags: Iterable[str], names: _Names) -> dict[str, str]:
    """Return the values of 'name=value' texts; of the same name twice, the last."""
    values = {}
    for flag in flags:
        name, equals, text = flag.partition("=")
        if not equals:
            raise SettingsError(f"'{flag}' is not a setting.", "Write it as name=value, for example fetch.timeout=10.")
        values[names.check(name.strip(), _COMMAND_LINE)] = text
    return values


def _parse(row: Setting, text: str) -> Any:
    if isinstance(row.default, tuple):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _put(tree: dict[str, Any], name: str, value: Any) -> None:
    section, _, last = name.rpartition(".")
    (tree.setdefault(section, {}) if section else tree)[last] = value


def _describe(
    error: str, tree: Mapping[str, Any], sources: Mapping[str, str], rows: Mapping[str, Setting]
) -> SettingsError:
    """Return an error that names the wrong value, its source and what would be right."""
    fault, _, path = error.partition(" - at `$.")
    name = re.sub(r"\[[^]]*\]", "", path.rstrip("`"))
    row = rows.get(name)
    if row is None:
        return SettingsError(f"A setting has a wrong value: {error}.", "See docs/settings.md.")
    value: Any = tree
    for part in name.split("."):
        value = value[part]
    choices = re.search(r"regex '\^\((.*)\)\$'", fault)
    fault = f"give one of {choices[1]}".replace("|", ", ") if choices else fault.replace("Exp", "exp").replace("`", "")
    return SettingsError(
        f"{name} has a wrong value, '{str(value)[:_MAX_VALUE]}', {sources[name]}: {fault}.", f"It is: {row.help}."
    )
