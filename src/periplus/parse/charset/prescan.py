"""The encoding that a page declares in its first kilobyte: the WHATWG prescan, step by step."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["charset_label", "prescan"]

_PRESCAN_BYTES: Final = 1_024
_MAX_CACHED: Final = 200
_LATE_BYTES: Final = 65_536
_BLANKS: Final = b"\t\n\f\r "
_STEP: Final = re.compile(rb"<(?:(!--)|(meta(?=[\t\n\f\r /]))|/?[a-z][^\t\n\f\r >]*+|[!/?])", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    rb"[\t\n\f\r /]*+([^>\t\n\f\r /][^\t\n\f\r /=>]*+)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]*+)(\"?+)|'([^']*+)('?+)|([^\t\n\f\r >]*+)))?+"
)
_LABEL: Final = re.compile(
    r"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r ;\"'][^\t\n\f\r ;]*))", re.IGNORECASE
)
_XML: Final = re.compile(
    rb"<\?xml[^>]*?encoding[\x00-\x20]*=[\x00-\x20]*(?:\"([^\"\x00-\x20>]*)\"|'([^'\x00-\x20>]*)')"
)
_UTF_16_STARTS: Final = ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be"))


def charset_label(text: str) -> str:
    """Return the label in a content type or in the content of a <meta>, or ''."""
    return _known_label(text) if len(text) <= _MAX_CACHED else _find_label(text)


def _find_label(text: str) -> str:
    match = _LABEL.search(text)
    return next(filter(None, match.groups()), "") if match else ""


_known_label: Final = lru_cache(256)(_find_label)


def prescan(body: bytes) -> Iterator[str]:
    """Return the labels that a page declares, in the order of their precedence; the first that is known counts.

    A declaration after the first kilobyte comes too late for the prescan, but a parser that meets it starts again, so
    that it counts too.
    """
    early = False
    for label in _scan(body[:_PRESCAN_BYTES]):
        early = True
        yield label
    if not early and b"charset" in body[_PRESCAN_BYTES:_LATE_BYTES].lower():
        yield from _scan(body[:_LATE_BYTES])


def _scan(start: bytes) -> Iterator[str]:
    for mark, name in _UTF_16_STARTS:
        if start.startswith(mark):
            yield name
            return
    at = 0
    while step := _STEP.search(start, at):
        at = step.end()
        if step[1]:
            at = start.find(b"-->", at - 2) + 3
            if at < 3:
                break
        elif step[0][1:2] in b"!?/" and step[0][1:] in (b"!", b"?", b"/"):
            at = start.find(b">", at)
            if at < 0:
                break
        else:
            attributes, at = _parse_attributes(start, at)
            if step[2] and at >= 0:
                yield from _declared_labels(attributes)
            if at < 0:
                break
    declaration = _XML.match(start)
    if declaration:
        yield next(filter(None, declaration.groups()), b"").decode("latin-1")


def _parse_attributes(start: bytes, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag and the offset behind it, -1 if the bytes end before it does."""
    attributes: dict[str, str] = {}
    while match := _ATTRIBUTE.match(start, at):
        at = match.end()
        double, closed, single, shut, bare = match.groups()[1:]
        if (double is not None and not closed) or (single is not None and not shut):
            return attributes, -1
        name = match[1].decode("latin-1").lower()
        attributes.setdefault(name, (double or single or bare or b"").decode("latin-1"))
    rest = start[at:].lstrip(_BLANKS + b"/")
    return attributes, (len(start) - len(rest) if rest else -1)


def _declared_labels(attributes: dict[str, str]) -> list[str]:
    """Return the label that the attributes of a <meta> declare."""
    if "charset" in attributes:
        return [attributes["charset"]]
    pragma = attributes.get("http-equiv", "").lower() == "content-type"
    label = charset_label(attributes.get("content", ""))
    return [label] if pragma and label else []
