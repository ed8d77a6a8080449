"""Numbers, sizes and times as people read them."""

from datetime import UTC, datetime

__all__ = ["ago", "count", "date", "duration", "iso", "kind", "number", "signed", "size"]

_STEPS = ((60.0, "second"), (60.0, "minute"), (24.0, "hour"), (30.0, "day"), (12.0, "month"))
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def number(value: int) -> str:
    """Write an integer with thousands parted: 1,204,331."""
    return f"{value:,}"


def signed(value: float) -> str:
    """Write a contribution with two decimals and a true minus sign: '4.20', '−0.40'."""
    return f"{value:.2f}".replace("-", "−")


def count(value: int, noun: str) -> str:
    """Write '1 page' or '8,412 pages'."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def duration(seconds: float) -> str:
    """Write a short time: '0.8 ms', '12 ms', '1.4 s'."""
    thousandths = max(0.0, seconds) * 1000
    if thousandths < 9.95:
        return f"{thousandths:.1f} ms"
    return f"{thousandths:.0f} ms" if thousandths < 999.5 else f"{thousandths / 1000:.1f} s"


def ago(seconds: float) -> str:
    """Write how long ago something was: 'just now', '40 seconds ago', '2 days ago'."""
    if seconds < 1:
        return "just now"
    left = seconds
    for step, unit in _STEPS:
        if left < step:
            return f"{count(int(left), unit)} ago"
        left /= step
    return f"{count(int(left), 'year')} ago"


def date(when: float) -> str:
    """Write a moment in universal time: '15 November 2026, 08:21 UTC'; '' when it is no sensible moment."""
    moment = _moment(when)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC" if moment else ""


def iso(when: float) -> str:
    """Write a moment for machines: '2026-11-15T08:21:00+00:00'; '' when it is no sensible moment."""
    moment = _moment(when)
    return moment.isoformat(timespec="seconds") if moment else ""


def _moment(when: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(when, UTC) if when > 0 else None
    except (OverflowError, OSError, ValueError):
        return None


def kind(content_type: str) -> str:
    """Write a content type as a short badge: 'PDF', 'text'."""
    name = content_type.partition(";")[0].rpartition("/")[2].strip()
    return {"plain": "text", "xhtml+xml": "XHTML"}.get(name, name.upper() if len(name) <= 5 else name[:20])


def size(value: int) -> str:
    """Write a number of bytes: '812 bytes', '1.4 MB'."""
    left = float(value)
    for unit in _UNITS[:-1]:
        if left < 999.5:
            return f"{left:.0f} {unit}" if unit == "bytes" or left >= 99.5 else f"{left:.1f} {unit}"
        left /= 1000
    return f"{left:,.1f} {_UNITS[-1]}"
