"""XML from strangers, walked through element by element: no entity of their own is expanded, nothing recurses."""

from collections.abc import Callable
from typing import Any, Final
from xml.parsers import expat

__all__ = ["local", "walk"]

_PIECE: Final = 1 << 18
_DEEPEST: Final = 2_000


class _Stop(Exception):
    """The document declares entities, or somebody has seen enough."""


def local(name: str) -> str:
    """Give a name without its prefix."""
    return name.rpartition(":")[2]


def walk(
    body: bytes,
    start: Callable[[str, dict[str, str]], Any],
    end: Callable[[str], Any],
    text: Callable[[str], Any],
) -> bool:
    """Call back for each element (by its local name) and text; False when the XML breaks off or is refused.

    What comes before the fault has been told by then. `start` may give False to end the walk.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    depth = 0

    def on_start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST or start(local(name), attributes) is False:
            raise _Stop

    def on_end(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(local(name))

    def refuse(*_: Any) -> None:
        raise _Stop

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = refuse
    return _feed(parser, body)


def _feed(parser: Any, body: bytes) -> bool:
    bare = body.lstrip(b" \t\r\n")
    try:
        for place in range(0, len(bare), _PIECE):
            parser.Parse(bare[place : place + _PIECE], False)
        parser.Parse(b"", True)
    except (_Stop, expat.ExpatError, ValueError, LookupError, TypeError):
        return False
    return True
