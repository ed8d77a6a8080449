"""What became of a page in a query, for every reason there is."""

from pathlib import Path

import msgspec
import pytest

from periplus.cli import main
from periplus.errors import BadUrl
from periplus.evaluate import QueryDiagnosis, diagnose
from periplus.files import open_data_folder
from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import FetchRecord, Outcome, Page, PageFlag, Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import PageStore

LONG = "The keeper of the lamp wrote every night how much oil was burnt and which ships had passed the cape. " * 8
SETTINGS = msgspec.convert({"search": {"max_results": 10, "per_host": 2}, "rank": {"rerank": 10}}, Settings)


def record(url: str, title: str, text: str, **more: object) -> FetchRecord:
    page = Page(url, title=title, text=text, language="en", **more)  # type: ignore[arg-type]
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 1.7e9, 200, page=page)


def many() -> list[FetchRecord]:
    """Thirty pages about tides, so that the first stage has to leave some out."""
    own = {n: " ".join(f"moon{n}x{i} chapter" for i in range(40)) for n in range(1, 31)}
    return [record(f"https://h{n}.test/", f"Book {n}", "tides and the moon " * (1 + n % 7) + own[n]) for n in own]


PAGES = {
    "ranked": record("https://a.test/light", "The lighthouse", "The lighthouse of the harbour. " + LONG),
    "second": record("https://b.test/oil", "Oil", "Olive oil for the lighthouse. Nothing more."),
    "copy": record("https://c.test/light", "The lighthouse", "The lighthouse of the harbour. " + LONG),
    "adult": record("https://x.test/", "Lighthouse nights", "lighthouse only for adults", flags=int(PageFlag.ADULT)),
}
FETCHED = {
    "noindex": record("https://n.test/", "N", "lighthouse", noindex=True),
    "copy": msgspec.structs.replace(record("https://k.test/", "K", "x"), duplicate_of="https://a.test/light"),
    "redirect": FetchRecord(
        "https://r.test/",
        fingerprint_text("https://r.test/"),
        Outcome.REDIRECT,
        1.7e9,
        301,
        location="https://a.test/light",
    ),
    "failed": FetchRecord("https://f.test/", fingerprint_text("https://f.test/"), Outcome.TIMEOUT, 1.7e9, 0),
    "robots": FetchRecord("https://p.test/", fingerprint_text("https://p.test/"), Outcome.ROBOTS, 1.7e9, 0),
    "not indexed yet": record("https://w.test/", "W", "lighthouse"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = open_data_folder(tmp_path_factory.mktemp("why") / "data", create=True)
    with PageStore.open(folder / "store", SETTINGS.store, write=True) as store:
        for made in FETCHED.values():
            store.append(made, None)
        store.commit()
    build_index([*PAGES.values(), *many()], folder / "index", SETTINGS.index)
    return folder


@pytest.fixture(scope="module")
def searcher(folder: Path) -> Searcher:
    return Searcher.open(folder, SETTINGS)


def ask(searcher: Searcher, folder: Path, words: str, url: str, **filters: object) -> QueryDiagnosis:
    return diagnose(searcher, folder, SETTINGS, Query(words, **filters), url)  # type: ignore[arg-type]


def test_a_page_that_ranks(searcher: Searcher, folder: Path) -> None:
    first = ask(searcher, folder, "lighthouse harbour", "https://a.test/light")
    assert (first.reason, first.rank) == ("ranked", 1)
    second = ask(searcher, folder, "lighthouse harbour", "https://b.test/oil")
    assert second.reason == "ranked"
    assert second.rank > 1
    assert second.better is not None
    assert second.missing == ("harbour",)
    assert any("harbour" in line for line in second.advice)


def test_what_is_left_out_of_the_results(searcher: Searcher, folder: Path) -> None:
    twin = ask(searcher, folder, "lighthouse harbour", "https://c.test/light")
    assert (twin.reason, twin.other) == ("near-duplicate", "https://a.test/light")
    adult = ask(searcher, folder, "lighthouse", "https://x.test/", safe=1)
    assert adult.reason == "safe search"
    assert ask(searcher, folder, "lighthouse", "https://x.test/").reason == "ranked"


def test_what_does_not_match(searcher: Searcher, folder: Path) -> None:
    missing = ask(searcher, folder, "+moon +chapter", "https://b.test/oil")
    assert (missing.reason, set(missing.missing)) == ("no match", {"moon", "chapter"})
    site = ask(searcher, folder, "lighthouse", "https://b.test/oil", site="a.test")
    assert (site.reason, site.filters) == ("filtered", ("site:a.test",))
    language = ask(searcher, folder, "lighthouse lang:de", "https://b.test/oil")
    assert (language.reason, language.filters) == ("filtered", ("lang:de",))
    barred = ask(searcher, folder, "lighthouse -olive", "https://b.test/oil")
    assert barred.reason == "excluded"
    assert "'olive'" in barred.summary
    phrase = ask(searcher, folder, '"lighthouse olive"', "https://b.test/oil", verbatim=True)
    assert (phrase.reason, phrase.missing) == ("no match", ('"lighthouse olive"',))


def test_what_the_first_stage_leaves_out(searcher: Searcher, folder: Path) -> None:
    found = [ask(searcher, folder, "tides", f"https://h{n}.test/") for n in range(1, 31)]
    assert sorted(page.rank for page in found if page.rank) == list(range(1, 11))
    lost = [page for page in found if page.reason == "first stage"]
    assert lost
    for page in lost:
        assert page.first_stage is not None
        assert 0 < page.first_stage.score <= page.first_stage.needed
        assert f"{page.first_stage.score:.3f}" in page.summary
    kept = [page.first_stage for page in found if page.rank]
    assert all(stage is not None and stage.score >= lost[0].first_stage.needed for stage in kept)  # type: ignore[union-attr]


def test_a_restricted_plan_gives_the_score_of_the_whole_query(searcher: Searcher) -> None:
    from periplus.query import find_candidates, parse_query, restrict_plan

    session = searcher._session
    assert session is not None
    for words in ("tides moon", '"the moon"', "tides OR lighthouse", "chapter -lighthouse"):
        parsed = parse_query(words)
        plan = session.plan(parsed, Query(words))
        whole = find_candidates(session.index, plan, 100)
        for segment, document, score in zip(whole.segments, whole.documents, whole.scores, strict=True):
            key = int(session.index.segments[segment].column("key")[document])
            alone = find_candidates(session.index, restrict_plan(plan, key), 10)
            assert (alone.documents.tolist(), alone.scores.tolist()) == ([document], [score])


@pytest.mark.parametrize("reason", FETCHED)
def test_what_is_not_in_the_index(searcher: Searcher, folder: Path, reason: str) -> None:
    found = ask(searcher, folder, "lighthouse", FETCHED[reason].url)
    assert found.reason == reason
    assert found.summary.startswith("It is not in the index.")
    assert found.advice
    assert found.other == ("https://a.test/light" if reason in ("copy", "redirect") else "")


def test_what_was_never_crawled(searcher: Searcher, folder: Path) -> None:
    assert ask(searcher, folder, "lighthouse", "https://never.test/").reason == "no crawl"
    with pytest.raises(BadUrl):
        ask(searcher, folder, "lighthouse", "no url")


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--folder", str(folder)]
    assert main(["why", "lighthouse harbour", "https://c.test/light", *options]) == 0
    said = capsys.readouterr().out
    assert "near-duplicate" in said
    assert "Instead: https://a.test/light" in said
    assert main(["why", " ", "https://c.test/light", *options]) == 1
