"""Names that stand for each other: learnt from what several hosts call a page, scored a little, matching nothing."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from index.made_pages import visit
from periplus.arrays import write_arrays
from periplus.graph import Graph, build_graph, learn_synonyms, read_synonyms
from periplus.index import build_index
from periplus.query import Synonyms
from periplus.records import FetchRecord, Link, Outcome, Page, Query, ResultPage
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import PageStore
from periplus.url import parse_address

CITY = "http://city.example/"
NAMES = ("Eiffel", "Vasco", "Pisa", "Galata", "Belem")
TOWERS = tuple(f"http://{name.lower()}.example/" for name in NAMES)


def linking(url: str, links: list[tuple[str, str]]) -> FetchRecord:
    place = parse_address(url)
    page = Page(place.url, title="links", text="links", links=tuple(Link(to, text) for to, text in links))
    return FetchRecord(place.url, place.key, Outcome.OK, 1.0, 200, page=page)


def learnt(folder: Path, hosts: int = 4) -> int:
    """Learn from hosts that call a city and five towers by different words, and from some that are no use."""
    visits = [linking(url, []) for url in (*TOWERS, CITY, "http://far.example/")]
    for n in range(hosts):
        towers = list(zip(TOWERS, NAMES, strict=True))
        first = [(url, f"{name} tower") for url, name in towers] + [(CITY, "New York"), (CITY, "lovely spot")]
        second = [(url, f"{name} tour") for url, name in towers] + [(CITY, "Big Apple"), (TOWERS[n], "lovely spot")]
        visits.append(linking(f"http://one{n}.example/", first))
        visits.append(linking(f"http://two{n}.example/", [*second, (CITY, "New York City")]))
    # One host, however often it says so; and the host of the page itself.
    visits.append(linking("http://six.example/", [(CITY, "Casino")] * 50))
    visits += [linking(f"{CITY}{n}", [(CITY, "Our start")]) for n in range(9)]
    with PageStore.open(folder / "store", Settings().store, write=True) as store:
        for made in visits:
            store.append(made)
        build_graph(store, folder / "graph", Settings().graph)
    return learn_synonyms(Graph.open(folder / "graph"), folder / "graph")


def test_names_are_learnt_where_several_hosts_agree(tmp_path: Path) -> None:
    assert learnt(tmp_path) == 8
    names = Synonyms.from_pairs(read_synonyms(tmp_path / "graph"), 0.2)
    assert names.of("tower") == ("tour",)
    assert names.of("tour") == ("tower",)
    assert names.of("eiffel tower") == ("eiffel tour",)
    assert set(names.of("big apple")) == {"new york", "new york city"}
    assert names.of("new york") == ("big apple",), "what has all its words is no other name"
    for none in ("casino", "our start", "lovely spot", "city", "apple"):
        assert names.of(none) == ()
    assert read_synonyms(tmp_path / "nowhere") == []
    assert Synonyms.from_pairs([], 0.2).of("tower") == ()


def test_two_hosts_teach_nothing(tmp_path: Path) -> None:
    assert learnt(tmp_path, hosts=2) == 0


def test_lines_of_an_earlier_form_are_passed_over(tmp_path: Path) -> None:
    import numpy as np

    raw = np.frombuffer(b"tour tower 5\nbig apple\tnew york\tmany\nbell\tring\t3\n", np.uint8)
    write_arrays(tmp_path / "synonyms.arrays", "synonyms", {"pairs": raw})
    names = Synonyms.from_pairs(read_synonyms(tmp_path), 0.2)
    assert names.of("bell") == ("ring",)
    assert names.of("tour") == names.of("big apple") == ()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages about a city by its first name, others that have words of its second, and what links taught."""
    made = tmp_path_factory.mktemp("synonyms")
    learnt(made)
    pages = [visit(f"https://c{n}.test/", f"Guide {n}", f"ferries of new york, number {n}") for n in range(8)]
    pages += [visit(f"https://f{n}.test/", f"Fruit {n}", f"an apple of number {n}") for n in range(8)]
    pages.append(visit("https://a.test/pizza", "Pizza", "pizza with apple"))
    pages.append(visit("https://b.test/pizza", "Pizza", "pizza in new york city"))
    build_index(pages, made / "index", Settings().index)
    return made


def asked(folder: Path, words: str, weight: float) -> ResultPage:
    settings = Settings(search=replace(Settings().search, synonym_weight=weight, per_host=0))
    searcher = Searcher.open(folder, settings)
    assert searcher._session
    searcher._session.index.spelling.load()
    return searcher.search(Query(words, folded=False, explain=True, size=50))


def urls(page: ResultPage) -> list[str]:
    return [hit.url for hit in page.hits]


def test_they_score_and_do_not_match(folder: Path) -> None:
    before, after = asked(folder, "big apple pizza", 0.0), asked(folder, "big apple pizza", 0.6)
    assert set(urls(before)) == set(urls(after)), "what is found is the same"
    assert urls(before)[0] == "https://a.test/pizza"
    assert urls(after)[0] == "https://b.test/pizza"
    reasons = dict(after.hits[0].reasons)
    assert reasons["word: york, for big apple"] > 0
    assert not any("york" in name for name, _ in before.hits[0].reasons)
    total = sum(value for _, value in after.hits[0].reasons)
    assert total == pytest.approx(after.hits[0].score, abs=2e-3)


@pytest.mark.parametrize(
    "words",
    [
        *(
            '"big apple" pizza',
            "+big +apple pizza",
            "intitle:big apple",
            "big -apple pizza",
            "big OR apple",
            "apple big",
        ),
        *("new york pizza", "new york city pizza", "pizza"),
    ],
)
def test_quotes_operators_and_first_names_are_meant_as_they_are(folder: Path, words: str) -> None:
    before, after = asked(folder, words, 0.0), asked(folder, words, 0.6)
    assert [(hit.url, hit.score) for hit in before.hits] == [(hit.url, hit.score) for hit in after.hits]
