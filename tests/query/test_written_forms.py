"""Words as people write them: a table of what is on a page and what is typed, each row with the rule behind it."""

import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.made_pages import random_visits, visit
from naive import phrase_documents as naive
from periplus.arrays import write_arrays
from periplus.index import Index, Segment, build_index
from periplus.index.merge.segment_merger import merge_segments
from periplus.query import BagOfWords, Scoring, content_words_of, find_candidates, parse_query, plan_query
from periplus.query.forms.written_forms import arrange_bag
from periplus.query.kernels import match
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import IndexSettings, Settings
from periplus.text import ANALYSIS, Compound

FOUND = [
    # rule, text on the page, queries that find it
    ("symbol", "Learn C# today", ("c#", "C#", '"c#"', "c", "intext:c#", "csharp")),
    ("symbol", "Modern C++17 idioms", ("c++", "c++17", "C++", "cpp", "idioms", '"c++ 17"')),
    ("symbol", "The .NET runtime", (".net", ".NET", "net", "dotnet", '".net runtime"')),
    ("symbol", "Edit the .gitignore file", ("gitignore", ".gitignore")),
    ("symbol", "Watch it on Disney+ tonight", ("disney+", "disney")),
    ("hyphen", "Our e-mail list", ("e-mail", "email", "e mail", "mail", "EMAIL", "intext:email", "+email")),
    ("hyphen", "Send an email now", ("email", "e-mail", "E-Mail", '"an e-mail now"', "+e-mail", "intext:e-mail")),
    (
        "hyphen",
        "A Wi-Fi router",
        ("wifi", "wi-fi", "wi fi", "WiFi", '"wifi router"', '"wi-fi router"', "(wifi OR lan)"),
    ),
    ("hyphen", "A wifi hotspot", ("wi-fi", "wi fi", "wifi", '"wi-fi hotspot"', "+wi-fi", "(wi-fi OR lan)")),
    ("hyphen", "A non‑breaking hyphen: wi‑fi antenna", ("wifi antenna", "+wi-fi antenna")),
    ("hyphen", "state-of-the-art design", ("state-of-the-art", '"state of the art"', "art")),
    ("letters and digits", "The iPhone 5 case", ("iphone5", "iPhone 5", "iphone-5", "+iphone5")),
    ("letters and digits", "An iPhone5 charger", ("iphone 5", "iphone5", '"iphone5 charger"')),
    ("letters and digits", "A COVID-19 test", ("covid19", "covid 19", "covid-19")),
    ("British and American", "The colour of the harbour", ("color", "colors", "harbor", '"the color"', "+color")),
    ("British and American", "Organized labor analyzed", ("organised", "organise", "labour", "analyse")),
    ("British and American", "A theatre in the city centre", ("theater", "center", "centers")),
    ("British and American", "traveling with an encyclopedia", ("travelling", "travelled", "encyclopaedia")),
    ("British and American", "anaemia, oestrogen and haemoglobin", ("anemia", "estrogen", "hemoglobin")),
    ("British and American", "a dialog about a gray catalog", ("dialogue", "grey", "catalogue")),
    ("umlaut", "Ein Wochenende in München", ("munchen", "München", "muenchen", "MUENCHEN")),
    ("slash", "After 9/11 the law changed", ("9/11", "+9/11", '"9/11"', "9 11")),
    ("slash", "Open 24/7 all year", ("24/7", "+24/7", "24")),
    ("acronym", "The U.S. economy", ("US", "us", "U.S.", "US economy", "u.s. economy", '"u.s. economy"')),
    ("acronym", "The US senate", ("U.S. senate", "u.s.", "US")),
    ("acronym", "Made in the U.S.A. by hand", ("usa", "USA", "U.S.A.")),
    ("thousands", "It sold 1,000,000 copies", ("1000000", "1,000,000", "1.000.000", "1 000 000", "+1000000")),
    ("thousands", "Es kostet 2.500.000 Euro", ("2500000", "2,500,000", "2.500.000", "2'500'000")),
    ("thousands", "Environ 3 700 000 habitants", ("3700000", "3 700 000", "3,700,000")),
    (
        "thousands",
        "Population 4800000 people",
        ("4,800,000", "4.800.000", "4 800 000", "4800000", '"4,800,000 people"'),
    ),
    ("decimals", "The value of pi is 3.14159", ("3.14159", "3,14159", "+3.14159", '"3.14159"')),
    ("apostrophe", "L'eau de la rivière", ("eau", "l'eau", "l’eau", "+l'eau", "intext:l'eau", "leau")),
    ("apostrophe", "La commedia dell'arte", ("arte", "dell'arte", '"dell’arte"')),
    ("apostrophe", "Qu’il vienne, dit-elle", ("il vienne", "qu'il vienne", "dit-elle")),
    ("apostrophe", "Flann O'Brien wrote it", ("o'brien", "O’Brien", "obrien", "brien", "+obrien", "o brien")),
    ("apostrophe", "Why don't we dance", ("don't", "dont", "don’t", "donʼt", '"don\'t we"', '"dont we"')),
    ("apostrophe", "The women’s football cup", ("women's", "womens", "women", '"women\'s football"', "+women's")),
    ("apostrophe", "Rock 'n' roll never dies", ("rock'n'roll", "rock n roll", "\"rock 'n' roll\"", "rocknroll")),
    ("modifier letter", "Hawaiʻi and the Qurʾān", ("hawaii", "Hawaiʻi", "quran")),
    ("apostrophe", "Hawai'i without its okina", ("hawaii without", "hawai'i without", "hawai‘i")),
    ("no spaces", "iPhone手机壳", ("iphone", "手机", "手机壳", "iphone手机", "壳", "机")),
    ("no spaces", "5G网络覆盖", ("5g", "网络", "5G网络", "网")),
    ("no spaces", "東京Towerへ行く", ("tower", "東京", "東京tower", "東", "京", "へ")),
    ("no spaces", "この猫はかわいい", ("猫", "この猫", "かわいい", "+猫", "intext:猫")),
    ("no spaces", "ภาษาไทยง่าย", ("ไทย", "ภาษา", "ย")),
    ("no spaces", "학교에서 공부한다", ("학교", "학교에서", "공부", "교")),
    ("no spaces", "C++入门教程", ("c++", "入门", "c++教程")),
    ("dots", "ASP.NET and Node.js servers", ("asp.net", "node.js", "nodejs", "aspnet", "net")),
    ("underscore", "call max_tokens here", ("max_tokens", "max tokens", "tokens")),
    ("ampersand", "The AT&T network and R&D", ("at&t", "r&d", '"at&t network"')),
]
FURTHER = [
    # What makes the joined words above exist in the index.
    "aspnet nodejs",
]
NOT_FOUND = [
    ("a form must stand in a row", "The fi of sci and the wi of it", ("wifi", "+wi-fi")),
    ("stop words do not split a word", "See the rapist of the opera", ("therapist",)),
    ("a year is not a number in groups", "Version 2 024 of it", ("2024",)),
    ("decimals are not thousands", "Room 314 is free", ("3.14", "+3.14")),
    ("a slash does not join", "Call 911 now", ("+9/11", '"9/11"')),
    ("exclusions are as typed", "A gray day", ("day -gray",)),
    ("different words", "Four fillings", ("filing", "for")),
    ("no transliteration without evidence", "Munich is large", ("münchen",)),
    ("a symbol belongs to its word", "Plain C programs", ('"c++"', "+c++", "intitle:c#")),
]


