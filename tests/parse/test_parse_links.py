"""Links that can say nothing new are left out by a kernel; what is collected of a page stays the same."""

from hypothesis import given
from hypothesis import strategies as st

from periplus.parse import link_collector, text_cleanup
from periplus.parse.html.flat_page import RowKind, parse_flat_page
from periplus.parse.html.structured_data import StructuredData
from periplus.parse.link_collector import LinkCollector, collect_clean, resolve_all, resolve_url
from periplus.parse.link_survey import KnownUrls, LinkSurvey, count_origins, survey_links, urls_of
from periplus.parse.reference_cache import ReferenceCache, folder_of, origin_of
from periplus.parse.text_cleanup import one_line, one_line_each
from periplus.records import Link

BASE = "https://a.example/dir/page"
TARGETS = ["one", "one#a", "#a", "", "/dir/one", "two", "two?x=1#b", "javascript:x()", "tw"]


def collect(targets, texts, numbers):
    links = LinkCollector(BASE, 100)
    links.add_all(targets, texts, [number & RowKind.NOFOLLOW != 0 for number in numbers])
    return links.collected()


@given(
    st.lists(
        st.tuples(st.sampled_from(TARGETS), st.sampled_from(["", " ", "x", "<b>y</b>"]), st.booleans()), max_size=30
    ),
    st.integers(1, 40),
)
def test_leaving_links_out_changes_nothing(links, limit):
    markup = "".join(f'<a href="{url}"{" rel=nofollow" * nofollow}>{text}</a>' for url, text, nofollow in links)
    flat = parse_flat_page(markup.encode())
    every = flat.columns(RowKind.LINK, limit)[0], flat.texts(RowKind.LINK, limit), flat.numbers(RowKind.LINK, limit)
    rows = flat.select_links(limit)
    chosen = flat.columns_of(rows)[0], flat.texts_of(rows), flat.numbers_of(rows)
    assert collect(*chosen) == collect(*every)
    assert len(rows) <= len(every[0])


def test_a_menu_that_is_repeated_is_read_once():
    flat = parse_flat_page(b"<a href=/a#x>A</a><a href=/b>B</a>" * 50)
    assert len(flat.select_links(1_000)) == 2


@given(
    st.lists(st.tuples(st.sampled_from(TARGETS), st.sampled_from(["", "x", "y " * 200])), max_size=30),
    st.integers(1, 12),
    st.sampled_from(["", "two"]),
    st.sampled_from(["", "z"]),
)
def test_links_added_at_once_are_those_added_one_by_one(pairs, limit, first, more):
    targets, texts = [url for url, _ in pairs], [more + text for _, text in pairs]
    at_once, each = LinkCollector(BASE, limit), LinkCollector(BASE, limit)
    for links in (at_once, each):
        links.add(first)
    at_once.add_all(targets, texts)
    each.add_all(targets, texts, [False] * len(texts))
    assert at_once.collected() == each.collected()


@given(
    st.lists(
        st.sampled_from(["", " a", "a  b", "b\tc", "x" * 50, "x" * 30 + " y", "\x00", "caf\u00e9\u00a0"]), max_size=5
    )
)
def test_texts_are_cleaned_at_once_as_one_by_one(texts):
    assert one_line_each(texts, 31) == [one_line(text, 31) for text in texts]


def test_what_is_remembered_of_urls_is_bounded():
    known = KnownUrls(max_urls=3)
    for number in range(20):
        urls = [f"https://a.example/{number}", f"https://a.example/{number}.ogg", "https://a.example/" + "x" * 300]
        for _ in range(2):
            assert known.survey(urls) == LinkSurvey(media=True, descriptions=False)
            assert known.survey(urls[::2]) == LinkSurvey(media=False, descriptions=False)
        assert len(known) <= 3


def test_links_are_surveyed_by_their_urls():
    links = tuple(map(Link, ["https://a.example/x.ogg", "https://a.example/p", "https://b.example/openapi.json?v=2"]))
    assert survey_links(links) == survey_links(links) == LinkSurvey(media=True, descriptions=True)
    assert survey_links(links[:2]) == survey_links((*links[:2],)) == LinkSurvey(media=True, descriptions=False)
    assert survey_links(links[1:]) == LinkSurvey(media=False, descriptions=True)
    assert survey_links(links[1:2]) == LinkSurvey(media=False, descriptions=False)
    assert survey_links(()) == LinkSurvey(media=False, descriptions=False)
    assert [count_origins(links), count_origins(links[:2]), count_origins(())] == [2, 1, 0]
    growing = [links[1]]
    assert not survey_links(growing).media
    growing.append(links[0])
    assert survey_links(growing).media


