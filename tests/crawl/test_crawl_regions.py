"""Regions: what repeats, grows or is not linked is held back, what only looks like it is not."""

import random

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_web import ScriptedWeb

from naive.shingles import shingles
from naive.title_names import title_names
from naive.url_templates import NaiveTemplates
from periplus.crawl import Crawler, held_regions
from periplus.crawl.documents.page_hashes import hashes_of
from periplus.crawl.policies.near_duplicates import page_hash
from periplus.crawl.regions import kernels, regions, url_templates
from periplus.crawl.regions.novelty import NoveltyIndex
from periplus.crawl.regions.region_records import News, RegionsState
from periplus.crawl.regions.regions import RegionTable
from periplus.crawl.regions.title_names import TitleNames
from periplus.crawl.regions.url_templates import UrlTemplates
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import Settings
from periplus.url import parse_address

WORDS = [
    f"{a}{b}{c}" for a in ("ba", "co", "du", "fe", "gi") for b in ("la", "me", "no", "ri") for c in ("st", "nd", "x")
]


def prose(rng: random.Random, count: int = 60) -> str:
    return "\n".join(" ".join(rng.choices(WORDS, k=8)) for _ in range(count // 8))


def record(url: str, text: str = "", depth: int = 2, title: str = "T", **more) -> FetchRecord:
    page = None if more.get("duplicate_of") else Page(url, title=title, text=text)
    return FetchRecord(url, parse_address(url).key, Outcome.OK, 1.0, status=200, depth=depth, page=page, **more)


def releasing(settings: Settings, name: str) -> Settings:
    return msgspec.structs.replace(settings, crawl=msgspec.structs.replace(settings.crawl, release=(name,)))


def learn(table: RegionTable, url: str, text: str = "", **more) -> News:
    return table.learn(record(url, text, **more), parse_address(url))


def reason(table: RegionTable, url: str) -> str:
    return table.hold_reason(parse_address(url))


@pytest.mark.parametrize("seed", range(20))
def test_the_kernel_counts_the_shingles_of_its_naive_twin(seed: int) -> None:
    rng = random.Random(seed)
    pieces = [
        *WORDS[:9],
        "12",
        "3x",
        "x45y6",
        "Harbourmasters",
        "from1066to1967",
        "eightlet",
        "\n",
        "\n\n",
        ", ",
        "été",
        "Größe",
        "own",
    ]
    texts = [" ".join(rng.choices(pieces, k=rng.randrange(40))) for _ in range(4)]
    own = np.array([kernels.hash_word(np.frombuffer(b"own", np.uint8))], np.uint64)
    table, counts, expected = np.zeros(1024, np.uint64), np.zeros(3, np.int64), set()
    for text in texts:
        data = np.frombuffer(text.encode(), np.uint8)
        kernels.observe(data, own, np.uint64(2**64 - 1), table, counts)
        expected |= shingles(text, {"own"})
    assert counts[1] == counts[2] == np.count_nonzero(table) == len(expected)
    again, of_url = np.zeros(1024, np.uint64), np.zeros(3, np.int64)
    for text in texts:
        data = np.frombuffer(text.encode(), np.uint8)
        kernels.observe_page(np.frombuffer(b"Own/own", np.uint8), 4, data, np.uint64(2**64 - 1), again, of_url)
    assert np.array_equal(of_url, counts)
    assert np.array_equal(again, table)


def test_a_table_goes_to_another_without_what_is_beyond_the_limit() -> None:
    chance = np.random.default_rng(5)
    table = chance.integers(1, 2**63, 512, np.uint64) * (chance.random(512) < 0.5)
    for limit, slots in ((2**64 - 1, 1024), (2**62, 512)):
        target, counts = np.zeros(slots, np.uint64), np.array([7, 8, 9])
        kernels.rehash(table, np.uint64(limit), target, counts)
        expected = {shingle for shingle in table.tolist() if 0 < shingle < limit}
        assert set(target.tolist()) - {0} == expected
        assert counts.tolist() == [7, 8, len(expected)]
        listed = np.zeros(len(expected), np.uint64)
        kernels.list_shingles(target, listed)
        assert listed.tolist() == target[target != 0].tolist()
        found = np.array([7, 8, 9])
        kernels.rehash(target, np.uint64(limit), np.zeros(16, np.uint64), found)
        assert found[2] == 12  # no table is filled further than that


@given(st.lists(st.text("abAB_12.,-: \té日", max_size=24), max_size=8))
def test_the_kernel_finds_the_names_of_its_naive_twin(titles: list[str]) -> None:
    names: set[str] = set()
    newer, older = np.zeros(1 << 12, np.uint64), np.zeros(1 << 12, np.uint64)
    for title in titles:
        data, found = np.frombuffer(title.encode(), np.uint8), title_names(title)
        assert kernels.enter_names(data, np.uint64(7), newer, older) == (len(found - names),) * 2
        names |= found
        assert kernels.enter_names(data, np.uint64(7), newer, older) == (0, 0)
        assert kernels.enter_names(data, np.uint64(7), np.zeros_like(newer), newer)[0] == 0


def test_names_are_of_a_site_and_survive_a_snapshot_until_they_are_long_ago() -> None:
    names = TitleNames()
    assert names.observe("a.test", "_mm_add_ps in core::arch")
    assert not names.observe("a.test", "_mm_add_ps in Core::Arch, 12")
    assert names.observe("b.test", "_mm_add_ps")
    again = TitleNames()
    again.load(*names.dump())
    assert not again.observe("b.test", "_mm_add_ps")
    for first in range(0, 3 * 8 << 16, 30):  # some names have the bits of others and do not count
        again.observe("c.test", " ".join(f"name{first + number}" for number in range(30)))
    assert again.observe("b.test", "_mm_add_ps")
    assert all(len(data) <= 12 << 16 for data in again.dump()[1:])


def test_a_reference_whose_pages_differ_by_their_names_is_fetched() -> None:
    table, rng = RegionTable(), random.Random(4)
    words = ["".join(rng.choices("abcdefghijklmnop", k=9)) for _ in range(200)]
    learn(table, "http://a.test/", prose(rng), depth=0, title="Functions")
    for word in words:
        url = f"http://a.test/functions/{word}.html"
        assert reason(table, url) == ""
        news = learn(table, url, f"{word}\nAvailable everywhere", title=f"{word} in Functions")
        assert news is News.NAME
    for word in words[:100]:  # the same things again, under other URLs
        learn(table, f"http://a.test/copies/{word}.html", f"{word}\nAvailable everywhere", title=f"{word} in Functions")
    assert "repeat" in reason(table, "http://a.test/copies/more.html")
    assert reason(table, "http://a.test/functions/more.html") == ""


def test_names_of_pages_that_only_barren_pages_link_to_are_no_evidence() -> None:
    table, rng = RegionTable(), random.Random(5)
    learn(table, "http://a.test/", prose(rng), depth=0)
    for number in range(100):
        url = f"http://a.test/maze/{'x' * number}"
        news = learn(table, url, "Welcome", title="".join(rng.choices("abcdefghijklmnop", k=9)))
        table.learn_links(parse_address(url), news, [parse_address(f"{url}x")], 1)
    assert reason(table, "http://a.test/maze/" + "x" * 100) != ""


def test_a_parameter_that_brings_nothing_holds_back_whatever_it_is_combined_with() -> None:
    table, rng = RegionTable(), random.Random(7)
    goods = [prose(rng) for _ in range(100)]
    for number, text in enumerate(goods):
        learn(table, f"http://a.test/shop?page={number}", text, depth=number and 1)
    assert reason(table, "http://a.test/shop?colour=3&page=7") == ""
    for number in range(25):
        learn(table, f"http://a.test/shop?colour={number}", goods[number])
    assert "repeat" in reason(table, "http://a.test/shop?colour=3&page=7")
    assert "repeat" in reason(table, "http://a.test/shop?a=1&b=2&c=3&d=4&colour=3")
    assert reason(table, "http://a.test/shop?page=100") == ""
    assert reason(table, "http://a.test/shop?page=100&size=2") == ""


def test_pages_that_bring_something_are_not_held_back_for_a_parameter_they_share_with_others() -> None:
    table, rng = RegionTable(), random.Random(8)
    for number in range(100):
        learn(table, f"http://a.test/article?id={number}", prose(rng), depth=number and 1)
        for action in ("vote", "reply", "print", "edit", "share", "report"):
            learn(table, f"http://a.test/{action}?id={number}", "Please log in")
    assert reason(table, "http://a.test/article?id=100") == ""
    assert "repeat" in reason(table, "http://a.test/vote?id=100")
    assert "repeat" in reason(table, "http://a.test/other?id=100")


def test_parameters_of_a_url_are_learned_up_to_a_number() -> None:
    table = RegionTable()
    learn(table, "http://a.test/?" + "&".join(f"p{n}=1" for n in range(100)), "Welcome")
    assert len(table.state.regions) <= 8


def test_what_a_page_with_a_new_name_links_to_is_not_on_probation_on_its_host() -> None:
    """As the pages 'Uses of Class X' of javadoc, which only the pages of small classes link to."""
    table, rng = RegionTable(), random.Random(6)
    words = ["".join(rng.choices("abcdefghijklmnop", k=9)) for _ in range(100)]
    for number in range(50):
        learn(table, f"http://a.test/guide/{number}", prose(rng), depth=number and 1)
    for word in words:
        url = f"http://a.test/api/{word}.html"
        own, other = parse_address(f"http://a.test/uses/{word}.html"), parse_address(f"http://{word}.a.test/")
        news = learn(table, url, "A class", title=f"Class {word}")
        table.learn_links(parse_address(url), news, [own, other], 2)
        table = RegionTable(msgspec.msgpack.decode(msgspec.msgpack.encode(table.dump()), type=RegionsState))
        assert (news, own.key in table._probation, other.key in table._probation) == (News.NAME, False, True)
    uses = {f"http://a.test/uses/{word}.html": f"Uses of a.b.{word}" for word in words}
    verdicts = [learn(table, url, "No use", title=title) for url, title in uses.items() if not reason(table, url)]
    assert set(verdicts) == {News.NONE}, "its own name is no news"
    assert 15 <= len(verdicts) < 30
    assert "repeat" in reason(table, "http://a.test/uses/more.html")


def test_keys_of_urls_at_second_hand_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "_MAX_PROBATION", 10)
    table = RegionTable()
    for news in (News.NONE, News.NAME):
        links = [parse_address(f"http://a.test/{news}/{n}") for n in range(50)]
        table.learn_links(parse_address("http://a.test/"), news, links, 50)
    assert len(table._probation) == len(table._second_hand) == 10


def test_a_sketch_stays_a_fair_sample_and_survives_a_snapshot() -> None:
    rng, index = random.Random(1), NoveltyIndex()
    vocabulary = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(3_000)]
    text = ""
    for number in range(600):
        text = " ".join(rng.choices(vocabulary, k=200))
        fresh = index.observe("a.test", Page(f"http://a.test/{number}", text=text)).shingles
    assert index.is_sampled("a.test")
    assert 100 <= fresh <= 320
    dump = index.dump()
    again = NoveltyIndex()
    again.load(dump)
    assert again.dump().keys() == {"a.test"}
    assert sorted(np.frombuffer(again.dump()["a.test"], "<u8")) == sorted(np.frombuffer(dump["a.test"], "<u8"))
    assert again.observe("www.a.test", Page("http://www.a.test/x", text=text)).shingles == 0


