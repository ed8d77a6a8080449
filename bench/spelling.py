"""Spelling: how many misspellings of indexed words are mended, how many right words are harmed, and what it costs.

.venv/bin/python bench/spelling.py [--folder COLLECTION] [--queries FILE] [--words N] [--index FOLDER]

A collection is indexed as ever. Words are drawn from it (each as likely as another, and as likely as people meet it)
and from the query log, and misspelt by `misspellings`. Right is only the word that was meant, given first. Misspellings
that find the very same pages (the same stem) need no help and are not asked. One that is another word of the collection
('lie' for 'live', and many a name) has results of its own and is mostly left alone, as it should be; the share of right
ones is given of all, and of those that are no words of the collection. Harm is a suggestion for a right word: of the
index, of its titles (rare ones), or a query of the log as it is. Offers, for words that are found and do not go with
the rest of their query, are made where there is no correction, and counted apart. Replaced are queries of which the
correction may be searched at once, because no page has the words that it changes. Costs are processor time, the best
of three.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import misspellings
import record
from periplus.evaluate.collection import read_documents
from periplus.index import Index, build_index
from periplus.index.vocabulary.kernels import spelling_candidates as spelling_kernel
from periplus.index.vocabulary.kernels import surface_forms
from periplus.query import correct_spelling, parse_query, suggest_alternatives
from periplus.rank import Ranker
from periplus.search import rerank, retrieve
from periplus.search.rewriting.corrected_query import find_replacements
from periplus.settings import Settings
from periplus.text import split_text, terms_of

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
_ROUNDS = 3
"""Each time is the best of so many: other processes share the machine."""
_LEAST = 5
"""Documents that a word must be in to be misspelt; right words are drawn from rarer ones too."""


class QueryRunner:
    """Asks for corrections as the searcher does."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.ranker = Ranker(index, Settings().rank)
        self.seconds: list[float] = []
        self.offered: tuple[str, ...] = ()
        """What was offered for the last query, where it was not corrected."""
        self.offer_seconds: list[float] = []
        self.replaced = False
        """Whether the correction of the last query may be searched instead of it."""

    def stems(self, word: str) -> object:
        """Return the key that a word is searched by: equal for equal results."""
        return terms_of([word], "en")

    def is_known(self, typed: str) -> bool:
        """Return whether a misspelling is a word of the documents, in any form."""
        return (
            self.index.spelling.document_frequencies([typed])[0] > 0
            or self.index.document_frequency(terms_of([typed], "en")[0]) > 0
        )

    def ask(self, said: str) -> tuple[str, ...]:
        """Return the corrections of a query; suggested alternatives are in `offered`."""
        self.offered, self.replaced = (), False
        tree = parse_query(said).tree
        if tree is None:
            return ()
        prepared = self.ranker.plan(tree)
        self.replaced = bool(find_replacements(self.index, tree, prepared.words, said))
        found = rerank(retrieve(self.ranker, prepared, 10), self.ranker.model, 10)
        complete = False
        if len(prepared.words) > 1 and len(found.documents):
            segment = self.index.segments[int(found.segments[0])]
            masks = [segment.find_term(term) for word in prepared.words for term in word.terms]
            has = segment.fields(masks, found.documents[:1])[0] != 0
            ends, at = [], 0
            for word in prepared.words:
                ends.append(bool(has[at : at + len(word.terms)].any()))
                at += len(word.terms)
            complete = all(ends)
        spent = []
        for _ in range(_ROUNDS):
            began = time.thread_time()
            given = correct_spelling(self.index, said, prepared.words, complete)
            spent.append(time.thread_time() - began)
        self.seconds.append(min(spent))
        if not given:
            began = time.thread_time()
            self.offered = suggest_alternatives(self.index, said, prepared.words, complete)
            self.offer_seconds.append(time.thread_time() - began)
        return given


