"""What people do on the pages, in a real browser: completions, tabs, rules, languages, admin; axe finds nothing.

Screenshots of every page are kept in the folder `screenshots`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from fake_searcher import FakeSearcher
from tabs import DESK, PHONE, Tab, browser, violations, wait_until

from periplus.records import Query, ResultPage, SearchLimits
from periplus.serve import Actions, ApiKeys, background_server
from periplus.settings import ServeSettings

pytestmark = pytest.mark.browser
__all__ = ["browser"]

SEARCH_PATHS = {
    "landing": "",
    "results": "search?q=salt+harbour&safesearch=1",
    "answer": "search?q=12+nmi+in+km",
    "why-this": "search?q=salt&explain=2",
    "nothing": "search?q=nothing+here",
    "about": "about",
    "add": "add",
    "api": "api",
    "missing": "no-such-page",
    "login": "admin",
}


class Searcher(FakeSearcher):
    """Finds near-duplicates and inner links, and hides some."""

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        page = super().search(query)
        hits = list(page.hits)
        if hits:
            more = {"similar": ("https://a.example/",), "links": (("Opening hours", "https://a.example/h"),)}
            hits[0] = msgspec.structs.replace(hits[0], **more)
        return msgspec.structs.replace(page, hits=tuple(hits), hidden=30 if query.safe else 0, examined=100)


class Crawl:
    def __init__(self) -> None:
        self.state = "running"

    def status(self) -> dict[str, Any]:
        figures = {
            "pages": 1234,
            "rate": 12.5,
            "waiting": 99,
            "errors": {"gone": 4, "timeout": 2},
            "recent": ("https://a.example/",),
        }
        return {"running": True, "state": self.state, "slowest": [("slow.example", 1.25)], **figures}

    def start(self) -> None:
        self.state = "running"

    def pause(self) -> None:
        self.state = "paused"

    def resume(self) -> None:
        self.state = "running"

    def stop(self) -> None:
        self.state = "stopping"


KEYS = ApiKeys(None)
SECRET = KEYS.add("me", "admin")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    actions = Actions(report=lambda seen: (len(seen), 0), crawl=Crawl())
    with background_server(Searcher(), ServeSettings(port=0, submissions=True), actions, KEYS) as url:
        yield url


looks = pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=str)


@looks
def test_axe_finds_nothing_and_all_pages_fit(
    browser: Any, site: str, size: tuple[int, int], scheme: str, project: Path
) -> None:
    kept = project / "screenshots"
    kept.mkdir(exist_ok=True)
    with Tab(browser, size, scheme, bypass_csp=True) as page:
        for name, path in SEARCH_PATHS.items():
            page.goto(site + path)
            page.screenshot(path=kept / f"{name}-{size[0]}-{scheme}.png")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{name} scrolls sideways"
            assert violations(page) == [], name


def test_completions_are_chosen_by_keys(browser: Any, site: str) -> None:
    with Tab(browser) as page:
        page.goto(site)
        page.click("#q")
        page.keyboard.type("sa")
        page.wait_for_selector(".completions li")
        assert page.locator("#q").get_attribute("aria-expanded") == "true"
        page.keyboard.press("ArrowDown")
        assert page.locator("#q").get_attribute("aria-activedescendant") == "completion-0"
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=Salt+harbour")
        page.focus("#q")
        page.fill("#q", "ti")
        page.wait_for_selector(".completions li")
        page.keyboard.press("Escape")
        assert not page.locator(".completions").is_visible()


def test_tabs_filters_and_safe_search_stay_in_the_address(browser: Any, site: str) -> None:
    with Tab(browser) as page:
        page.goto(site + "search?q=salt")
        page.get_by_role("link", name="Documents").click()
        page.wait_for_url("**tab=documents")
        assert page.locator(".tabs [aria-current]").inner_text() == "Documents"
        page.select_option('.filters [name="time_range"]', "week")
        page.wait_for_url("**time_range=week*")
        page.select_option('.filters [name="safesearch"]', "2")
        page.wait_for_url("**safesearch=2*")
        assert "tab=documents" in page.url
        assert "time_range=week" in page.url
        assert "Safe search hid 30" in page.locator(".note.warning").inner_text()
        page.get_by_role("link", name="Show them").click()
        page.wait_for_selector("text=Safe search off", state="attached")
        assert "safesearch" not in page.url
        page.get_by_role("link", name="Next").click()
        page.wait_for_url("**start=10*")
        assert "tab=documents" in page.url


def test_filters_work_without_javascript(browser: Any, site: str) -> None:
    with Tab(browser, java_script_enabled=False) as page:
        page.goto(site + "search?q=salt")
        page.select_option('.filters [name="safesearch"]', "1")
        page.click(".filters button")
        page.wait_for_url("**safesearch=1*")
        page.fill("#q", "harbour")
        page.press("#q", "Enter")
        page.wait_for_url("**q=harbour*")
        assert "safesearch=1" in page.url, "the field keeps it"


def test_site_rules_are_stored_in_the_browser(browser: Any, site: str) -> None:
    order = "[...document.querySelectorAll('.result:not([hidden])')].map(e => e.dataset.host)"
    with Tab(browser) as page:
        page.goto(site + "search?q=salt")
        assert page.evaluate(order)[0] == "coast0.example"
        page.hover("#r1")
        page.click("#r1 .rule")
        page.click('#rule button[value="block"]')
        wait_until(page, "document.getElementById('r1').hidden")
        assert "coast0.example" not in page.evaluate(order)
        assert "2" in page.locator("#ruled").inner_text()
        page.goto(site + "settings")
        assert page.input_value("#rules") == "block coast0.example"
        page.fill(
            "#rules",
            "pin coast3.example\nraise coast2.example\n# a list of uBlacklist\n*://*.coast1.example/*\n/regex/",
        )
        page.click("#save-rules")
        wait_until(page, "document.getElementById('rules-status').textContent")
        assert "3 rules saved, 1 lines not recognized" in page.locator("#rules-status").inner_text()
        page.goto(site + "search?q=salt")
        hosts = page.evaluate(order)
        assert hosts[:3] == ["coast3.example", "coast2.example", "coast2.example"] or hosts[0] == "coast3.example"
        assert "coast1.example" not in hosts
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.closest('.result').dataset.host") == "coast3.example"


def test_the_safe_search_that_was_chosen_is_begun_with(browser: Any, site: str) -> None:
    with Tab(browser) as page:
        page.goto(site + "settings")
        page.select_option("#safe", "2")
        page.goto(site)
        page.fill("#q", "salt")
        page.press("#q", "Enter")
        page.wait_for_url("**safesearch=2*")


def test_the_browser_chooses_the_language(browser: Any, site: str) -> None:
    with Tab(browser, locale="de-CH") as page:
        page.goto(site + "search?q=salt")
        assert page.locator("html").get_attribute("lang") == "de"
        assert "Ergebnisse" in page.locator(".count").inner_text()
    with Tab(browser, locale="de-CH") as page:
        page.goto(site + "settings")
        page.get_by_role("link", name="Français").click()
        assert page.locator("h1").inner_text() == "Réglages"


def test_a_site_is_submitted(browser: Any, site: str) -> None:
    with Tab(browser) as page:
        page.goto(site + "add")
        page.fill("#url", "coast.example/guide")
        page.click(".plain button")
        assert "https://coast.example/guide" in page.locator("[role=status]").inner_text()


def test_the_admin_page_is_live(browser: Any, site: str) -> None:
    with Tab(browser) as page:
        page.goto(site + "admin")
        page.fill("#key", SECRET)
        page.click(".plain button")
        page.wait_for_selector(".panels")
        assert "1,234" in page.locator("#live-pages").inner_text()
        page.get_by_role("button", name="pause").click()
        wait_until(page, "document.getElementById('live-state').textContent === 'paused'")
        page.get_by_role("button", name="resume").click()
        wait_until(page, "document.getElementById('live-state').textContent === 'running'")
        wait_until(page, "document.getElementById('request-line').getAttribute('points').length > 0")
        assert violations(page) == []
        page.goto(site + "admin/ranking?q=salt&static_weight=0.9")
        assert violations(page) == []
        assert "static_weight = 0.9" in page.locator(".command code").inner_text()
        page.get_by_role("link", name="Overview").click()
        page.get_by_role("button", name="Log out").click()
        page.wait_for_selector("#key")