_TEXTS = st.text("abc \n.19Zé%", max_size=120)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(_TEXTS, _TEXTS, st.lists(st.integers(0, 130), max_size=6), st.booleans()), max_size=8))
def test_shingles_made_ahead_are_those_of_the_page(drawn: list[tuple[str, str, list[int], bool]]) -> None:
    at_once, ahead = NoveltyIndex(), NoveltyIndex()
    for number, (title, text, cuts, is_long) in enumerate(drawn):
        text *= 200 if is_long else 1
        spans = tuple(sorted(min(cut * (1 + 80 * is_long), len(text)) for cut in cuts[: len(cuts) // 2 * 2]))
        page = Page(f"http://a.test/{number}/abc{'%C3' * (number % 3)}/9", title, text=text, main=spans)
        hashes = hashes_of(page)
        assert hashes.simhash == page_hash(page)
        ahead.expect([hashes.shingles] if hashes.shingles else [])
        assert ahead.observe("a.test", page) == at_once.observe("a.test", page)
    assert ahead.dump() == at_once.dump()


@given(st.lists(st.integers(0, 40), max_size=40), st.sampled_from([8, 16, 64]), st.integers(1, 50))
def test_shingles_are_entered_one_after_the_other(numbers: list[int], slots: int, limit: int) -> None:
    table, counts, expected, entries, new = np.zeros(slots, np.uint64), np.zeros(3, np.int64), [0] * slots, 0, 0
    kernels.enter_shingles(np.array(numbers, np.uint64), np.uint64(limit), table, counts)
    sampled = [number for number in numbers if 0 < number < limit]
    for number in sampled:
        slot = (number * 0x100000001B3 >> 17) % slots
        while expected[slot] not in (0, number):
            slot = (slot + 1) % slots
        new += expected[slot] == 0
        if expected[slot] == 0 and entries < 0.75 * slots:
            expected[slot] = number
            entries += 1
    assert (table.tolist(), counts.tolist()) == (expected, [len(sampled), new, entries])


def test_tables_that_other_sites_have_outgrown_change_nothing() -> None:
    rng = random.Random(2)
    texts = [" ".join("".join(rng.choices("abcdefghij", k=5)) for _ in range(rng.randrange(400))) for _ in range(60)]
    together, found = NoveltyIndex(), []
    for number, text in enumerate(texts):
        host = f"{'abc'[number % 3]}.test"
        found.append((host, together.observe(host, Page(f"http://{host}/{number}", text=text))))
    for host in ("a.test", "b.test", "c.test"):
        alone = NoveltyIndex()
        pages = [Page(f"http://{host}/{n}", text=text) for n, text in enumerate(texts) if found[n][0] == host]
        assert [alone.observe(host, page) for page in pages] == [novelty for at, novelty in found if at == host]


def test_folders_with_many_names_become_one_template() -> None:
    templates = UrlTemplates()
    addresses = [parse_address(f"http://a.test/wiki/Name{'x' * n}.html?b={n}&a=1") for n in range(20)]
    assert templates.template(addresses[0]) == "a.test /wiki/Name.html?a&b"
    assert [templates.learn(address) for address in addresses].count(True) == 1
    assert templates.template(addresses[0]) == "a.test /wiki/*.html?a&b"
    assert templates.template(parse_address("http://a.test/t/topic/12345/7")) == "a.test /t/topic/#/#"


SEGMENTS = ("a", "b", "", "7", "8x", "c.html", "d.html", "e.x", "f", "g.html", "h.html", "i", "j", "k", "l", "m", "n")
PATHS = st.lists(st.sampled_from(SEGMENTS), max_size=8).map("/".join)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(("a", "b")), PATHS), max_size=120), st.integers(3, 40))
def test_templates_are_those_of_their_naive_twin(steps: list[tuple[bool, str, str]], folders: int) -> None:
    templates, naive = UrlTemplates(), NaiveTemplates(folders)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(url_templates, "_MAX_FOLDERS", folders)
        patch.setattr(url_templates, "_MAX_NAMES", 3)
        patch.setattr(url_templates, "_MAX_RECENT", 30)
        for learning, host, path in steps:
            address = msgspec.structs.replace(parse_address(f"http://{host}.test/{path}"), path=f"/{path}")
            address = msgspec.structs.replace(address, url=f"http://{address.host}/{path}")
            if learning:
                assert templates.learn(address) == naive.learn(address.host, address.path)
            assert templates.template(address) == naive.template(address.host, address.path)
            assert list(templates.names) == list(naive.names)
            remembered = sum(recent.size() for recent in templates._recent.values())
            assert remembered == templates._recent_size <= 30 + 3


