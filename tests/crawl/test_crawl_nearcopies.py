"""Near copies: found by their few bits within bounds, marked in the crawl, and their links followed all the same."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.crawl import Crawler
from periplus.crawl.fetch_records import DuplicateTable, make_page_record
from periplus.crawl.policies.near_duplicates import NearDuplicateIndex, _hash_content, _long_lines, page_hash
from periplus.records import LIST_KIND, FetchRequest, FetchResult, Outcome, Page
from periplus.settings import ParseSettings
from periplus.url import parse_address

WORDS = ("harbour", "light", "keeper", "tide", "boat", "rope", "sail", "storm", "chart", "gull", "quay", "lamp", "crew")


def prose(seed: int, count: int = 300) -> str:
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) + str(chance.randrange(60)) for _ in range(count))


def article(text: str, *links: str) -> str:
    found = "".join(f'<a href="{url}">more of it</a> ' for url in links)
    return f"<title>An article</title><main><p>{text}</p></main><nav>{found}</nav>"


def turned(value: int, *bits: int) -> int:
    for bit in bits:
        value ^= 1 << bit
    return value


_LINES = st.sampled_from(["tide ", "harbours and lighthouses ", "x" * 60, "\n", "\n\n", " ", "1999 ", "a"])


@settings(max_examples=300, deadline=None)
@given(st.lists(_LINES, max_size=40), st.sampled_from([1, 9, 60]), st.lists(st.integers(0, 8_000), max_size=6))
def test_the_kernel_hashes_what_its_twin_hashes(parts, times, cuts):
    text = "".join(parts) * times
    spans = tuple(sorted(min(cut, len(text)) for cut in cuts[: len(cuts) // 2 * 2]))
    assert page_hash(Page("http://a.test/", text=text, main=spans)) == _hash_content(text, spans)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 2**64 - 1), min_size=1, max_size=40), st.data())
def test_three_bits_are_near_and_the_answer_is_that_of_a_plain_search(values, data):
    near = NearDuplicateIndex()
    for number, value in enumerate(values):
        near.add(value, number)
    asked = data.draw(st.sampled_from(values))
    asked = turned(asked, *data.draw(st.sets(st.integers(0, 63), max_size=6)))
    plain = [number for number, value in enumerate(values) if (value ^ asked).bit_count() <= 3]
    assert (near.find(asked) in plain) if plain and asked else near.find(asked) is None


def test_the_oldest_are_forgotten_and_the_rest_are_found():
    chance = random.Random(5)
    values = [chance.getrandbits(64) for _ in range(1_000)]
    near = NearDuplicateIndex(capacity=256)
    for number, value in enumerate(values):
        near.add(value, number)
    assert len(near) == 256
    assert all(near.find(turned(value, 1, 30, 63)) is None for value in values[:-256])
    assert [near.find(turned(value, 1, 30, 63)) for value in values[-256:]] == list(range(744, 1_000))


def test_what_was_dumped_goes_on_as_before():
    chance = random.Random(6)
    values = [chance.getrandbits(64) for _ in range(700)]
    for kept in (100, 256, 300):
        before, after = NearDuplicateIndex(capacity=256), NearDuplicateIndex(capacity=256)
        for number, value in enumerate(values[:kept]):
            before.add(value, number)
        after = NearDuplicateIndex(before.dump(), capacity=256)
        assert len(after) == len(before)
        for number, value in enumerate(values[kept:], kept):
            before.add(value, number)
            after.add(value, number)
            assert before.find(turned(values[number - 200], 7)) == after.find(turned(values[number - 200], 7))
        assert before.dump() == after.dump()


def test_thousands_of_the_same_are_looked_up_in_bounded_steps():
    near = NearDuplicateIndex()
    for number in range(5_000):
        near.add(0xABCD, number)
    assert near.find(0xABCD) == 4_999
    # All agree with this one in a band, and differ in too many bits: the chain is left after a while.
    assert near.find(0xFFFF_0000_0000_ABCD) is None


def test_what_says_little_is_like_nothing():
    assert page_hash(Page("http://a.test/", text="No events on this day.")) == 0
    assert page_hash(Page("http://a.test/", text=prose(1), kind=LIST_KIND)) == 0
    assert page_hash(Page("http://a.test/", text="\ud800" * 500)) >= 0


def test_only_the_main_content_counts():
    text = prose(1)
    framed = Page(
        "http://a.test/",
        text=f"{prose(2)}\n{text}\n{prose(3)}",
        main=(len(prose(2)) + 1,) * 1 + (len(prose(2)) + 1 + len(text),),
    )
    assert page_hash(framed) == page_hash(Page("http://b.test/", text=text))


def test_long_texts_that_differ_within_are_told_apart():
    start, end = prose(1, 400), prose(2, 400)
    one, other = (
        Page("http://a.test/", text="\n".join((start, *(prose(seed * 100 + part, 60) for part in range(60)), end)))
        for seed in (3, 4)
    )
    near = NearDuplicateIndex()
    near.add(page_hash(one), 1)
    assert near.find(page_hash(other)) is None
    place = one.text.index(" ", len(one.text) // 4)
    edited = Page("http://a.test/", text=f"{one.text[:place]} inserted{one.text[place:]}")
    assert near.find(page_hash(edited)) == 1


def visit_of(url: str, body: str, originals: DuplicateTable):
    fetched = FetchResult(
        FetchRequest(parse_address(url)), Outcome.OK, 1.0, 200, (("content-type", "text/html"),), body.encode()
    )
    visit = make_page_record(fetched, ParseSettings(), originals)
    originals.learn(visit)
    return visit


def test_a_near_copy_is_read_and_marked_and_does_not_become_an_original():
    originals = DuplicateTable()
    text = prose(1)
    first = visit_of("http://a.test/1", article(text), originals)
    near = visit_of("http://b.test/1", article(f"{text} (reprinted)", "/next"), originals)
    other = visit_of("http://a.test/2", article(prose(2)), originals)
    assert (first.near_duplicate_of, near.near_duplicate_of, other.near_duplicate_of) == ("", "http://a.test/1", "")
    assert near.duplicate_of == ""
    assert near.page.links[0].url == "http://b.test/next"
    third = visit_of("http://c.test/1", article(f"{text} (printed again)"), originals)
    assert third.near_duplicate_of == "http://a.test/1"
    assert len(originals.near) == 2


def test_a_page_is_no_copy_of_itself():
    originals = DuplicateTable()
    visit_of("http://a.test/1", article(prose(1)), originals)
    assert visit_of("http://a.test/1", article(f"{prose(1)} and a little more"), originals).near_duplicate_of == ""


def test_the_crawl_marks_near_copies_also_after_a_restart(scripted, tmp_path, read_stored):
    text = prose(1)
    scripted.put("http://a.test/", '<p>start <a href="/original">a page</a>')
    scripted.put("http://a.test/original", article(text))
    scripted.put("http://b.test/", article(f"{text} reprinted by b", "/next"))
    scripted.put("http://b.test/next", article(prose(9)))
    options = scripted.settings(tmp_path, "a.test", "b.test", scope="domain")
    Crawler(tmp_path / "data", options, ["http://a.test/"]).run()
    Crawler(tmp_path / "data", options, ["http://b.test/"]).run()
    visits = {visit.url: visit for visit in read_stored(tmp_path / "data", options)}
    assert visits["http://b.test/"].near_duplicate_of == "http://a.test/original"
    assert visits["http://b.test/next"].near_duplicate_of == ""
    # Without the snapshot all of it is learnt again from the visits.
    (tmp_path / "data" / "crawl" / "frontier.bin").write_bytes(b"damaged")
    scripted.put("http://c.test/", article(f"{text} reprinted by c"))
    options = scripted.settings(tmp_path, "a.test", "b.test", "c.test", scope="domain")
    Crawler(tmp_path / "data", options, ["http://c.test/"]).run()
    visits = {visit.url: visit for visit in read_stored(tmp_path / "data", options)}
    assert visits["http://c.test/"].near_duplicate_of == "http://a.test/original"


def test_reprints_of_the_fake_web_are_found_and_little_else(fake_web):
    truth, originals, marked = fake_web.truth(), DuplicateTable(), {}
    pages = [page.url for page in truth.pages]
    for url in dict.fromkeys([*pages, *truth.near_duplicates, *truth.duplicates]):
        place = parse_address(url)
        answer = fake_web.response(place.host, place.path)
        if answer.status == 200:
            headers = tuple((name.lower(), value) for name, value in answer.headers)
            fetched = FetchResult(FetchRequest(place), Outcome.OK, 1.0, 200, headers, answer.body)
            visit = make_page_record(fetched, ParseSettings(), originals)
            originals.learn(visit)
            if visit.near_duplicate_of:
                marked[url] = visit.near_duplicate_of

    def group(url: str) -> str:
        return truth.near_duplicates.get(url) or truth.duplicates.get(url) or url

    assert truth.near_duplicates
    assert sum(url in marked for url in truth.near_duplicates) >= 0.9 * len(truth.near_duplicates)
    assert sum(group(url) == group(original) for url, original in marked.items()) >= 0.9 * len(marked)


@given(st.lists(st.integers(0, 80) | st.integers(200, 2_000), max_size=12))
def test_short_lines_are_left_out_however_many_there_are(lengths):
    text = "\n".join(chr(97 + number % 26) * length for number, length in enumerate(lengths))
    assert _long_lines(text) == "\n".join(line for line in text.split("\n") if len(line) >= 40)
