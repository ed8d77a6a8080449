"""What it costs to find every page by the words it has: four ways to index and look up inflected words.

.venv/bin/python bench/analysis.py [--documents N] [--corpus FILE] [--queries FILE] [--rounds N]

    stems      a term for each token, its stem; a word of a query is its stem (what Periplus does)
    streams    a term for the surface form and one for the stem, where they differ: the index of the stems, and besides
               it one of all tokens that the stemmer changes
    families   a term for each token, its surface form; a word of a query is every word of the index with its stem
    light      a term for each token, without a plural s; a word of a query likewise

Sizes are those of postings, positions and dictionary. Times are those of matching, ten results, over the unions of the
query log; the words of all variants are the same. How well each of them ranks is measured by bm25s with its terms on
judged collections. Families of other languages are counted over the questions and paragraphs of xquad_*.
"""

import argparse
import json
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import bm25s
import numpy as np

import record
from periplus.evaluate import read_collection
from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import IndexSettings
from periplus.store import read_lines
from periplus.text import is_stop_word, split_text, terms_of

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
JUDGED = ("cranfield", "npl_vaswani", "cacm", "lisa", "time")
_MOST_MEMBERS = 20
"""Members of a family that are looked up: a program has 64 leaves."""
_PLURAL = re.compile(r"(?<=[^aeiou])ies$|(?<=[sxz])es$|(?<=[^su])s$")

Analyze = Callable[[Sequence[str]], list[str]]


def stems(words: Sequence[str]) -> list[str]:
    """Return the English stems of folded words."""
    return [term.decode() for term in terms_of(words, "en")]


def light(words: Sequence[str]) -> list[str]:
    """Return folded words without a plural s."""
    return [_PLURAL.sub("y" if word.endswith("ies") else "", word) for word in words]


def surface(words: Sequence[str]) -> list[str]:
    """Return folded words as they are."""
    return list(words)


def changed(words: Sequence[str]) -> list[str]:
    """Return only the words that the stemmer changes."""
    return [word for word, stem in zip(words, stems(words), strict=True) if word != stem]


def read_texts(path: Path, count: int) -> Iterator[list[str]]:
    """Yield the folded words of each document."""
    for line in islice(read_lines(path), count):
        entry = json.loads(line)
        yield split_text(f"{entry.get('title', '')} {entry['text']}")


def build(folder: Path, texts: Sequence[Sequence[str]], analyze: Analyze) -> Index:
    """Build an index whose terms are exactly those of `analyze`: the pages declare that they are in no language."""

    def records() -> Iterator[FetchRecord]:
        for number, words in enumerate(texts):
            url = f"https://analysis.example/{number}"
            page = Page(url=url, text=" ".join(analyze(words)), language="zxx", kind="text/plain")
            yield FetchRecord(url, fingerprint_text(url), Outcome.OK, 0.0, 200, page=page)

    build_index(records(), folder, IndexSettings())
    return Index.open(folder, verify=False)


def size_of(index: Index) -> int:
    """Return the bytes of postings, positions and dictionary."""
    parts = index.statistics().parts
    return sum(size for name, size in parts.items() if name.partition(".")[0] in ("postings", "lexicon"))


def time_queries(index: Index, queries: Sequence[str], rounds: int) -> tuple[float, float]:
    """Return the mean time of a query in microseconds, the best of some rounds, and its leaves."""
    plans = [plan_query(index, tree, Scoring()) for text in queries if (tree := parse_query(text).tree) is not None]
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        for plan in plans:
            find_candidates(index, plan, 10)
        best = min(best, time.perf_counter() - began)
    return 1e6 * best / len(plans), sum(len(plan.leaves) for plan in plans) / len(plans)


def families(vocabulary: set[str], language: str) -> dict[bytes, list[str]]:
    """Return the words of each stem."""
    words = sorted(vocabulary)
    members: dict[bytes, list[str]] = defaultdict(list)
    for word, stem in zip(words, terms_of(words, language), strict=True):
        members[stem].append(word)
    return members


def mean_family(folder: Path) -> float:
    """Return how many words of a collection have the stem of a word of its queries, on average."""
    collection = read_collection(folder)
    language = folder.name.partition("_")[2]
    texts = [split_text(json.loads(line)["text"]) for line in read_lines(collection.documents)]
    members = families({word for text in texts for word in text}, language)
    asked = [w for q in collection.queries.values() for w in split_text(q) if not is_stop_word(w, language)]
    return float(np.mean([max(1, len(members.get(term, ()))) for term in terms_of(asked, language)]))


