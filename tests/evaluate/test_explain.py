"""Why a page is where it is, for every reason there is, on a crawl of the fake web."""

from pathlib import Path

import msgspec
import pytest

from periplus.app import build_graph_and_index
from periplus.cli import main
from periplus.crawl import Crawler
from periplus.evaluate import Explanation, explain
from periplus.fakeweb import FakeWeb, FakeWebPlan, GroundTruth, run_in_thread
from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import FetchRecord, Outcome, Page, PageFlag
from periplus.settings import Settings
from periplus.store import PageStore


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Settings, GroundTruth]:
    """A whole crawl of a small web, indexed."""
    folder = tmp_path_factory.mktemp("explained")
    web = FakeWeb(FakeWebPlan(seed=3, hosts=6, pages=120))
    with run_in_thread(web) as server:
        server.write_hosts_file(folder / "hosts")
        settings = msgspec.convert(
            {
                "folder": str(folder / "data"),
                "fetch": {"allow": ["127.0.0.0/8"], "hosts_file": str(folder / "hosts")},
                "frontier": {"delay": 0.0, "delay_factor": 0.0, "retries": 0},
                "crawl": {"scope": "web", "pages": 100_000},
            },
            Settings,
        )
        Crawler(folder / "data", settings, web.seeds).run()
    build_graph_and_index(folder / "data", settings)
    return folder / "data", settings, web.truth()


Crawled = tuple[Path, Settings, GroundTruth]


def ask(crawled: Crawled, url: str, words: str = "the", **options: object) -> Explanation:
    return explain(crawled[0], crawled[1], url, words, **options)  # type: ignore[arg-type]


def test_a_page_that_ranks_says_where_and_by_what(crawled: Crawled) -> None:
    question = crawled[2].queries[0]
    found = ask(crawled, question.urls[0], question.words)
    assert found.reason == "ranked"
    assert found.rank == 1
    assert found.better is None
    assert sum(value for _, value in found.parts) == pytest.approx(found.score, rel=0.05)


def test_the_next_better_page_is_put_beside(crawled: Crawled) -> None:
    question = crawled[2].queries[0]
    topic = next(page.topic for page in crawled[2].pages if page.url == question.urls[0])
    others = [page.url for page in crawled[2].pages if page.topic == topic and page.url not in question.urls]
    found = next(
        one for url in others if (one := ask(crawled, url, question.words)).reason == "ranked" and one.rank > 1
    )
    assert found.better is not None
    assert found.better.score >= found.score
    gaps = [theirs - ours for _, ours, theirs in found.better.gaps]
    assert gaps == sorted(gaps, reverse=True)
    assert sum(gaps) == pytest.approx(found.better.score - found.score, abs=0.05 * found.score)


def test_words_that_a_page_does_not_have_are_named(crawled: Crawled) -> None:
    page = next(page for page in crawled[2].pages if page.kind == "article" and page.language == "en")
    found = ask(crawled, page.url, "zanzibar-unheard xylophone-of-nobody")
    assert found.reason == "no match"
    assert found.missing


def test_what_kept_a_page_out_is_said(crawled: Crawled) -> None:
    truth = crawled[2]
    redirected = next(url for url, to in truth.redirects.items() if to)
    wanted = {
        "robots": sorted(truth.blocked)[0],
        "noindex": sorted(url for url in truth.noindex if "links" not in url)[0],
        "copy": sorted(truth.duplicates)[0],
        "failed": sorted(truth.missing)[0],
        "redirect": redirected,
        "unseen": truth.seeds[0] + "never/linked/by/anybody",
    }
    found = {reason: ask(crawled, url) for reason, url in wanted.items()}
    assert {reason: one.reason for reason, one in found.items()} == {reason: reason for reason in wanted}
    assert found["copy"].other
    assert found["redirect"].other
    assert "404" in found["failed"].summary


def test_a_page_that_names_another_address_says_which(crawled: Crawled) -> None:
    printed = sorted(url for url in crawled[2].near_duplicates if "print=1" in url)
    found = [ask(crawled, url) for url in printed]
    named = [one for one in found if one.reason == "canonical"]
    assert named
    assert all(one.other == crawled[2].near_duplicates[one.url] for one in named)


