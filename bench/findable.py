"""Whether every page can be found: by its exact title (or first sentence), and by three of its own words.

.venv/bin/python bench/findable.py [--corpus FILE[:LABEL] ...] [--majority FILE] [--rounds N] [--seed N]

The mixed corpus is made of ../shared/data/ir/xquad_* and of every --corpus (JSONL of {id, title, text}, plain or
compressed; LABEL names it in the table). Three indexes are searched:

    mixed      all pages together
    majority   the same pages within those of --majority (default: the 187,721 of simplewiki_entity), so that one
               language has 99 % of the index or nearly so
    turns      each language in turn has 99 %: its pages cut into sentences, with a few pages of every other language

A page is found by its title if that, as a query, has it among the first ten results; a title that more than ten pages
share cannot, and the first sentence is asked instead. It is found by its words if three of them, drawn at random,
joined by AND, match it. Words are cut out by this program (letters, digits and their marks), not by the engine; what
it counts as a language is the name of the corpus, not what the engine detects. The last line is `titles N% words N%`,
over all three.
"""

import argparse
import json
import random
import re
import shutil
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import record
from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.records import FetchRecord, Outcome, Page, Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import read_lines

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
MAJORITY = SHARED / "simplewiki_entity" / "docs.jsonl.zst"
_FIRST = 10
"""Results among which a title must have its page; more pages than this cannot share a title."""
_WORDS = 3
_WORD = re.compile(r"[^\W_]")
_JOINERS = "\u200c\u200d"
_OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR", "AROUND"})
_SENTENCE = re.compile(r"[.!?](?=\s)|[。！？؟।]")
_SHARE = 0.01
"""Share of the index that is not in the language whose turn it is."""
_SHORTEST = 24
"""Characters of a sentence."""
_SHOWN = 12


class Document(NamedTuple):
    """A page of a corpus."""

    label: str
    url: str
    title: str
    text: str


class PageQueries(NamedTuple):
    """What is asked for one page."""

    document: Document
    title: str
    words: str


def read_corpus(path: Path, label: str) -> Iterator[Document]:
    """Yield the pages of a corpus that have any text."""
    for number, line in enumerate(read_lines(path)):
        entry = json.loads(line) if line.strip() else {}
        if entry.get("text", "").strip():
            url = f"https://{label}-{number // 5}.example/{number}"
            yield Document(label, url, entry.get("title", "").strip(), entry["text"].strip())


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, as this program cuts them; an abbreviation at the beginning is no sentence."""
    pieces, begin = [], 0
    for match in _SENTENCE.finditer(text):
        if match.end() - begin < _SHORTEST:
            continue
        pieces.append(text[begin : match.end()].strip())
        begin = match.end()
    pieces.append(text[begin:].strip())
    return [piece for piece in pieces if _WORD.search(piece)]


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters, digits and the marks that belong to them."""
    joined = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" or c in _JOINERS else " " for c in text)
    return [word for word in joined.split() if _WORD.search(word)]


def questions(documents: Sequence[Document], chance: random.Random) -> list[PageQueries]:
    """Return what is asked for each page that has a title or a sentence, and three words."""
    shared = Counter(document.title for document in documents)
    asked = []
    for document in documents:
        own = document.title if document.title and shared[document.title] <= _FIRST else ""
        title = own or next(iter(sentences(document.text)), "")
        words = sorted({word for word in words_of(document.text) if word not in _OPERATORS})
        if title and words:
            drawn = chance.sample(words, min(_WORDS, len(words)))
            asked.append(PageQueries(document, title, " AND ".join(drawn)))
    return asked


def build(folder: Path, documents: Iterable[Document]) -> None:
    """Build the index of a data folder."""
    records = (
        FetchRecord(
            d.url,
            fingerprint_text(d.url),
            Outcome.OK,
            0.0,
            200,
            page=Page(url=d.url, title=d.title, text=d.text, kind="text/plain"),
        )
        for d in documents
    )
    build_index(records, folder / "index", Settings().index)


