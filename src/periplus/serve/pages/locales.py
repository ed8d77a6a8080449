"""Locales of the interface: translations by their English text, and the formats of numbers and dates."""

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
from periplus.typed_decoding import convert_to

__all__ = ["LOCALES", "Locale", "choose_locale", "load_locale", "preferred_locale"]

_FOLDER: Final = Path(__file__).parents[1] / "languages"
LOCALES: Final = {"en": "English", "de": "Deutsch", "es": "Español", "fr": "Français"}
"""Names of the languages, each in its own language."""
_RANGE: Final = re.compile(r"\s*([A-Za-z]{2,8})(?:-[A-Za-z0-9]{1,8})*\s*(?:;\s*q=([0-9.]{1,5}))?\s*")
_MONTHS: Final = tuple(calendar.month_name)[1:]
_MAX_RANGES: Final = 20
"""Parts of an Accept-Language header that are read."""
_DAY: Final = 86_400
_RECENT_DAYS: Final = 7
_ISO_DAY: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T[0-9:.+Z-]{1,20})?")
_ISO_DURATION: Final = re.compile(r"P(?:([0-9]{1,4})D)?(?:T(?:([0-9]{1,4})H)?(?:([0-9]{1,4})M)?(?:([0-9]{1,4})S)?)?")
_UNITS: Final = ("d", "h", "min", "s")
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