def _build(folder: Path, texts: list[str]) -> Index:
    pages = [visit(f"https://words.test/{number:04}", "Page", text) for number, text in enumerate(texts)]
    build_index(pages, folder / "index", IndexSettings())
    index = Index.open(folder / "index")
    index.spelling.load()
    return index


def _find(index: Index, query: str) -> set[int]:
    """Return the numbers of the pages that a query matches, without relaxing it."""
    parsed = parse_query(query)
    assert parsed.tree is not None
    found = find_candidates(index, plan_query(index, parsed.tree, Scoring()), 1_000)
    segment = index.segments[0]
    return {int(segment.string("url", document).rpartition("/")[2]) for document in found.documents.tolist()}


def _cases(table: list[tuple[str, str, tuple[str, ...]]]) -> list[object]:
    return [
        pytest.param(number, query, id=f"{rule}: {query}")
        for number, (rule, _, queries) in enumerate(table)
        for query in queries
    ]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return _build(tmp_path_factory.mktemp("found"), [text for _, text, _ in FOUND] + FURTHER)


@pytest.mark.parametrize(("number", "query"), _cases(FOUND))
def test_a_page_is_found_however_its_words_are_written(index: Index, number: int, query: str) -> None:
    assert number in _find(index, query), (query, FOUND[number][1])


