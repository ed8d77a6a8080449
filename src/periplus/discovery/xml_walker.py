"""The one XML walker: expat over XML from strangers, within bounds, without entities and without recursion.

`walk` reports every element and text; `walk_elements` reports each element once, at its end, with its text. Both end at
the first fault and return its description; what was reported before the fault counts.
"""

import zlib
from collections.abc import Callable
from typing import Any, Final
from xml.parsers import expat

__all__ = ["bounded_body", "local_name", "walk", "walk_elements"]

_MAX_BYTES: Final = 50 * 1024 * 1024
_MAX_DEPTH: Final = 2_000
_MAX_ELEMENT_TEXT: Final = 4_096
_CHUNK: Final = 1 << 16

StartHandler = Callable[[str, dict[str, str]], Any]
"""Called with the local name and the attributes of an element that begins. False ends the walk."""
EndHandler = Callable[[str], Any]
TextHandler = Callable[[str], Any]
ElementHandler = Callable[[list[str], dict[str, str], str], bool]
"""Called at the end of an element with the local names from the root down to it, its attributes, and the text since
its last child, without surrounding white space ('' if it is longer than 4,096 characters). False ends the walk."""


class _WalkEnd(Exception):
    """Ends a walk for the reason in its message."""


def local_name(name: str) -> str:
    """Return a name without its namespace prefix."""
    return name.rpartition(":")[2]


def bounded_body(body: bytes) -> tuple[bytes, str]:
    """Return the body, unpacked if it is gzip and cut at the limit, and what is wrong with it ('' if nothing)."""
    problem = ""
    if body[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(wbits=31)
        try:
            body = unpacker.decompress(body, _MAX_BYTES + 1)
        except zlib.error:
            return b"", "broken gzip"
        if not unpacker.eof:
            problem = "gzip ends too early"
    if len(body) > _MAX_BYTES:
        return body[:_MAX_BYTES], f"longer than {_MAX_BYTES} bytes"
    return body, problem


def walk(body: bytes, start: StartHandler, end: EndHandler, text: TextHandler) -> str:
    """Call back for each element, by its local name, and each piece of text. Return why the walk ended early, or ''."""
    names: list[str] = []

    def on_start(name: str, attributes: dict[str, str]) -> None:
        if len(names) >= _MAX_DEPTH:
            raise _WalkEnd("nested too deeply")
        name = name.rpartition(":")[2]
        names.append(name)
        if start(name, attributes) is False:
            raise _WalkEnd("more entries than are read")

    return _parse(body, on_start, lambda _: end(names.pop()), text)


def walk_elements(body: bytes, visit: ElementHandler) -> str:
    """Call `visit` for each element at its end. Return why the walk ended early, or ''."""
    elements = _ElementStack(visit)
    return _parse(body, elements.start, elements.end, elements.add_text)


def _parse(body: bytes, start: StartHandler, end: EndHandler, text: TextHandler) -> str:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = _refuse_entity
    body = body[:_MAX_BYTES].lstrip(b" \t\r\n")
    try:
        for offset in range(0, len(body), _CHUNK):
            parser.Parse(body[offset : offset + _CHUNK], False)
        parser.Parse(b"", True)
    except _WalkEnd as reason:
        return str(reason)
    except expat.ExpatError as error:
        return f"not well-formed XML: {error}"
    except (LookupError, ValueError, TypeError) as error:
        # Expat asks Python for encodings that it does not have, by whatever name the document declares.
        return f"unknown encoding: {error}"
    return ""


def _refuse_entity(name: str, *_: object) -> None:
    raise _WalkEnd(f"declares the entity '{name[:40]}', which is refused")


class _ElementStack:
    """The elements that are open, with the attributes of each and the text since the last tag."""

    def __init__(self, visit: ElementHandler) -> None:
        self._visit = visit
        self._names: list[str] = []
        self._attributes: list[dict[str, str]] = []
        self._text: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._names) >= _MAX_DEPTH:
            raise _WalkEnd("nested too deeply")
        self._names.append(name.rpartition(":")[2])
        self._attributes.append(attributes)
        self._text, self._length = [], 0

    def add_text(self, text: str) -> None:
        if self._length <= _MAX_ELEMENT_TEXT:
            self._text.append(text[:_MAX_ELEMENT_TEXT])
            self._length += len(text)

    def end(self, _name: str) -> None:
        text = "".join(self._text).strip() if self._length <= _MAX_ELEMENT_TEXT else ""
        wanted = self._visit(self._names, self._attributes.pop(), text)
        self._names.pop()
        self._text, self._length = [], 0
        if not wanted:
            raise _WalkEnd("more entries than are read")
