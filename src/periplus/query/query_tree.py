"""What a query means, as a tree."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.text import Compound

__all__ = [
    "EVERYWHERE",
    "And",
    "AndNot",
    "BagOfWords",
    "ContentType",
    "DateRange",
    "FieldFilter",
    "Filter",
    "Language",
    "Link",
    "MatchAll",
    "Near",
    "Node",
    "NumberRange",
    "Or",
    "ParsedQuery",
    "Phrase",
    "Prefix",
    "Site",
    "Vertical",
    "Word",
    "alternative_words",
    "query_text",
    "words_of",
]

EVERYWHERE = 255
"""All fields, as a mask."""
_DEEPEST: Final = 200
"""Levels of a tree that are read; deeper parts are left out."""


@dataclass(frozen=True)
class Word:
    """One word that must be there, in one of the fields."""

    word: str
    fields: int = EVERYWHERE


@dataclass(frozen=True)
class BagOfWords:
    """Words of which at least one must be there; documents with more of them rank higher."""

    words: tuple[str, ...]
    compounds: tuple[Compound, ...] = ()
    """Which of the words are written as one."""


@dataclass(frozen=True)
class Phrase:
    """Words that must stand next to each other, in this order, in one of the fields."""

    words: tuple[str, ...]
    fields: int = EVERYWHERE
    compounds: tuple[Compound, ...] = ()
    """Which of the words are written as one."""


@dataclass(frozen=True)
class Near:
    """Words of which each must stand within `distance` words of the next, in any order, in one of the fields."""

    words: tuple[str, ...]
    distance: int
    fields: int = EVERYWHERE


@dataclass(frozen=True)
class Prefix:
    """Any word that begins so, in one of the fields."""

    beginning: str
    fields: int = EVERYWHERE


@dataclass(frozen=True)
class NumberRange:
    """Any whole number from `low` to `high`."""

    low: int
    high: int


@dataclass(frozen=True)
class Language:
    """Pages in a language."""

    code: str


@dataclass(frozen=True)
class ContentType:
    """Pages of a content type, or with such an ending: 'pdf', 'html', 'text/plain'."""

    name: str


@dataclass(frozen=True)
class Vertical:
    """Pages that have something beside their text: 'media', or that are 'news'."""

    what: str


@dataclass(frozen=True)
class DateRange:
    """Pages dated from day `after` to day `before`, in days since 1970."""

    after: int
    before: int


@dataclass(frozen=True)
class Site:
    """Pages of a host and its subdomains, below a path."""

    host: str
    path: str = ""


@dataclass(frozen=True)
class Link:
    """Pages that link to a URL, or to anything on a host and its subdomains."""

    target: str
    """As it was typed."""
    pages: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64), compare=False, repr=False)
    """Sorted keys of these pages; none until somebody who knows the links has looked them up."""


@dataclass(frozen=True)
class FieldFilter:
    """Documents by an own field: with a number, date or boolean from `low` to `high`, or with any of some keywords."""

    name: str
    kind: str
    """Its type: keyword, number, date or boolean."""
    low: float = -inf
    high: float = inf
    words: tuple[str, ...] = ()
    """Keywords; none where any value will do."""


@dataclass(frozen=True)
class MatchAll:
    """All documents: what a query of nothing but exclusions starts from."""


@dataclass(frozen=True)
class And:
    """Every part must match."""

    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Or:
    """At least one part must match."""

    parts: tuple["Node", ...]


@dataclass(frozen=True)
class AndNot:
    """`part` must match, and `barred` must not."""

    part: "Node"
    barred: "Node"


Filter = Site | Prefix | NumberRange | Language | ContentType | Vertical | DateRange | Link | FieldFilter
"""What is a set of documents, whatever else is asked."""

Node = Word | BagOfWords | Phrase | Near | Filter | MatchAll | And | Or | AndNot


class ParsedQuery(NamedTuple):
    """A query as understood."""

    tree: Node | None
    """None when there is nothing to look for."""
    notes: tuple[str, ...]


_IN_A_ROW: Final = (BagOfWords, Phrase, Near)
"""Nodes that are words; a union of types would be made anew whenever it is asked for."""


def query_text(tree: Node, depth: int = 0) -> str:
    """Return the words of a query in their order, without those that are excluded."""
    if isinstance(tree, _IN_A_ROW):
        return " ".join(tree.words)
    if isinstance(tree, Word):
        return tree.word
    if isinstance(tree, AndNot) and depth < _DEEPEST:
        return query_text(tree.part, depth + 1)
    if isinstance(tree, And | Or) and depth < _DEEPEST:
        return " ".join(words for part in tree.parts if (words := query_text(part, depth + 1)))
    return ""


def _has_alternatives(tree: Node) -> bool:
    """Return whether there is an OR in a tree, besides in what is excluded."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Or):
            return True
        if isinstance(node, And):
            nodes += node.parts
        elif isinstance(node, AndNot):
            nodes.append(node.part)
    return False


def alternative_words(tree: Node) -> frozenset[str]:
    """Return the words that stand only in alternatives of an OR: a page without them does not miss them."""
    if not _has_alternatives(tree):
        return frozenset()
    required: set[str] = set()
    alternatives: set[str] = set()
    nodes: list[tuple[Node, bool]] = [(tree, False)]
    while nodes:
        node, inside = nodes.pop()
        if isinstance(node, And | Or):
            nodes += [(part, inside or isinstance(node, Or)) for part in node.parts]
        elif isinstance(node, AndNot):
            nodes.append((node.part, inside))
        else:
            (alternatives if inside else required).update(query_text(node).split(" "))
    return frozenset(alternatives - required)


def words_of(node: Node, depth: int = 0) -> Iterator[str]:
    """Yield all words of a query, those that are excluded too."""
    if isinstance(node, _IN_A_ROW):
        yield from node.words
    elif isinstance(node, Word):
        yield node.word
    elif isinstance(node, And | Or | AndNot) and depth <= _DEEPEST:
        for part in (node.part, node.barred) if isinstance(node, AndNot) else node.parts:
            yield from words_of(part, depth + 1)
