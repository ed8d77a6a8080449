"""A URL as people read it: the host, then the parts of its path, decoded and safe to show."""

import unicodedata
from urllib.parse import unquote

__all__ = ["make_breadcrumbs"]

_LONGEST_PART = 80
_LONGEST_URL = 4_096


def make_breadcrumbs(url: str) -> tuple[str, ...]:
    """Give the host and the readable path parts of `url`; what would confuse a reader is left out."""
    rest = url[:_LONGEST_URL].partition("#")[0].partition("?")[0]
    _, found, after = rest.partition("://")
    host, *parts = (after if found else rest).split("/")
    # The host stays in its ASCII form: letters of other scripts can be made to look like a host one trusts.
    readable = [_readable(host.rpartition("@")[2])]
    readable.extend(_readable(unquote(part, errors="replace")) for part in parts)
    return tuple(part for part in readable if part)


def _readable(part: str) -> str:
    """Leave out control, direction and unassigned characters, collapse white space, and shorten."""
    if not part.isprintable():  # Nearly all are, and then spaces are all that may be too many.
        part = "".join(" " if sign.isspace() else sign for sign in part if _shows(sign))
    seen = " ".join(part.split())
    return seen if len(seen) <= _LONGEST_PART else seen[: _LONGEST_PART - 1] + "…"


def _shows(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign)[0] != "C"
