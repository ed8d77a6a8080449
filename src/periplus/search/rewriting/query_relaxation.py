"""Queries that match no page, with fewer requirements, and a note that says which were given up.

Words that no page has are left out; phrases become their words; plain words beside required ones become optional; in
the end any of the words is enough. Exclusions and filters (site, language, type, dates, links, own fields) are
never relaxed.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from periplus.query import (
    And,
    AndNot,
    BagOfWords,
    ContentType,
    DateRange,
    FieldFilter,
    Language,
    Link,
    MatchAll,
    Near,
    Node,
    Or,
    Phrase,
    Site,
    Vertical,
    Word,
)

__all__ = ["RelaxedQuery", "note_unknown_words", "relax_query"]

_FIXED: Final = (Site, Language, ContentType, Vertical, DateRange, Link, FieldFilter, MatchAll, AndNot)
"""Parts that are never relaxed."""
_MAX_QUOTED: Final = 4
"""Words or phrases that a note quotes."""
_MAX_LENGTH: Final = 60
"""Characters of each of them."""


class RelaxedQuery(NamedTuple):
    """A query with fewer requirements than it had."""

    tree: Node
    notes: tuple[str, ...]


def relax_query(tree: Node, unknown: frozenset[str]) -> Iterator[RelaxedQuery]:
    """Yield at most two relaxed forms of a query that matches nothing, the stricter one first.

    unknown: words of the query that no page has.
    """
    known = _without(tree, unknown)
    if known is None or not _has_words(known):
        return
    notes = [f"{note_unknown_words(unknown)[:-1]}: left out of the search."] if known != tree else []
    if notes:
        yield RelaxedQuery(known, (notes[0],))
    elif (words := _phrases_as_words(known)) != known:
        yield RelaxedQuery(words, (_note_phrases(known),))
    elif (optional := _plain_words_as_optional(known)) != known:
        yield RelaxedQuery(optional, (_note_plain_words(known),))
    loose = _any_word(known)
    if loose != known:
        yield RelaxedQuery(loose, (*notes, _note_any_word(known)))


def note_unknown_words(unknown: Iterable[str]) -> str:
    """Return the note that no page has some words."""
    return f"No page has {_quote(sorted(unknown), ' or ')}."


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, And | Or):
        return node.parts
    return (node.part,) if isinstance(node, AndNot) else ()


def _words(node: Node) -> list[str]:
    """Return the words of a query that are not excluded, in their order."""
    if isinstance(node, BagOfWords | Phrase | Near):
        return list(node.words)
    if isinstance(node, Word):
        return [node.word]
    return [word for part in _parts(node) for word in _words(part)]


def _has_words(node: Node) -> bool:
    """Return whether a query asks for more than filters."""
    return any(map(_has_words, _parts(node))) if _parts(node) else not isinstance(node, _FIXED)


def _has_fixed(node: Node) -> bool:
    return isinstance(node, _FIXED) or any(map(_has_fixed, _parts(node)))


def _join(nodes: Iterable[Node | None], kind: type[And] | type[Or]) -> Node | None:
    parts = tuple(node for node in nodes if node is not None)
    return kind(parts) if len(parts) > 1 else parts[0] if parts else None


def _without(node: Node, unknown: frozenset[str]) -> Node | None:
    """Return a query without some words; None if nothing is left."""
    if isinstance(node, And | Or):
        return _join((_without(part, unknown) for part in node.parts), type(node))
    if isinstance(node, AndNot):
        part = _without(node.part, unknown)
        return AndNot(part, node.barred) if part else None
    if not isinstance(node, Word | BagOfWords | Phrase | Near) or unknown.isdisjoint(_words(node)):
        return node
    words = tuple(word for word in _words(node) if word not in unknown)
    if isinstance(node, BagOfWords):
        return BagOfWords(words) if words else None
    return _join((Word(word, node.fields) for word in words), And)


def _phrases_as_words(node: Node) -> Node:
    """Return a query in which the words of phrases may stand anywhere in their fields."""
    if isinstance(node, And | Or):
        return type(node)(tuple(map(_phrases_as_words, node.parts)))
    if isinstance(node, AndNot):
        return AndNot(_phrases_as_words(node.part), node.barred)
    if isinstance(node, Phrase | Near):
        return _join((Word(word, node.fields) for word in dict.fromkeys(node.words)), And) or node
    return node


def _plain_words_as_optional(node: Node) -> Node:
    """Return a query in which plain words beside required ones are optional."""
    if isinstance(node, AndNot):
        return AndNot(_plain_words_as_optional(node.part), node.barred)
    if not isinstance(node, And) or not any(_has_words(part) for part in node.parts if not _is_bag(part)):
        return node
    return And(tuple(Or((MatchAll(), part)) if _is_bag(part) else part for part in node.parts))


def _is_bag(node: Node) -> bool:
    return isinstance(node, BagOfWords)


def _any_word(node: Node, depth: int = 0) -> Node:
    """Return a query in which any of the words is enough, in any field; what is fixed stays."""
    if isinstance(node, AndNot):
        return AndNot(_any_word(node.part, depth), node.barred)
    if isinstance(node, Or) and _has_fixed(node):
        return Or(tuple(_any_word(part, depth + 1) for part in node.parts))
    parts = node.parts if isinstance(node, And) else (node,)
    fixed = [_any_word(part, depth + 1) if _parts(part) else part for part in parts if _has_fixed(part)]
    loose = [part for part in parts if not _has_fixed(part)]
    words = tuple(word for part in loose for word in _words(part))
    bag = [BagOfWords(words)] if words and not depth else [Word(word) for word in dict.fromkeys(words)]
    others = [leaf for part in loose for leaf in _leaves(part) if not _words(leaf)]
    return _join([*fixed, _join([*bag, *others], Or)], And) or node


def _leaves(node: Node) -> list[Node]:
    return [leaf for part in _parts(node) for leaf in _leaves(part)] if _parts(node) else [node]


def _note_phrases(node: Node) -> str:
    """Return the note that phrases are searched as words."""
    leaves = _leaves(node)
    phrases = [" ".join(leaf.words) for leaf in leaves if isinstance(leaf, Phrase | Near)]
    others = [word for leaf in leaves if not isinstance(leaf, Phrase | Near) for word in _words(leaf)]
    beside = f" together with {_quote(others, ', ')}" if others else ""
    return f"No page has {_quote(phrases, ' and ')}{beside}; showing pages with the words instead."


def _note_plain_words(node: Node) -> str:
    words = [word for leaf in _leaves(node) if isinstance(leaf, BagOfWords) for word in leaf.words]
    return f"No page has {_quote(words, ' or ')} together with the required words; showing pages without."


def _note_any_word(node: Node) -> str:
    words = list(dict.fromkeys(_words(node)))
    if len(words) == 1:
        return f"No page has {_quote(words, '')} in that field; showing pages that have it elsewhere."
    return "No page has all of the required words; showing pages with some of them."


def _quote(texts: Iterable[str], separator: str) -> str:
    """Return some texts in quotes; of many, the first."""
    every = list(dict.fromkeys(texts))
    shown = [f'"{text[:_MAX_LENGTH]}"' for text in every[:_MAX_QUOTED]]
    return separator.join(shown) + (", …" if len(every) > _MAX_QUOTED else "")
