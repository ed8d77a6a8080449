"""Publishing, rules, settings, 'why not' and the admin pages in a real browser: both widths, light and dark, without
scripts, by keys alone, with hostile titles; axe finds nothing. One server and one browser serve all tests.
"""

import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from fake_searcher import FakeSearcher
from tabs import DESK, PHONE, Tab, browser, violations

from periplus.app.serving.server_actions import server_actions
from periplus.evaluate import QueryDiagnosis
from periplus.files import open_data_folder
from periplus.health import part
from periplus.serve import ApiKeys, background_server
from periplus.settings import ServeSettings, Settings

pytestmark = pytest.mark.browser
__all__ = ["browser"]

HOSTILE = "\u202eevil\u2066 <script>document.title='broken'</script> " + "w" * 900
FAILURES = "".join(
    f"2026-11-17T00:28:14.123Z 404 0 http://coast.example/{'long' * 60}{n} L http://coast.example/ - gone 12ms -\n"
    for n in range(3)
)


class Site(NamedTuple):
    url: str
    keys: ApiKeys
    secret: str
    content: str
    """The id of what was published."""
    rules: str
    """The id of a rule set."""

    def pages(self) -> dict[str, str]:
        """The pages that anybody can open."""
        return {
            "publish-login": "publish",
            "content": f"c/{self.content}",
            "rules": "rules",
            "shared-rules": f"rules/{self.rules}",
            "why-not": "why-not?url=coast.example/x&q=salt",
            "settings": "settings",
        }


ADMIN = {
    name: f"admin/{name}" for name in ("hosts", "access", "collections", "schedule", "changes", "health", "ranking")
} | {"overview": "admin"}


def post(url: str, body: dict[str, Any], secret: str = "") -> Any:
    headers = {"content-type": "application/json", "authorization": f"Bearer {secret}"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = open_data_folder(tmp_path_factory.mktemp("people") / "data", create=True)
    (folder / "crawl").mkdir()
    (folder / "crawl" / "crawl.log").write_text(FAILURES)
    searcher, keys = FakeSearcher(), ApiKeys(folder)
    secret = keys.add("operator", "admin")
    actions = server_actions(folder, searcher, Settings())._replace(
        why=lambda query, url: QueryDiagnosis(query.words, url, "ranked", "It is result 1 of 2.")
    )
    with background_server(searcher, ServeSettings(port=0), actions, keys) as url:
        given = {
            "title": HOSTILE,
            "content": f"{HOSTILE} and a text.",
            "author": HOSTILE[:100],
            "tags": ["sea", "w" * 90],
        }
        content = post(f"{url}api/publish", given, secret)["id"]
        rules = post(f"{url}api/rules", {"text": "block spam.example\nraise docs.example 5", "name": HOSTILE[:200]})[
            "id"
        ]
        post(f"{url}api/collections", {"name": "w" * 64, "fields": {"price": {"type": "number"}}}, secret)
        part("trending pages").fail("No room: " + "x" * 300)
        yield Site(url, keys, secret, content, rules)


def sign_in(page: Any, site: Site, path: str) -> None:
    page.goto(site.url + path)
    page.fill("#key", site.secret)
    page.press("#key", "Enter")
    page.wait_for_selector(".titled")


def check_page(page: Any, site: Site, path: str, name: str) -> None:
    """Open a page: it fits, nothing in it runs, axe finds nothing."""
    page.goto(site.url + path)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{name} scrolls sideways by {wide}"
    assert page.title() != "broken"
    assert violations(page) == [], name
    for scheme, paper in (("dark", "rgb(16, 22, 28)"), ("light", "rgb(251, 250, 247)")):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=str)
def test_every_page_fits_and_axe_finds_nothing(browser: Any, site: Site, size: tuple[int, int], scheme: str) -> None:
    with Tab(browser, size, scheme, bypass_csp=True) as page:
        for name, path in site.pages().items():
            check_page(page, site, path, name)
        sign_in(page, site, "publish")
        check_page(page, site, "publish", "publish")
        sign_in(page, site, "admin")
        for name, path in ADMIN.items():
            check_page(page, site, path, name)


