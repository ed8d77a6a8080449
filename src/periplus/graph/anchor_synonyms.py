"""Synonyms learned from anchor text: the different names that hosts use for one page.

There are two sources. **Names**: a page that several hosts call 'big apple' and several 'new york', where both texts
lead hardly anywhere else, has two names. **Words**: texts of one page that are equal but for one word each ('Eiffel
tower', 'tour Eiffel'), on several pages and each from several hosts, make `tower` and `tour` synonyms. Links within a
host, and links to untrusted pages, are ignored; so are pairs of names of which one contains all words of the other.
The pairs are stored beside the graph, one per line: 'name TAB name TAB hosts'.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.graph.graph_reader import Graph

__all__ = ["SynonymPair", "learn_synonyms", "read_synonyms"]

_FILE: Final = "synonyms.arrays"
_KIND: Final = "synonyms"
_FORMAT: Final = 1
"""Version of the file's content, increased whenever that changes."""
_MAX_PAGES: Final = 300_000
"""Pages that are read; of more, an even sample."""
_MAX_TEXTS: Final = 6
"""Texts of one page that are compared: those of most weight."""
_MAX_PAIRS: Final = 50_000
_MIN_HOSTS: Final = 3
"""Different hosts that must use each of two names."""
_MIN_EXCLUSIVITY: Final = 0.7
"""Share of the hosts that use a name which must use it for this page."""
_MAX_WORDS: Final = 4
"""Words of a name."""
_MIN_PAGES: Final = 3
"""Pages on which a pair of words must occur ..."""
_MIN_SHARE: Final = 0.2
"""... and their least share of the pages on which the rarer word occurs beside another text."""

_Name = tuple[str, ...]
_HostMasks = dict[tuple[str, str], list[int]]


class SynonymPair(NamedTuple):
    """Two names of the same thing, and how many hosts at least use each of them."""

    name: str
    other: str
    hosts: int


class _AnchorName(NamedTuple):
    name: _Name
    hosts: int
    """Bits of the hosts that use it."""


def learn_synonyms(graph: Graph, folder: Path) -> int:
    """Learn synonyms from all anchor texts, write them to `folder`, and return the number of pairs."""
    name_pairs, name_hosts = dict[tuple[_Name, _Name], tuple[int, int]](), Counter[_Name]()
    word_pages, pair_pages, masks = Counter[str](), Counter[tuple[str, str]](), _HostMasks()
    for texts in _read_anchor_names(graph):
        for text in texts:
            name_hosts[text.name] += text.hosts.bit_count()
        _count_word_pairs(texts, word_pages, pair_pages, masks)
        frequent = [text for text in texts if text.hosts.bit_count() >= _MIN_HOSTS]
        for first, second in combinations(frequent, 2):
            if not set(first.name) <= set(second.name) and not set(second.name) <= set(first.name):
                a, b = sorted((first, second))
                hosts = a.hosts.bit_count(), b.hosts.bit_count()
                name_pairs[a.name, b.name] = max(hosts, name_pairs.get((a.name, b.name), hosts))
    votes = {
        pair: min(hosts)
        for pair, hosts in name_pairs.items()
        if all(count >= _MIN_EXCLUSIVITY * name_hosts[name] for count, name in zip(hosts, pair, strict=True))
    }
    for words, count in pair_pages.items():
        is_frequent = count >= _MIN_PAGES and count >= _MIN_SHARE * min(word_pages[word] for word in words)
        hosts_of_both = min(mask.bit_count() for mask in masks[words])
        if is_frequent and hosts_of_both >= _MIN_HOSTS:
            votes.setdefault(((words[0],), (words[1],)), hosts_of_both)
    return _write_synonyms(folder, votes)


def _write_synonyms(folder: Path, votes: dict[tuple[_Name, _Name], int]) -> int:
    pairs = sorted(votes, key=lambda pair: (-votes[pair], pair))[:_MAX_PAIRS]
    lines = "".join(f"{' '.join(a)}\t{' '.join(b)}\t{votes[a, b]}\n" for a, b in sorted(pairs))
    arrays: dict[str, npt.NDArray[Any]] = {"pairs": np.frombuffer(lines.encode("utf-8"), np.uint8)}
    write_arrays(folder / _FILE, _KIND, arrays, format=_FORMAT)
    return len(pairs)


def read_synonyms(folder: Path) -> list[SynonymPair]:
    """Return the synonyms in the folder of a graph; none if `learn_synonyms` was not called."""
    if not (folder / _FILE).exists():
        return []
    file = ArrayFile(folder / _FILE, _KIND, format=_FORMAT)
    file.check()
    pairs = []
    for line in file["pairs"].tobytes().decode("utf-8", "replace").splitlines():
        columns = line.split("\t")
        if len(columns) == 3 and columns[2].isdecimal():  # Earlier versions wrote lines of another form.
            pairs.append(SynonymPair(columns[0], columns[1], int(columns[2])))
    return pairs


def _read_anchor_names(graph: Graph) -> Iterator[list[_AnchorName]]:
    """Yield for each page the names that other hosts use for it."""
    anchors = graph.anchor_hosts()
    external = np.concatenate((np.zeros(1, np.int64), np.cumsum(anchors.hosts != 0)))
    has_names = external[anchors.first[1:]] - external[anchors.first[:-1]] > 0
    rows = np.flatnonzero(has_names & graph.trusted_rows())
    for row in rows[:: max(1, len(rows) // _MAX_PAGES)].tolist():
        masks = anchors.hosts[anchors.first[row] : anchors.first[row + 1]].tolist()
        names: dict[_Name, int] = {}
        for text, mask in zip(graph.anchor_texts(row), masks, strict=False):
            name = _split_words(text)
            if mask and 0 < len(name) <= _MAX_WORDS:
                names[name] = names.get(name, 0) | mask
        yield [_AnchorName(*item) for item in list(names.items())[:_MAX_TEXTS]]


def _split_words(text: str) -> _Name:
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return tuple(word for word in words if len(word) > 1 or not word.isascii())


def _count_word_pairs(
    texts: list[_AnchorName],
    word_pages: Counter[str],
    pair_pages: Counter[tuple[str, str]],
    masks: _HostMasks,
) -> None:
    """Count, once for each page, the two words by which two of its texts differ if that is one word each."""
    pairs = set()
    for first, second in combinations(texts, 2):
        only_first, only_second = set(first.name) - set(second.name), set(second.name) - set(first.name)
        if len(only_first) == len(only_second) == 1 and set(first.name) & set(second.name):
            (a,), (b,) = only_first, only_second
            pair, hosts = ((a, b), (first.hosts, second.hosts)) if a < b else ((b, a), (second.hosts, first.hosts))
            pair_masks = masks.setdefault(pair, [0, 0])
            pair_masks[0] |= hosts[0]
            pair_masks[1] |= hosts[1]
            pairs.add(pair)
    if len(texts) > 1:
        pair_pages.update(pairs)
        word_pages.update({word for text in texts for word in text.name})
