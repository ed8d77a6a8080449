"""Breadcrumbs: a URL as people read it, the host and then the parts of its path, decoded and safe to show."""

import unicodedata
from urllib.parse import unquote

__all__ = ["make_breadcrumbs"]

_LONGEST_PART = 80
_LONGEST_URL = 4_096


def make_breadcrumbs(url: str) -> tuple[str, ...]:
    """Return the host and the readable path parts of `url`; what would confuse a reader is left out."""
    rest = url[:_LONGEST_URL].partition("#")[0].partition("?")[0]
    _, separator, after = rest.partition("://")
    host, *parts = (after if separator else rest).split("/")
    # The host stays in its ASCII form: letters of other scripts can be made to look like a host one trusts.
    readable = [_readable(host.rpartition("@")[2])]
    readable.extend(_readable(unquote(part, errors="replace")) for part in parts)
    return tuple(part for part in readable if part)


def _readable(part: str) -> str:
    """Remove control, direction and unassigned characters, collapse white space, and shorten."""
    if not part.isprintable():  # Nearly all are, and then spaces are all that may be too many.
        part = "".join(" " if character.isspace() else character for character in part if _is_visible(character))
    text = " ".join(part.split())
    return text if len(text) <= _LONGEST_PART else text[: _LONGEST_PART - 1] + "…"


def _is_visible(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] != "C"
