"""`link:` in a query: whom it means, and which pages link there, looked up in the backlinks beside the link graph."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl, DataError
from periplus.query import And, AndNot, Link, Node, Or
from periplus.url import parse_address

if TYPE_CHECKING:
    from periplus.graph import Backlinks

__all__ = ["look_up_links"]

Keys = npt.NDArray[np.uint64]
_NONE: Final = np.zeros(0, np.uint64)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def look_up_links(tree: Node, folder: Path, visits: int) -> tuple[Node, tuple[str, ...]]:
    """Give `tree` with the pages of each `link:`, and what has to be said about them.

    folder: that of the graph; visits: how many visits of the page store are in the index.
    """
    if not _any_link(tree):
        return tree, ()
    from periplus.graph import Backlinks

    try:
        known = Backlinks.open(folder)
    except DataError:
        return tree, ("Who links where is not known here yet: periplus index build finds out.",)
    notes: dict[str, None] = {}

    def pages(target: str) -> Keys:
        try:
            return _pages(known, target)
        except BadUrl:
            notes[f"'{target[:80]}' is no address that a page could link to."] = None
        except DataError:
            notes["The file of who links where is damaged: periplus index build makes it anew."] = None
        return _NONE

    found = _replaced(tree, pages)
    if visits > known.visits:
        notes["Links of the newest pages are not known yet: they count from the next ranking of all pages on."] = None
    return found, tuple(notes)


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, And | Or):
        return node.parts
    return (node.part, node.barred) if isinstance(node, AndNot) else ()


def _any_link(node: Node) -> bool:
    return isinstance(node, Link) or any(map(_any_link, _parts(node)))


def _replaced(node: Node, pages: Callable[[str], Keys]) -> Node:
    if isinstance(node, Link):
        return Link(node.target, pages(node.target))
    if isinstance(node, AndNot):
        return AndNot(_replaced(node.part, pages), _replaced(node.barred, pages))
    if isinstance(node, And | Or):
        return type(node)(tuple(_replaced(part, pages) for part in node.parts))
    return node


def _pages(known: "Backlinks", target: str) -> Keys:
    """Give the pages that link to a URL, under either scheme if none is given; without a path, to a host."""
    scheme, _, rest = target.partition("://") if _SCHEME.match(target) else ("", "", target)
    if not any(mark in rest for mark in "/?#"):
        return known.to_host(parse_address(f"http://{rest.removeprefix('*.').rstrip('.')}/").host)
    urls = [target] if scheme else [f"http://{rest}", f"https://{rest}"]
    found = [known.to_url(parse_address(url).key) for url in urls]
    return np.unique(np.concatenate(found))