@pytest.mark.parametrize("words_loaded", [True, False])
def test_forms_do_not_depend_on_the_spelling_dictionary(tmp_path: Path, words_loaded: bool) -> None:
    build_index(
        [visit("https://words.test/0", "", "a wi-fi net"), visit("https://words.test/1", "", "a wifi net")],
        tmp_path,
        IndexSettings(),
    )
    index = Index.open(tmp_path)
    if words_loaded:
        index.spelling.load()
    assert _find(index, "wifi") == _find(index, "wi-fi") == {0, 1}


@pytest.fixture(scope="module")
def other_index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return _build(tmp_path_factory.mktemp("not_found"), [text for _, text, _ in NOT_FOUND])


@pytest.mark.parametrize(("number", "query"), _cases(NOT_FOUND))
def test_other_words_are_not_found(other_index: Index, number: int, query: str) -> None:
    assert number not in _find(other_index, query), (query, NOT_FOUND[number][1])


def test_a_query_without_such_words_has_the_plan_that_it_had(index: Index) -> None:
    parsed = parse_query("runtime hotspot")
    assert parsed.tree == BagOfWords(("runtime", "hotspot"))
    plan = plan_query(index, parsed.tree, Scoring(all_words_bonus=1.0, short_query=8))
    assert [(leaf.term, leaf.group, leaf.languages) for leaf in plan.leaves] == [
        (b"runtim", 0, None),
        (b"hotspot", 1, None),
    ]
    assert plan.program == ((match.LEAF, 0), (match.LEAF, 1), (match.OR, 0))


def test_other_forms_belong_to_the_word_that_they_stand_for(index: Index) -> None:
    parsed = parse_query("wifi router")
    assert parsed.tree is not None
    plan = plan_query(index, parsed.tree, Scoring(all_words_bonus=1.0, short_query=8))
    assert [(leaf.term, leaf.group) for leaf in plan.leaves] == [(b"wifi", 0), (b"wi", 0), (b"router", 1)]
    assert plan.leaves[0].weight > plan.leaves[1].weight > 0
    assert plan.words[0].terms == (b"wifi", b"wi", b"fi")
    assert {operation for operation, _ in plan.program} == {match.LEAF, match.OR}


@pytest.mark.parametrize(
    "query", ["wi-fi " * 200, "1,000,000 " * 100, "e-mail" + "-mail" * 500, "猫 " * 100, "U.S." * 300]
)
def test_any_number_of_compounds_fits_the_plan(index: Index, query: str) -> None:
    parsed = parse_query(query)
    assert parsed.tree is not None
    plan = plan_query(index, parsed.tree, Scoring())
    assert len(plan.leaves) <= match.MAX_LEAVES
    find_candidates(index, plan, 10)


def test_the_search_for_forms_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = "abcdefgh"
    pairs = [f"{a}{b}x {c}{d}y" for a in letters for b in letters for c in letters for d in letters[:1]]
    index = _build(tmp_path, [" ".join(pairs)])
    phrases: list[tuple[bytes, ...]] = []
    search = Segment.documents_with_phrase

    def count(segment: Segment, terms: tuple[bytes, ...], fields: int) -> npt.NDArray[np.int32]:
        phrases.append(terms)
        return search(segment, terms, fields)

    monkeypatch.setattr(Segment, "documents_with_phrase", count)
    for size in (40, 256):
        phrases.clear()
        parsed = parse_query(" ".join(pair.replace(" ", "") for pair in pairs[:size]))
        assert parsed.tree is not None
        plan_query(index, parsed.tree, Scoring())
        assert len(phrases) <= 24 * 10


def _own_words(text: str) -> set[str]:
    r"""Return the words of a text as another program would take them: those of \w+, with vowel signs."""
    marked = "".join(" " if unicodedata.category(c)[0] not in "LNM" and c != "_" else c for c in text)
    return {word for word in marked.split() if any(character.isalnum() for character in word)}


