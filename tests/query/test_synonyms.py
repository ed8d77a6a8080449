"""Words that stand for each other: learnt from link texts, scored a little, matching nothing by themselves."""

from pathlib import Path

from msgspec.structs import replace

from index.made_pages import visit
from periplus.graph import Graph, build_graph, learn_synonyms
from periplus.index import build_index
from periplus.query import Synonyms
from periplus.records import Link, Outcome, Page, Query, Visit
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import PageStore
from periplus.url import address


def linking(url: str, links: list[tuple[str, str]]) -> Visit:
    place = address(url)
    page = Page(place.url, title="links", text="links", links=tuple(Link(to, text) for to, text in links))
    return Visit(place.url, place.key, Outcome.OK, 1.0, 200, page=page)


def learnt(folder: Path) -> int:
    """Five towers that two hosts call by different words, and one page that only one of them names."""
    names = ["Eiffel", "Vasco", "Pisa", "Galata", "Belem"]
    towers = [f"http://{name.lower()}.example/" for name in names]
    visits = [linking(url, []) for url in towers]
    visits.append(linking("http://one.example/", [(t, f"{n} tower") for t, n in zip(towers, names, strict=True)]))
    visits.append(linking("http://two.example/", [(t, f"{n} tour") for t, n in zip(towers, names, strict=True)]))
    visits.append(linking("http://six.example/", [(towers[0], "Iron lady"), (towers[1], "Vasco bridge")]))
    with PageStore.open(folder / "store", Settings().store, write=True) as store:
        for made in visits:
            store.append(made)
        build_graph(store, folder / "graph", Settings().graph)
    return learn_synonyms(Graph.open(folder / "graph"), folder / "graph")


def test_pairs_are_learnt_where_several_pages_agree(tmp_path: Path) -> None:
    assert learnt(tmp_path) == 1
    words = Synonyms.open(tmp_path / "graph", 0.2)
    assert words.of("tower") == ("tour",)
    assert words.of("tour") == ("tower",)
    assert words.of("bridge") == words.of("lady") == ()
    assert Synonyms.open(tmp_path / "graph", 0.0).of("tower") == ()
    assert Synonyms.open(tmp_path / "nowhere", 0.2).of("tower") == ()


def test_they_score_and_do_not_match(tmp_path: Path) -> None:
    learnt(tmp_path)
    pages = [
        visit("https://a.test/1", "High tower", "stone"),
        visit("https://a.test/2", "High tower", "tour"),
        visit("https://b.test/3", "High tour", "stone"),
    ]
    build_index(pages, tmp_path / "index", Settings().index)

    def found(weight: float) -> list[str]:
        settings = Settings(search=replace(Settings().search, synonym_weight=weight, per_host=0))
        return [hit.url for hit in Searcher.open(tmp_path, settings).search(Query("tower", folded=False)).hits]

    assert set(found(0.0)) == set(found(0.3)) == {"https://a.test/1", "https://a.test/2"}
    assert found(0.3)[0] == "https://a.test/2"
