"""The documentation as a site in a real browser: Periplus crawls it, and its search box asks Periplus."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tabs import PHONE, Tab, browser, violations, wait_until

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = "document.querySelectorAll('.site-results a').length"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "scripts" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    output, port = tmp_path_factory.mktemp("site"), program.free_port()
    program.build_site(output, port)
    with program.searching(output / "site-data") as inner, program.serving(output / "site", port, inner) as address:
        yield address


def test_a_search_as_you_type_leads_to_a_page(browser: Any, site: str) -> None:
    with Tab(browser) as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(site)
        page.keyboard.press("/")
        page.keyboard.type("politeness", delay=10)
        wait_until(page, f"{RESULTS} > 1")
        first = page.locator(".site-results a").first
        assert first.locator("mark").count() > 0
        address = first.get_attribute("href")
        first.click()
        page.wait_for_url(address)
        assert "polite" in page.locator("article").inner_text().lower()
        # Every request of the pages, scripts and styles was for the site itself.
        assert {url.split("/")[2] for url in requests} == {site.split("/")[2]}


def test_keys_choose_a_result(browser: Any, site: str) -> None:
    with Tab(browser) as page:
        page.goto(site)
        page.keyboard.press("/")
        page.keyboard.type("frontier", delay=10)
        wait_until(page, f"{RESULTS} > 1")
        page.keyboard.press("ArrowDown")
        chosen = page.locator(".site-results a[aria-selected=true]")
        address = chosen.get_attribute("href")
        page.keyboard.press("Enter")
        page.wait_for_url(address)
        page.keyboard.press("/")
        page.keyboard.type("zqxjkv", delay=10)
        wait_until(page, "document.querySelector('.site-results p') !== null")
        page.keyboard.press("Escape")
        assert page.locator(".site-results").is_hidden()


def test_the_whole_list_is_the_page_of_periplus_without_scripts(browser: Any, site: str) -> None:
    with Tab(browser, java_script_enabled=False) as page:
        page.goto(site)
        page.locator(".site-search input").fill("politeness")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=politeness")
        assert page.locator(f"a[href^='{site}']").count() > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_search_box_is_accessible(browser: Any, site: str, scheme: str) -> None:
    with Tab(browser, scheme=scheme) as page:
        page.goto(site)
        page.keyboard.press("/")
        page.keyboard.type("crawl", delay=10)
        wait_until(page, f"{RESULTS} > 1")
        assert [found for found in violations(page) if "site-" in str(found)] == []


def test_a_phone_shows_field_and_results_within_its_width(browser: Any, site: str) -> None:
    with Tab(browser, PHONE) as page:
        page.goto(site)
        page.locator(".site-search input").fill("crawl")
        wait_until(page, f"{RESULTS} > 1")
        box = page.locator(".site-results").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE[0]