TEXTS = st.lists(
    st.one_of(
        st.text(alphabet="abcXYZ019'’-_.,/&+# é", max_size=12),
        st.text(alphabet="東京都は大ภาษา한국어猫 aC1", max_size=8),
        st.text(alphabet="ЖйΣςаеعربيहिन्दी' ", max_size=10),
        st.sampled_from([text for _, text, _ in FOUND]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_every_text_is_found_by_each_of_its_own_words(tmp_path: Path, texts: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    index = _build(folder, texts)
    for number, text in enumerate(texts):
        for word in _own_words(text):
            if word not in ("OR", "AND", "NOT", "NEAR"):
                assert number in _find(index, word), (word, text)


@pytest.mark.parametrize("fields", [255, 1, 32])
def test_pages_with_a_phrase_are_those_of_the_naive_twin(tmp_path: Path, fields: int) -> None:
    build_index(random_visits(3, 150), tmp_path, IndexSettings())
    segment = Index.open(tmp_path).segments[0]
    terms = [b"sea", b"ship", b"the", b"of", b"fog", b"12", b"absent"]
    for phrase in [(one, two) for one in terms for two in terms] + [(b"the", b"sea", b"ship"), (b"of", b"of", b"of")]:
        assert segment.documents_with_phrase(phrase, fields).tolist() == naive.find_phrase_documents(
            segment, phrase, fields
        ), phrase


def test_merged_documents_keep_the_number_of_their_rules(tmp_path: Path) -> None:
    for name in ("old", "new"):
        build_index([visit(f"https://words.test/{name}", name, "l'eau")], tmp_path / name, IndexSettings())
    segments = [Index.open(tmp_path / name).segments[0] for name in ("old", "new")]
    assert segments[0].column("analysis").tolist() == [ANALYSIS]
    documents = segments[0].files["documents"]
    names = [name for name in documents.sizes() if name != "analysis"]
    write_arrays(documents.path, "documents", {name: documents[name].copy() for name in names})
    segments[0] = Segment(documents.path.parent)
    assert segments[0].column("analysis").tolist() == [0], "segments of earlier versions have no such column"
    merge_segments(tmp_path / "merged", segments, IndexSettings())
    merged = Segment(tmp_path / "merged")
    assert dict(zip(merged.strings("title"), merged.column("analysis").tolist(), strict=True)) == {
        "old": 0,
        "new": ANALYSIS,
    }


@pytest.mark.parametrize(
    "query", ["women's shoes", "the US economy", "1,000,000 ships", "l'eau", "c++ tutorial", "sea charts"]
)
def test_clicks_are_counted_by_the_words_that_a_query_is_scored_by(index: Index, query: str) -> None:
    tree = parse_query(query).tree
    assert tree is not None
    plan = plan_query(index, tree, Scoring())
    assert content_words_of(tree, "en") == {word.word for word in plan.words}


RANKED = [
    ("c++", "A tutorial of C++ for beginners", "A tutorial of C for beginners"),
    ("c# tutorial", "The C# tutorial", "The C tutorial"),
    (".net runtime", "About the .NET runtime", "About the net runtime"),
    ("9/11", "What happened on 9/11 that day", "On 11 May there were 9 of them"),
    ("wi-fi router", "A wifi router", "A sci-fi router"),
    ("US army", "The U.S. army grew", "The army is with you"),
    ("24/7 shop", "This shop is open 24/7", "This shop has 24 rooms and 7 doors"),
]


@pytest.mark.parametrize(("query", "better", "worse"), RANKED)
def test_the_page_that_writes_it_is_ranked_first(tmp_path: Path, query: str, better: str, worse: str) -> None:
    fillers = [f"Nothing of {word} here" for word in ("tides", "ships", "harbours", "maps")]
    _build(tmp_path, [worse, better, *fillers])
    hits = Searcher.open(tmp_path, Settings()).search(Query(query)).hits
    assert hits[0].url == "https://words.test/0001"


def test_snippets_mark_other_forms_and_no_word_is_missing(tmp_path: Path) -> None:
    texts = ["The colour of a Wi-Fi router sold 1,000,000 times in the U.S. to fi", "A sci-fi router"]
    _build(tmp_path, texts)
    page = Searcher.open(tmp_path, Settings()).search(Query("color wifi router 1000000 US"))
    assert page.hits[0].url == "https://words.test/0000"
    assert page.hits[0].missing == ()
    marked = [text for text, mark in page.hits[0].snippet if mark]
    assert marked[:2] == ["colour", "Wi"]
    assert {"000", "U", "S"} <= set(" ".join(marked).replace(",", " ").split())
    assert page.hits[1].missing == ("color", "wifi", "1000000", "us")
    assert [text for text, mark in page.hits[1].snippet if mark] == ["router"]


def test_compounds_beyond_the_words_of_a_cut_query_are_passed_over() -> None:
    bag = arrange_bag(("sea", "fog"), (Compound(0, 1, "."), Compound(3, 2, "'")))
    assert set(bag.counts) == {"sea", "fog"}