def test_the_urls_of_links_are_those_of_a_list_that_has_grown():
    links = tuple(map(Link, ["https://a.example/", "https://b.example/"]))
    assert urls_of(links) == ["https://a.example/", "https://b.example/"]
    assert urls_of(links) is urls_of(links)
    growing = [links[0]]
    assert urls_of(growing) == ["https://a.example/"]
    growing.append(links[1])
    assert urls_of(growing) == ["https://a.example/", "https://b.example/"]


REFERENCES = ["/a.jpg", "b.jpg", "//c.example/c", "/d", "", "#", "/a.jpg#x", "data:,x", "http://["]


@given(st.lists(st.sampled_from(REFERENCES[:5]), max_size=60) | st.lists(st.sampled_from(REFERENCES), max_size=60))
def test_images_that_are_added_at_once_are_those_added_one_by_one(references: list[str]):
    texts = ["x" * (number * 7 % 5) for number in range(len(references))]
    at_once, one_by_one = StructuredData(BASE), StructuredData(BASE)
    for data in (at_once, one_by_one):
        for number in range(60):
            data.add_media(f"/first/{number}", "video", "")
    at_once.add_images(references, texts)
    for reference, text in zip(references, texts, strict=True):
        one_by_one.add_media(reference, "image", text)
    assert list(at_once.media.items()) == list(one_by_one.media.items())


def test_a_page_resolves_its_own_url_to_itself():
    assert resolve_url(BASE, BASE) == resolve_url(f"{BASE}#part", BASE) == BASE
    long = BASE + "x" * 5_000
    assert resolve_url(long, long) == ""


REFERENCES = [
    "/a",
    "/a#x",
    "b",
    "b/c?d=1",
    "../e",
    "http://b.example/f",
    "https://a.example/a?utm_source=x",
    "",
    "#x",
    "//c.example",
]


@given(st.lists(st.tuples(st.sampled_from(REFERENCES), st.integers(0, 4)), max_size=40), st.integers(1, 12))
def test_a_cache_of_any_size_changes_no_url(asked, size):
    bases = [
        "http://a.example/",
        "http://a.example/b/",
        "http://b.example/b/g?h",
        "https://a.example/b/c",
        "ftp://a.example/x/y",
    ]
    cache, link_collector._cache = link_collector._cache, ReferenceCache(size)
    try:
        for reference, number in asked:
            bare = reference.partition("#")[0]
            assert resolve_url(reference, bases[number]) == link_collector._resolve(bare, bases[number])
            assert resolve_all([reference], bases[number]) == [
                link_collector._resolve(bare, bases[number]) if bare else ""
            ]
            assert len(link_collector._cache) <= size
    finally:
        link_collector._cache = cache


def test_places_of_a_base():
    assert origin_of("http://a.example/b?c=/d") == "http://a.example"
    assert origin_of("gopher://a.example/b") == "gopher://a.example"
    assert origin_of("http://a.example") == "http://a.example"
    assert folder_of("http://a.example/b/c?d=/e") == "http://a.example/b/"


@given(st.text("ab \n\t\x00\x85\xa0\ufeff\ud800é", max_size=60), st.integers(0, 20))
def test_a_text_in_one_line_is_cut_like_all_of_it_cleaned(text: str, limit: int):
    assert one_line(text, limit) == text_cleanup._clean(text[: 4 * limit])[:limit].rstrip()


@given(
    st.lists(st.tuples(st.sampled_from(TARGETS), st.sampled_from(["", "x", "y ", "z" * 400])), max_size=12),
    st.integers(1, 12),
)
def test_references_with_texts_become_the_links_that_a_collector_makes(
    found: list[tuple[str, str]], max_links: int
) -> None:
    references, texts = tuple(target for target, _ in found), tuple(text for _, text in found)
    links = LinkCollector(BASE, max_links)
    links.add_clean(references, texts)
    assert collect_clean(references, texts, BASE, max_links) == links.collected()
