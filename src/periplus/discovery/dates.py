"""Dates as sites write them in sitemaps and feeds: W3C's short forms, and those of mail."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

__all__ = ["moment"]

_LONGEST: Final = 64
_SHORT: Final = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?\Z")
_EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC).timestamp()


def moment(text: str) -> float:
    """Give the seconds since 1970 that a text names, 0.0 when it names none.

    A day, a month or a year counts as its end: whatever it speaks of may have been as late as that.
    """
    text = text.strip()
    if len(text) > _LONGEST or not text:
        return 0.0
    try:
        seconds = _read(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
    return seconds if seconds >= _EARLIEST else 0.0


def _read(text: str) -> datetime:
    short = _SHORT.match(text)
    if short is not None:
        year, month, day = (int(part) if part else 0 for part in short.groups())
        if day:
            return datetime(year, month, day, tzinfo=UTC) + timedelta(days=1)
        return datetime(year + month // 12 if month else year + 1, month % 12 + 1 if month else 1, 1, tzinfo=UTC)
    if text[:4].isdigit():
        found = datetime.fromisoformat(text)
    else:
        found = parsedate_to_datetime(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
