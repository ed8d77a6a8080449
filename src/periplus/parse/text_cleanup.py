"""Text made fit to keep: no control characters, no lone surrogates, white space collapsed, lengths bounded."""

import re
from datetime import date
from typing import Final

__all__ = ["language_code", "one_line", "paragraphs", "parse_iso_date"]

_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufeff]")
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH: Final = rf"({'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_DATES: Final = (
    re.compile(r"(?<!\d)(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?!\d)"),
    re.compile(rf"(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?P<m>{_MONTH}),?\s(?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
    re.compile(rf"\b(?P<m>{_MONTH})\s(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
)
_LANGUAGE: Final = re.compile(r"([A-Za-z]{2})(?:[-_][A-Za-z0-9_-]{1,20})?\Z")


def one_line(text: str, most: int) -> str:
    """Collapse all white space and cut to `most` characters."""
    return _clean(text[: most * 4])[:most].rstrip()


def paragraphs(text: str, most: int) -> str:
    """Collapse white space but keep one newline between blocks, and cut to `most` characters."""
    lines = map(_clean, text[: most * 4].split("\n"))
    return "\n".join(filter(None, lines))[:most].rstrip()


def _clean(line: str) -> str:
    line = " ".join(line.split())
    # Most lines have nothing to take out, and that is known sooner than a pattern would find it.
    return line if line.isprintable() else " ".join(_CONTROLS.sub("", line).split())


def language_code(language: str) -> str:
    """Give the two letters of a language tag ('en-GB' to 'en'), or ''."""
    found = _LANGUAGE.match(language.strip()[:32])
    return found[1].lower() if found else ""


def parse_iso_date(text: str) -> str:
    """Give the date that `text` holds near its start, in ISO form, or ''; of two forms the plainer one counts."""
    for pattern in _DATES:
        found = pattern.search(text[:64])
        if found:
            month = found["m"]
            number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
            return _calendar_date(int(found["y"]), number, int(found["d"]))
    return ""


def _calendar_date(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