def test_the_names_of_regions_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "_MAX_RECENT", 8)
    table = RegionTable()
    for number in range(3 * 8):
        assert reason(table, f"http://a{'x' * number}.test/?a=1") == ""
        assert len(table._recent_keys) <= 8


@pytest.mark.parametrize(
    "form",
    ["/t/topic/{}/7", "/questions/{}/3-reasons", "/article-{}-1.html", "/M-{}-6.htm", "/9{}/13/", "/a/b/a/b/a/b/a/{}/"],
)
def test_nothing_is_held_back_for_its_looks(form: str) -> None:
    table, rng = RegionTable(), random.Random(form)
    for number in range(200):
        url = "http://a.test" + form.format(10_000 + number)
        assert reason(table, url) == ""
        assert learn(table, url, prose(rng)) is News.TEXT


def test_a_calendar_without_events_is_held_back() -> None:
    table = RegionTable()
    for month in range(100):
        learn(table, f"http://a.test/cal/{2000 + month}/1", f"Events of 1/{2000 + month}\nNothing is planned.")
    assert "repeat" in reason(table, "http://a.test/cal/2100/1")
    assert reason(table, "http://a.test/news/1") == ""
    again = RegionTable(msgspec.msgpack.decode(msgspec.msgpack.encode(table.dump()), type=RegionsState))
    assert "repeat" in reason(again, "http://a.test/cal/2100/1")


