"""A crawl that keeps to a topic: what it harvests, what it learns, and that none of it is lost."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from periplus.crawl import Crawler
from periplus.crawl.crawl_snapshot import read_snapshot
from periplus.crawl.focus.classifier import Classifier
from periplus.crawl.focus.focus import Focus, open_focus
from periplus.crawl.focus.hubs import Distiller
from periplus.errors import BadInput, CorruptFile
from periplus.fakeweb import FakeWeb, FakeWebPlan, FakeWebProcess, run_in_process
from periplus.records import LIST_KIND, Page
from periplus.settings import FocusSettings, Settings
from periplus.store import PageStore
from periplus.url import parse_address

PLAN = FakeWebPlan(seed=5, hosts=60, pages=2_000)
TOPIC = "bees"
WORDS = "bees hive honey"
FETCHED = 200


@pytest.fixture(scope="module")
def web() -> FakeWeb:
    return FakeWeb(PLAN)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeWebProcess, Path]]:
    hosts = tmp_path_factory.mktemp("focus") / "hosts"
    with run_in_process(PLAN, hosts) as running:
        yield running, hosts


def settings(server: tuple[FakeWebProcess, Path], most: int = FETCHED, **focus: object) -> Settings:
    return msgspec.convert(
        {
            "fetch": {"allow": ["127.0.0.0/8"], "hosts_file": str(server[1]), "connections": 8},
            "frontier": {"delay": 0.0, "delay_factor": 0.0},
            "crawl": {"scope": "web", "pages": most},
            "focus": focus,
        },
        Settings,
    )


def extract(folder: Path, web: FakeWeb, chosen: Settings) -> int:
    """Count the pages of the topic among those that were fetched."""
    right = {page.url for page in web.truth().pages if page.topic == TOPIC}
    with PageStore.open(folder / "store", chosen.store) as store:
        pages = [v.url for v in store.records() if v.page is not None and v.page.kind != LIST_KIND]
    return sum(url in right for url in pages)


def crawl(folder: Path, server: tuple[FakeWebProcess, Path], web: FakeWeb, **focus: object) -> int:
    chosen = settings(server, **focus)
    Crawler(folder, chosen, web.seeds).run()
    return extract(folder, web, chosen)


def test_a_topic_by_words_or_pages_harvests_twice_as_much(
    tmp_path: Path, server: tuple[FakeWebProcess, Path], web: FakeWeb
) -> None:
    local = web.locality(TOPIC)
    assert local.share < local.far < local.all < 0.9
    example = next(page.url for page in web.truth().pages if page.topic == TOPIC and page.kind == "article")
    plain = crawl(tmp_path / "plain", server, web)
    words = crawl(tmp_path / "words", server, web, topic=WORDS)
    pages = crawl(tmp_path / "pages", server, web, pages=[example])
    assert words >= 2 * plain
    assert pages >= 2 * plain


def test_a_stopped_crawl_goes_on_with_what_it_has_learnt(
    tmp_path: Path, server: tuple[FakeWebProcess, Path], web: FakeWeb
) -> None:
    folder = tmp_path / "data"
    Crawler(folder, settings(server, 80, topic=WORDS), web.seeds).run()
    before = read_snapshot(folder / "crawl" / "frontier.bin")
    assert before is not None
    assert before.focus is not None
    assert before.focus.classifier.pages >= 60
    # Neither seeds nor the topic are named again.
    chosen = settings(server, 160)
    with Crawler(folder, chosen) as crawler:
        known = crawler._state.outlinks.focus
        assert known is not None
        assert known.dump() == before.focus
        crawler.run()
    after = read_snapshot(folder / "crawl" / "frontier.bin")
    assert after is not None
    assert after.focus is not None
    assert after.focus.looked > before.focus.looked
    assert extract(folder, web, chosen) > 30


def test_recovery_from_the_visits_alone_learns_the_same(
    tmp_path: Path, server: tuple[FakeWebProcess, Path], web: FakeWeb
) -> None:
    folder = tmp_path / "data"
    Crawler(folder, settings(server, 60, topic=WORDS), web.seeds).run()
    before = read_snapshot(folder / "crawl" / "frontier.bin")
    assert before is not None
    assert before.focus is not None
    (folder / "crawl" / "frontier.bin").write_bytes(b"torn")
    with Crawler(folder, settings(server, 60)) as crawler:
        focus = crawler._state.outlinks.focus
        assert focus is not None
        again = focus.dump()
    assert again.looked == before.focus.looked
    assert again.classifier.weights == before.focus.classifier.weights
    assert again.hosts == before.focus.hosts


def test_a_minus_sign_gives_the_topic_up(tmp_path: Path) -> None:
    assert open_focus(FocusSettings(topic="tides"), tmp_path, None) is not None
    assert open_focus(FocusSettings(), tmp_path, None) is not None
    assert open_focus(FocusSettings(topic="-"), tmp_path, None) is None
    assert open_focus(FocusSettings(), tmp_path, None) is None


def test_examples_come_from_files_too(tmp_path: Path) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("http://a.test/1\n\nhttp://b.test/2\n")
    assert sorted(place.url for place in Focus(FocusSettings(pages=(str(listed),))).urls.values()) == [
        "http://a.test/1",
        "http://b.test/2",
    ]
    page = tmp_path / "page.html"
    page.write_text("<title>Bees</title><p>The hive and its honey, and a queen of bees in the apiary.</p>")
    focus = Focus(FocusSettings(pages=(str(page),)))
    like = focus._classifier.score_page(Page("http://x.test/", text="A hive full of honey, the queen and her bees."))
    other = focus._classifier.score_page(Page("http://y.test/", text="The valve of a steam locomotive was mended."))
    assert like > other
    # What was learnt holds also when the file is gone.
    page.unlink()
    again = Focus(FocusSettings(pages=(str(page),)), focus.dump())
    assert again.dump().classifier.given
    with pytest.raises(BadInput, match=r"none\.html"):
        Focus(FocusSettings(pages=(str(tmp_path / "none.html"),)))


def test_a_damaged_topic_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "topic.json").write_bytes(b"{broken")
    with pytest.raises(CorruptFile, match=r"topic\.json"):
        open_focus(FocusSettings(), tmp_path, None)


def pages_about(words: list[str], count: int, seed: int) -> list[Page]:
    chance = np.random.default_rng(seed)
    every = ["the", "of", "and", "old", "new", "work", "day", "people", *words]
    return [Page(f"http://p.test/{seed}/{n}", text=" ".join(chance.choice(every, 80))) for n in range(count)]


def test_the_classifier_learns_words_that_nobody_gave() -> None:
    right = pages_about(["honey", "hive", "bees", "smoker", "brood"], 60, 1)
    wrong = pages_about(["boiler", "valve", "rails", "piston", "guard"], 240, 2)
    made = Classifier("honey bees")
    for n in range(60):
        made.score_page(right[n])
        for other in wrong[4 * n : 4 * n + 4]:
            made.score_page(other)
    texts = [b"smoker and brood", b"piston and guard", b"", "灯台".encode()]
    smoker, piston, *_ = made.score_links(texts).tolist()
    assert smoker > 0.6
    assert piston < 0.3
    assert made.score_page(right[0]) > 0.8
    assert made.score_page(wrong[0]) < 0.2
    again = Classifier("", msgspec.msgpack.decode(msgspec.msgpack.encode(made.dump()), type=type(made.state)))
    assert again.score_links(texts).tolist() == made.score_links(texts).tolist()
    assert again.score_page(right[3]) == made.score_page(right[3])


def test_a_page_without_words_is_about_nothing() -> None:
    made = Classifier("bees")
    assert made.score_page(Page("http://a.test/")) == 0.0
    assert made.score_page(Page("http://a.test/", text="\ud800 \x00")) == 0.0


def test_links_of_hubs_are_raised_and_memory_is_bounded() -> None:
    distiller = Distiller()
    targets = [parse_address(f"http://t.test/{n}") for n in range(12)]
    for n in range(8):
        distiller.add(targets[n].key, "t.test", 1.0, [])
    distiller.add(1, "hub.test", 0.2, targets)
    raised: dict[str, dict[int, float]] = {}
    for n in range(200):
        distiller.add(1_000 + n, "dull.test", 0.0, [parse_address(f"http://dull.test/{n}")])
        raised |= distiller.update_hubs()
    assert set(raised) == {"t.test"}
    assert set(raised["t.test"]) == {place.key for place in targets[8:]}
    assert distiller.host_score("hub.test") > distiller.host_score("dull.test")
    for n in range(5_000):
        distiller.add(n, "x.test", 0.0, targets)
    assert len(distiller.state.nodes) == 4_000