def draw(index: Index, least: int, most: int, count: int, weighted: bool, chance: random.Random) -> list[str]:
    """Draw words of at least four letters that are in `least` to `most` documents."""
    book = index.spelling._loaded
    assert book is not None
    numbers = [n for n, c in enumerate(book.words.count.tolist()) if least <= c <= most]
    weights = [int(book.words.count[n]) for n in numbers] if weighted else None
    drawn: dict[str, None] = {}
    while len(drawn) < min(count, len(numbers) // 2):
        for number in chance.choices(numbers, weights, k=count):
            word = index.spelling._spell(number)
            if len(word) >= 4 and word.isascii() and word.isalpha():
                drawn[word] = None
    return list(drawn)[:count]


def draw_rare(index: Index, count: int, chance: random.Random) -> list[str]:
    """Draw words that are in one to four documents, and in a title: somebody looked at how they are written."""
    drawn: dict[str, None] = {}
    for _ in range(100 * count):
        segment = chance.choice(index.segments)
        for word in split_text(segment.string("title", chance.randrange(segment.documents))):
            rare = len(word) >= 4 and word.isascii() and word.isalpha() and word not in drawn
            if (
                rare
                and max(
                    index.spelling.document_frequencies([word])[0], index.document_frequency(terms_of([word], "en")[0])
                )
                < _LEAST
            ):
                drawn[word] = None
        if len(drawn) >= count:
            break
    return list(drawn)[:count]


class Tally:
    """Counts what was right, by kind, and apart for misspellings that the index does not have."""

    def __init__(self, show: int) -> None:
        self.asked, self.right = dict.fromkeys(misspellings.KINDS, 0), dict.fromkeys(misspellings.KINDS, 0)
        self.unknown = self.unknown_right = self.same = self.offered = self.offered_right = 0
        self.replaced = self.replaced_right = 0
        self._show = show

    def add(
        self,
        kind: str,
        known: bool,
        meant: str,
        said: str,
        given: tuple[str, ...],
        offered: tuple[str, ...] = (),
        replaced: bool = False,
    ) -> None:
        """Count one answer."""
        good = given[:1] == (meant,)
        self.asked[kind] += 1
        self.right[kind] += good
        self.unknown += not known
        self.unknown_right += good and not known
        self.offered += bool(offered)
        self.offered_right += offered[:1] == (meant,)
        self.replaced += replaced
        self.replaced_right += replaced and good
        if not good and self._show:
            self._show -= 1
            print(f"    {meant} | {said}: {given[0] if given else '-'}")

    def figures(self) -> dict[str, Any]:
        """Return the shares."""
        total = sum(self.asked.values())
        return {
            "asked": total,
            "right": round(sum(self.right.values()) / max(1, total), 4),
            "asked_of_no_words": self.unknown,
            "right_of_no_words": round(self.unknown_right / max(1, self.unknown), 4),
            "found_as_they_are": self.same,
            "offered": self.offered,
            "offered_right": self.offered_right,
            "replaced": self.replaced,
            "replaced_right": self.replaced_right,
            "right_or_offered": round((sum(self.right.values()) + self.offered_right) / max(1, total), 4),
            "by kind": {kind: round(self.right[kind] / self.asked[kind], 4) for kind in self.asked if self.asked[kind]},
        }


def mended(asker: QueryRunner, words: list[str], chance: random.Random, show: int) -> dict[str, Any]:
    """Misspell each word in one way and see whether it is given back."""
    tally = Tally(show)
    for number, word in enumerate(words):
        kind = misspellings.KINDS[number % len(misspellings.KINDS)]
        typed = misspellings.misspell(word, kind, chance)
        if typed == word:
            continue
        if asker.stems(typed) == asker.stems(word):
            tally.same += 1
            continue
        given = asker.ask(typed)
        tally.add(kind, asker.is_known(typed), word, typed, given, replaced=asker.replaced)
    return tally.figures()


def harmed(asker: QueryRunner, right: list[str], show: int) -> dict[str, Any]:
    """Ask right words, and see which get a suggestion."""
    bad, offered, replaced = [], [], 0
    for word in right:
        given = asker.ask(word)
        bad += [(word, one) for one in given[:1]]
        offered += [(word, one) for one in asker.offered]
        replaced += asker.replaced
    for word, one in (bad + offered)[:show]:
        print(f"    {word}: {one}")
    count = max(1, len(right))
    return {"asked": len(right), "harmed": round(len(bad) / count, 4), "offered": round(len(offered) / count, 4)} | {
        "replaced": round(replaced / count, 4)
    }


def in_queries(asker: QueryRunner, log: list[str], count: int, chance: random.Random, show: int) -> dict[str, Any]:
    """Misspell one word of queries of several words."""
    tally = Tally(show)
    several = [query for query in log if 1 < len(query.split()) < 8]
    for query in chance.sample(several, min(count, len(several))):
        words = query.split()
        long = [n for n, word in enumerate(words) if len(word) >= 4 and word.isalpha() and word.isascii()]
        known = [n for n in long if asker.index.spelling.document_frequencies([words[n]])[0] >= _LEAST]
        if not known:
            continue
        at, kind = chance.choice(known), chance.choice(misspellings.KINDS)
        typed = misspellings.misspell(words[at], kind, chance)
        if asker.stems(typed) == asker.stems(words[at]):
            continue
        said = " ".join([*words[:at], typed, *words[at + 1 :]])
        given = asker.ask(said)
        tally.add(kind, asker.is_known(typed), query, said, given, asker.offered, asker.replaced)
    return tally.figures()


def read_log(path: Path) -> list[str]:
    """Read the plain queries of a log."""
    lines = [json.loads(line)["query"] for line in path.read_text("utf-8").splitlines()]
    return list(dict.fromkeys(q for q in (line.replace("+", "").strip('"').lower() for line in lines) if q))


def quantile(values: list[float], share: float) -> float:
    """Return a quantile, in milliseconds."""
    ordered = sorted(values)
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)


