"""Language identification: accuracy by language and kind of text, and time, compared with two peers.

.venv/bin/python bench/language.py [--data FOLDER] [--corpus FILE:LANG ...] [--most N]

Paragraphs and questions are those of the collections xquad_*; others are added by --corpus, a JSONL of {title, text} in
one language, of which the texts are paragraphs and the titles are titles. A list of keywords has the rarest words of a
paragraph, joined by commas, without stop words and without names: words with a capital that collections of two
languages have. A beginning has the first five words of a paragraph. English has further paragraphs and questions,
titles of several collections, and abstracts without stop words. A text is right if its language is named first; no
answer is wrong. Titles and keywords are also identified as the index does it, with the languages of the other documents
of the collection (here its paragraphs and abstracts) as the expectation. Times are processor time in one thread, the
best of three, for texts of 200 characters.
"""

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import record
from figures import use_one_core
from periplus.store import read_lines
from periplus.text import LANGUAGES, detect_languages, language_number, normalize_language, split_text, stop_words
from periplus.text.language_model import find_model_file

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
BARS = {"paragraphs": 99.5, "questions": 97.0, "titles": 92.0, "keywords": 95.0}
KEYWORDS = 8
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u4e00-\u9fff]{2,4}")
_SAMPLE = 600
"""Characters of a text that every program gets."""
_TIMED_CHARACTERS = 200
_ROUNDS = 3
Identify = Callable[[Sequence[str]], list[str]]


class TextSet(NamedTuple):
    """Texts of one kind and one language."""

    kind: str
    source: str
    language: str
    texts: list[str]


def read_texts(path: Path, field: str, most: int) -> list[str]:
    """Return one field of the first lines of a JSONL file, where it is not empty."""
    if not path.exists():
        path = path.with_name(path.name + ".zst")
    if not path.exists():
        return []
    values = (str(json.loads(line).get(field, "")).replace("\ufeff", "") for line in read_lines(path) if line.strip())
    return list(islice(filter(str.strip, values), most))


def read_sets(folder: Path, corpora: Iterable[tuple[Path, str]], most: int) -> list[TextSet]:
    """Return all texts to identify."""
    sets = []
    for path in sorted(folder.glob("xquad_*")):
        code = path.name.removeprefix("xquad_")
        sets.append(TextSet("paragraphs", path.name, code, read_texts(path / "docs.jsonl", "text", most)))
        sets.append(TextSet("questions", path.name, code, read_texts(path / "queries.jsonl", "text", most)))
    squad = folder / "squad11_dev"
    sets.append(TextSet("paragraphs", squad.name, "en", read_texts(squad / "docs.jsonl", "text", most)))
    sets.append(TextSet("questions", squad.name, "en", read_texts(squad / "queries.jsonl", "text", most)))
    sets += [
        TextSet("titles", name, "en", read_texts(folder / name / "docs.jsonl", "title", most))
        for name in ("cranfield", "cacm", "lisa", "medquad_liveqa", "simplewiki_entity")
    ]
    for name in ("cranfield", "lisa", "npl_vaswani"):
        texts = read_texts(folder / name / "docs.jsonl", "text", most)
        sets.append(TextSet("abstracts", name, "en", [without_stop_words(text[:400]) for text in texts]))
    for path, code in corpora:
        sets.append(TextSet("paragraphs", path.stem, code, read_texts(path, "text", most)))
        sets.append(TextSet("titles", path.stem, code, read_texts(path, "title", most)))
    sets = [each for each in sets if each.texts]
    paragraphs = [each for each in sets if each.kind == "paragraphs"]
    names = find_names(paragraphs)
    for each in paragraphs:
        sets.append(each._replace(kind="keywords", texts=list_keywords(each, names)))
        sets.append(each._replace(kind="beginnings", texts=[beginning(text) for text in each.texts]))
    return [each for each in sets if each.texts]


def without_stop_words(text: str) -> str:
    """Return an English text without its stop words."""
    stops = stop_words("en")
    return " ".join(word for word in _WORD.findall(text) if word.lower() not in stops)


def beginning(text: str) -> str:
    """Return the first five words of a text, or ten characters where words are not separated by spaces."""
    words = text.split()[:5]
    return " ".join(words) if len(" ".join(words)) < 80 else text[:10]


def find_names(paragraphs: Iterable[TextSet]) -> set[str]:
    """Return the words with a capital that the paragraphs of two languages have."""
    languages = defaultdict(set)
    for each in paragraphs:
        for word in {word for text in each.texts for word in _WORD.findall(text)}:
            if word[0].isupper():
                languages[word].add(each.language)
    return {word for word, codes in languages.items() if len(codes) > 1}


def list_keywords(paragraphs: TextSet, names: set[str]) -> list[str]:
    """Return the rarest words of each paragraph that has enough of them."""
    pattern, stops = _HAN if paragraphs.language in ("zh", "ja") else _WORD, stop_words(paragraphs.language)
    lists = []
    for text in paragraphs.texts:
        words = dict.fromkeys(word for word in pattern.findall(text) if len(word) > 1 and word not in names)
        lists.append([word for word in words if not stops.intersection(split_text(word))])
    documents = Counter(word.lower() for words in lists for word in words)
    ordered = (sorted(words, key=lambda word: (documents[word.lower()], word)) for words in lists)
    return [", ".join(words[:KEYWORDS]) for words in ordered if len(words) >= KEYWORDS]


