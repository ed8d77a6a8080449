"""`link:` in a query: the pages that link to its target, looked up in the backlinks of the link graph."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl, CorruptFile, DataError
from periplus.query import And, AndNot, Filter, Link, Node, Or, TermSet
from periplus.url import parse_address

if TYPE_CHECKING:
    from periplus.graph import Backlinks

__all__ = ["list_targets", "resolve_filter", "resolve_links"]

Keys = npt.NDArray[np.uint64]
_DAMAGED: Final = "The file of backlinks is damaged: periplus index build writes it anew."
_NONE: Final = np.zeros(0, np.uint64)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def resolve_links(tree: Node, folder: Path, visits: int) -> tuple[Node, tuple[str, ...]]:
    """Return a tree in which every `link:` has the pages that link there, and notes for the person who asked.

    folder: of the graph; visits: how many records of the page store are in the index.
    """
    if not _has_link(tree):
        return tree, ()
    from periplus.graph import Backlinks

    try:
        backlinks = Backlinks.open(folder)
    except CorruptFile:
        return tree, (_DAMAGED,)
    except DataError:
        return tree, ("There are no backlinks yet: run periplus index build.",)
    notes: dict[str, None] = {}

    def pages(target: str) -> Keys:
        try:
            return _linking_pages(backlinks, target)
        except BadUrl:
            notes[f"'{target[:80]}' is not an address that a page could link to."] = None
        except DataError:
            notes[_DAMAGED] = None
        return _NONE

    resolved = _resolve(tree, pages)
    if visits > backlinks.records:
        notes["Links of the newest pages are missing: they count once the link graph is built again."] = None
    return resolved, tuple(notes)


def resolve_filter(wanted: Filter | TermSet, folder: Path) -> Filter | TermSet:
    """Return a filter of a plan; that of a link with the pages of a graph, in a folder, that link there."""
    if not isinstance(wanted, Link):
        return wanted
    resolved = resolve_links(wanted, folder, 0)[0]
    assert isinstance(resolved, Link)
    return resolved


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, And | Or):
        return node.parts
    return (node.part, node.barred) if isinstance(node, AndNot) else ()


def list_targets(node: Node) -> tuple[str, ...]:
    """Return the targets of all `link:` of a tree, in their order."""
    if isinstance(node, Link):
        return (node.target,)
    return tuple(target for part in _parts(node) for target in list_targets(part))


def _has_link(node: Node) -> bool:
    return isinstance(node, Link) or any(map(_has_link, _parts(node)))


def _resolve(node: Node, pages: Callable[[str], Keys]) -> Node:
    if isinstance(node, Link):
        return Link(node.target, pages(node.target))
    if isinstance(node, AndNot):
        return AndNot(_resolve(node.part, pages), _resolve(node.barred, pages))
    if isinstance(node, And | Or):
        return type(node)(tuple(_resolve(part, pages) for part in node.parts))
    return node


def _linking_pages(backlinks: "Backlinks", target: str) -> Keys:
    """Return the pages that link to a URL, under either scheme if it has none; without a path, to a host."""
    scheme, _, rest = target.partition("://") if _SCHEME.match(target) else ("", "", target)
    if not any(mark in rest for mark in "/?#"):
        return backlinks.find_by_host(parse_address(f"http://{rest.removeprefix('*.').rstrip('.')}/").host)
    urls = [target] if scheme else [f"http://{rest}", f"https://{rest}"]
    pages = [backlinks.find_by_url(parse_address(url).key) for url in urls]
    return np.unique(np.concatenate(pages))
