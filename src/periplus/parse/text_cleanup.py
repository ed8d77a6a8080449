"""Text cleaned for storage: no control characters, no lone surrogates, white space collapsed, lengths bounded."""

import re
from datetime import date
from functools import lru_cache
from typing import Final

__all__ = ["language_code", "one_line", "one_line_each", "paragraphs", "parse_iso_date"]

_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufeff]")
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH: Final = rf"({'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_DATES: Final = (
    re.compile(r"(?<!\d)(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?!\d)"),
    re.compile(rf"(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?P<m>{_MONTH}),?\s(?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
    re.compile(rf"\b(?P<m>{_MONTH})\s(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
)
_LANGUAGE: Final = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9_-]{1,20})?\Z")


def one_line(text: str, limit: int) -> str:
    """Return a text with all white space collapsed, cut to `limit` characters."""
    if len(text) <= limit:
        if text.isprintable() and "  " not in text:  # as nearly all are
            return text.strip()
    elif (head := text[:limit]).isprintable() and "  " not in head and head[:1] != " ":
        return head.rstrip()  # what is behind it does not change it
    return _clean(text[: limit * 4])[:limit].rstrip()


def one_line_each(texts: list[str], limit: int) -> list[str]:
    """Return texts as `one_line` does; if there is nothing to remove in any of them, all are seen at once."""
    joined = "".join(texts)
    if joined.isprintable() and "  " not in joined and max(map(len, texts), default=0) <= limit:
        return list(map(str.strip, texts))
    return [one_line(text, limit) if text else "" for text in texts]


def paragraphs(text: str, limit: int) -> str:
    """Return a text with white space collapsed and one newline between blocks, cut to `limit` characters."""
    lines = map(_clean, text[: limit * 4].split("\n"))
    return "\n".join(filter(None, lines))[:limit].rstrip()


def _clean(line: str) -> str:
    # Most lines have nothing to remove, and these tests are faster than a pattern.
    if line.isprintable():
        return line.strip(" ") if "  " not in line else " ".join(line.split())
    line = " ".join(line.split())
    return line if line.isprintable() else " ".join(_CONTROLS.sub("", line).split())


def language_code(language: str) -> str:
    """Return the language of a language tag, of two or three letters ('en-GB' to 'en'), or ''."""
    return _language(language.strip()[:32]) if language else ""


@lru_cache(1_024)
def _language(tag: str) -> str:
    match = _LANGUAGE.match(tag)
    return match[1].lower() if match else ""


def parse_iso_date(text: str) -> str:
    """Return the date near the start of `text` in ISO form, or ''; a numeric date takes precedence."""
    return _parse_date(text[:64]) if text else ""


@lru_cache(1_024)
def _parse_date(text: str) -> str:
    for pattern in _DATES:
        match = pattern.search(text)
        if match:
            month = match["m"]
            number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
            return _calendar_date(int(match["y"]), number, int(match["d"]))
    return ""


def _calendar_date(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