def test_what_only_barren_pages_link_to_is_on_probation_until_a_better_page_links_to_it() -> None:
    table, rng = RegionTable(), random.Random(2)
    text = prose(rng)
    learn(table, "http://a.test/", text, depth=0)
    good = parse_address("http://a.test/other/good")
    for number in range(50):
        url = f"http://a.test/loop/{'x' * number}"
        news = learn(table, url, text)
        table.learn_links(parse_address(url), news, [parse_address(f"{url}x"), good], 9)
    assert "without anything new link" in reason(table, "http://a.test/loop/" + "x" * 50)
    assert reason(table, good.url) != ""
    table.note_held(good, reason(table, good.url))
    table.learn_links(parse_address("http://a.test/"), News.TEXT, [good], 9)
    assert reason(table, good.url) == ""
    assert table.relinked == {"a.test": {good.url}}


def test_a_region_that_grows_by_itself_gets_a_small_share() -> None:
    table, rng = RegionTable(), random.Random(3)
    for number in range(60):
        url = f"http://a.test/pit/{number}"
        assert learn(table, url, prose(rng)) is News.TEXT
        table.learn_links(parse_address(url), News.TEXT, [parse_address(f"{url}{n}") for n in range(8)], 8)
    assert "grows" in reason(table, "http://a.test/pit/99")
    table.seen_each = lambda keys: [True] * len(keys)  # links lead to what is known
    for number in range(30):
        url = f"http://a.test/pit/{number}"
        table.learn_links(parse_address(url), News.TEXT, [parse_address(f"{url}{n}") for n in range(8)], 8)
    assert reason(table, "http://a.test/pit/99") == ""


