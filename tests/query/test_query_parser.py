"""Any string is a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.query import All, Any, Bag, Everything, Node, Phrase, Site, Without, Word, parse


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("sea charts", Bag(("sea", "charts"))),
        ('"sea charts"', Phrase(("sea", "charts"))),
        ('"sea', Word("sea")),
        ("“sea charts”", Phrase(("sea", "charts"))),
        ("sea -land", Without(Bag(("sea",)), Word("land"))),
        ("sea NOT land", Without(Bag(("sea",)), Word("land"))),
        ("-land", Without(Everything(), Word("land"))),
        ("+sea charts", All((Word("sea"), Bag(("charts",))))),
        ("sea OR land", Any((Word("sea"), Word("land")))),
        ("sea | land", Any((Word("sea"), Word("land")))),
        ("sea AND land", Bag(("sea", "land"))),
        ("(sea OR land) map", All((Any((Word("sea"), Word("land"))), Bag(("map",))))),
        ("(deep sea)", All((Word("deep"), Word("sea")))),
        ('-"deep sea" map', Without(Bag(("map",)), Phrase(("deep", "sea")))),
        ("-(deep sea) map", Without(Bag(("map",)), All((Word("deep"), Word("sea"))))),
        ("site:coast.test tide", All((Site("coast.test"), Bag(("tide",))))),
        ("site:https://Coast.test:80/a/b", Site("coast.test", "/a/b")),
        ("-site:coast.test tide", Without(Bag(("tide",)), Site("coast.test"))),
        ("weather:today", Bag(("weather", "today"))),
        ("site:", Bag(("site",))),
        ("OR", None),
        ("OR sea OR", Word("sea")),
        ("((", None),
        ("))sea((", Bag(("sea",))),
        ("- + \" ' ( )", None),
        ("", None),
        ("\x00\x01\ud800", None),
    ],
)
def test_queries_mean_what_people_would_expect(text: str, tree: Node | None) -> None:
    assert parse(text).tree == tree


@given(st.text(max_size=200))
def test_no_string_fails(text: str) -> None:
    parse(text)


@given(st.text(alphabet='ab"()-+ OR|NOTsite:./', max_size=200))
def test_no_heap_of_operators_fails(text: str) -> None:
    parse(text)


def test_a_thousand_parentheses_are_survived() -> None:
    parsed = parse("(" * 1000 + "sea" + ")" * 1000)
    assert parsed.notes


def test_ten_thousand_words_are_survived() -> None:
    assert parse("sea " * 10_000).notes
