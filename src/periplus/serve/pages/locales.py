"""The languages of the interface: texts by their English wording, numbers and times as each language writes them."""

import calendar
import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from html import escape
from pathlib import Path
from typing import Final

import msgspec

from periplus.serve.pages import number_formats

__all__ = ["TONGUES", "Tongue", "pick_tongue", "preferred", "tongue"]

_FOLDER: Final = Path(__file__).parents[1] / "languages"
TONGUES: Final = {"en": "English", "de": "Deutsch", "es": "Español", "fr": "Français"}
"""The languages there are, by their own names."""
_RANGE: Final = re.compile(r"\s*([A-Za-z]{2,8})(?:-[A-Za-z0-9]{1,8})*\s*(?:;\s*q=([0-9.]{1,5}))?\s*")
_MONTHS: Final = tuple(calendar.month_name)[1:]
_MOST: Final = 20
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


class _Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a language's file holds."""

    thousands: str = ","
    decimal: str = "."
    months: tuple[str, ...] = ()
    date: str = "{day} {month} {year}, {time} UTC"
    ago: str = "{time} ago"
    zero_is_singular: bool = False
    text: dict[str, str] = {}
    nouns: dict[str, tuple[str, str]] = {}
    """Singular and plural, by the English singular."""


class Tongue:
    """One language of the interface."""

    def __init__(self, code: str, book: _Book) -> None:
        self.code = code
        self.name = TONGUES[code]
        self._book = book
        self._escaped: dict[str, str] = {}

    def say(self, text: str, **values: object) -> str:
        """Give a text in this language, or in English if it has none; {name} stands for a value."""
        found = self._book.text.get(text, text)
        return found.format(**values) if values else found

    def escaped(self, text: str) -> str:
        """Give a text without values in this language, escaped for HTML."""
        found = self._escaped.get(text)
        if found is None:
            found = self._escaped[text] = escape(self.say(text))
        return found

    def number(self, value: float) -> str:
        """Write a whole number with its thousands parted."""
        return f"{value:,.0f}".replace(",", self._book.thousands)

    def count(self, value: int, noun: str) -> str:
        """Write '1 page' or '8,412 pages'."""
        one, many = self._book.nouns.get(noun, (noun, noun + "s"))
        is_one = value == 1 or (value == 0 and self._book.zero_is_singular)
        return f"{self.number(value)} {one if is_one else many}"

    def duration(self, seconds: float) -> str:
        """Write a short time: '0.8 ms'."""
        return number_formats.duration(seconds).replace(".", self._book.decimal)

    def signed(self, value: float) -> str:
        """Write a contribution with two decimals."""
        return number_formats.signed(value).replace(".", self._book.decimal)

    def size(self, value: int) -> str:
        """Write a number of bytes."""
        return number_formats.size(value).replace(".", self._book.decimal)

    def ago(self, seconds: float) -> str:
        """Write how long ago something was."""
        found = number_formats.since(seconds)
        return self.say("just now") if found is None else self._book.ago.format(time=self.count(*found))

    def date(self, when: float) -> str:
        """Write a moment in universal time; '' when it is no sensible one."""
        moment = number_formats.moment(when)
        if moment is None:
            return ""
        year, month, day, hour, minute = moment[:5]
        name = (self._book.months or _MONTHS)[month - 1]
        return self._book.date.format(day=day, month=name, year=year, time=f"{hour:02}:{minute:02}")

    def foreign(self, language: str) -> str:
        """Give the language of a text when it is worth saying, that is: known and not this one."""
        return language if language != self.code and _LANGUAGE.fullmatch(language) else ""

    kind = staticmethod(number_formats.kind)
    iso = staticmethod(number_formats.iso)


@cache
def tongue(code: str) -> Tongue:
    """Give a language by its code, English when there is no such."""
    if code not in TONGUES:
        return tongue("en")
    path = _FOLDER / f"{code}.toml"
    book = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _Book) if path.exists() else _Book()
    return Tongue(code, book)


def pick_tongue(given: Mapping[str, str], accepted: str) -> Tongue:
    """Choose by the parameter hl, else by what the browser would like best among those we have."""
    asked = given.get("hl", "").lower()
    if asked in TONGUES:
        return tongue(asked)
    return tongue(preferred(accepted))


@lru_cache(1024)
def preferred(accepted: str) -> str:
    """Give the code of the language that an Accept-Language header would like best among those we have."""
    best, code = 0.0, "en"
    for part in accepted.split(",")[:_MOST]:
        found = _RANGE.fullmatch(part)
        if found and found[1].lower() in TONGUES:
            quality = _quality(found[2])
            if quality > best:
                best, code = quality, found[1].lower()
    return code


def _quality(text: str | None) -> float:
    try:
        return min(1.0, float(text)) if text else 1.0
    except ValueError:
        return 0.0