def run(index: Index, log: list[str], count: int, show: int) -> dict[str, Any]:
    """Measure everything on one index."""
    began = time.process_time()
    index.spelling.load()
    loading = time.process_time() - began
    asker, chance = QueryRunner(index), random.Random(2026)
    asker.ask("warmiing")
    asker.seconds.clear()
    every = 1 << 30
    figures: dict[str, Any] = {
        "documents": index.documents,
        "words": index.spelling.size,
        "load_seconds": round(loading, 2),
    }
    for name, weighted in (("words as drawn", False), ("words as met", True)):
        print(name)
        figures[name] = mended(asker, draw(index, _LEAST, every, count, weighted, chance), chance, show)
    print("queries of the log, one word misspelt")
    figures["in queries"] = in_queries(asker, log, count, chance, show)
    figures["cost_ms"] = {"p50": quantile(asker.seconds, 0.5), "p99": quantile(asker.seconds, 0.99)}
    spent = [seconds for seconds in asker.offer_seconds if seconds > 5e-5]  # What is decided at once is left out.
    figures["cost_of_offers_ms"] = {"p50": quantile(spent, 0.5), "p99": quantile(spent, 0.99)} if spent else {}
    asker.seconds.clear()
    print("right words")
    figures["right words"] = harmed(asker, draw(index, _LEAST, every, count, False, chance), show)
    print("rare right words")
    figures["rare right words"] = harmed(asker, draw_rare(index, count, chance), show)
    print("queries as they are")
    figures["right queries"] = harmed(asker, log[: 3 * count], show)
    figures["cost_of_right_ms"] = {"p50": quantile(asker.seconds, 0.5), "p99": quantile(asker.seconds, 0.99)}
    typed = [
        misspellings.misspell(word, chance.choice(misspellings.KINDS), chance)
        for word in draw(index, 5, every, 500, True, chance)
    ]
    figures["cost_at_a_million_ms"] = at_a_million(index, typed, chance)
    return figures


def at_a_million(index: Index, asked: list[str], chance: random.Random) -> dict[str, Any]:
    """Return the cost of correcting words in a vocabulary of a million, which extends that of the index."""
    book = index.spelling._loaded
    assert book is not None
    words = [index.spelling._spell(number) for number in range(index.spelling.size)]
    many = set(words)
    while len(many) < 1_000_000:
        one, two = chance.choice(words), chance.choice(words)
        spliced = one[: chance.randint(1, len(one))] + two[-chance.randint(1, len(two)) :]
        if 2 < len(spliced) <= surface_forms.MAX_LETTERS:
            many.add(spliced)
    raw = [word.encode() for word in sorted(many)]
    start = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(word) for word in raw], out=start[1:])
    packed = surface_forms.pack_vocabulary(np.frombuffer(b"".join(raw), np.uint8), start, np.ones(len(raw), np.int32))
    large = surface_forms.unpack_vocabulary(packed, len(raw))
    index.spelling._loaded = book._replace(words=large, sounds=spelling_kernel.build_sound_index(large))
    seconds = []
    for word in asked:
        spent = []
        for _ in range(_ROUNDS):
            began = time.thread_time()
            index.spelling.find_candidates(word)
            spent.append(time.thread_time() - began)
        seconds.append(min(spent))
    index.spelling._loaded = book
    return {"words": len(raw), "p50": quantile(seconds, 0.5), "p99": quantile(seconds, 0.99)}


def main() -> None:
    """Index, misspell, ask, print, record."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path, default=SHARED / "ir" / "simplewiki_entity")
    options.add_argument("--queries", type=Path, default=SHARED / "queries" / "search-benchmark-game.jsonl")
    options.add_argument("--words", type=int, default=2000)
    options.add_argument("--show", type=int, default=0)
    options.add_argument("--index", type=Path, help="an index that is there already")
    options.add_argument("--dry", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="periplus-spelling-") as scratch:
        folder = given.index or Path(scratch)
        if not given.index:
            documents = next(given.folder.glob("docs.jsonl*"))
            build_index(read_documents(documents, []), folder, Settings().index)
        figures = run(Index.open(folder, verify=False), read_log(given.queries), given.words, given.show)
    figures = {"collection": given.folder.name, **figures}
    figures["memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
    print(json.dumps(figures, indent=1))
    if not given.dry:
        record.save("spelling", figures)
    drawn, met, asked = (
        figures[name]["right_of_no_words"] for name in ("words as drawn", "words as met", "in queries")
    )
    harm = max(figures[name]["harmed"] for name in ("rare right words", "right words", "right queries"))
    print(
        f"spelling: {100 * met:.1f} % right of words as met, {100 * drawn:.1f} % of words drawn evenly, "
        f"{100 * asked:.1f} % in queries; harm {100 * harm:.2f} % at most; {figures['cost_ms']['p99']} ms p99; "
        f"in queries {100 * figures['in queries']['right_or_offered']:.1f} % of all right or offered"
    )


if __name__ == "__main__":
    main()
