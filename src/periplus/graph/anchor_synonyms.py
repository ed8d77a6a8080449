"""Names that stand for each other, learnt from links: what different hosts call one page.

Two things teach. **Names**: a page that several hosts call 'big apple' and several 'new york', where both texts lead
hardly anywhere else, has two names. **Words**: texts of one page that are alike but for one word each ('Eiffel tower',
'tour Eiffel'), met at several pages and said by several hosts each, make `tower` and `tour` stand for each other. Links
within a host, and to pages that nobody trusted lifts, teach nothing; nor do names of which one has all words of the
other. Kept beside the graph, for `periplus.query` to read: a line for each pair, 'name TAB name TAB hosts'.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.graph.graph_reader import Graph

__all__ = ["learn_synonyms"]

_FILE: Final = "synonyms.arrays"
_KIND: Final = "synonyms"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes."""
_MOST_PAGES: Final = 300_000
"""Pages that are learnt from: of more, some evenly spread."""
_MOST_TEXTS: Final = 6
"""Texts of one page that are compared: the weightiest."""
_MOST_PAIRS: Final = 50_000
_HOSTS: Final = 3
"""Different hosts that must say each of two names."""
_OWN: Final = 0.7
"""Share of those who say a name that must mean this page by it."""
_LONGEST: Final = 4
"""Words of a name."""
_PAGES: Final = 3
"""Pages at which a pair of words must have been met ..."""
_SHARE: Final = 0.2
"""... of those where the rarer word was met beside another text, at least this share."""

_Name = tuple[str, ...]
_Masks = dict[tuple[str, str], list[int]]


class _Said(NamedTuple):
    name: _Name
    hosts: int
    """Bits of those who say it."""


def learn_synonyms(graph: Graph, folder: Path) -> int:
    """Learn from all anchor texts and write what was learnt to `folder`; give how many pairs there are."""
    names, said = dict[tuple[_Name, _Name], tuple[int, int]](), Counter[_Name]()
    met, pages, masks = Counter[str](), Counter[tuple[str, str]](), _Masks()
    for texts in _told(graph):
        for text in texts:
            said[text.name] += _count(text.hosts)
        _compare(texts, met, pages, masks)
        good = [text for text in texts if _count(text.hosts) >= _HOSTS]
        for one, two in combinations(good, 2):
            if not set(one.name) <= set(two.name) and not set(two.name) <= set(one.name):
                a, b = sorted((one, two))
                hosts = _count(a.hosts), _count(b.hosts)
                names[a.name, b.name] = max(hosts, names.get((a.name, b.name), hosts))
    votes = {
        pair: min(hosts)
        for pair, hosts in names.items()
        if all(count >= _OWN * said[name] for count, name in zip(hosts, pair, strict=True))
    }
    for words, count in pages.items():
        often = count >= _PAGES and count >= _SHARE * min(met[word] for word in words)
        agree = min(map(_count, masks[words]))
        if often and agree >= _HOSTS:
            votes.setdefault(((words[0],), (words[1],)), agree)
    return _write(folder, votes)


def _write(folder: Path, votes: dict[tuple[_Name, _Name], int]) -> int:
    kept = sorted(votes, key=lambda pair: (-votes[pair], pair))[:_MOST_PAIRS]
    lines = "".join(f"{' '.join(one)}\t{' '.join(two)}\t{votes[one, two]}\n" for one, two in sorted(kept))
    arrays: dict[str, npt.NDArray[Any]] = {"pairs": np.frombuffer(lines.encode("utf-8"), np.uint8)}
    write_arrays(folder / _FILE, _KIND, arrays, format=_FORMAT)
    return len(kept)


def _told(graph: Graph) -> Iterator[list[_Said]]:
    """Give what other hosts call each page, where they call it by two names or more."""
    voices = graph.voices()
    others = np.concatenate((np.zeros(1, np.int64), np.cumsum(voices.hosts != 0)))
    rows = np.flatnonzero((others[voices.first[1:]] - others[voices.first[:-1]] > 0) & graph.trusted())
    for row in rows[:: max(1, len(rows) // _MOST_PAGES)].tolist():
        masks = voices.hosts[voices.first[row] : voices.first[row + 1]].tolist()
        found: dict[_Name, int] = {}
        for text, mask in zip(graph.texts_of(row), masks, strict=False):
            name = _words(text)
            if mask and 0 < len(name) <= _LONGEST:
                found[name] = found.get(name, 0) | mask
        yield [_Said(*item) for item in list(found.items())[:_MOST_TEXTS]]


def _words(text: str) -> _Name:
    plain = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return tuple(word for word in plain if len(word) > 1 or not word.isascii())


def _count(mask: int) -> int:
    return mask.bit_count()


def _compare(texts: list[_Said], met: Counter[str], pages: Counter[tuple[str, str]], masks: _Masks) -> None:
    """Count, once for the page, the words by which two of its texts differ if that is one word each."""
    found = set()
    for one, two in combinations(texts, 2):
        mine, yours = set(one.name) - set(two.name), set(two.name) - set(one.name)
        if len(mine) == len(yours) == 1 and set(one.name) & set(two.name):
            (a,), (b,) = mine, yours
            pair, hosts = ((a, b), (one.hosts, two.hosts)) if a < b else ((b, a), (two.hosts, one.hosts))
            known = masks.setdefault(pair, [0, 0])
            known[0] |= hosts[0]
            known[1] |= hosts[1]
            found.add(pair)
    if len(texts) > 1:
        pages.update(found)
        met.update({word for text in texts for word in text.name})
