"""Any string is a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.index import Field
from periplus.query import (
    And,
    AndNot,
    BagOfWords,
    ContentType,
    DateRange,
    Language,
    Link,
    MatchAll,
    Near,
    Node,
    NumberRange,
    Or,
    Phrase,
    Prefix,
    Site,
    Word,
    parse_query,
)
from periplus.text import Compound


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("sea charts", BagOfWords(("sea", "charts"))),
        ('"sea charts"', Phrase(("sea", "charts"))),
        ('"sea', Word("sea")),
        ("“sea charts”", Phrase(("sea", "charts"))),
        ("sea -land", AndNot(BagOfWords(("sea",)), Word("land"))),
        ("sea NOT land", AndNot(BagOfWords(("sea",)), Word("land"))),
        ("-land", AndNot(MatchAll(), Word("land"))),
        ("+sea charts", And((Word("sea"), BagOfWords(("charts",))))),
        ("sea OR land", Or((Word("sea"), Word("land")))),
        ("sea | land", BagOfWords(("sea", "land"))),
        ("sea AND land", And((Word("sea"), Word("land")))),
        ("old sea AND charts maps", And((Word("sea"), Word("charts"), BagOfWords(("old", "maps"))))),
        ("sea OR land AND map", Or((Word("sea"), And((Word("land"), Word("map")))))),
        ("sea AND NOT land", AndNot(Word("sea"), Word("land"))),
        ("NOT sea AND land", AndNot(Word("land"), Word("sea"))),
        ("(sea AND land) map", And((And((Word("sea"), Word("land"))), BagOfWords(("map",))))),
        ("(deep sea) AND map", And((And((Word("deep"), Word("sea"))), Word("map")))),
        ("AND sea AND", BagOfWords(("sea",))),
        ("sea AND AND land", And((Word("sea"), Word("land")))),
        ("sea AND OR land", Or((Word("sea"), Word("land")))),
        ("sea and land", BagOfWords(("sea", "and", "land"))),
        ('"deep sea" AND map', And((Phrase(("deep", "sea")), Word("map")))),
        ("(+sea) map", And((Word("sea"), BagOfWords(("map",))))),
        ("-(sea OR land) map", AndNot(BagOfWords(("map",)), Or((Word("sea"), Word("land"))))),
        ("(sea OR land) map", And((Or((Word("sea"), Word("land"))), BagOfWords(("map",))))),
        ("(deep sea)", BagOfWords(("deep", "sea"))),
        ("sea charts (deep water) maps", BagOfWords(("sea", "charts", "deep", "water", "maps"))),
        ("+(deep sea) map", And((And((Word("deep"), Word("sea"))), BagOfWords(("map",))))),
        ("map -(deep sea)", AndNot(BagOfWords(("map",)), And((Word("deep"), Word("sea"))))),
        ('-"deep sea" map', AndNot(BagOfWords(("map",)), Phrase(("deep", "sea")))),
        ("-(deep sea) map", AndNot(BagOfWords(("map",)), And((Word("deep"), Word("sea"))))),
        ("site:coast.test tide", And((Site("coast.test"), BagOfWords(("tide",))))),
        ("site:https://Coast.test:80/a/b", Site("coast.test", "/a/b")),
        ("-site:coast.test tide", AndNot(BagOfWords(("tide",)), Site("coast.test"))),
        ("link:Coast.test/a tide", And((Link("Coast.test/a"), BagOfWords(("tide",))))),
        ('-link:"https://coast.test/a_(b)" tide', AndNot(BagOfWords(("tide",)), Link("https://coast.test/a_(b)"))),
        ('-intitle:"deep sea" map', AndNot(BagOfWords(("map",)), Phrase(("deep", "sea"), 1 << Field.TITLE))),
        ("link:", BagOfWords(("link",))),
        ('link:"" tide', BagOfWords(("tide",))),
        ("weather:today", BagOfWords(("weather", "today"))),
        ("site:", BagOfWords(("site",))),
        ("OR", None),
        ("OR sea OR", Word("sea")),
        ("((", None),
        ("))sea((", BagOfWords(("sea",))),
        ("- + \" ' ( )", None),
        ("", None),
        ("\x00\x01\ud800", None),
    ],
)
def test_queries_mean_what_people_would_expect(text: str, tree: Node | None) -> None:
    assert parse_query(text).tree == tree


@given(st.text(max_size=200))
def test_no_string_fails(text: str) -> None:
    parse_query(text)


@given(st.text(alphabet='ab"()-+ OR|NOTsite:./', max_size=200))
def test_no_heap_of_operators_fails(text: str) -> None:
    parse_query(text)


def test_a_thousand_parentheses_are_survived() -> None:
    parsed = parse_query("(" * 1000 + "sea" + ")" * 1000)
    assert parsed.notes


def test_ten_thousand_words_are_survived() -> None:
    assert parse_query("sea " * 10_000).notes


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("intitle:tide", Word("tide", 1)),
        ('intitle:"spring tide"', Phrase(("spring", "tide"), 1)),
        ("intitle:(spring tide)", And((Word("spring", 1), Word("tide", 1)))),
        ("InTitle:(spring OR tide)", Or((Word("spring", 1), Word("tide", 1)))),
        ('intitle:("spring tide" OR moon)', Or((Phrase(("spring", "tide"), 1), Word("moon", 1)))),
        ("intitle:(tide inurl:moon)", And((Word("moon", 4), Word("tide", 1)))),
        ("intitle:((tide) -(sun OR moon))", AndNot(Word("tide", 1), Or((Word("sun", 1), Word("moon", 1))))),
        ("intitle:(fog NEAR bell)", Near(("fog", "bell"), 10, 1)),
        ("-intitle:(tide moon)", AndNot(MatchAll(), And((Word("tide", 1), Word("moon", 1))))),
        ("-intitle:tide", AndNot(MatchAll(), Word("tide", 1))),
        ("intitle:(tide", Word("tide", 1)),
        ("intitle:()", None),
        ("intitle:a OR site:x.test b", Or((Word("a", 1), And((Site("x.test"), Word("b")))))),
        ("inurl:sea-charts", Phrase(("sea", "charts"), 4, (Compound(0, 2, "-"),))),
        ("-intext:tide", AndNot(MatchAll(), Word("tide", 32))),
        ("fog NEAR bell", Near(("fog", "bell"), 10)),
        ("fog AROUND(3) bell", Near(("fog", "bell"), 3)),
        ("NEAR bell", BagOfWords(("bell",))),
        ("fog NEAR", BagOfWords(("fog", "near"))),
        ("sail*", Prefix("sail")),
        ("intitle:sail*", Prefix("sail", 1)),
        ("intitle:(sail* OR fog)", Or((Prefix("sail", 1), Word("fog", 1)))),
        ("*", None),
        ("10..20", NumberRange(10, 20)),
        ("20..10", NumberRange(10, 20)),
        ("lang:DE", Language("de")),
        ("filetype:PDF", ContentType("pdf")),
        ("after:1970-01-03", DateRange(2, 1 << 30)),
        ("before:1971", DateRange(-(1 << 30), 364)),
        ("lang:pt-BR", Language("pt")),
    ],
)
def test_operators_mean_what_the_page_says(text: str, tree: Node | None) -> None:
    assert parse_query(text).tree == tree


@pytest.mark.parametrize(
    ("text", "tree", "note"),
    [
        ("lang:qq tide", BagOfWords(("tide",)), "lang:qq was ignored: it is not a language code that Periplus knows."),
        ("-lang:english tide", BagOfWords(("tide",)), "lang:english was ignored"),
        ("lang:qq", None, "lang:qq was ignored"),
        ("tide OR lang:qq", Word("tide"), "lang:qq was ignored"),
        (
            "before:whenever tide",
            BagOfWords(("before", "whenever", "tide")),
            "before:whenever was read as words: a date is written as 2024",
        ),
        ("Type:Rider", BagOfWords(("type", "rider")), "type:rider was read as words: it is not a type of document"),
        ("filetype:rider", None, "filetype:rider was ignored: it is not a type of document that Periplus indexes."),
        ("after:9999999-99", None, "after:9999999-99 was ignored"),
        ("after:2024-13-01", None, "after:2024-13-01 was ignored"),
        ("before:2024-01-01-01", None, "before:2024-01-01-01 was ignored"),
        ("before:2024-05-31T10:00", None, "before:2024-05-31t10:00 was ignored"),
    ],
)
def test_filters_with_invalid_values_are_ignored_with_a_note(text: str, tree: Node | None, note: str) -> None:
    parsed = parse_query(text)
    assert parsed.tree == tree
    assert [line.startswith(note) for line in parsed.notes] == [True]


@given(st.text(alphabet='ab"()-+* AND OR intitle:lang:before:1.', max_size=200))
def test_no_heap_of_fields_fails(text: str) -> None:
    parse_query(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("501(c)(3)-company", ("501", "c", "3", "company")),
        ('"south africa"-movement of', ("movement", "of")),
        ("oxygen -18 and -16.5", ("oxygen", "18", "and", "16", "5")),
    ],
)
def test_a_hyphen_within_text_and_a_negative_number_exclude_nothing(text: str, words: tuple[str, ...]) -> None:
    tree = parse_query(text).tree
    bag = tree if isinstance(tree, BagOfWords) else next(p for p in tree.parts if isinstance(p, BagOfWords))  # type: ignore[union-attr]
    assert bag.words == words
    assert isinstance(parse_query("oxygen -carbon").tree, AndNot)
    assert isinstance(parse_query('oxygen -"18"').tree, AndNot)


def test_notes_are_bounded() -> None:
    assert len(parse_query(" ".join(f"lang:x{n}" for n in range(1000))).notes) == 8
    assert len(parse_query("lang:qq " * 100).notes) == 1


def test_a_bar_between_plain_words_and_an_option_are_text() -> None:
    assert parse_query("Emirates | Fly Better").tree == BagOfWords(("emirates", "fly", "better"))
    assert isinstance(parse_query('"a b" | c').tree, Or)
    assert isinstance(parse_query("sea (chart | map)").tree, And)
    assert isinstance(parse_query("ls -l").tree, BagOfWords)


@given(st.lists(st.from_regex(r"[a-z0-9]{1,40}", fullmatch=True), min_size=1, max_size=20))
def test_plain_words_are_parsed_as_with_a_space_before_them(words: list[str]) -> None:
    assert parse_query(" ".join(words)) == parse_query(" " + " ".join(words))
    for required in ("+" + " +".join(words), f'"{" ".join(words)}"'):
        assert parse_query(required) == parse_query(" " + required)
