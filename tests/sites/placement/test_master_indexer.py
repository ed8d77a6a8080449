"""What people of a site are interested in, and which site indexes a page."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import BadInput
from periplus.records import Page, VisitReport
from periplus.signals import Click, PopularQueries, append_visit_reports, write_click
from periplus.sites import (
    InterestBuilder,
    KnownPage,
    MasterIndexer,
    Place,
    PlacedPage,
    PlacementWeights,
    SiteInterests,
    SitePlace,
    decode_interests,
    encode_interests,
    read_interests,
)
from periplus.sites.placement import interest_statistics, page_evidence
from periplus.sites.placement.page_evidence import host_key, region_of, word_keys

SITES = (SitePlace("madrid", Place(40.4, -3.7)), SitePlace("zurich", Place(47.4, 8.5)))
ENGLISH = "The harbour master writes about tides and the ships that come and go in the morning. " * 3
SPANISH = "El puerto de la ciudad recibe barcos todas las mañanas cuando sube la marea y cambia el viento. " * 3


def _clicks(query, url, readers):
    return [Click(query, url, 1 + n % 3, (), float(n), 1 + n) for n in range(readers)]


def _words(interests):
    return set(np.frombuffer(interests.words, "<u8").tolist())


def _placed(text, host="example.org", title="", place=None, country=""):
    return PlacedPage(Page(f"http://{host}/", title=title, text=text), host, place, country)


def _interests(site, queries=(), pages=(), describe=lambda url: None):
    builder = InterestBuilder(site)
    builder.add_queries([(query, 10.0) for query in queries])
    for url in pages:
        builder.add_visits(VisitReport(url, 1, "", 1.0, source) for source in range(1, 6))
    return builder.build(describe)


def test_words_share_keys_if_their_first_letters_do():
    assert word_keys("Lighthouses lighthouse")[0] == word_keys("Lighthouses lighthouse")[1]
    assert len(set(word_keys("tide tides tidal"))) == 3  # shorter than the prefix
    assert word_keys("маяк Маяк")[0] == word_keys("маяк Маяк")[1]


@pytest.mark.parametrize(
    ("host", "country", "region"),
    [
        ("a.example.de", "", "de"),
        ("a.co.uk", "us", "gb"),
        ("a.io", "fr", "fr"),
        ("a.com", "", ""),
        ("a.com", "ch", "ch"),
    ],
)
def test_regions(host, country, region):
    assert region_of(host, country) == region


def test_only_what_enough_readers_have_in_common_counts():
    builder = InterestBuilder("zurich", threshold=1)  # never below three
    builder.add_queries([("lighthouse keepers", 3.0), ("secret name", 2.9)])
    builder.add_clicks(_clicks("tide tables", "http://tides.test/a", 3))
    builder.add_clicks(_clicks("private matter", "http://clinic.test/", 2))
    builder.add_clicks([Click("repeated", "http://one.test/", 1, (), n, 7) for n in range(50)])
    builder.add_clicks([Click("unknown readers", "http://two.test/", 1, (), n, 0) for n in range(50)])
    builder.add_visits([VisitReport("http://visited.test/", 900, "", 1.0, 5)])
    interests = builder.build(lambda url: KnownPage("Title", "en"))
    assert _words(interests) == set(word_keys("lighthouse keepers tide tables title"))
    hosts = set(np.frombuffer(interests.hosts, "<u8").tolist())
    assert host_key("tides.test") in hosts
    assert not hosts & {host_key(name) for name in ("clinic.test", "one.test", "two.test", "visited.test")}
    assert interests.languages == {"en": 1.0}


def test_one_reader_with_many_queries_adds_nothing():
    builder = InterestBuilder("zurich")
    for number in range(20):
        builder.add_clicks(_clicks(f"rareword number{number}", f"http://host{number}.test/", 2))
    assert builder.build() == SiteInterests("zurich")


queries = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 6)), max_size=12)


@given(queries)
def test_words_below_the_threshold_never_leave(asked):
    builder = InterestBuilder("zurich", threshold=4)
    builder.add_queries((f"verb{name}", float(visitors)) for name, visitors in asked)
    allowed = {key for name, visitors in asked if visitors >= 4 for key in word_keys(f"verb{name}")}
    assert _words(builder.build()) <= allowed
    assert b"verb" not in encode_interests(builder.build())


def test_statistics_are_read_from_a_data_folder(tmp_path):
    popular = PopularQueries(tmp_path / "popular", 3)
    for visitor in range(4):
        popular.count(b"lighthouse", f"visitor {visitor}", 1e9)
        popular.count(b"secret", "visitor 1", 1e9)
    popular.synchronize(1e9)
    (tmp_path / "popular").chmod(0o700)
    for click in _clicks("tides", "http://tides.test/", 4):
        assert write_click(tmp_path, click)
    append_visit_reports(tmp_path, [VisitReport("http://harbour.test/", 1, "", 1.0, n) for n in range(1, 5)])
    interests = read_interests(tmp_path, "zurich", now=1e9)
    assert interests.when == 1e9
    assert set(word_keys("lighthouse tides")) >= _words(interests) >= set(word_keys("tides"))
    hosts = set(np.frombuffer(interests.hosts, "<u8").tolist())
    assert {host_key("tides.test"), host_key("harbour.test")} <= hosts


def test_statistics_travel_and_are_bounded(monkeypatch):
    interests = _interests("zurich", ["tide tables", "harbour"], ["http://a.test/", "http://b.ch/"])
    assert decode_interests(encode_interests(interests), "zurich") == interests
    many = InterestBuilder("zurich")
    many.add_queries([(f"{n:05d}", 3.0 + n) for n in range(20_000)])
    large = many.build()
    assert len(large.words) == 8 * interest_statistics.MAX_WORDS
    assert len(encode_interests(large)) < interest_statistics.MAX_INTEREST_BYTES
    assert decode_interests(encode_interests(large), "zurich") == large
    assert set(word_keys("19999")) <= _words(large)


def _replace(**fields):
    return msgspec.structs.replace(_interests("zurich", ["tide tables"], ["http://a.test/"]), **fields)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        encode_interests(_replace(site="madrid")),
        encode_interests(_replace(format=2)),
        encode_interests(_replace(readers=float("nan"))),
        encode_interests(_replace(readers=-1.0)),
        encode_interests(_replace(when=float("inf"))),
        encode_interests(_replace(words=b"123")),
        encode_interests(_replace(word_weights=b"")),
        encode_interests(_replace(words=b"\0" * 16)),
        encode_interests(_replace(words=np.array([9, 5], "<u8").tobytes())),
        encode_interests(_replace(word_weights=np.array([0.9, 0.9], "<f4").tobytes())),
        encode_interests(_replace(word_weights=np.array([-1.0, 0.5], "<f4").tobytes())),
        encode_interests(_replace(word_weights=np.array([np.nan, 0.5], "<f4").tobytes())),
        encode_interests(_replace(host_weights=np.array([np.inf, 0.5], "<f4").tobytes())),
        encode_interests(_replace(languages={"de": 2.0})),
        encode_interests(_replace(languages={"de": float("nan")})),
        encode_interests(_replace(regions={"x" * 900: 0.1})),
        encode_interests(_replace(regions={f"{a}{b}": 0.0 for a in "abcdefghijklmnopq" for b in "abcdefghijklmnopq"})),
        encode_interests(_replace(site="zurich", words=b"\1" * 400_000)),
        b"\x91" * 100_000,
    ],
)
def test_statistics_that_cannot_be_right_are_refused(data):
    with pytest.raises(BadInput, match="statistics of zurich"):
        decode_interests(data, "zurich")


@given(st.binary(max_size=300))
def test_any_bytes_are_statistics_or_refused(data):
    with pytest.raises(BadInput):
        decode_interests(data, "zurich")


def test_pages_go_where_people_ask_for_them():
    interests = {
        "zurich": _interests("zurich", ["tide tables", "harbour master"]),
        "madrid": _interests("madrid", ["bread recipes", "sourdough starter"]),
    }
    indexer = MasterIndexer(SITES, interests)
    choices = indexer.choose([_placed(ENGLISH), _placed("A starter for sourdough needs flour. " * 4)])
    assert [choice.site for choice in choices] == ["zurich", "madrid"]
    assert choices[0].ranking == ("zurich", "madrid")
    assert choices[0].ordinal == 1


def test_languages_regions_and_hosts_count():
    pages = {"http://a.es/": KnownPage("", "es"), "http://b.ch/": KnownPage("", "en")}
    interests = {
        "madrid": _interests("madrid", (), ["http://a.es/"], pages.get),
        "zurich": _interests("zurich", (), ["http://b.ch/"], pages.get),
    }
    indexer = MasterIndexer(SITES, interests)
    placed = [
        _placed(SPANISH),
        _placed(ENGLISH),
        _placed("", "other.es"),
        _placed("", "other.ch"),
        _placed("", "a.es"),
        _placed("", "b.ch"),
        _placed("", "other.com", country="es"),
    ]
    names = [choice.site for choice in indexer.choose(placed)]
    assert names == ["madrid", "zurich", "madrid", "zurich", "madrid", "zurich", "madrid"]


def test_declared_languages_help_a_new_site():
    interests = {"zurich": _interests("zurich", (), ["http://b.ch/"], {"http://b.ch/": KnownPage("", "en")}.get)}
    indexer = MasterIndexer(SITES, interests, {"madrid": ("es",)}, PlacementWeights(activity=0.0))
    assert [choice.site for choice in indexer.choose([_placed(SPANISH), _placed(ENGLISH)])] == ["madrid", "zurich"]


def test_without_statistics_the_nearest_site_is_chosen_and_else_a_hash():
    indexer = MasterIndexer(SITES, {})
    assert indexer.is_empty
    placed = [_placed(ENGLISH, place=Place(41.0, -4.0)), _placed(ENGLISH, place=Place(47.0, 8.0))]
    choices = indexer.choose(placed)
    assert [choice.site for choice in choices] == ["madrid", "zurich"]
    assert {choice.ranking for choice in choices} == {()}
    hosts = [f"host{n}.site{n}.example" for n in range(40)]
    first = [choice.site for choice in indexer.choose([_placed(ENGLISH, host) for host in hosts])]
    again = [choice.site for choice in MasterIndexer(SITES[::-1], {}).choose([_placed("", host) for host in hosts])]
    assert first == again
    assert set(first) == {"madrid", "zurich"}
    assert indexer.choose([]) == []


def test_a_page_without_evidence_goes_to_the_nearest_site_however_active_others_are():
    interests = {"zurich": _interests("zurich", ["harbour"] * 50), "madrid": _interests("madrid", ["bread"])}
    choice = MasterIndexer(SITES, interests).choose([_placed("12345", place=Place(41.0, -4.0))])[0]
    assert (choice.site, choice.ranking) == ("madrid", ())


def test_the_ordinal_of_a_second_choice_is_recorded():
    interests = {"zurich": _interests("zurich", ["harbour"]), "madrid": _interests("madrid", ["bread"])}
    indexer = MasterIndexer(SITES, interests)
    choice = indexer.choose([_placed(ENGLISH)], lambda site: site != "zurich")[0]
    assert (choice.site, choice.ordinal, choice.ranking) == ("madrid", 2, ("zurich", "madrid"))
    choice = indexer.choose([_placed(ENGLISH)], lambda site: False)[0]
    assert (choice.site, choice.ordinal) == ("zurich", 1)


def test_a_site_cannot_attract_pages_by_claims():
    honest = _interests("zurich", ["harbour tides ships"])
    liar = msgspec.structs.replace(_interests("madrid", ["bread"]), readers=1e12)
    assert MasterIndexer(SITES, {"zurich": honest, "madrid": liar}).choose([_placed(ENGLISH)])[0].site == "zurich"


def test_choices_do_not_depend_on_batches_or_on_the_table_of_words(monkeypatch):
    interests = {"zurich": _interests("zurich", ["harbour tides"]), "madrid": _interests("madrid", ["bread puerto"])}
    texts = [f"harbour word{n} bread" if n % 3 else f"puerto word{n} tides" for n in range(30)]
    placed = [_placed(text, f"h{n}.test") for n, text in enumerate(texts)]
    together = MasterIndexer(SITES, interests).choose(placed)
    monkeypatch.setattr(page_evidence, "_MAX_WORDS", 10)
    indexer = MasterIndexer(SITES, interests)
    assert [indexer.choose([page])[0] for page in placed] == together
