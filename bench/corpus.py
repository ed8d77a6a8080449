"""What is indexed and asked in the benchmarks: passages, their tokens, and queries.

A corpus is a JSONL of {id, url, title, text}, plain or compressed, cut into passages of 200 words. Without one, a
seeded corpus is made: words by Zipf's law, each text from one of many topics. The tokens are those of our text room,
stems joined by spaces, and every engine gets the same ones.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from periplus.store import read_lines
from periplus.text import WordTable, language_number, split_text, terms_of

KINDS = ("term", "union", "intersection", "phrase")
SEED = 20_26
_BATCH = 20_000
_SYLLABLES = tuple(c + v for c in "bdfgklmnprstvz" for v in "aeiou")


class Passage(NamedTuple):
    """One document of a benchmark."""

    url: str
    title: str
    text: str


class Asked(NamedTuple):
    """One query, as words and as a person would type it."""

    kind: str
    terms: tuple[str, ...]
    typed: str


def cut(text: str, words: int) -> Iterator[str]:
    """Cut a text into passages of `words` words; the last may be shorter. A text without words gives none."""
    pieces = text.split()
    for begin in range(0, len(pieces), words):
        yield " ".join(pieces[begin : begin + words])


def read_passages(path: Path, words: int) -> Iterator[Passage]:
    """Read a JSONL corpus, cut into passages."""
    for line in read_lines(path):
        if not line.strip():
            continue
        entry = json.loads(line)
        address = entry.get("url") or f"https://corpus.example/{entry.get('id', '')}"
        joint = "&" if "?" in address else "?"
        for number, piece in enumerate(cut(entry.get("text", ""), words)):
            url = f"{address}{joint}passage={number}" if number else address
            yield Passage(url, entry.get("title", ""), piece)


def _word(number: int) -> str:
    """Make up a word that can be spoken; different numbers, different words."""
    parts = []
    number += len(_SYLLABLES)
    while number:
        number, rest = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[rest])
    return "".join(parts)


def make_passages(words: int, vocabulary: int = 200_000, topics: int = 500, seed: int = SEED) -> Iterator[Passage]:
    """Make passages without end: half of each from Zipf's law, half from the words of its topic."""
    random = np.random.default_rng(seed)
    names = np.array([_word(n) for n in range(vocabulary)], object)
    general = _zipf(vocabulary, 1.05)
    special = _zipf(2_000, 0.8)
    members = random.integers(100, vocabulary, (topics, 2_000))
    page = 0
    while True:
        chosen = random.integers(0, topics, 500)
        lengths = random.integers(words // 2, words + 1, 500)
        plain = np.searchsorted(general, random.random((500, words)))
        own = members[chosen[:, None], np.searchsorted(special, random.random((500, words)))]
        drawn = np.where(random.random((500, words)) < 0.5, plain, own)
        for row, length in zip(drawn, lengths, strict=True):
            text = names[row[:length]]
            url = f"https://made-{page % 997}.example/{page}"
            yield Passage(url, " ".join(text[:4]), " ".join(text))
            page += 1


def _zipf(count: int, slope: float) -> np.ndarray:
    weights = 1.0 / np.arange(1, count + 1) ** slope
    sums: np.ndarray = np.cumsum(weights / weights.sum())
    sums[-1] = 1.0
    return sums


def tokenise(texts: Iterable[str], language: str = "en") -> Iterator[str]:
    """Return each text as stems joined by spaces: what all engines index, split at spaces only."""
    table, strings = WordTable(), list[str]()
    waiting = iter(texts)
    while batch := list(islice(waiting, _BATCH)):
        raw = [text.encode("utf-8", "replace") for text in batch]
        bounds = np.cumsum([0, *map(len, raw)], dtype=np.int64)
        split = table.split(b"".join(raw), bounds, np.full(len(raw), language_number(language), np.uint8))
        strings += [_steady(term) for term in table.terms(len(strings))]
        words = np.array(strings, object)[split.words]
        begin = 0
        for length in split.lengths.tolist():
            yield " ".join(words[begin : begin + length])
            begin += length


def _steady(term: bytes) -> str:
    """Make sure that splitting a term again gives that term, so that our own index reads the same tokens."""
    text = term.decode("utf-8", "replace")
    again = split_text(text)
    if again == [text]:
        return text
    joined = "".join(c for c in "".join(again) if c.isalnum())
    return joined if split_text(joined) == [joined] else f"x{term.hex()}"


def read_queries(path: Path) -> list[Asked]:
    """Read {query, tags} lines; keep the kinds that every engine has."""
    found = []
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        kind = entry["tags"][0]
        terms = tuple(query_terms(entry["query"]))
        if kind in KINDS and terms:
            found.append(Asked("term" if len(terms) == 1 else kind, terms, entry["query"]))
    return found


def query_terms(text: str, language: str = "en") -> list[str]:
    """Split and stem the words of a query as the passages were."""
    return [_steady(term) for term in terms_of(split_text(text), language)]


def make_queries(texts: Sequence[str], count: int = 200, seed: int = SEED) -> list[Asked]:
    """Make queries of every kind from words that stand together in the tokenised `texts`."""
    random = np.random.default_rng(seed)
    found: list[Asked] = []
    while len(found) < 3 * count:
        words = texts[int(random.integers(len(texts)))].split(" ")
        size = int(random.choice([2, 2, 2, 3, 3, 4]))
        if len(words) < size:
            continue
        begin = int(random.integers(len(words) - size + 1))
        terms = tuple(words[begin : begin + size])
        plain = " ".join(terms)
        found.append(Asked("union", terms, plain))
        found.append(Asked("intersection", terms, "+" + plain.replace(" ", " +")))
        found.append(Asked("phrase", terms, f'"{plain}"'))
    return found
