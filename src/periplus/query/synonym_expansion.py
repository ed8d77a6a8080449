"""Names that stand for those of a query, as links have taught: they add a little to the score, and match nothing."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from periplus.index import CollectionView, SpellingDictionary
from periplus.query.kernels import match
from periplus.query.query_plan import Leaf, QueryPlan
from periplus.query.query_tree import And, BagOfWords, Node
from periplus.query.term_lookups import idf
from periplus.text import is_stop_word, terms_of

__all__ = ["Synonyms"]

_MOST: Final = 2
"""Names that one name is widened by."""
_MOST_WORDS: Final = 6
"""Words that a query is widened by."""
_LONGEST: Final = 4

_Name = tuple[str, ...]


class _ExpandableName(NamedTuple):
    """A name in a query that others stand for."""

    words: _Name
    others: tuple[_Name, ...]


class Synonyms:
    """Pairs of names that stand for each other, and what the other counts (0 to 1)."""

    def __init__(self, pairs: dict[_Name, tuple[_Name, ...]], weight: float) -> None:
        self._pairs = pairs
        self._weight = weight

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str, int]], weight: float) -> "Synonyms":
        """Return the synonyms of (name, other name, hosts); more hosts make a pair more certain."""
        hosts: dict[_Name, dict[_Name, int]] = {}
        for first, second, count in pairs:
            name, other = tuple(first.split(" ")), tuple(second.split(" "))
            hosts.setdefault(name, {})[other] = hosts.setdefault(other, {})[name] = count
        others = {name: tuple(sorted(counts, key=lambda o: (-counts[o], o))) for name, counts in hosts.items()}
        return cls(others, weight)

    def of(self, name: str) -> tuple[str, ...]:
        """Return the synonyms of a name, the surest first."""
        return tuple(" ".join(other) for other in self._pairs.get(tuple(name.split(" ")), ()))

    def expand(self, index: CollectionView, plan: QueryPlan, tree: Node) -> QueryPlan:
        """Return a plan that scores synonyms too, by a lower weight; what it matches does not change.

        Only words that any page may have: what stands in quotes or after an operator is meant as it is. And only by
        names that pages write more often than the one that was given: the other way round would only blur it.
        """
        bag = _bag(tree) if self._pairs else None
        if bag is None:
            return plan
        book = index.spelling
        main = max(index.languages, key=lambda code: index.languages[code], default="")
        known = {leaf.term for leaf in plan.leaves}
        room = min(_MOST_WORDS, match.MAX_LEAVES - len(plan.leaves))
        more: dict[bytes, Leaf] = {}
        told: dict[bytes, str] = {}
        for found in self._find(bag.words):
            asked = _times(book, found.words)
            for other in found.others:
                if _times(book, other) <= asked:
                    continue
                written = [word for word in other if not is_stop_word(word, main)]
                for word, term in zip(written, terms_of(written, main), strict=True):
                    if term not in known and term not in more and len(more) < room:
                        rare = idf(index, plan.lookup.frequency(term))
                        more[term] = Leaf(term, self._weight * rare, -1)
                        told[term] = f"{word}, for {' '.join(found.words)}"
        if not more:
            return plan
        return plan._replace(leaves=(*plan.leaves, *more.values()), synonyms=told)

    def _find(self, words: tuple[str, ...]) -> Iterator[_ExpandableName]:
        """Yield the names in a sequence of words that have synonyms, the longest at each position."""
        at = 0
        while at < len(words):
            for size in range(min(_LONGEST, len(words) - at), 0, -1):
                name = words[at : at + size]
                if name in self._pairs:
                    yield _ExpandableName(name, self._pairs[name][:_MOST])
                    at += size - 1
                    break
            at += 1


def _times(book: SpellingDictionary, name: _Name) -> float:
    """Estimate how many documents write a name; 0 until the words of the index are loaded."""
    if len(name) == 1:
        return book.document_frequencies(name)[0]
    return min(book.count_pairs(name[:-1], name[1:])) * book.documents / max(1, book.sampled)


def _bag(tree: Node) -> BagOfWords | None:
    """Return the bag of words of a query, which may have filters besides."""
    if isinstance(tree, And):
        return next((part for part in tree.parts if isinstance(part, BagOfWords)), None)
    return tree if isinstance(tree, BagOfWords) else None
