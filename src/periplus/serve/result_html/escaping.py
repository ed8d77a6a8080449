"""Escaping of text for HTML: of one text as templates do it, and of many texts at once."""

from html import escape
from typing import Final

__all__ = ["escape_all", "escape_text", "truncate"]

_SEPARATOR: Final = "\0"
_LEEWAY: Final = 5
"""Characters beyond the length of a truncated text that are not worth dots."""


def escape_text(text: str) -> str:
    """Return a text escaped as templates do it, for the content of elements and for quoted attributes."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&#34;").replace("'", "&#39;")


def escape_all(texts: list[str]) -> list[str]:
    """Return texts, each escaped for the content of elements and for quoted attributes.

    They are escaped as one text, which takes a fraction of the time. One that contains the separator would be divided:
    then there are more parts than texts, and each is escaped by itself.
    """
    parts = escape(_SEPARATOR.join(texts)).split(_SEPARATOR)
    return parts if len(parts) == len(texts) else [escape(text) for text in texts]


def truncate(text: str, length: int) -> str:
    """Return a text, cut at a word and with dots if it is longer than this, as the filter of templates does it."""
    return text if len(text) <= length + _LEEWAY else text[: length - 3].rsplit(" ", 1)[0] + "..."