def by_periplus(texts: Sequence[str]) -> list[str]:
    """Identify texts alone."""
    return [guess.code for guess in detect_languages(texts)]


def load_peers() -> dict[str, Identify]:
    """Return the peers that are installed."""
    peers: dict[str, Identify] = {}
    try:
        import fasttext

        model = fasttext.load_model(str(find_model_file()))
        peers["fasttext"] = lambda texts: [
            model.predict(" ".join(text.split()), k=1)[0][0].removeprefix("__label__") for text in texts
        ]
    except ImportError:
        print("fasttext is left out: fasttext-predict is not installed.")
    try:
        import pycld2

        def by_cld2(texts: Sequence[str]) -> list[str]:
            codes = (pycld2.detect(text, bestEffort=True)[2][0][1] for text in map(printable, texts))
            return [normalize_language(code) for code in codes]

        peers["cld2"] = by_cld2
    except ImportError:
        print("cld2 is left out: pycld2 is not installed.")
    return peers


def printable(text: str) -> str:
    """Return a text without the characters that pycld2 refuses."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def expect(language: str) -> np.ndarray:
    """Return the expectation for a collection of one language, as certain as one of a hundred pages."""
    priors = np.zeros(len(LANGUAGES), np.float32)
    priors[language_number(language)] = 100 / 101
    return priors


def share(answers: Sequence[str], language: str) -> float:
    """Return the percentage of right answers."""
    return round(100 * sum(answer == language for answer in answers) / len(answers), 2)


def measure(sets: Iterable[TextSet], programs: dict[str, Identify]) -> list[dict[str, Any]]:
    """Return the accuracy of each program for each set."""
    rows = []
    for each in sets:
        texts = [text[:_SAMPLE] for text in each.texts]
        row: dict[str, Any] = {"kind": each.kind, "source": each.source, "language": each.language, "texts": len(texts)}
        row |= {name: share(identify(texts), each.language) for name, identify in programs.items()}
        guesses = detect_languages(texts, priors=expect(each.language))
        row["periplus, with site"] = share([guess.code for guess in guesses], each.language)
        rows.append(row)
    return rows


def measure_time(sets: Iterable[TextSet], programs: dict[str, Identify]) -> dict[str, float]:
    """Return the microseconds that each program takes for a text of 200 characters."""
    paragraphs = [text for each in sets if each.kind == "paragraphs" for text in each.texts]
    texts = [text[:_TIMED_CHARACTERS] for text in paragraphs if len(text) >= _TIMED_CHARACTERS][:2_000]
    times = {}
    for name, identify in programs.items():
        spent = []
        for _ in range(_ROUNDS):
            began = time.process_time()
            identify(texts)
            spent.append(time.process_time() - began)
        times[name] = round(min(spent) / len(texts) * 1e6, 1)
    return times


def averages(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the accuracy by kind: the mean over languages, each the mean over its sets."""
    table: dict[str, dict[str, float]] = {}
    for kind in dict.fromkeys(row["kind"] for row in rows):
        by_language = defaultdict(list)
        for row in rows:
            if row["kind"] == kind:
                by_language[row["language"]].append([row[name] for name in names])
        means = np.mean([np.mean(values, axis=0) for values in by_language.values()], axis=0)
        table[kind] = {name: round(float(mean), 2) for name, mean in zip(names, means, strict=True)}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of judged collections")
    parser.add_argument("--corpus", action="append", default=[], metavar="FILE:LANG", help="a JSONL of {title, text}")
    parser.add_argument("--most", type=int, default=4_000, help="texts of a set")
    options = parser.parse_args()
    use_one_core()
    corpora = [(Path(name), code) for name, _, code in (entry.rpartition(":") for entry in options.corpus)]
    sets = read_sets(options.data, corpora, options.most)
    programs = {"periplus": by_periplus, **load_peers()}
    rows, times = measure(sets, programs), measure_time(sets, programs)
    names = [*programs, "periplus, with site"]
    print(f"{'kind':<11}{'language':<9}{'source':<20}{'texts':>6}" + "".join(f"{name:>21}" for name in names))
    for row in sorted(rows, key=lambda row: (row["kind"], row["language"])):
        cells = "".join(f"{row[name]:>21.2f}" for name in names)
        print(f"{row['kind']:<11}{row['language']:<9}{row['source']:<20}{row['texts']:>6,}{cells}")
    table = averages(rows, names)
    for kind, means in table.items():
        bar = f"  (bar {BARS[kind]})" if kind in BARS else ""
        print(f"{kind:<11}{'all':<35}" + "".join(f"{means[name]:>21.2f}" for name in names) + bar)
    print("us for 200 characters: " + "  ".join(f"{name} {value}" for name, value in times.items()))
    record.save("language", {"rows": rows, "means": table, "bars": BARS, "microseconds": times})
    print(" ".join(f"{kind} {table[kind]['periplus']:.1f}%" for kind in BARS if kind in table))


if __name__ == "__main__":
    main()
