"""Words that stand for those of a query, as links have taught: they add a little to the score, and match nothing."""

from pathlib import Path
from typing import Final

from periplus.arrays import ArrayFile
from periplus.index import Index
from periplus.kernels import match
from periplus.query.prepare import Leaf, Prepared
from periplus.text import is_stop_word, terms_of

__all__ = ["Synonyms"]

_FILE: Final = "synonyms.arrays"
_KIND: Final = "synonyms"
_MOST: Final = 2
"""Words that one word is widened by."""


class Synonyms:
    """Pairs of words that stand for each other, and what the other counts (0 to 1)."""

    def __init__(self, pairs: dict[str, tuple[str, ...]], weight: float) -> None:
        self._pairs = pairs
        self._weight = weight

    @classmethod
    def open(cls, folder: Path, weight: float) -> "Synonyms":
        """Read what `periplus.graph.learn_synonyms` wrote; nothing if it did not, or counts nothing."""
        if not weight or not (folder / _FILE).exists():
            return cls({}, 0.0)
        file = ArrayFile(folder / _FILE, _KIND)
        file.check()
        pairs: dict[str, dict[str, int]] = {}
        for line in file["pairs"].tobytes().decode("utf-8", "replace").splitlines():
            one, two, count = line.split(" ")
            pairs.setdefault(one, {})[two] = pairs.setdefault(two, {})[one] = int(count)
        return cls({word: tuple(sorted(o, key=lambda w: -o[w])) for word, o in pairs.items()}, weight)

    def of(self, word: str) -> tuple[str, ...]:
        """Give the words that stand for a word, the likeliest first."""
        return self._pairs.get(word, ())

    def widen(self, index: Index, prepared: Prepared) -> Prepared:
        """Give a query that is scored by such words too, a little; what it matches stays as it was."""
        if not self._pairs:
            return prepared
        main = max(index.languages, key=lambda code: index.languages[code], default="")
        known = {leaf.term for leaf in prepared.leaves}
        more: list[Leaf] = []
        for word in prepared.words:
            others = [other for other in self.of(word.word) if not is_stop_word(other, main)]
            for term in terms_of(others[:_MOST], main):
                if term not in known and len(prepared.leaves) + len(more) < match.MAX_LEAVES:
                    known.add(term)
                    more.append(Leaf(term, self._weight * word.weight, -1))
        prepared.lookup.add([leaf.term for leaf in more])
        return prepared._replace(leaves=(*prepared.leaves, *more)) if more else prepared
