"""Expensive queries in a process of their own: the same answers, and none is lost when the process is."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from index.made_pages import random_visits
from periplus.app.serving.search_process import IsolatingSearcher
from periplus.errors import ExpensiveQuery
from periplus.index import build_index
from periplus.records import Query, ResultPage, SearchLimits
from periplus.search import Searcher
from periplus.settings import Settings

LANE = SearchLimits(seconds=600.0)
PATIENT = msgspec.structs.replace(Settings(), search=msgspec.structs.replace(Settings().search, budget_ms=600_000.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("isolated")
    build_index(random_visits(6, 300), folder / "index", Settings().index)
    return folder


@pytest.fixture
def searcher(folder: Path) -> Iterator[IsolatingSearcher]:
    searcher = IsolatingSearcher(folder, PATIENT)
    yield searcher
    searcher._process.close()


def contents(page: ResultPage) -> tuple[object, ...]:
    return page.hits, page.total, page.exact, page.notes, page.plan


def wait_until_ready(searcher: IsolatingSearcher) -> None:
    end = time.monotonic() + 300
    while not searcher._process._ready:
        assert time.monotonic() < end
        searcher.search(Query("sea"), LANE)
        time.sleep(0.05)


@pytest.mark.slow
def test_answers_are_the_same_before_the_process_is_ready_and_after(folder: Path, searcher: IsolatingSearcher) -> None:
    here = Searcher.open(folder, PATIENT)
    queries = [Query("sea ship"), Query('"the sea" -fog', explain=True), Query("s* 1..99", size=50)]
    assert searcher._process._process is None
    for query in queries:  # the first of them starts the process
        assert contents(searcher.search(query, LANE)) == contents(here.search(query))
    wait_until_ready(searcher)
    for query in queries:
        assert contents(searcher.search(query, LANE)) == contents(here.search(query))
    with pytest.raises(ExpensiveQuery):
        searcher.search(Query("sea", start=990), SearchLimits(60.0, 40.0))

    child = searcher._process._process
    assert child is not None
    child.kill()
    child.join()
    assert contents(searcher.search(queries[0], LANE)) == contents(here.search(queries[0]))
    assert searcher._process._process is None


def test_ordinary_queries_start_no_process(searcher: IsolatingSearcher) -> None:
    for limits in (None, SearchLimits(), SearchLimits(60.0, 40.0)):
        assert searcher.search(Query("sea"), limits).hits
    assert searcher._process._process is None


def test_a_process_that_is_busy_is_not_waited_for(searcher: IsolatingSearcher) -> None:
    with searcher._process._lock:
        assert searcher.search(Query("sea"), LANE).hits
    assert searcher._process._process is None