def ndcg(folder: Path, analyze: Analyze) -> float:
    """Return nDCG@10 of BM25 (Lucene's variant) over terms."""
    collection = read_collection(folder)
    ids, texts = [], []
    for line in read_lines(collection.documents):
        entry = json.loads(line)
        ids.append(str(entry["id"]))
        texts.append(analyze(split_text(f"{entry.get('title', '')} {entry['text']}")))
    queries = list(collection.queries)
    asked = [
        analyze([w for w in split_text(collection.queries[q]) if not is_stop_word(w)]) or ["nothing"] for q in queries
    ]
    vocabulary = {term: number for number, term in enumerate(sorted({term for text in texts for term in text}))}
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    corpus = bm25s.tokenization.Tokenized([[vocabulary[t] for t in text] for text in texts], vocabulary)
    model.index(corpus, show_progress=False)
    gains = []
    for number, words in zip(queries, asked, strict=True):
        grades = collection.qrels.get(number, {})
        if not any(grades.values()):
            continue
        scores = model.get_scores([w for w in words if w in vocabulary]) if set(words) & set(vocabulary) else []
        best = np.argsort(-np.asarray(scores), kind="stable")[:10]
        gain = sum((2 ** grades.get(ids[n], 0) - 1) / np.log2(rank + 2) for rank, n in enumerate(best.tolist()))
        ideal = sorted(grades.values(), reverse=True)[:10]
        gains.append(gain / sum((2**grade - 1) / np.log2(rank + 2) for rank, grade in enumerate(ideal)))
    return float(np.mean(gains))


def main() -> None:
    """Measure sizes, times, families and quality."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--corpus", type=Path, default=SHARED / "ir" / "simplewiki_entity" / "docs.jsonl.zst")
    parser.add_argument("--queries", type=Path, default=SHARED / "queries" / "search-benchmark-game.jsonl")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not options.corpus.exists() or not options.queries.exists():
        raise SystemExit(f"{options.corpus} or {options.queries} is not there: name others by --corpus and --queries.")
    texts = list(read_texts(options.corpus, options.documents))
    log = [json.loads(line) for line in read_lines(options.queries)]
    words = [split_text(entry["query"]) for entry in log if "union" in " ".join(entry.get("tags", []))]
    tokens = sum(map(len, texts))
    share = sum(len(changed(text)) for text in texts) / tokens
    members = families({word for text in texts for word in text}, "en")
    print(f"{len(texts):,} documents, {tokens:,} tokens, {100 * share:.1f} % of which the stemmer changes")

    def family_query(query: Sequence[str]) -> str:
        groups = [
            members.get(term, [word])[:_MOST_MEMBERS] for word, term in zip(query, terms_of(query, "en"), strict=True)
        ]
        return " OR ".join(word for group in groups for word in group)

    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        variants: dict[str, tuple[Analyze, Callable[[Sequence[str]], str]]] = {
            "stems": (stems, lambda query: " OR ".join(stems(query))),
            "families": (surface, family_query),
            "light": (light, lambda query: " OR ".join(light(query))),
        }
        for name, (analyze, typed) in variants.items():
            index = build(Path(folder) / name, texts, analyze)
            spent, leaves = time_queries(index, [typed(query) for query in words], options.rounds)
            figures[name] = {"bytes": size_of(index), "us": round(spent, 1), "leaves": round(leaves, 2)}
        extra = size_of(build(Path(folder) / "changed", texts, changed))
        figures["streams"] = {**figures["stems"], "bytes": figures["stems"]["bytes"] + extra}
    for name in ("stems", "streams", "families", "light"):
        row = figures[name]
        row["size"] = round(row["bytes"] / figures["stems"]["bytes"], 3)
        size, times = f"{row['bytes'] / 1e6:8.1f} MB {row['size']:6.2f}x", f"{row['us']:8.1f} us"
        print(f"{name:10} {size} {times} {row['leaves']:6.2f} leaves")
    quality = {}
    for folder_name in JUDGED:
        if (SHARED / "ir" / folder_name).is_dir():
            ways: dict[str, Analyze] = {"stems": stems, "surface": surface, "light": light}
            quality[folder_name] = {name: round(ndcg(SHARED / "ir" / folder_name, a), 4) for name, a in ways.items()}
            print(f"{folder_name:14}", *(f"{name} {value:.4f}" for name, value in quality[folder_name].items()))
    sizes = {path.name: round(mean_family(path), 2) for path in sorted((SHARED / "ir").glob("xquad_*"))}
    print("words of a family:", *(f"{name} {size:.2f}" for name, size in sizes.items()))
    record.save("analysis", {"changed": round(share, 4), "variants": figures, "ndcg": quality, "families": sizes})


if __name__ == "__main__":
    main()
