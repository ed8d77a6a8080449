"""Dates as sites write them in sitemaps and feeds: the W3C profile of ISO 8601, and the form of RFC 822."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

__all__ = ["parse_timestamp"]

_MAX_LENGTH: Final = 64
_PARTIAL_DATE: Final = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?\Z")
_EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC).timestamp()


def parse_timestamp(text: str) -> float:
    """Return the date in a text as seconds since 1970, 0.0 if there is none or it is before 1990.

    A day, a month or a year counts as its end: the change that it dates may have been as late as that.
    """
    text = text.strip()
    if len(text) > _MAX_LENGTH or not text:
        return 0.0
    try:
        seconds = _parse_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
    return seconds if seconds >= _EARLIEST else 0.0


def _parse_datetime(text: str) -> datetime:
    partial = _PARTIAL_DATE.match(text)
    if partial is not None:
        year, month, day = (int(part) if part else 0 for part in partial.groups())
        if day:
            return datetime(year, month, day, tzinfo=UTC) + timedelta(days=1)
        return datetime(year + month // 12 if month else year + 1, month % 12 + 1 if month else 1, 1, tzinfo=UTC)
    moment = datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
