"""What stands beside results, in a real browser: media, news, what is visited more, the weather, grades, clicks."""

import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from fake_searcher import FakeCachedPage, FakeSearcher, FakeStatistics
from tabs import DESK, PHONE, Tab, browser, violations, wait_until

from periplus.records import Media, Query, ResultPage, SearchLimits
from periplus.serve import Actions, ApiKeys, ClickEvent, JudgementRequest, background_server
from periplus.settings import ServeSettings

pytestmark = pytest.mark.browser
__all__ = ["browser"]

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf50"
    "0f0003860180348e5f2d0000000049454e44ae426082"
)
SEARCH_PATHS = {
    "media": "search?q=salt&tab=media",
    "news": "search?q=salt&tab=news",
    "trending": "search?q=salt",
    "weather": "search?q=weather+in+Ushant",
    "place": "weather?place=Ushant",
}


class Pictures:
    """A site with pictures that counts who asks for them."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.headers.get("referer", ""))
                self.send_response(200)
                self.send_header("content-type", "image/png")
                self.end_headers()
                self.wfile.write(PIXEL)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"


class Searcher(FakeSearcher):
    """Shows media and news."""

    def __init__(self, pictures: str) -> None:
        super().__init__()
        self._pictures = pictures

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        page = super().search(query)
        if not query.having:
            return page
        media = (
            Media(f"{self._pictures}pan.png", "image", "The salt pans at low water, seen from the mole"),
            Media(f"{self._pictures}bell.mp3", "audio", "A bell buoy"),
        )
        today = int(time.time() // 86_400)
        hits = [
            msgspec.structs.replace(hit, media=media[: 1 + n % 2] if query.having == "media" else (), day=today - 2 * n)
            for n, hit in enumerate(page.hits)
        ]
        return msgspec.structs.replace(page, hits=tuple(hits))

    def statistics(self) -> FakeStatistics:
        known = super().statistics()
        return msgspec.structs.replace(known, kinds=known.kinds | {"media", "news"})

    def cached_page(self, key: int) -> FakeCachedPage | None:
        return FakeCachedPage("https://tail.example/tides", 1.0, "Tide tables of a small harbour", "Text.")


class World:
    """A server with all that stands beside results, and a note of what came of it."""

    def __init__(self) -> None:
        self.pictures = Pictures()
        self.judged: list[JudgementRequest] = []
        self.clicked: list[ClickEvent] = []
        self.asked: list[str] = []
        self.keys = ApiKeys(None)
        self.secret = self.keys.add("rater", "judge")
        self.actions = Actions(
            judge=self.judge,
            click=self.click,
            trending=lambda: [("https://tail.example/tides", 12), ("https://other.example/", 5)],
            fetch=self.fetch,
            has_thumbnail=lambda url: url.endswith("pan.png"),
            thumbnail=lambda _: PIXEL,
        )

    def judge(self, given: JudgementRequest) -> bool:
        self.judged.append(given)
        return True

    def click(self, given: ClickEvent, source: str) -> bool:
        self.clicked.append(given)
        return True

    def fetch(self, url: str) -> bytes:
        self.asked.append(url)
        if url.startswith("http://places.example/"):
            found = b'[{"name": "Ouessant", "latitude": 48.4588, "longitude": -5.0966, "country": "France"}]'
            return b'{"results": %s}' % (found if url.endswith("/Ushant") else b"[]")
        return b'{"current": {"temperature_2m": 11.4, "weather_code": 61, "wind_speed_10m": 23.0}}'


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[str]:
    settings = ServeSettings(port=0, clicks=True, weather="http://w.example/{latitude}/{longitude}")
    settings = msgspec.structs.replace(settings, geocoder="http://places.example/{name}")
    with background_server(Searcher(world.pictures.url), settings, world.actions, world.keys) as url:
        yield url


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=str)
def test_they_fit_and_axe_finds_nothing(
    browser: Any, site: str, size: tuple[int, int], scheme: str, project: Path
) -> None:
    kept = project / "screenshots"
    kept.mkdir(exist_ok=True)
    with Tab(browser, size, scheme, bypass_csp=True) as page:
        for name, path in SEARCH_PATHS.items():
            answer = page.goto(site + path)
            assert len(answer.body()) < 60_000, name
            page.screenshot(path=kept / f"{name}-{size[0]}-{scheme}.png")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{name} scrolls sideways"
            assert violations(page) == [], name


def test_tabs_lead_to_media_and_news(browser: Any, site: str, world: World) -> None:
    with Tab(browser) as page:
        page.goto(site + "search?q=salt")
        page.get_by_role("link", name="News").click()
        page.wait_for_url("**tab=news")
        assert page.locator(".tabs [aria-current]").inner_text() == "News"
        assert page.locator("#r2 time").inner_text() == "2 days ago"
        page.get_by_role("link", name="Media").click()
        page.wait_for_url("**tab=media")
        assert page.locator(".card-media").count() == 15
        assert page.locator(".card-media .kind").first.inner_text() == "audio"
        assert page.locator("#r1 .title").get_attribute("href").startswith("https://coast0.example/")


def test_pictures_are_thumbnails_of_this_server(browser: Any, site: str, world: World) -> None:
    world.pictures.asked.clear()
    with Tab(browser) as page:
        page.goto(site + "search?q=salt&tab=media")
        wait_until(page, "document.querySelector('.card-media img')?.naturalWidth > 0")
        assert page.locator(".card-media img").count() == 10
        assert page.locator(".card-media.audio img").count() == 0
        assert world.pictures.asked == [], "nothing is loaded from other sites"


def test_media_without_javascript_are_links(browser: Any, site: str) -> None:
    with Tab(browser, java_script_enabled=False) as page:
        page.goto(site + "search?q=salt&tab=media")
        assert page.locator(".card-media img").count() == 10
        assert page.locator(".card-media .thing").first.get_attribute("href").endswith("pan.png")


def test_what_is_visited_more_is_shown_once_a_site(browser: Any, site: str) -> None:
    with Tab(browser) as page:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            page.goto(f"{site}search?q=salt&n={time.time_ns()}")
            if page.locator(".trending").count():
                break
        rows = page.locator(".trending li")
        assert rows.count() == 2
        assert "Tide tables of a small harbour" in rows.first.inner_text()
        assert "tail.example · 12 visits" in rows.first.inner_text()


def test_the_weather_needs_permission_for_the_location(browser: Any, site: str, world: World) -> None:
    world.asked.clear()
    here = {"latitude": 54.3217, "longitude": 10.1389}
    with Tab(browser, geolocation=here, permissions=["geolocation"]) as page:
        page.goto(site + "search?q=weather")
        assert world.asked == []
        page.get_by_role("button", name="Weather at my location").click()
        page.wait_for_selector("#weather span:not(:empty)")
        assert page.locator("#weather span").inner_text() == "11 °C, rain, wind 23 km/h"
        assert world.asked == ["http://w.example/54.3/10.1"], "no nearer than some ten kilometres"
        assert page.locator("#here").count() == 0
    with Tab(browser) as page:
        page.goto(site + "search?q=salt")
        assert page.locator("#weather").count() == 0


def test_the_weather_of_a_place_that_is_named(browser: Any, site: str, world: World) -> None:
    world.asked.clear()
    with Tab(browser) as page:
        page.goto(site + "search?q=weather+in+Xyzzy")
        assert world.asked == [], "nothing is asked before somebody says so"
        page.get_by_role("button", name="Show the weather").click()
        page.wait_for_selector("#weather span:not(:empty)")
        assert page.locator("#weather span").inner_text() == "This place is unknown."
        page.fill("#place", "Ushant")
        page.press("#place", "Enter")
        page.wait_for_selector("#weather span:has-text('Ouessant')")
        assert page.locator("#weather span").inner_text() == "Ouessant, France: 11 °C, rain, wind 23 km/h"
        assert page.url.endswith("search?q=weather+in+Xyzzy")
    with Tab(browser, java_script_enabled=False) as page:
        page.goto(site + "search?q=Wetter+in+Ushant&hl=de")
        page.get_by_role("button", name="Wetter zeigen").click()
        page.wait_for_url("**/weather?hl=de&place=Ushant")
        assert "Ouessant, France: 11 °C, Regen" in page.locator("[role=status]").inner_text()


def test_a_rater_grades_with_one_key(browser: Any, site: str, world: World) -> None:
    with Tab(browser) as page:
        page.goto(site + "search?q=salt")
        page.keyboard.press("j")
        page.keyboard.press("2")
        assert world.judged == [], "only raters grade"
        page.goto(site + "settings")
        page.fill("#rater-key", world.secret)
        page.click("#rate-in button")
        page.wait_for_selector("#rate-out")
        page.goto(site + "search?q=salt")
        page.wait_for_selector("#rating:not([hidden])")
        page.keyboard.press("j")
        page.keyboard.press("3")
        page.wait_for_selector("#r1 .grade")
        assert page.locator("#r1 .grade").inner_text() == "3/3"
        wait_until(page, "document.activeElement.closest('.result')?.id === 'r2'")
        page.keyboard.press("0")
        page.wait_for_selector("#r2 .grade")
        assert [(one.query, one.grade) for one in world.judged] == [("salt", 3), ("salt", 0)]
        assert world.judged[0].url.startswith("https://coast0.example/")
        page.goto(site + "settings")
        page.click("#rate-out button")
        page.wait_for_selector("#rate-in")


def test_clicks_are_counted_where_that_is_wanted(browser: Any, site: str, world: World) -> None:
    world.clicked.clear()
    with Tab(browser) as page:
        page.route("https://coast*/**", lambda route: route.fulfill(body="there"))
        page.goto(site + "search?q=salt&start=10")
        page.click("#r2 .title")
        page.wait_for_url("https://coast*/**")
        deadline = time.monotonic() + 60
        while not world.clicked and time.monotonic() < deadline:
            page.wait_for_timeout(20)
    one = world.clicked[0]
    assert (one.query, one.position, len(one.shown)) == ("salt", 12, 10)
    assert one.url == one.shown[1]
