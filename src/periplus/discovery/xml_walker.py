"""The one XML walker: expat over XML from strangers, within bounds, without document types and without recursion.

A document type with an internal subset is refused: its entities and its default attributes make a small file large. A
document type that only names one (as XHTML and RSS 0.91 do) is accepted, and what it names is never read. `walk`
reports every element and text; `walk_elements` reports each element once, at its end, with its text. Both end at the
first fault and return its description; what was reported before the fault counts.
"""

import time
import zlib
from collections.abc import Callable
from typing import Any, Final
from xml.parsers import expat

__all__ = ["MORE_ENTRIES", "bounded_body", "local_name", "walk", "walk_elements"]

_MAX_BYTES: Final = 50 * 1024 * 1024
_MAX_DEPTH: Final = 2_000
_MAX_ELEMENT_TEXT: Final = 4_096
_CHUNK: Final = 1 << 16
_GZIP_MAGIC: Final = b"\x1f\x8b"
_MAX_LAYERS: Final = 2
MORE_ENTRIES: Final = "more entries than are read"
"""Why a walk ended that its handler ended."""
_MAX_TAGS: Final = 2_000_000
"""Which bounds the elements; a sitemap of 50,000 pages with ten language versions each has 0.8 million."""
_MAX_EQUALS_SIGNS: Final = 8_000_000
"""Which bounds the attributes: with default values refused, each has one of its own."""
_MAX_ELEMENT_ATTRIBUTES: Final = 1_000
_MAX_SECONDS: Final = 20.0
"""For one file. A file within the other limits takes less on any machine; this is for what they do not foresee."""

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
    """Return the body, unpacked if it is gzip and cut at the limit, and what is wrong with it ('' if nothing).

    A file that is gzip may have been packed once more on its way.
    """
    problem = ""
    for _ in range(_MAX_LAYERS):
        if body[:2] != _GZIP_MAGIC:
            break
        body, fault = _unpack(body)
        problem = problem or fault
    if len(body) > _MAX_BYTES:
        return body[:_MAX_BYTES], f"longer than {_MAX_BYTES} bytes"
    return body, problem


def _unpack(body: bytes) -> tuple[bytes, str]:
    """Return what the members of a gzip file contain, up to just above the limit, and what is wrong with it."""
    unpacker, pieces, size, at = zlib.decompressobj(wbits=31), list[bytes](), 0, 0
    while at < len(body) and size <= _MAX_BYTES:
        part = body[at : at + _CHUNK]  # a member gives back what follows it: all of the body would be copied each time
        try:
            pieces.append(unpacker.decompress(part, _MAX_BYTES + 1 - size))
        except zlib.error:
            return b"".join(pieces), "broken gzip"
        size += len(pieces[-1])
        at += len(part) - len(unpacker.unused_data) - len(unpacker.unconsumed_tail)
        if unpacker.eof:
            if body[at : at + 2] != _GZIP_MAGIC:
                break
            unpacker = zlib.decompressobj(wbits=31)
    return b"".join(pieces), "" if unpacker.eof or size > _MAX_BYTES else "gzip ends too early"


def walk(body: bytes, start: StartHandler, end: EndHandler, text: TextHandler) -> str:
    """Call back for each element, by its local name, and each piece of text. Return why the walk ended early, or ''."""
    names: list[str] = []

    def on_start(name: str, attributes: dict[str, str]) -> None:
        if len(names) >= _MAX_DEPTH or len(attributes) > _MAX_ELEMENT_ATTRIBUTES:
            raise _WalkEnd(_describe_excess(len(names)))
        name = name.rpartition(":")[2]
        names.append(name)
        if start(name, attributes) is False:
            raise _WalkEnd(MORE_ENTRIES)

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
    parser.StartDoctypeDeclHandler = _check_document_type
    parser.EntityDeclHandler = _refuse_declaration
    parser.AttlistDeclHandler = _refuse_declaration
    body = body[:_MAX_BYTES].lstrip(b" \t\r\n")
    deadline = time.monotonic() + _MAX_SECONDS
    tags = equals_signs = 0
    try:
        for offset in range(0, len(body), _CHUNK):
            chunk = body[offset : offset + _CHUNK]
            # Counted here rather than by the handlers, which would be a tenth slower.
            tags += chunk.count(b"<")
            equals_signs += chunk.count(b"=")
            if tags > _MAX_TAGS or equals_signs > _MAX_EQUALS_SIGNS:
                return "more elements or attributes than are read"
            parser.Parse(chunk, False)
            if time.monotonic() > deadline:
                return f"takes longer than {_MAX_SECONDS:g} seconds"
        parser.Parse(b"", True)
    except _WalkEnd as reason:
        return str(reason)
    except expat.ExpatError as error:
        return f"not well-formed XML: {error}"
    except (LookupError, ValueError, TypeError) as error:
        # Expat asks Python for encodings that it does not have, by whatever name the document declares.
        return f"unknown encoding: {error}"
    return ""


def _check_document_type(name: str, system_id: str | None, public_id: str | None, has_subset: int) -> None:
    """Refuse an internal subset where it begins, before expat reads any of it."""
    if has_subset:
        raise _WalkEnd(f"the document type '{name[:40]}' has an internal subset, which is refused")


def _refuse_declaration(name: str, *_: object) -> None:
    raise _WalkEnd(f"declares '{name[:40]}', which is refused")


def _describe_excess(depth: int) -> str:
    return "nested too deeply" if depth >= _MAX_DEPTH else "more attributes than are read"


class _ElementStack:
    """The elements that are open, with the attributes of each and the text since the last tag."""

    def __init__(self, visit: ElementHandler) -> None:
        self._visit = visit
        self._names: list[str] = []
        self._attributes: list[dict[str, str]] = []
        self._text: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._names) >= _MAX_DEPTH or len(attributes) > _MAX_ELEMENT_ATTRIBUTES:
            raise _WalkEnd(_describe_excess(len(self._names)))
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
            raise _WalkEnd(MORE_ENTRIES)