def test_hosts_of_a_wildcard_domain_share_a_budget() -> None:
    table = RegionTable()
    for number in range(40):
        learn(table, f"http://h{number}.wild.test/", f"Best h{number}\nThe same offer as everywhere, today only.")
    assert reason(table, "http://h99.wild.test/") != ""
    assert reason(table, "http://other.test/") == ""


def test_what_is_held_back_is_counted_listed_and_released(tmp_path) -> None:
    web = ScriptedWeb()
    for number in range(120):
        links = f'<a href="/list?n={number + 1}">next</a>'
        web.put(f"http://a.test/list?n={number}", f"<title>List</title><p>There is nothing on page {number}. {links}")
    web.put("http://a.test/", '<title>Home</title><p>Welcome to all of you. <a href="/list?n=0">list</a>')
    settings, data = web.settings(tmp_path, "a.test", depth=500), tmp_path / "data"
    try:
        first = Crawler(data, settings, ["http://a.test/"]).run()
        assert first.held == 1
        assert len(web.requests) < 60
        (region,) = held_regions(data)
        assert (region.region, region.held) == ("a.test /list?n", 1)
        released = releasing(settings, "a.test /list?n")
        second = Crawler(data, released).run()
        assert second.held == 0
        assert len(web.requests) == 122  # the home page, 120 pages and the one that is not there
        third = Crawler(data, releasing(settings, "b.test")).run()
        assert third.notes == ("Nothing is held back under 'b.test'; see periplus crawl --held.",)
    finally:
        web.close()
