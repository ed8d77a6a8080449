"""Synonyms learned from anchor text: the different names that hosts use for one page.

There are two sources. **Names**: a page that several hosts call 'big apple' and several 'new york', where both texts
lead hardly anywhere else, has two names. **Words**: texts of one page that are equal but for one word each ('Eiffel
tower', 'tour Eiffel'), on several pages and each from several hosts, make `tower` and `tour` synonyms. Links within a
host, and links to untrusted pages, are ignored; so are pairs of names of which one contains all words of the other.
The pairs are stored beside the graph, one per line: 'name TAB name TAB hosts'.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.graph.exchange.rounds import SINGLE_PART, Part, Program, exchange_messages, gather_summaries, run_program
from periplus.graph.graph_reader import Graph
from periplus.typed_decoding import parse_json

__all__ = ["SynonymPair", "learn_shard_synonyms", "learn_synonyms", "read_synonyms"]

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


class SynonymPair(NamedTuple):
    """Two names of the same thing, and how many hosts at least use each of them."""

    name: str
    other: str
    hosts: int


class _AnchorName(NamedTuple):
    name: _Name
    hosts: int
    """Bits of the hosts that use it."""


class _SynonymCounts(msgspec.Struct):
    """What is counted on pages of one shard; counts of several shards are added up."""

    name_pairs: dict[str, tuple[int, int]] = {}
    """For each pair of names of one page, how many hosts use each of them, on the page where they are most."""
    name_hosts: dict[str, int] = {}
    word_pages: dict[str, int] = {}
    pair_pages: dict[str, int] = {}
    masks: dict[str, list[int]] = {}
    """For each pair of words, the bits of the hosts that use each of them."""

    def add_page(self, texts: list[_AnchorName]) -> None:
        """Count the names that other hosts use for one page."""
        for text in texts:
            _add_up(self.name_hosts, {_join(text.name): text.hosts.bit_count()})
        self._count_word_pairs(texts)
        frequent = [text for text in texts if text.hosts.bit_count() >= _MIN_HOSTS]
        for first, second in combinations(frequent, 2):
            if not set(first.name) <= set(second.name) and not set(second.name) <= set(first.name):
                a, b = sorted((first, second))
                self._add_pair(f"{_join(a.name)}\t{_join(b.name)}", (a.hosts.bit_count(), b.hosts.bit_count()))

    def _add_pair(self, pair: str, hosts: tuple[int, int]) -> None:
        self.name_pairs[pair] = max(hosts, self.name_pairs.get(pair, hosts))

    def _count_word_pairs(self, texts: list[_AnchorName]) -> None:
        """Count, once for each page, the two words by which two of its texts differ if that is one word each."""
        pairs = set()
        for first, second in combinations(texts, 2):
            only_first, only_second = set(first.name) - set(second.name), set(second.name) - set(first.name)
            if len(only_first) == len(only_second) == 1 and set(first.name) & set(second.name):
                (a,), (b,) = only_first, only_second
                words, hosts = ((a, b), (first.hosts, second.hosts)) if a < b else ((b, a), (second.hosts, first.hosts))
                pair = "\t".join(words)
                self._add_masks(pair, hosts)
                pairs.add(pair)
        if len(texts) > 1:
            _add_up(self.pair_pages, dict.fromkeys(pairs, 1))
            _add_up(self.word_pages, dict.fromkeys((word for text in texts for word in text.name), 1))

    def _add_masks(self, pair: str, hosts: Sequence[int]) -> None:
        masks = self.masks.setdefault(pair, [0, 0])
        masks[0] |= hosts[0]
        masks[1] |= hosts[1]

    def add_counts(self, other: "_SynonymCounts") -> None:
        """Add the counts of another shard."""
        _add_up(self.name_hosts, other.name_hosts)
        _add_up(self.word_pages, other.word_pages)
        _add_up(self.pair_pages, other.pair_pages)
        for pair, hosts in other.name_pairs.items():
            self._add_pair(pair, hosts)
        for pair, masks in other.masks.items():
            self._add_masks(pair, masks)

    def votes(self) -> dict[tuple[str, str], int]:
        """Return the pairs that are synonyms, and how many hosts use the rarer one."""
        votes = {}
        for pair, hosts in self.name_pairs.items():
            name, other = pair.split("\t")
            if all(
                count >= _MIN_EXCLUSIVITY * self.name_hosts[text]
                for count, text in zip(hosts, (name, other), strict=True)
            ):
                votes[name, other] = min(hosts)
        for pair, count in self.pair_pages.items():
            name, other = pair.split("\t")
            rarer = min(self.word_pages[name], self.word_pages[other])
            is_frequent = count >= _MIN_PAGES and count >= _MIN_SHARE * rarer
            hosts_of_both = min(mask.bit_count() for mask in self.masks[pair])
            if is_frequent and hosts_of_both >= _MIN_HOSTS:
                votes.setdefault((name, other), hosts_of_both)
        return votes


def learn_synonyms(graph: Graph, folder: Path) -> int:
    """Learn synonyms from all anchor texts, write them to `folder`, and return the number of pairs."""
    return run_program(learn_shard_synonyms(graph, folder, SINGLE_PART))


def learn_shard_synonyms(graph: Graph, folder: Path, part: Part) -> Program[int]:
    """Learn synonyms from the anchor texts of all shards, which the first one counts; write them to each `folder`."""
    rows = _named_rows(graph)
    arrivals = yield from gather_summaries("named pages", (len(rows),))
    counts = _SynonymCounts()
    for texts in _read_anchor_names(graph, rows[:: max(1, int(arrivals.totals()[0]) // _MAX_PAGES)]):
        counts.add_page(texts)
    own = {} if part.number == 0 else {0: {"counts": np.frombuffer(msgspec.json.encode(counts), np.uint8)}}
    received = yield from exchange_messages(part, "synonym counts", own)
    lines = b""
    if part.number == 0:
        for message in received.values():
            counts.add_counts(parse_json(message["counts"].tobytes(), _SynonymCounts))
        lines = _format_lines(counts.votes())
    others = range(1, part.shards) if part.number == 0 else ()
    synonyms = {"pairs": np.frombuffer(lines, np.uint8)}
    received = yield from exchange_messages(part, "synonyms", dict.fromkeys(others, synonyms))
    arrays: dict[str, npt.NDArray[Any]] = dict(received.get(0, synonyms))
    write_arrays(folder / _FILE, _KIND, arrays, format=_FORMAT)
    return arrays["pairs"].tobytes().count(b"\n")


def _add_up(totals: dict[str, int], counts: Mapping[str, int]) -> None:
    """Add counts to totals."""
    for text, count in counts.items():
        totals[text] = totals.get(text, 0) + count


def _join(name: _Name) -> str:
    return " ".join(name)


def _format_lines(votes: dict[tuple[str, str], int]) -> bytes:
    pairs = sorted(votes, key=lambda pair: (-votes[pair], _split_pair(pair)))[:_MAX_PAIRS]
    return "".join(f"{a}\t{b}\t{votes[a, b]}\n" for a, b in sorted(pairs, key=_split_pair)).encode("utf-8")


def _split_pair(pair: tuple[str, str]) -> tuple[list[str], list[str]]:
    return pair[0].split(" "), pair[1].split(" ")


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


def _named_rows(graph: Graph) -> npt.NDArray[np.int64]:
    """Return the rows of pages that other hosts have names for."""
    anchors = graph.anchor_hosts()
    external = np.concatenate((np.zeros(1, np.int64), np.cumsum(anchors.hosts != 0)))
    has_names = external[anchors.first[1:]] - external[anchors.first[:-1]] > 0
    return np.flatnonzero(has_names & graph.trusted_rows())


def _read_anchor_names(graph: Graph, rows: npt.NDArray[np.int64]) -> Iterator[list[_AnchorName]]:
    """Yield for each page the names that other hosts use for it."""
    anchors = graph.anchor_hosts()
    for row in rows.tolist():
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
