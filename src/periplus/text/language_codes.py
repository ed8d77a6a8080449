"""Languages and their codes: the number of each on disk, its name, its scripts, and the other codes that it has.

A code is that of ISO 639 with two letters, where there is one, else with three. `languages.txt` lists them; a tag of a
page or a request ('pt-BR', 'zh-Hant-TW', 'iw', 'eng') is brought to that form by `normalize_language`.
"""

import re
from importlib.resources import files
from typing import Final, NamedTuple

__all__ = [
    "LANGUAGES",
    "LANGUAGE_ENTRIES",
    "NO_LANGUAGE",
    "is_language",
    "language_name",
    "language_number",
    "normalize_language",
]

NO_LANGUAGE: Final = "zxx"
"""The code of ISO 639 for 'no linguistic content': a page that declares it has no language, whatever it contains."""
_PRIMARY: Final = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_.@](\w{2,4})?|\s*\Z)")
_OVERRIDING: Final = frozenset(("yue", "wuu", "gsw", "nan", "hak", "gan", "cmn"))
"""Subtags that name the language more precisely than the tag before them: 'zh-yue'."""


class LanguageEntry(NamedTuple):
    """One language of `languages.txt`."""

    code: str
    prior: int
    """How many pages are in it: 3 many, 2 some, 1 few; 0 for no language."""
    scripts: tuple[str, ...]
    """ISO 15924 codes of the scripts that it is written in."""
    name: str
    aliases: tuple[str, ...]
    """Other codes of the same language."""


def _read() -> tuple[LanguageEntry, ...]:
    entries = [LanguageEntry("", 0, (), "unknown", ())]
    for line in files("periplus.text").joinpath("languages.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            main, _, aliases = line.partition("; ")
            code, prior, scripts, name = main.split(" ", 3)
            entries.append(LanguageEntry(code, int(prior), tuple(scripts.split("+")), name, tuple(aliases.split())))
    return tuple(entries)


LANGUAGE_ENTRIES: Final = _read()
"""Languages by number; the first is no language."""
LANGUAGES: Final = tuple(entry.code for entry in LANGUAGE_ENTRIES)
"""Codes of languages by number, as segments store them; 0 is unknown. New ones are appended, never inserted."""
_NUMBERS: Final = {entry.code: number for number, entry in enumerate(LANGUAGE_ENTRIES)}
_CODES: Final = {alias: entry.code for entry in LANGUAGE_ENTRIES for alias in (entry.code, *entry.aliases)}


def normalize_language(tag: str) -> str:
    """Return the code of a language tag: 'pt' for 'pt-BR', 'he' for 'iw'; '' for a language without a number.

    `NO_LANGUAGE` stays as it is.
    """
    if tag in _NUMBERS:
        return tag
    match = _PRIMARY.match(tag[:40])
    if not match:
        return ""
    code, extension = match[1].lower(), (match[2] or "").lower()
    if code == NO_LANGUAGE:
        return code
    return _CODES.get(extension if extension in _OVERRIDING else code, "")


def language_number(tag: str) -> int:
    """Return the number under which segments store a language, 0 for an unknown one."""
    return _NUMBERS.get(normalize_language(tag), 0)


def is_language(tag: str) -> bool:
    """Return whether a tag names a language that has a number."""
    return language_number(tag) > 0


def language_name(tag: str) -> str:
    """Return the English name of a language, 'unknown' for one without a number."""
    return LANGUAGE_ENTRIES[language_number(tag)].name
