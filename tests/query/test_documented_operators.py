"""Every example of docs/query-language.md, run on a small index: what it finds, and what it leaves out."""

import re
from pathlib import Path

import msgspec
import pytest

from index.made_pages import visit
from periplus.graph import Graph, build_graph
from periplus.index import build_index
from periplus.records import FetchRecord, Link, Query
from periplus.search import Searcher
from periplus.settings import Settings, load
from periplus.store import PageStore

DOCS = Path(__file__).parents[2] / "docs" / "query-language.md"
DAY = 86_400.0
AT_2024 = 19_800 * DAY
AT_2026 = 20_500 * DAY


def page(url: str, title: str, text: str, when: float = AT_2024, **more: object) -> FetchRecord:
    return msgspec.structs.replace(visit(url, title, text, **more), when=when)


def links(*urls: str) -> tuple[Link, ...]:
    return tuple(Link(url, "see there") for url in urls)


def german(record: FetchRecord) -> FetchRecord:
    assert record.page is not None
    return msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, language="de"))


PAGES = {
    "charts": page("https://coast.example/charts", "Old paper", "sea charts show the tide and the land"),
    "apart": page("https://coast.example/guide/apart", "Nothing", "charts of the deep blue sea, and mountain maps"),
    "spring": page("https://coast.example/guide/spring", "The spring tide", "when the moon is full", AT_2026),
    "reverse": page("https://coast.example/tides", "Tide tables for spring", "the water of 1872 rises"),
    "moon": page("https://moon.example/", "The moon", "it pulls the tide", links=links("https://coast.example/tides")),
    "map": page("https://inland.example/map", "A plain", "map and air chart", links=links("https://coast.example/")),
    "plan": page("https://inland.example/plan", "A plan of sails", "this map shows a sailor", kind="application/pdf"),
    "fog": page("https://www.coast.example/fog", "Signals", "the fog and its bell"),
    "bell": page("https://bell.example/", "Noise", "a bell rings when there is nothing to see but fog; sails rest"),
    "hafen": german(page("https://hafen.example/", "Der Hafen", "die Stadt und der Hafen im Nebel")),
}

EXAMPLES: dict[str, set[str]] = {
    "sea charts": {"charts", "apart", "map"},
    "sea AND charts": {"charts", "apart"},
    '"sea charts"': {"charts"},
    '"sea charts" tide': {"charts"},
    "+sea charts tide": {"charts", "apart"},
    "sea -land": {"apart"},
    "sea NOT land": {"apart"},
    "sea -(land OR mountain)": set(),
    "chart OR map": {"charts", "apart", "map", "plan"},
    "sea AND chart OR map": {"charts", "apart", "map", "plan"},
    '(chart OR map) -"air chart"': {"charts", "apart", "plan"},
    "tide site:coast.example": {"charts", "spring", "reverse"},
    "tide site:coast.example/guide": {"spring"},
    "intitle:tide": {"spring", "reverse"},
    'intitle:"spring tide"': {"spring"},
    "intitle:(spring tide)": {"spring", "reverse"},
    "intitle:(tide OR moon)": {"spring", "reverse", "moon"},
    "tide -intitle:moon": {"charts", "spring", "reverse"},
    "intitle:moon OR site:inland.example map": {"moon", "map", "plan"},
    "fog NEAR bell": {"fog", "bell"},
    "fog AROUND(3) bell": {"fog"},
    "sail*": {"plan", "bell"},
    "intitle:sail*": {"plan"},
    "1850..1900": {"reverse"},
    "lang:de": {"hafen"},
    "filetype:pdf": {"plan"},
    "link:coast.example/tides": {"moon"},
    "link:coast.example": {"moon", "map"},
    "after:2024-05": {"spring"},
    "before:2025": set(PAGES) - {"spring"},
}
"""Pages that each query finds."""

FURTHER: dict[str, set[str]] = {
    "old sea AND charts maps": {"charts", "apart"},
    "tide AND moon": {"spring", "moon"},
    "tide AND moon NOT full": {"moon"},
    "tide AND (moon OR land)": {"spring", "moon", "charts"},
    "(tide AND moon) OR bell": {"spring", "moon", "fog", "bell"},
    "-intitle:(tide OR moon) tide": {"charts"},
    'intitle:"spring tide" OR intitle:plan': {"spring", "plan"},
    'intitle:("spring tide" OR plan)': {"spring", "plan"},
    "intitle:(tables inurl:tides)": {"reverse"},
    "inurl:(coast tides)": {"reverse"},
    "inurl:guide -inurl:apart": {"spring"},
    "intext:(map air)": {"map"},
    "intext:map": {"apart", "map", "plan"},
    'intext:"air chart"': {"map"},
    "inheading:tide": set(),
    "+tide +moon": {"spring", "moon"},
    "intitle:ti*": {"spring", "reverse"},
    "intitle:(ti* spring)": {"spring", "reverse"},
    "tide -intitle:(moo* OR tab*)": {"charts", "spring"},
    "inurl:gui*": {"apart", "spring"},
    '"tide" "moon"': {"spring", "moon"},
    "lang:de OR filetype:pdf": {"hafen", "plan"},
    "(site:moon.example OR site:bell.example) -tide": {"bell"},
    "sea AND": {"charts", "apart"},
    "((sea AND charts": {"charts", "apart"},
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder, settings = tmp_path_factory.mktemp("operators"), Settings()
    with PageStore.open(folder / "store", settings.store, write=True) as store:
        for record in PAGES.values():
            store.append(record)
        build_graph(store, folder / "graph", settings.graph)
        build_index(store.records(), folder / "index", settings.index, Graph.open(folder / "graph"))
    return Searcher.open(folder, load(None, {}, ["search.budget_ms=60000"]))


def documented() -> set[str]:
    """Return the examples in the table of the documentation."""
    rows = re.findall(r"^\| (`.+?) \|", DOCS.read_text("utf-8"), re.MULTILINE)
    return {example for row in rows for example in re.findall(r"`([^`]+)`", row)}


def test_every_documented_example_is_here() -> None:
    assert documented() == set(EXAMPLES)


@pytest.mark.parametrize("words", [*EXAMPLES, *FURTHER])
def test_an_example_finds_what_it_says(searcher: Searcher, words: str) -> None:
    names = {record.url: name for name, record in PAGES.items()}
    hits = searcher.search(Query(words, size=50, folded=False, verbatim=True)).hits
    assert {names[hit.url] for hit in hits} == {**EXAMPLES, **FURTHER}[words]
