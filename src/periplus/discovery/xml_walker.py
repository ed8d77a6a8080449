"""A walk through hostile XML: no entities, bounded depth, text and size; what was read before a fault counts."""

import zlib
from collections.abc import Callable
from typing import Final
from xml.parsers import expat

__all__ = ["FetchRecord", "bounded_body", "walk"]

MOST_BYTES: Final = 50 * 1024 * 1024
_DEEPEST: Final = 64
_LONGEST_TEXT: Final = 4_096
_CHUNK: Final = 1 << 16

FetchRecord = Callable[[list[str], dict[str, str], str], bool]
"""Called at the end of each element with the local names from the root down to it, its attributes, and the text since
its last child, without blanks around it. False ends the walk."""


class _Stop(Exception):
    """The walk ends here, for the reason given."""


def bounded_body(body: bytes) -> tuple[bytes, str]:
    """Give the body unpacked if it is gzip, cut at the limit, and what was wrong with it ('' if nothing)."""
    problem = ""
    if body[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(wbits=31)
        try:
            body = unpacker.decompress(body, MOST_BYTES + 1)
        except zlib.error:
            return b"", "broken gzip"
        if not unpacker.eof:
            problem = "gzip ends too early"
    if len(body) > MOST_BYTES:
        return body[:MOST_BYTES], f"longer than {MOST_BYTES} bytes"
    return body, problem


def walk(body: bytes, visit: FetchRecord) -> str:
    """Walk through the elements of `body`. Give what ended the walk early, or ''."""
    parser = expat.ParserCreate()
    walker = _Walker(visit)
    parser.buffer_text = True
    parser.StartElementHandler = walker.start
    parser.EndElementHandler = walker.end
    parser.CharacterDataHandler = walker.characters
    parser.EntityDeclHandler = _refuse_entity
    body = body.lstrip(b" \t\r\n")
    try:
        for place in range(0, len(body), _CHUNK):
            parser.Parse(body[place : place + _CHUNK], False)
        parser.Parse(b"", True)
    except _Stop as stop:
        return str(stop)
    except expat.ExpatError as error:
        return f"not well-formed XML: {error}"
    except (LookupError, ValueError, TypeError) as error:
        # Expat asks Python for encodings that it does not know, by whatever name the file gives.
        return f"unknown encoding: {error}"
    return ""


class _Walker:
    def __init__(self, visit: FetchRecord) -> None:
        self._visit = visit
        self._names: list[str] = []
        self._attributes: list[dict[str, str]] = []
        self._text: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._names) >= _DEEPEST:
            raise _Stop("nested too deeply")
        self._names.append(name.rpartition(":")[2])
        self._attributes.append(attributes)
        self._clear()

    def characters(self, text: str) -> None:
        if self._length <= _LONGEST_TEXT:
            self._text.append(text[:_LONGEST_TEXT])
            self._length += len(text)

    def end(self, _name: str) -> None:
        text = "".join(self._text).strip() if self._length <= _LONGEST_TEXT else ""
        go_on = self._visit(self._names, self._attributes[-1], text)
        self._names.pop()
        self._attributes.pop()
        self._clear()
        if not go_on:
            raise _Stop("more entries than we take")

    def _clear(self) -> None:
        self._text = []
        self._length = 0


def _refuse_entity(name: str, *_: object) -> None:
    raise _Stop(f"declares the entity '{name[:40]}', which is refused")
