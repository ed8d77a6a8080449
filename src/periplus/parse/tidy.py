"""Text made fit to keep: no control characters, no lone surrogates, white space collapsed, lengths bounded."""

import re
from typing import Final

__all__ = ["iso_date", "one_line", "paragraphs", "two_letters"]

_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufeff]")
_DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)")
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


def two_letters(language: str) -> str:
    """Give the two letters of a language tag ('en-GB' to 'en'), or ''."""
    found = _LANGUAGE.match(language.strip()[:32])
    return found[1].lower() if found else ""


def iso_date(text: str) -> str:
    """Give the ISO date that `text` holds near its start, or ''."""
    found = _DATE.search(text[:64])
    if not found or not (1 <= int(found[2]) <= 12 and 1 <= int(found[3]) <= 31):
        return ""
    return found[0]
