"""Names that stand for each other, on made webs whose truth is known: what widening queries brings, and what it costs.

.venv/bin/python bench/synonyms.py [--seeds N] [--dry]

Each web has places with two names. Their own pages, and pages about them, use the first name alone; other hosts link to
a place by either. Some second names are said by too few hosts to be learnt. There is noise: texts that lead to many
places, a host that repeats a text a hundred times, and pages that use the words of second names for other things.
Asked is a second name and a subject (right: pages about that place and subject), and, for harm, the same with first
names, and words that are no names. nDCG@10 by weight; 0 is without.
"""

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

import record
from periplus.graph import Graph, build_graph, learn_synonyms
from periplus.index import build_index
from periplus.records import FetchRecord, Link, Outcome, Page, Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import PageStore
from periplus.url import parse_address

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6)
_PLACES, _HOSTS, _LEAST = 60, 40, 3
_SUBJECTS = ("museum", "weather", "ferry", "market", "history", "school", "bakery", "garden", "music", "tower")
_SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "ha", "jo", "ki", "lu", "me", "no", "pa", "qui", "ro", "sa", "te", "vu", "wi"),
    *("xa", "ye", "zo", "bren", "clo", "dral", "fint", "gros"),
)


class Web(NamedTuple):
    """Pages, and what is true of them."""

    visits: list[FetchRecord]
    places: list[tuple[str, str, int]]
    """First and second name, and how many hosts say the second."""
    right: dict[tuple[int, str], set[str]]
    """URLs about a place and a subject."""
    words: list[str]


def page(url: str, title: str, text: str, links: tuple[Link, ...] = ()) -> FetchRecord:
    """Make the visit of a page."""
    place = parse_address(url)
    made = Page(place.url, title=title, text=text, links=links, language="en")
    return FetchRecord(place.url, place.key, Outcome.OK, 1.0, 200, page=made)


def make_web(seed: int) -> Web:
    """Make a web."""
    chance = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < 600:
        made["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 3)))] = None
    names, words = list(made)[: 3 * _PLACES], list(made)[3 * _PLACES :]

    def prose(*more: str) -> str:
        text = [chance.choice(words) for _ in range(60)]
        for one in more:
            text.insert(chance.randrange(len(text)), one)
        return " ".join(text)

    places, visits, right = [], list[FetchRecord](), dict[tuple[int, str], set[str]]()
    said: dict[int, list[Link]] = {host: [] for host in range(_HOSTS)}
    for number in range(_PLACES):
        first = " ".join(names[3 * number : 3 * number + chance.randint(1, 2)])
        # Second names are of words that pages use for other things too, as 'big' and 'apple' are.
        second = " ".join(chance.sample(words, 2))
        voices = chance.choice((1, 2, 3, 4, 6, 8))
        home = f"http://place{number}.example/"
        visits.append(page(home, first, prose(first, first)))
        hosts = chance.sample(range(_HOSTS), voices + 6)
        for at, host in enumerate(hosts):
            said[host].append(Link(home, second if at < voices else first))
        said[chance.choice(hosts)].append(Link(home, chance.choice(("great place", "lovely spot", "our favourite"))))
        places.append((first, second, voices))
        for subject in _SUBJECTS:
            for part in range(chance.randint(1, 2)):
                url = f"http://guide{chance.randrange(200)}.example/{number}/{subject}/{part}"
                visits.append(page(url, f"{subject} {part}", prose(first, first, subject, subject)))
                right.setdefault((number, subject), set()).add(parse_address(url).url)
        for word in second.split():
            url = f"http://other{number}.example/{word}"
            visits.append(page(url, word, prose(*[word] * 4, chance.choice(_SUBJECTS))))
    flooded = f"http://place{chance.randrange(_PLACES)}.example/"
    said[0] += [Link(flooded, words[0])] * 100
    visits += [page(f"http://host{host}.example/", f"links {host}", prose(), tuple(said[host])) for host in said]
    return Web(visits, places, right, words)


def build(web: Web, folder: Path) -> int:
    """Make store, graph and index of a web; give how many pairs of names were learnt."""
    settings = Settings()
    with PageStore.open(folder / "store", settings.store, write=True) as store:
        for visit in web.visits:
            store.append(visit)
        build_graph(store, folder / "graph", settings.graph)
    graph = Graph.open(folder / "graph")
    learnt = learn_synonyms(graph, folder / "graph")
    build_index(web.visits, folder / "index", settings.index, graph)
    return learnt


def ndcg(found: list[str], right: set[str]) -> float:
    """Return nDCG@10 of a list of URLs."""
    gains = sum(1 / np.log2(rank + 2) for rank, url in enumerate(found[:10]) if url in right)
    return float(gains / sum(1 / np.log2(rank + 2) for rank in range(min(10, len(right)))))


def ask(folder: Path, web: Web, weight: float) -> dict[str, Any]:
    """Ask all questions with one weight."""
    search = msgspec.structs.replace(Settings().search, synonym_weight=weight, per_host=0)
    searcher = Searcher.open(folder, msgspec.structs.replace(Settings(), search=search))
    assert searcher._session
    searcher._session.index.spelling.load()

    def found(words: str) -> list[str]:
        return [hit.url for hit in searcher.search(Query(words, folded=False)).hits]

    values: dict[str, list[float]] = {"second names": [], "too few say so": [], "first names": []}
    for number, (first, second, voices) in enumerate(web.places):
        for subject in _SUBJECTS:
            right = web.right[number, subject]
            values["second names" if voices >= _LEAST else "too few say so"].append(
                ndcg(found(f"{second} {subject}"), right)
            )
            values["first names"].append(ndcg(found(f"{first} {subject}"), right))
    chance = random.Random(5)
    plain = [" ".join(chance.sample(web.words, 2)) for _ in range(200)]
    return {name: float(np.mean(ones)) for name, ones in values.items()} | {"plain": [found(words) for words in plain]}


def main() -> None:
    """Make webs, ask, print, record."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--dry", action="store_true")
    given = options.parse_args()
    rows: list[dict[str, Any]] = []
    for seed in range(given.seeds):
        web = make_web(seed)
        with tempfile.TemporaryDirectory(prefix="periplus-synonyms-") as scratch:
            learnt = build(web, Path(scratch))
            answers = {weight: ask(Path(scratch), web, weight) for weight in WEIGHTS}
        taught = sum(voices >= _LEAST for _, _, voices in web.places)
        before = answers[0.0].pop("plain")
        for weight, figures in answers.items():
            after = figures.pop("plain", before)
            changed = sum(one != other for one, other in zip(before, after, strict=True))
            rows.append(
                {"seed": seed, "weight": weight, "learnt": learnt, "taught": taught, "changed": changed} | figures
            )
    means = []
    for weight in WEIGHTS:
        chosen = [row for row in rows if row["weight"] == weight]
        names = ("second names", "too few say so", "first names", "changed")
        means.append({"weight": weight} | {name: round(float(np.mean([r[name] for r in chosen])), 4) for name in names})
        print(means[-1])
    learnt, taught = (sum(r[name] for r in rows if r["weight"] == 0) for name in ("learnt", "taught"))
    print(f"synonyms: {learnt} pairs learnt, {taught} taught by {_LEAST} hosts or more")
    if not given.dry:
        record.save("synonyms", {"webs": given.seeds, "learnt": learnt, "taught": taught, "means": means, "rows": rows})


if __name__ == "__main__":
    main()
