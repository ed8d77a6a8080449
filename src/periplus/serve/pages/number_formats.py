"""Formats of numbers, sizes and times."""

import time
from datetime import UTC, datetime
from email.utils import formatdate

__all__ = [
    "PLAIN_KINDS",
    "day_seconds",
    "duration",
    "estimate",
    "iso",
    "kind",
    "mail_date",
    "moment",
    "signed",
    "since",
    "size",
]

_STEPS = ((60.0, "second"), (60.0, "minute"), (24.0, "hour"), (30.0, "day"), (12.0, "month"))
_END = 253_402_300_800.0
"""The year 10,000, in seconds since 1970."""
_UNITS = ("bytes", "kB", "MB", "GB", "TB")

PLAIN_KINDS = frozenset(("text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown"))
"""Content types of plain pages, which results do not mention."""


def day_seconds(year: int, month: int, day: int) -> float | None:
    """Return the beginning of a day in seconds since 1970; None if there is no such day."""
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def estimate(value: int) -> int:
    """Round an estimated number to as many digits as mean something: 5,246 to 5,200, 12,345 to 12,300."""
    digits = len(str(abs(value)))
    return round(value, (3 if digits > 4 else 2) - digits)


def signed(value: float) -> str:
    """Format a contribution with two decimals and a true minus sign: '4.20', '−0.40'."""
    return f"{value:.2f}".replace("-", "−")


def duration(seconds: float) -> str:
    """Format a short time: '0.8 ms', '12 ms', '1.4 s'."""
    thousandths = max(0.0, seconds) * 1000
    if thousandths < 9.95:
        return f"{thousandths:.1f} ms"
    return f"{thousandths:.0f} ms" if thousandths < 999.5 else f"{thousandths / 1000:.1f} s"


def since(seconds: float) -> tuple[int, str] | None:
    """Return an elapsed time as a number and a unit: (40, 'second'), (2, 'day'); None below one second."""
    if seconds < 1:
        return None
    left = seconds
    for step, unit in _STEPS:
        if left < step:
            return int(left), unit
        left /= step
    return int(left), "year"


def iso(when: float) -> str:
    """Format a time as ISO 8601: '2026-11-15T08:21:00+00:00'; '' if it is out of range."""
    parts = moment(when)
    if parts is None:
        return ""
    year, month, day, hour, minute, second = parts[:6]
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00"


def moment(when: float) -> time.struct_time | None:
    """Return a time in UTC, None if it is out of range."""
    return time.gmtime(when) if 0 < when < _END else None


def kind(content_type: str) -> str:
    """Format a content type as a short label: 'PDF', 'text'."""
    name = content_type.partition(";")[0].rpartition("/")[2].strip()
    return {"plain": "text", "xhtml+xml": "XHTML"}.get(name, name.upper() if len(name) <= 5 else name[:20])


def size(value: int) -> str:
    """Format a number of bytes: '812 bytes', '1.4 MB'."""
    left = float(value)
    for unit in _UNITS[:-1]:
        if left < 999.5:
            return f"{left:.0f} {unit}" if unit == "bytes" or left >= 99.5 else f"{left:.1f} {unit}"
        left /= 1000
    return f"{left:,.1f} {_UNITS[-1]}"


def mail_date(when: float) -> str:
    """Format a time as in RFC 5322: 'Sun, 15 Nov 2026 08:21:00 +0000'; '' if it is out of range."""
    return formatdate(when) if moment(when) else ""
