"""A tree cut down to what one query may ask for, with notes for the person who asked.

A part that is left out is left out of its operator: an AND or an OR goes on without it, and an exclusion excludes less.
Nothing is ever replaced by a part that matches everything.
"""

from dataclasses import replace

from periplus.query.query_budget import LIMITS, QueryLimits
from periplus.query.query_tree import And, AndNot, BagOfWords, Filter, Link, MatchAll, Near, Node, Or, Phrase

__all__ = ["limit_tree"]


def limit_tree(tree: Node, limits: QueryLimits = LIMITS) -> tuple[Node, tuple[str, ...]]:
    """Return a tree within its limits, and notes on what was left out; a tree that is within them is returned as is."""
    limiter = _TreeLimiter(limits)
    limited = limiter.limit(tree)
    if not limiter.notes and limited == tree:
        return tree, ()
    return limited or MatchAll(), tuple(limiter.notes)


class _TreeLimiter:
    """Walks a tree from left to right and counts what it has."""

    def __init__(self, limits: QueryLimits) -> None:
        self._limits = limits
        self._parts = 0
        self._filters: set[Filter] = set()
        self._links: set[Link] = set()
        self._phrases = 0
        self._phrase_words = 0
        self.notes: dict[str, None] = {}

    def limit(self, node: Node) -> Node | None:
        """Return a node within the limits, None if there is no room for it."""
        if isinstance(node, And | Or):
            return self._limit_parts(node)
        if isinstance(node, AndNot):
            part = self.limit(node.part)
            barred = self.limit(node.barred) if part else None
            return AndNot(part, barred) if part and barred else part
        if not isinstance(node, MatchAll) and not self._count_part():
            return None
        if isinstance(node, BagOfWords):
            return self._limit_bag(node)
        if isinstance(node, Phrase | Near):
            return self._limit_phrase(node)
        if isinstance(node, Filter):
            return node if self._count_filter(node) else None
        return node

    def _count_part(self) -> bool:
        self._parts += 1
        if self._parts > self._limits.parts:
            self.notes[f"The query is long; only its first {self._limits.parts} parts were used."] = None
            return False
        return True

    def _limit_parts(self, node: And | Or) -> Node | None:
        parts: list[Node] = []
        filters: set[Filter] = set()
        for part in node.parts:
            if isinstance(part, Filter) and part in filters:
                continue  # Once is enough: it matches the same pages.
            if limited := self.limit(part):
                parts.append(limited)
                if isinstance(limited, Filter):
                    filters.add(limited)
        if len(parts) == len(node.parts):
            return type(node)(tuple(parts))
        return type(node)(tuple(parts)) if len(parts) > 1 else parts[0] if parts else None

    def _limit_bag(self, bag: BagOfWords) -> BagOfWords:
        most = self._limits.words
        if len(bag.words) <= most or len(distinct := dict.fromkeys(bag.words)) <= most:
            return bag
        first = set(list(distinct)[:most])
        self.notes[f"The query is long; only its first {most} words were used."] = None
        return BagOfWords(tuple(word for word in bag.words if word in first))

    def _limit_phrase(self, phrase: Phrase | Near) -> Phrase | Near | None:
        limits = self._limits
        self._phrases += 1
        room = limits.phrase_words - self._phrase_words
        if self._phrases > limits.phrases or room <= 0:
            self.notes[f"Only the first {limits.phrases} phrases, of {limits.phrase_words} words, were used."] = None
            return None
        self._phrase_words += len(phrase.words)
        if len(phrase.words) <= room:
            return phrase
        self.notes[f"Only the first {limits.phrase_words} words of phrases were used."] = None
        return replace(phrase, words=phrase.words[:room])

    def _count_filter(self, node: Filter) -> bool:
        limits = self._limits
        self._filters.add(node)
        if isinstance(node, Link):
            self._links.add(node)
        if len(self._links) > limits.links:
            self._links.discard(node)
            self._filters.discard(node)
            self.notes[f"Only the first {limits.links} links of the query were looked up."] = None
            return False
        if len(self._filters) > limits.filters:
            self._filters.discard(node)
            self.notes[f"Only the first {limits.filters} filters, prefixes and ranges were used."] = None
            return False
        return True
