"""What a query means, on the fake web: sites that it names, words that are misspelt, and completions of both."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import misspellings
from index.made_pages import Ranks, visit
from periplus.fakeweb import FakeWeb, FakeWebPlan
from periplus.graph import Graph, build_graph
from periplus.index import build_index
from periplus.parse import parse
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome, Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import PageStore
from periplus.text import split_text, terms_of
from periplus.url import parse_address

WEB = FakeWeb(FakeWebPlan(seed=11, hosts=24, pages=500))
TRUTH = WEB.truth()


def fetched(url: str) -> FetchRecord | None:
    """Read one page as a crawl would, without sockets."""
    place = parse_address(url)
    answer = WEB.response(place.host, place.path)
    headers = tuple((name.lower(), value) for name, value in answer.headers)
    page = parse(
        FetchResult(FetchRequest(place), Outcome.OK, 0.0, answer.status, headers, answer.body), Settings().parse
    )
    return FetchRecord(place.url, place.key, Outcome.OK, 1.0, 200, page=page) if answer.status == 200 and page else None


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder, settings = tmp_path_factory.mktemp("understanding"), Settings()
    with PageStore.open(folder / "store", settings.store, write=True) as store:
        for page in TRUTH.pages:
            if read := fetched(page.url):
                store.append(read)
        build_graph(store, folder / "graph", settings.graph)
        build_index(store.records(), folder / "index", settings.index, Graph.open(folder / "graph"))
    return opened(folder)


def opened(folder: Path) -> Searcher:
    searcher = Searcher.open(folder, Settings())
    assert searcher._session is not None
    searcher._session.suggester.ready()
    return searcher


HOMES = [page for page in TRUTH.pages if page.kind == "home"]


def test_home_pages_come_first_for_queries_that_name_a_site(searcher: Searcher) -> None:
    asked, wrong = 0, []
    for page in HOMES:
        host = parse_address(page.url).host
        bare = host.removeprefix("www.")
        for words in (bare, f"www.{bare}", f"http://{host}/", bare.replace(".", " "), f"www {bare.replace('.', ' ')}"):
            first = searcher.search(Query(words)).hits[:1]
            asked += 1
            if not first or first[0].url != parse_address(page.url).url:
                wrong.append((words, first[0].url if first else None))
    assert asked >= 100
    assert wrong == []


def test_home_pages_come_first_for_the_name_of_a_site(searcher: Searcher) -> None:
    right, asked = 0, 0
    for page in HOMES:
        hits = searcher.search(Query(page.title)).hits
        asked += 1
        right += bool(hits) and hits[0].url == parse_address(page.url).url
    assert right >= 0.9 * asked


def test_it_says_why_and_keeps_to_filters(searcher: Searcher) -> None:
    host = parse_address(HOMES[0].url).host
    found = searcher.search(Query(host, explain=True))
    assert (f"home page of {host}", 1.0) in found.hits[0].reasons
    assert len({hit.url for hit in found.hits}) == len(found.hits)
    assert all(
        not any(name.startswith("home page") for name, _ in hit.reasons)
        for words in (f"{host} -bread", f"+{host}", '"bread"')
        for hit in searcher.search(Query(words, explain=True)).hits
    )
    other = parse_address(HOMES[1].url).host
    assert all(other in hit.url for hit in searcher.search(Query(host, site=other)).hits)


def test_an_ordinary_word_is_no_site_unless_it_ranks(tmp_path: Path) -> None:
    good = visit("https://encyclopedia.test/flights", "Cheap flights", "all about cheap flights " * 5)
    farm = visit("https://farm.test/", "Cheap flights", "cheap flights cheap flights")
    build_index([good, farm], tmp_path / "index", Settings().index, Ranks({good.key: 0.9, farm.key: 0.0}))
    urls = [hit.url for hit in opened(tmp_path).search(Query("cheap flights", explain=True)).hits]
    assert urls[0] == good.url
    assert opened(tmp_path).search(Query("farm.test")).hits[0].url == farm.url


def test_of_several_sites_of_a_name_the_one_that_ranks_comes_first(tmp_path: Path) -> None:
    one, two = visit("https://amber.example/", "Amber", "stones"), visit("https://amber.test/", "Amber", "stones")
    page = visit("https://other.test/amber", "On amber", "amber " * 20)
    build_index([one, two, page], tmp_path / "index", Settings().index, Ranks({one.key: 0.2, two.key: 0.8}))
    searcher = opened(tmp_path)
    assert searcher.search(Query("amber")).hits[0].url == two.url
    assert searcher.search(Query("amber example")).hits[0].url == one.url


def english_words(searcher: Searcher, least: int) -> list[str]:
    """Words of the English pages that are in several documents."""
    assert searcher._session is not None
    words = {w for page in TRUTH.pages if page.language == "en" for w in split_text(f"{page.title} {page.subject}")}
    good = sorted(word for word in words if len(word) >= 5 and word.isascii() and word.isalpha())
    counts = searcher._session.index.spelling.document_frequencies(good)
    return [word for word, count in zip(good, counts, strict=True) if count >= least]


def test_misspellings_are_mended(searcher: Searcher) -> None:
    assert searcher._session is not None
    index, chance = searcher._session.index, random.Random(5)
    right, wrong = 0, []
    for number, word in enumerate(english_words(searcher, 2)):
        typed = misspellings.misspell(word, misspellings.KINDS[number % len(misspellings.KINDS)], chance)
        if index.document_frequency(terms_of([typed], "en")[0]):
            continue  # Another word, or found as it is.
        given = searcher.search(Query(typed)).corrections
        right += given[:1] == (word,)
        wrong += [] if given[:1] == (word,) else [(word, typed, given)]
    assert right >= 60
    assert right >= 0.9 * (right + len(wrong)), wrong


def test_right_words_are_left_alone(searcher: Searcher) -> None:
    words = english_words(searcher, 1)
    harmed = [word for word in words if searcher.search(Query(word)).corrections]
    assert len(words) > 80
    assert harmed == []
    assert [q.words for q in TRUTH.queries if searcher.search(Query(q.words)).corrections] == []


def sea(folder: Path) -> Searcher:
    pages = [visit(f"https://sea.test/{n}", "Search engine", f"a search engine finds ships {n}") for n in range(6)]
    pages += [
        visit(f"https://land.test/{n}", "Lighthouse", f"the keyboard of a lighthouse don't {n}") for n in range(6)
    ]
    pages += [visit(f"https://maps.test/{n}", "Harbour", f"harbour charts of the coast {n}") for n in range(6)]
    build_index(pages, folder / "index", Settings().index)
    return opened(folder)


def test_words_are_parted_joined_and_corrected_in_their_place(tmp_path: Path) -> None:
    searcher = sea(tmp_path)
    corrected = {
        "light house": "lighthouse",
        "harbor chrats": "harbor charts",
        '+Harbuor -"search engine" site:maps.test': '+harbour -"search engine" site:maps.test',
        "serch engnie 42": "search engine 42",
    }
    assert {said: searcher.search(Query(said)).corrections[:1] for said in corrected} == {
        said: (meant,) for said, meant in corrected.items()
    }
    assert searcher.search(Query("serch", verbatim=True)).hits == (), "what was asked is not replaced"
    joined = searcher.search(Query("searchengine"))
    assert joined.hits
    assert not joined.corrections, "a word that pages write apart is found there"


@pytest.mark.parametrize(
    "said", ["", "a", "42", "x9y8z7", "日本語", "-", '"', "a" * 5000, "зима", "\ud800", "ee " * 300]
)
def test_nothing_is_made_up(tmp_path_factory: pytest.TempPathFactory, said: str) -> None:
    folder = tmp_path_factory.mktemp("made-up")
    build_index([visit("https://a.test/", "Amber", "road")], folder / "index", Settings().index)
    assert opened(folder).search(Query(said)).corrections == ()


def test_phrases_are_known_by_their_bond(tmp_path: Path) -> None:
    pages = [
        visit(f"https://a.test/{n}", "", f"hong kong harbour {'tea' if n % 2 else 'silk'} trade") for n in range(9)
    ]
    pages += [visit(f"https://b.test/{n}", "", f"harbour {n} trade and tea of many kinds") for n in range(40)]
    build_index(pages, tmp_path / "index", Settings().index)
    searcher = opened(tmp_path)
    assert searcher._session is not None
    from periplus.query import parse_query

    plan = searcher._session.ranker.plan(parse_query("hong kong trade").tree)
    assert [(plan.words[pair.first].word, pair.bond > 0.8) for pair in plan.pairs()] == [("hong", True)]
    assert searcher._session.ranker.plan(parse_query("tea harbour").tree).pairs() == ()


def test_link_texts_are_completed(tmp_path: Path) -> None:
    class Linked(Ranks):
        def anchors(self, key: int) -> str:
            return "Eiffel tower\nLa dame de fer" if key == page.key else ""

    page = visit("https://paris.test/", "Tour Eiffel", "iron")
    build_index([page], tmp_path / "index", Settings().index, Linked({}))
    searcher = opened(tmp_path)
    assert [text for text, _ in searcher.suggest("eiff")] == ["eiffel tower", "Tour Eiffel"]
    assert [text for text, _ in searcher.suggest("la d")] == ["la dame de fer"]