def test_a_page_that_is_out_of_scope_is_not_wanted(crawled: Crawled) -> None:
    folder, settings, _ = crawled
    narrow = msgspec.structs.replace(settings, crawl=msgspec.structs.replace(settings.crawl, scope="host"))
    found = explain(folder, narrow, "http://elsewhere.invalid/page", "tides")
    assert found.reason == "unwanted"


def test_a_page_that_waits_is_found_in_the_frontier(tmp_path: Path) -> None:
    web = FakeWeb(FakeWebPlan(seed=3, hosts=2, pages=60))
    with run_in_thread(web) as server:
        server.write_hosts_file(tmp_path / "hosts")
        settings = msgspec.convert(
            {
                "fetch": {"allow": ["127.0.0.0/8"], "hosts_file": str(tmp_path / "hosts"), "connections": 1},
                "frontier": {"delay": 0.0, "delay_factor": 0.0},
                "crawl": {"scope": "web", "pages": 3, "sitemaps": False, "feeds": False},
            },
            Settings,
        )
        Crawler(tmp_path / "data", settings, web.seeds).run()
    found = [explain(tmp_path / "data", settings, page.url, "tides") for page in web.truth().pages]
    assert {"waiting", "not indexed yet"} <= {one.reason for one in found}
    waiting = next(one for one in found if one.reason == "waiting")
    assert "It is queued" in waiting.summary
    assert explain(tmp_path / "nowhere", settings, web.seeds[0], "tides").reason == "no crawl"


def visit(url: str, text: str, **page: object) -> FetchRecord:
    made = Page(url, title=text[:20], text=text, **page)  # type: ignore[arg-type]
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 1.0, 200, page=made)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Settings]:
    """An index of a few pages, made by hand."""
    long = "The tide table of the harbour master, with high water at noon and low water at six. " * 8
    visits = [
        visit("https://a.example/tide", long),
        visit("https://b.example/tide", long),
        visit("https://c.example/adult", "tide pictures for adults", flags=int(PageFlag.ADULT)),
        visit("https://d.example/flut", "tide Ebbe und Flut an der Nordsee", language="de"),
    ]
    (tmp_path / "index").mkdir()
    build_index(visits, tmp_path / "index", Settings().index, None)
    return tmp_path, Settings()


def test_what_folding_and_filters_leave_out(made: tuple[Path, Settings]) -> None:
    folder, settings = made
    both = [explain(folder, settings, f"https://{host}.example/tide", "tide") for host in "ab"]
    assert sorted(one.reason for one in both) == ["folded", "ranked"]
    folded = next(one for one in both if one.reason == "folded")
    assert folded.other == next(one.url for one in both if one.reason == "ranked")
    assert explain(folder, settings, "https://c.example/adult", "tide", safe=1).reason == "safe"
    assert explain(folder, settings, "https://c.example/adult", "tide").reason == "ranked"
    assert explain(folder, settings, "https://d.example/flut", "tide", language="en").reason == "filtered"
    assert explain(folder, settings, "https://d.example/flut", "tide -nordsee").reason == "no match"


def test_a_page_that_was_taken_out_of_the_index_says_so(made: tuple[Path, Settings]) -> None:
    folder, settings = made
    again = msgspec.structs.replace(
        visit("https://a.example/tide", "tide"), outcome=Outcome.GONE, page=None, status=404
    )
    build_index([again], folder / "index", settings.index, None, append=True)
    with PageStore.open(folder / "store", settings.store, write=True) as store:
        store.append(visit("https://a.example/tide", "tide table"), None)
        store.commit()
    assert explain(folder, settings, "https://a.example/tide", "tide").reason == "removed"


def test_the_command_says_it(crawled: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    question = crawled[2].queries[0]
    assert main(["explain", question.urls[0], *question.words.split(), "--folder", str(crawled[0])]) == 0
    assert "It is number 1 of" in capsys.readouterr().out
    assert main(["explain", sorted(crawled[2].blocked)[0], "tides", "--folder", str(crawled[0]), "--json"]) == 0
    assert '"reason":"robots"' in capsys.readouterr().out
    assert main(["explain", "no url at all", "tides", "--folder", str(crawled[0])]) == 1
