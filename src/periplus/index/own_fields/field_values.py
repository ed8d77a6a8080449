"""Values of own fields: what a field of each type takes, and what it is stored as."""

import math
from datetime import UTC, datetime
from typing import Any, Final

from periplus.settings import FieldSettings

__all__ = ["MAX_WORD", "MAX_WORDS", "convert_value", "parse_date"]

MAX_WORD: Final = 500
"""Characters of a keyword."""
MAX_WORDS: Final = 200
"""Keywords of one document in one field."""


def convert_value(field: FieldSettings, value: Any) -> float | tuple[str, ...] | None:
    """Return what is stored for a value of JSON: keywords, or a number; None for null, and for text.

    Raise `ValueError` with what is wrong with it.
    """
    if field.type == "keyword" and type(value) is str and len(value) <= MAX_WORD:
        return (value,)
    if value is None or field.type == "text":
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{_show(value)} is not a text")
        return None
    if field.type == "keyword":
        return _keywords(value)
    if field.type == "boolean":
        if not isinstance(value, bool):
            raise ValueError(f"{_show(value)} is neither true nor false")
        return float(value)
    return parse_date(value) if field.type == "date" else _number(value)


def _keywords(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_WORDS:
        raise ValueError(f"there are {len(values):,} values, more than {MAX_WORDS}")
    words = []
    for item in values:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise ValueError(f"{_show(item)} is not a string")
        word = str(item)
        if len(word) > MAX_WORD:
            raise ValueError(f"a value has {len(word):,} characters, more than {MAX_WORD}")
        words.append(word)
    return tuple(dict.fromkeys(words))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{_show(value)} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{_show(value)} is not a finite number")
    return number


def parse_date(value: Any) -> float:
    """Return a date, or a date and time, as seconds since 1970; a number is that already."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    if not isinstance(value, str):
        raise ValueError(f"{_show(value)} is not a date")
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{_show(value)} is not a date such as 2024-05-31 or 2024-05-31T12:00:00Z") from None


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