class _Catalog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a language file."""

    thousands: str = ","
    decimal: str = "."
    months: tuple[str, ...] = ()
    day: str = "{day} {month} {year}"
    date: str = "{day} {month} {year}, {time} UTC"
    percent: str = "{number}%"
    ago: str = "{time} ago"
    zero_is_singular: bool = False
    text: dict[str, str] = {}
    languages: dict[str, str] = {}
    """Names of languages by their codes."""
    nouns: dict[str, tuple[str, str]] = {}
    """Singular and plural, by the English singular."""
    notes: dict[str, str] = {}
    """Notes on queries, by their English text with {name} for what varies; of several that fit, the first counts."""


class Locale:
    """One language of the interface."""

    def __init__(self, code: str, catalog: _Catalog) -> None:
        self.code = code
        self.name = LOCALES[code]
        self._catalog = catalog
        self._escaped: dict[str, str] = {}
        self._notes = [(_note_pattern(english), note) for english, note in catalog.notes.items()]

    def translate(self, text: str, **values: object) -> str:
        """Return a text in this language, or in English if there is no translation; values replace {name}."""
        translation = self._catalog.text.get(text, text)
        return translation.format(**values) if values else translation

    def translate_escaped(self, text: str) -> str:
        """Return a text without values in this language, escaped for HTML."""
        translation = self._escaped.get(text)
        if translation is None:
            translation = self._escaped[text] = escape(self.translate(text))
        return translation

    def translate_note(self, note: str) -> str:
        """Return a note on a query in this language, or as it is if there is no translation."""
        for pattern, translation in self._notes:
            if match := pattern.fullmatch(note):
                values = match.groupdict()
                if "code" in values:
                    values["code"] = self.language(values["code"])
                return translation.format(**values)
        return note

    def number(self, value: float) -> str:
        """Format a whole number with separators."""
        return f"{value:,.0f}".replace(",", self._catalog.thousands)

    def count(self, value: int, noun: str) -> str:
        """Format a number with a noun: '1 page', '8,412 pages'."""
        singular, plural = self._catalog.nouns.get(noun, (noun, noun + "s"))
        is_singular = value == 1 or (value == 0 and self._catalog.zero_is_singular)
        return f"{self.number(value)} {singular if is_singular else plural}"

    def duration(self, seconds: float) -> str:
        """Format a short time: '0.8 ms'."""
        return number_formats.duration(seconds).replace(".", self._catalog.decimal)

    def signed(self, value: float) -> str:
        """Format a contribution to a score with two decimals."""
        return number_formats.signed(value).replace(".", self._catalog.decimal)

    def percent(self, share: float) -> str:
        """Format a share: '42%', '−3%'."""
        return self._catalog.percent.format(number=f"{100 * share:.0f}").replace("-", "−")

    def estimate(self, value: int, noun: str) -> str:
        """Format an estimated number with a noun, rounded: '12,300 results'."""
        return self.count(number_formats.estimate(value), noun)

    def size(self, value: int) -> str:
        """Format a number of bytes."""
        return number_formats.size(value).replace(".", self._catalog.decimal)

    def ago(self, seconds: float) -> str:
        """Format the time since an event."""
        amount = number_formats.since(seconds)
        return self.translate("just now") if amount is None else self._catalog.ago.format(time=self.count(*amount))

    def date(self, when: float) -> str:
        """Format a date and time in UTC; '' if it is out of range."""
        moment = number_formats.moment(when)
        if moment is None:
            return ""
        year, month, day, hour, minute = moment[:5]
        name = (self._catalog.months or _MONTHS)[month - 1]
        return self._catalog.date.format(day=day, month=name, year=year, time=f"{hour:02}:{minute:02}")

    def day(self, when: float, now: float) -> str:
        """Format a day, relative to now if it is of the last week; '' if it is out of range."""
        moment = number_formats.moment(when)
        if moment is None:
            return ""
        days = int(now // _DAY) - int(when // _DAY)
        if 0 <= days < _RECENT_DAYS:
            recent = ("today", "yesterday")
            return self.translate(recent[days]) if days < len(recent) else self.ago(days * _DAY)
        name = (self._catalog.months or _MONTHS)[moment[1] - 1]
        return self._catalog.day.format(day=moment[2], month=name, year=moment[0])

    def fact(self, value: str) -> str:
        """Format a fact: dates and durations of ISO 8601 as people write them, anything else as it is."""
        if match := _ISO_DAY.fullmatch(value):
            when = number_formats.day_seconds(int(match[1]), int(match[2]), int(match[3]))
            name = (self._catalog.months or _MONTHS)[int(match[2]) - 1] if when is not None else ""
            return self._catalog.day.format(day=int(match[3]), month=name, year=int(match[1])) if name else value
        if match := _ISO_DURATION.fullmatch(value):
            parts = [f"{int(amount)} {unit}" for amount, unit in zip(match.groups(), _UNITS, strict=True) if amount]
            return " ".join(parts) or value
        return value.replace("https://schema.org/", "")

    def language(self, code: str) -> str:
        """Return the name of a language in this one; its code if it is not known."""
        return self._catalog.languages.get(code, code)

    def foreign(self, language: str) -> str:
        """Return the language of a text if it is known and not this one, else ''."""
        return language if language != self.code and _LANGUAGE.fullmatch(language) else ""

    kind = staticmethod(number_formats.kind)
    iso = staticmethod(number_formats.iso)


def _note_pattern(english: str) -> re.Pattern[str]:
    """Return a pattern of notes with a text."""
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(english)))


@cache
def load_locale(code: str) -> Locale:
    """Return a locale by its code, or English if there is none."""
    if code not in LOCALES:
        return load_locale("en")
    path = _FOLDER / f"{code}.toml"
    catalog = convert_to(tomllib.loads(path.read_text("utf-8")), _Catalog) if path.exists() else _Catalog()
    return Locale(code, catalog)


def choose_locale(parameters: Mapping[str, str], accept_language: str) -> Locale:
    """Return the locale of the parameter hl, or else the one that the browser prefers."""
    code = parameters.get("hl", "").lower()
    if code in LOCALES:
        return load_locale(code)
    return load_locale(preferred_locale(accept_language))


@lru_cache(1024)
def preferred_locale(accept_language: str) -> str:
    """Return the code of the locale that an Accept-Language header prefers."""
    best, code = 0.0, "en"
    for part in accept_language.split(",")[:_MAX_RANGES]:
        match = _RANGE.fullmatch(part)
        if match and match[1].lower() in LOCALES:
            quality = _quality(match[2])
            if quality > best:
                best, code = quality, match[1].lower()
    return code


def _quality(text: str | None) -> float:
    try:
        return min(1.0, float(text)) if text else 1.0
    except ValueError:
        return 0.0