class Tally:
    """Pages found and asked for, by label."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: dict[str, Counter[str]] = {}
        self.lost: list[tuple[str, str, str]] = []

    def ask(self, folder: Path, asked: Sequence[PageQueries]) -> None:
        """Ask an index for each page, by its title and by its words."""
        settings = Settings()
        searcher, index = Searcher.open(folder, settings), Index.open(folder / "index", verify=False)
        keys = [segment.column("key") for segment in index.segments]
        for question in asked:
            counts = self.counts.setdefault(question.document.label, Counter())
            key = fingerprint_text(question.document.url)
            counts["pages"] += 1
            page = searcher.search(Query(question.title, size=_FIRST, verbatim=True))
            self._count(counts, "titles", any(hit.key == key for hit in page.hits), question, question.title)
            tree = parse_query(question.words).tree
            matched = False
            if tree is not None:
                result = find_candidates(index, plan_query(index, tree, Scoring()), index.documents)
                matched = any(
                    bool(np.any(own[result.documents[result.segments == number]] == np.uint64(key)))
                    for number, own in enumerate(keys)
                )
            self._count(counts, "words", matched, question, question.words)

    def _count(self, counts: Counter[str], what: str, found: bool, question: PageQueries, query: str) -> None:
        counts[what] += found
        if not found:
            self.lost.append((what, question.document.url, query))

    def table(self) -> Iterator[str]:
        """Yield a line for each label, and some of what was not found."""
        for label, counts in sorted(self.counts.items()):
            titles, words = (100 * counts[what] / counts["pages"] for what in ("titles", "words"))
            yield f"{self.name:10}{label:24}{counts['pages']:8,}{titles:9.2f}%{words:9.2f}%"
        for what, url, query in sorted(self.lost)[:_SHOWN]:
            yield f"    lost by its {what}: {url}: {query[:90]}"


def turns(documents: Sequence[Document], rounds: int, chance: random.Random) -> Iterator[list[Document]]:
    """Yield corpora of which one language has 99 %, each language in turn."""
    labels = sorted({document.label for document in documents})
    for label in labels:
        pieces = [
            Document(label, f"{document.url}/{number}", "", sentence)
            for document in documents
            if document.label == label
            for number, sentence in enumerate(sentences(document.text))
        ]
        others = [document for document in documents if document.label != label]
        for _ in range(rounds):
            yield pieces + chance.sample(others, min(len(others), max(len(labels), round(_SHARE * len(pieces)))))


def main() -> None:
    """Search three indexes for every page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", action="append", default=[], help="FILE or FILE:LABEL, besides the xquad folders")
    parser.add_argument("--majority", type=Path, default=MAJORITY, help="pages that the mixed corpus is put within")
    parser.add_argument("--rounds", type=int, default=3, help="draws of other pages for each language in turn")
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    corpora = {folder.name: folder / "docs.jsonl" for folder in sorted(SHARED.glob("xquad_*"))}
    for entry in options.corpus:
        name, _, label = entry.partition(":")
        corpora[label or Path(name).parent.name or Path(name).stem] = Path(name)
    if not corpora:
        raise SystemExit(f"There is no {SHARED}/xquad_* and no --corpus: nothing to look for.")
    documents = [document for label, path in corpora.items() for document in read_corpus(path, label)]
    asked = questions(documents, chance)
    began, tallies = time.monotonic(), []
    print(f"{'index':10}{'language':24}{'pages':>8}{'titles':>10}{'words':>10}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        mixed = Tally("mixed")
        build(folder / "mixed", documents)
        mixed.ask(folder / "mixed", asked)
        tallies.append(mixed)
        print(*mixed.table(), sep="\n", flush=True)
        if options.majority.exists():
            majority = Tally("majority")
            build(folder / "majority", [*documents, *read_corpus(options.majority, "majority")])
            majority.ask(folder / "majority", asked)
            tallies.append(majority)
            print(*majority.table(), sep="\n", flush=True)
        else:
            print(f"majority   left out: there is no {options.majority}")
        turn = Tally("turns")
        for number, part in enumerate(turns(documents, options.rounds, chance)):
            label = part[0].label
            build(folder / f"turn{number}", part)
            turn.ask(folder / f"turn{number}", questions([d for d in part if d.label != label], chance))
            shutil.rmtree(folder / f"turn{number}")
        tallies.append(turn)
        print(*turn.table(), sep="\n", flush=True)
    totals: Counter[str] = Counter()
    for tally in tallies:
        for counts in tally.counts.values():
            totals.update(counts)
    titles, words = (100 * totals[what] / totals["pages"] for what in ("titles", "words"))
    figures = {
        "indexes": {tally.name: {label: dict(c) for label, c in tally.counts.items()} for tally in tallies},
        "titles": round(titles, 3),
        "words": round(words, 3),
    }
    path = record.save("findable", figures)
    print(f"{totals['pages']:,} pages asked for in {time.monotonic() - began:.0f} s, recorded in {path.name}")
    print(f"titles {titles:.4g}% words {words:.4g}%")


if __name__ == "__main__":
    main()