def test_all_of_it_works_without_javascript(browser: Any, site: Site) -> None:
    with Tab(browser, PHONE, java_script_enabled=False) as page:
        sign_in(page, site, "publish")
        page.fill("#text", "High water at noon, and again at midnight.")
        page.fill("#title", "Tides without scripts")
        page.click("button[value=preview]")
        assert "Tides without scripts" in page.locator(".preview h3").first.inner_text()
        page.click("button[value=publish]")
        page.wait_for_url("**/c/*")
        page.goto(site.url + "rules")
        page.fill("#rule-site", "spam.example")
        page.click("button[value=site]")
        assert "1" in page.locator("main").inner_text()
        sign_in(page, site, "admin")
        assert page.locator("button[value=start]").is_visible()
        assert page.locator("button[value=pause]").count() == 0, "no crawl runs"
        page.fill("#seeds", "http://[broken")
        page.click("button[value=start]")
        assert page.locator("[role=alert]").is_visible()
        assert page.input_value("#seeds") == "http://[broken"
        page.goto(site.url + "admin/hosts")
        page.fill("#block", "spam.example")
        page.press("#block", "Enter")
        page.get_by_role("button", name="Unblock spam.example").click()
        assert page.get_by_role("button", name="Unblock spam.example").count() == 0
        page.goto(site.url + "admin/schedule")
        page.fill("#every-build", "24")
        page.press("#every-build", "Enter")
        assert page.input_value("#every-build") == "24"
        page.goto(site.url + "admin/collections")
        page.fill("#collection-name", "lamps")
        page.fill("#collection-fields", "price number facet sort")
        page.click("button[value=create]")
        page.fill("#alias", "shop")
        page.select_option("#alias-of", "lamps")
        page.click("button[value=alias]")
        page.get_by_role("button", name="Remove shop").click()
        page.locator("tr", has_text="lamps").locator("summary").click()
        page.get_by_role("button", name="Delete lamps and its documents").click()
        assert "lamps" not in page.locator("tbody").inner_text()
        page.goto(site.url + "admin/changes")
        said = page.locator("tbody").inner_text()
        assert all(
            text in said
            for text in ("block a host", "unblock a host", "change the schedule", "operator", "delete a collection")
        )


VISIBLE = """(() => { const shown = getComputedStyle(document.activeElement);
  return shown.outlineStyle !== 'none' || shown.boxShadow !== 'none'; })()"""
NAME = "(e => e.id ? '#' + e.id : e.value || e.textContent.trim())(document.activeElement)"


def tab_to(page: Any, name: str, most: int = 60) -> None:
    """Press Tab until something is focused, and see that the focus is always visible."""
    for _ in range(most):
        page.keyboard.press("Tab")
        assert page.evaluate(VISIBLE), f"no focus to be seen on {page.evaluate(NAME)!r}"
        if page.evaluate(NAME) == name:
            return
    raise AssertionError(f"{name} is not reached by keys")


def test_keys_are_enough(browser: Any, site: Site) -> None:
    with Tab(browser) as page:
        page.goto(site.url + "admin")
        tab_to(page, "#key")
        page.keyboard.type(site.secret)
        page.keyboard.press("Enter")
        page.wait_for_selector(".sections")
        tab_to(page, "Keys and rules")
        page.keyboard.press("Enter")
        page.wait_for_url("**/admin/access")
        tab_to(page, "#key-name")
        page.keyboard.type("by keys")
        tab_to(page, "#role")
        page.keyboard.press("End")
        tab_to(page, "add-key")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=status] code")
        secret = page.locator("[role=status] code").inner_text()
        found = site.keys.find(secret)
        assert found is not None
        assert (found.name, found.role) == ("by keys", "admin")
        page.goto(site.url + "rules")
        tab_to(page, "#rule-site")
        page.keyboard.type("keys.example")
        tab_to(page, "site")
        page.keyboard.press("Enter")
        page.wait_for_selector("button[value=stop]")
        page.goto(site.url + "publish")
        tab_to(page, "#key")
        page.keyboard.type(secret)
        page.keyboard.press("Enter")
        page.wait_for_selector("#publish")
        tab_to(page, "#text")
        page.keyboard.type("Published by keys alone.")
        tab_to(page, "#title")
        page.keyboard.type("By keys")
        tab_to(page, "publish")
        page.keyboard.press("Enter")
        page.wait_for_url("**/c/*")
