"""Queries that name a page: it comes first, whether it contains the words as typed or not."""

from pathlib import Path

import pytest

from index.made_pages import visit
from periplus.index import build_index
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import Settings

_FILLER = "The harbour of the town has a light and a bell, and ships come in when there is no fog."


def searcher(folder: Path) -> Searcher:
    texts = {
        "Signal lamp": f"A signal lamp (SL) is a lamp for signals. {_FILLER}",
        "Lamp": f"A lamp gives light. A signal is a sign. {_FILLER}",
        "Orlin (island)": f"Orlin is an island. {_FILLER}",
        "Orlin (dance)": f"Orlin is a dance. It is danced at weddings, orlin after orlin, orlin, orlin. {_FILLER}",
        "Orlin dance steps": f"Steps of the dance orlin: orlin, orlin. {_FILLER}",
        "Edda Marlow": f"Edda Marlow was the first keeper of the light. {_FILLER}",
        "Marlow road": f"Marlow road is a road to Marlow. {_FILLER}",
        "SL 4": f"SL 4 is a ship. SL 4 was built for the SL line. {_FILLER}",
    }
    for number in range(40):
        texts[f"Log {number}"] = (
            f"Edda Marlow came to the island Orlin with a signal lamp (SL). Note {number}. {_FILLER}"
        )
    records = [visit(f"https://log.test/{number}", title, text) for number, (title, text) in enumerate(texts.items())]
    build_index(records, folder / "index", Settings().index)
    opened = Searcher.open(folder, Settings())
    assert opened._session
    opened._session.index.spelling.load()
    return opened


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("signallamp", "Signal lamp"),
        ("sl", "Signal lamp"),
        ("orlin", "Orlin (island)"),
        ("orlin dance", "Orlin (dance)"),
        ("marlow", "Edda Marlow"),
        ("marlow road", "Marlow road"),
        ("edda marlov", "Edda Marlow"),
    ],
)
def test_a_named_page_comes_first(tmp_path: Path, query: str, title: str) -> None:
    page = searcher(tmp_path).search(Query(query, folded=False))
    assert page.hits[0].title == title
    assert len({hit.key for hit in page.hits}) == len(page.hits)


def test_the_reason_is_explained(tmp_path: Path) -> None:
    hit = searcher(tmp_path).search(Query("signallamp", explain=True)).hits[0]
    assert dict(hit.reasons)["name"] > 0
    assert dict(hit.reasons)["mentions"] > 0


@pytest.mark.parametrize("query", ['"sl"', "+sl", "sl OR lamp", "sl -lamp", "title:sl"])
def test_operators_are_taken_literally(tmp_path: Path, query: str) -> None:
    hits = searcher(tmp_path).search(Query(query, explain=True)).hits
    assert hits
    assert not any("name" in dict(hit.reasons) for hit in hits)


def test_a_verbatim_query_is_not_taken_for_misspelt(tmp_path: Path) -> None:
    opened = searcher(tmp_path)
    exact = opened.search(Query("edda marlow", verbatim=True, explain=True))
    assert dict(exact.hits[0].reasons)["name"] > 0
    misspelt = opened.search(Query("edda marlov", verbatim=True, explain=True))
    assert not any("name" in dict(hit.reasons) for hit in misspelt.hits)


def test_filters_hold_for_named_pages(tmp_path: Path) -> None:
    assert not searcher(tmp_path).search(Query("signallamp", site="elsewhere.test")).hits
