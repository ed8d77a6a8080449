"""Collect the texts that the embedding models are trained on: lines of JSON, [title, passage], in one xz file.

    python training/embeddings/collect_texts.py --wiki FILE --wordnet FOLDER --packages FILE... --out FILE

README.md in this folder says where they come from. Nothing else is read: neither queries nor judgements.
"""

import argparse
import json
import lzma
import random
import re
from collections.abc import Iterator
from pathlib import Path

from periplus.store import read_lines

WORDS = 90
"""Words of a passage."""
WIKI_CHARACTERS = 59_000_000
LONG_ARTICLE = 200
SECOND_PASSAGES = 0.35
"""Share of the long articles that give a second passage, without a title."""
DESCRIPTION = re.compile(r"^Description-en: (.*(?:\n .*)*)", re.MULTILINE)

Text = tuple[str, str]


def main() -> None:
    """Collect, and print how much."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wiki", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--packages", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    sources = {
        "wiki": list(wiki_passages(options.wiki, random.Random(1))),
        "wordnet": list(glosses(options.wordnet)),
        "packages": list(descriptions(options.packages)),
    }
    with lzma.open(options.out, "wt", preset=9, encoding="utf-8") as file:
        for name, texts in sources.items():
            print(f"{name}: {len(texts):,} passages")
            file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)


def wiki_passages(path: Path, chance: random.Random) -> Iterator[Text]:
    """Yield the first passage of articles, and a later one of some, in random order up to a number of characters."""
    texts = []
    for line in read_lines(path):
        article = json.loads(line)
        words = article["text"].split()
        if len(words) < 12:
            continue
        texts.append((article["title"].strip(), " ".join(words[:WORDS])))
        if len(words) > LONG_ARTICLE and chance.random() < SECOND_PASSAGES:
            start = chance.randrange(WORDS, len(words) - WORDS + 10)
            texts.append(("", " ".join(words[start : start + WORDS])))
    chance.shuffle(texts)
    size = 0
    for title, passage in texts:
        size += len(title) + len(passage)
        if size > WIKI_CHARACTERS:
            return
        yield title, passage


def glosses(folder: Path) -> Iterator[Text]:
    """Yield up to four lemmas of each synset of WordNet, and its gloss."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text("utf-8", "replace").splitlines():
            if line.startswith("  "):  # the licence
                continue
            head, _, gloss = line.partition("|")
            fields = head.split()
            lemmas = [fields[4 + 2 * n].replace("_", " ").split("(")[0] for n in range(int(fields[3], 16))]
            yield ", ".join(lemmas[:4]), gloss.strip()


def descriptions(paths: list[Path]) -> Iterator[Text]:
    """Yield the short and the long description of packages; those that begin alike only once."""
    beginnings = set()
    for path in sorted(paths):
        for block in path.read_text("utf-8", "replace").split("\n\n"):
            if not (match := DESCRIPTION.search(block)):
                continue
            title, *lines = match[1].split("\n")
            words = " ".join(line.strip() for line in lines if line.strip() != ".").split()
            beginning = " ".join(words[:12])
            if len(words) >= 15 and beginning not in beginnings:
                beginnings.add(beginning)
                yield title.strip(), " ".join(words[:WORDS])


if __name__ == "__main__":
    main()
