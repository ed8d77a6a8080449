"""Words that stand for each other, learnt from links: two texts that lead to one page, alike but for one word each.

'Eiffel tower' and 'tour Eiffel' lead to the same place, so `tower` and `tour` may stand for each other; a pair counts
once it was met at several pages, in a good share of where its rarer word was met at all. Kept beside the graph, for
`periplus.query` to read.
"""

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.graph.lookup import Graph

__all__ = ["learn_synonyms"]

_FILE: Final = "synonyms.arrays"
_KIND: Final = "synonyms"
_MOST_PAGES: Final = 300_000
"""Pages that are learnt from: of more, some evenly spread."""
_MOST_TEXTS: Final = 6
"""Texts of one page that are compared: the weightiest."""
_MOST_PAIRS: Final = 50_000
_LEAST: Final = 3
"""Pages at which a pair must have been met."""
_SHARE: Final = 0.2
"""Of the pages where the rarer word was met beside another text."""


def learn_synonyms(graph: Graph, folder: Path) -> int:
    """Learn from all anchor texts and write what was learnt to `folder`; give how many pairs there are."""
    met, pairs = Counter[str](), Counter[tuple[str, str]]()
    step = max(1, len(graph) // _MOST_PAGES)
    for row in range(0, len(graph), step):
        texts = graph.texts_of(row)[:_MOST_TEXTS]
        if len(texts) > 1:
            _compare([frozenset(_words(text)) for text in texts], met, pairs)
    good = [
        (count, one, two)
        for (one, two), count in pairs.items()
        if count >= _LEAST and count >= _SHARE * min(met[one], met[two])
    ]
    kept = sorted(good, reverse=True)[:_MOST_PAIRS]
    lines = "".join(f"{one} {two} {count}\n" for count, one, two in sorted(kept, key=lambda pair: pair[1:]))
    arrays: dict[str, npt.NDArray[Any]] = {"pairs": np.frombuffer(lines.encode("utf-8"), np.uint8)}
    write_arrays(folder / _FILE, _KIND, arrays)
    return len(kept)


def _words(text: str) -> list[str]:
    return [word for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split() if len(word) > 1]


def _compare(texts: list[frozenset[str]], met: Counter[str], pairs: Counter[tuple[str, str]]) -> None:
    """Count, once for the page, the words by which two of its texts differ if that is one word each."""
    found = set()
    for one, two in combinations(dict.fromkeys(texts), 2):
        mine, yours = one - two, two - one
        if len(mine) == len(yours) == 1 and (one & two or len(one) == len(two) == 1):
            (a,), (b,) = mine, yours
            found.add((min(a, b), max(a, b)))
    pairs.update(found)
    met.update({word for text in texts for word in text})
