"""The encoding that a page names in its first kilobyte: the WHATWG prescan, step by step."""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["charset_label", "prescan"]

_LOOK: Final = 1_024
_LATE: Final = 65_536
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
_WIDE: Final = ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be"))


def charset_label(text: str) -> str:
    """Give the label that a content type or the content of a <meta> names, or ''."""
    found = _LABEL.search(text)
    return next(filter(None, found.groups()), "") if found else ""


def prescan(body: bytes) -> Iterator[str]:
    """Give the labels that the page may mean, in the order in which they count; the first that is known does.

    A declaration after the first kilobyte comes too late for the prescan; a parser that meets it begins anew, so
    that it counts all the same.
    """
    early = False
    for label in _scan(body[:_LOOK]):
        early = True
        yield label
    if not early and b"charset" in body[_LOOK:_LATE].lower():
        yield from _scan(body[:_LATE])


def _scan(start: bytes) -> Iterator[str]:
    for mark, name in _WIDE:
        if start.startswith(mark):
            yield name
            return
    at = 0
    while found := _STEP.search(start, at):
        at = found.end()
        if found[1]:
            at = start.find(b"-->", at - 2) + 3
            if at < 3:
                break
        elif found[0][1:2] in b"!?/" and found[0][1:] in (b"!", b"?", b"/"):
            at = start.find(b">", at)
            if at < 0:
                break
        else:
            attributes, at = _attributes(start, at)
            if found[2] and at >= 0:
                yield from _meant(attributes)
            if at < 0:
                break
    declaration = _XML.match(start)
    if declaration:
        yield next(filter(None, declaration.groups()), b"").decode("latin-1")


def _attributes(start: bytes, at: int) -> tuple[dict[str, str], int]:
    """Read the attributes of a tag; give them and the place after it, -1 where the bytes end before it does."""
    found: dict[str, str] = {}
    while match := _ATTRIBUTE.match(start, at):
        at = match.end()
        double, closed, single, shut, bare = match.groups()[1:]
        if (double is not None and not closed) or (single is not None and not shut):
            return found, -1
        name = match[1].decode("latin-1").lower()
        found.setdefault(name, (double or single or bare or b"").decode("latin-1"))
    rest = start[at:].lstrip(_BLANKS + b"/")
    return found, (len(start) - len(rest) if rest else -1)


def _meant(attributes: dict[str, str]) -> list[str]:
    """Give the label that the attributes of a <meta> name."""
    if "charset" in attributes:
        return [attributes["charset"]]
    pragma = attributes.get("http-equiv", "").lower() == "content-type"
    label = charset_label(attributes.get("content", ""))
    return [label] if pragma and label else []
