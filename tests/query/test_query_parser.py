"""Any string is a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.index import Field
from periplus.query import (
    All,
    Any,
    Bag,
    Dates,
    Everything,
    Kind,
    Language,
    Link,
    Near,
    Node,
    Numbers,
    Phrase,
    Prefix,
    Site,
    Without,
    Word,
    parse,
)


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
        ("(deep sea)", Bag(("deep", "sea"))),
        ("sea charts (deep water) maps", Bag(("sea", "charts", "deep", "water", "maps"))),
        ("+(deep sea) map", All((All((Word("deep"), Word("sea"))), Bag(("map",))))),
        ("map -(deep sea)", Without(Bag(("map",)), All((Word("deep"), Word("sea"))))),
        ('-"deep sea" map', Without(Bag(("map",)), Phrase(("deep", "sea")))),
        ("-(deep sea) map", Without(Bag(("map",)), All((Word("deep"), Word("sea"))))),
        ("site:coast.test tide", All((Site("coast.test"), Bag(("tide",))))),
        ("site:https://Coast.test:80/a/b", Site("coast.test", "/a/b")),
        ("-site:coast.test tide", Without(Bag(("tide",)), Site("coast.test"))),
        ("link:Coast.test/a tide", All((Link("Coast.test/a"), Bag(("tide",))))),
        ('-link:"https://coast.test/a_(b)" tide', Without(Bag(("tide",)), Link("https://coast.test/a_(b)"))),
        ('-intitle:"deep sea" map', Without(Bag(("map",)), Phrase(("deep", "sea"), 1 << Field.TITLE))),
        ("link:", Bag(("link",))),
        ('link:"" tide', Bag(("tide",))),
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


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("intitle:tide", Word("tide", 1)),
        ('intitle:"spring tide"', Phrase(("spring", "tide"), 1)),
        ("inurl:sea-charts", Phrase(("sea", "charts"), 4)),
        ("-intext:tide", Without(Everything(), Word("tide", 32))),
        ("fog NEAR bell", Near(("fog", "bell"), 10)),
        ("fog AROUND(3) bell", Near(("fog", "bell"), 3)),
        ("NEAR bell", Bag(("bell",))),
        ("fog NEAR", Bag(("fog", "near"))),
        ("sail*", Prefix("sail")),
        ("*", None),
        ("10..20", Numbers(10, 20)),
        ("20..10", Numbers(10, 20)),
        ("lang:DE", Language("de")),
        ("filetype:PDF", Kind("pdf")),
        ("after:1970-01-03", Dates(2, 1 << 30)),
        ("before:1971", Dates(-(1 << 30), 364)),
        ("before:whenever", Bag(("before", "whenever"))),
        ("after:9999999-99", Bag(("after", "9999999", "99"))),
    ],
)
def test_operators_mean_what_the_page_says(text: str, tree: Node | None) -> None:
    assert parse(text).tree == tree
