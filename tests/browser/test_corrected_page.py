"""The lines of a result page that was corrected or relaxed, in a real browser: seen, announced, and followed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from fake_searcher import FakeSearcher, hit
from tabs import DESK, PHONE, Tab, browser, violations

from periplus.records import Query, ResultPage
from periplus.serve import background_server
from periplus.settings import ServeSettings

__all__ = ["browser"]
pytestmark = pytest.mark.browser

NOTE = 'No page has "deep sea" together with "moon"; showing pages with the words instead.'


def answer(query: Query) -> ResultPage:
    corrected = "" if query.verbatim or "slat" not in query.words else query.words.replace("slat", "salt")
    hits = tuple(hit(number, query) for number in range(query.start, query.start + query.size))
    notes = (NOTE,) if "moon" in query.words else ()
    offers = (corrected,) if corrected else ()
    return ResultPage(query, hits, 87, True, False, 0.003, 10, notes, corrections=offers, showing_for=corrected)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with background_server(FakeSearcher(answer=answer), ServeSettings(port=0)) as url:
        yield url


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=str)
def test_a_corrected_page_leads_back_to_what_was_typed(
    browser: Any, site: str, size: tuple[int, int], scheme: str, tmp_path: Path
) -> None:
    with Tab(browser, size, scheme) as page:
        page.goto(site + "search?q=slat+harbour")
        line = page.locator(".corrected")
        assert line.inner_text() == "Showing results for salt harbour. Search instead for slat harbour"
        assert line.get_attribute("role") == "status"
        box = line.bounding_box()
        assert box["x"] + box["width"] <= size[0]
        assert box["y"] + box["height"] <= page.locator(".result").first.bounding_box()["y"]
        page.screenshot(path=tmp_path / "corrected.png")
        assert violations(page) == []
        page.get_by_role("link", name="slat harbour").click()
        assert page.url.endswith("search?q=slat+harbour&verbatim=1")
        assert page.locator(".corrected").count() == 0
        assert page.locator("#q").input_value() == "slat harbour"


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_notice_is_announced_before_the_results(
    browser: Any, site: str, size: tuple[int, int], tmp_path: Path
) -> None:
    with Tab(browser, size) as page:
        page.goto(site + 'search?q="deep sea"+moon')
        notices = page.locator(".notices[role=status]")
        assert notices.inner_text() == NOTE
        box = notices.bounding_box()
        assert box["x"] + box["width"] <= size[0]
        assert box["y"] + box["height"] <= page.locator(".result").first.bounding_box()["y"]
        page.screenshot(path=tmp_path / "notice.png")
        assert violations(page) == []
