"""The pages in a real browser: Debian's chromium, desktop and phone, light and dark, with and without JavaScript."""

import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from fake_searcher import FakeSearcher
from tabs import wait_until

from periplus.serve import background_server
from periplus.settings import ServeSettings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("chromium is not installed: apt install chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install periplus[dev]")

pytestmark = pytest.mark.browser

QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--force-color-profile=srgb",
)
PAPER = {"light": (0xFB, 0xFA, 0xF7), "dark": (0x10, 0x16, 0x1C)}
MARK = {"light": (0xFF, 0xF0, 0xB8), "dark": (0x4A, 0x40, 0x13)}
ACCENT = {"light": (0x0B, 0x5E, 0x6B), "dark": (0x5C, 0xC4, 0xD3)}


class Look(NamedTuple):
    width: int
    height: int
    scheme: str

    @property
    def phone(self) -> bool:
        return self.width < 600


LOOKS = [Look(w, h, scheme) for w, h in ((1280, 900), (390, 844)) for scheme in ("light", "dark")]
looks = pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look.width}-{look.scheme}")
widths = pytest.mark.parametrize("look", [LOOKS[0], LOOKS[3]], ids=lambda look: f"{look.width}-{look.scheme}")
"""For what does not depend on colours: each width, and each scheme once."""
PATHS = ["", "search?q=salt+harbour", "search?q=salt&explain=2", "search?q=nothing+here", "about", "no-such-page"]
OTHERS = ["settings", "add", "why-not?url=coast.example/x", "api", "admin"]


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with background_server(FakeSearcher(), ServeSettings(port=0)) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield chromium
        chromium.close()


class Tab:
    """One page with everything it complained about."""

    def __init__(self, browser: Any, look: Look, **more: Any) -> None:
        size = {"width": look.width, "height": look.height}
        self.context = browser.new_context(
            viewport=size, color_scheme=look.scheme, is_mobile=look.phone, has_touch=look.phone, **more
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.add_init_script(
            """document.addEventListener("securitypolicyviolation", e => console.error("CSP " + e.violatedDirective));
            window.moved = [];
            new PerformanceObserver(list => { for (const e of list.getEntries()) for (const { node } of e.sources)
              window.moved.push(node ? node.outerHTML?.slice(0, 80) ?? node.nodeValue : "something that is gone");
            }).observe({type: "layout-shift", buffered: true});"""
        )

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()
        # A page that is not there is said so on the console by the browser itself.
        assert [line for line in self.complaints if "404" not in line] == []


class Picture(NamedTuple):
    width: int
    height: int
    colours: dict[tuple[int, int, int], int]


def picture(path: Path) -> Picture:
    """Decode an 8-bit RGB or RGBA PNG and count its colours."""
    data, place, parts = path.read_bytes(), 8, []
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack_from(">IIBB", data, place + 8)
        elif kind == b"IDAT":
            parts.append(data[place + 8 : place + 8 + length])
        place += 12 + length
    assert depth == 8
    assert colour in (2, 6)
    return Picture(width, height, _colours(zlib.decompress(b"".join(parts)), width, height, 3 if colour == 2 else 4))


def _colours(raw: bytes, width: int, height: int, depth: int) -> dict[tuple[int, int, int], int]:
    stride, found = width * depth, dict[tuple[int, int, int], int]()
    above = bytearray(stride)
    for row in range(height):
        start = row * (stride + 1)
        line = bytearray(raw[start + 1 : start + 1 + stride])
        _unfilter(raw[start], line, above, depth)
        for pixel in zip(line[0::depth], line[1::depth], line[2::depth], strict=True):
            found[pixel] = found.get(pixel, 0) + 1
        above = line
    return found


def _unfilter(method: int, line: bytearray, above: bytearray, depth: int) -> None:
    for at in range(len(line)) if method else ():
        left = line[at - depth] if at >= depth else 0
        up, corner = above[at], above[at - depth] if at >= depth else 0
        line[at] = (line[at] + (0, left, up, (left + up) // 2, _paeth(left, up, corner))[method]) & 255


def _paeth(left: int, up: int, corner: int) -> int:
    near = left + up - corner
    a, b, c = abs(near - left), abs(near - up), abs(near - corner)
    return left if a <= b and a <= c else up if b <= c else corner


@looks
def test_the_picture_has_the_palette(browser: Any, site: str, look: Look, tmp_path: Path) -> None:
    with Tab(browser, look) as page:
        page.goto(site + "search?q=salt+harbour")
        page.screenshot(path=tmp_path / "whole.png", full_page=True)
        top = {"x": 0, "y": 0, "width": look.width, "height": 360}
        page.screenshot(path=tmp_path / "top.png", clip=top)
    shot = picture(tmp_path / "top.png")
    assert (shot.width, shot.height) == (look.width, 360)
    assert shot.colours[PAPER[look.scheme]] > shot.width * shot.height / 2, "mostly paper"
    assert shot.colours.get(MARK[look.scheme], 0) > 300, "query words are marked"
    assert shot.colours.get(ACCENT[look.scheme], 0) > 300, "titles and logo are in the accent"
    assert len(shot.colours) > 50, "there is text"


@widths
def test_pages_fit_and_do_not_move(browser: Any, site: str, look: Look) -> None:
    with Tab(browser, look) as page:
        for path in (*PATHS, *OTHERS):
            page.goto(site + path)
            wait_until(page, "document.documentElement.classList.contains('scripted')")
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} scrolls sideways"
            assert page.evaluate("window.moved") == [], f"{path} moves while it loads"


LUMINANCE = """
() => {
  const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = rgb => { const [r, g, b] = rgb.map(v => linear(v / 255));
                         return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const ground = e => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor);
                        if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest(".unseen, .skip, svg")) continue;
    const [a, b] = [light(parts(getComputedStyle(e).color).slice(0, 3)), light(ground(e))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), e.tagName + "." + e.className]);
  }
  return found;
}
"""


@looks
def test_all_text_has_enough_contrast(browser: Any, site: str, look: Look) -> None:
    with Tab(browser, look) as page:
        for path in (*PATHS, "search?q=salt+harbour+partial"):
            page.goto(site + path)
            found = page.evaluate(LUMINANCE)
            assert len(found) > 2
            assert [name for ratio, name in found if ratio < 4.5] == []


@widths
def test_the_landing_field_has_focus_and_works(browser: Any, site: str, look: Look) -> None:
    with Tab(browser, look) as page:
        page.goto(site)
        page.wait_for_function("document.activeElement.id === 'q'")  # the browser applies autofocus after loading
        page.keyboard.type("salt harbour")
        assert page.locator(".clear").is_visible()
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=salt+harbour")
        assert page.locator(".result").count() == 10
        assert page.locator("#q").input_value() == "salt harbour"
        assert page.title() == "salt harbour · Periplus"


def test_keys_move_open_and_explain(browser: Any, site: str) -> None:
    with Tab(browser, LOOKS[0]) as page:
        page.goto(site + "search?q=salt+harbour")
        focused = "document.activeElement.closest('.result')?.id"
        for key, where in (("j", "r1"), ("j", "r2"), ("j", "r3"), ("k", "r2")):
            page.keyboard.press(key)
            assert page.evaluate(focused) == where
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", "focus is visible"
        page.keyboard.press("w")
        page.wait_for_selector("#r2 details.why[open]")
        assert page.url.endswith("q=salt+harbour"), "it opened in place"
        assert page.locator("#r2 .reasons").inner_text().count("words in the title") == 1
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "q"
        page.keyboard.type("j")
        assert "j" in page.locator("#q").input_value(), "keys are letters in the field"
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        page.wait_for_url("**/cached/*")
        assert page.locator("h1").inner_text() == "Salt harbour <b>"


def test_o_and_enter_open_a_result(browser: Any, site: str) -> None:
    with Tab(browser, LOOKS[0]) as page:
        page.route("https://*.example/**", lambda route: route.fulfill(body="there", content_type="text/html"))
        for key in ("o", "Enter"):
            page.goto(site + "search?q=salt")
            page.keyboard.press("j")
            page.keyboard.press(key)
            page.wait_for_url("https://coast0.example/guide/harbour/0")


def test_the_field_is_cleared_by_its_button(browser: Any, site: str) -> None:
    with Tab(browser, LOOKS[0]) as page:
        page.goto(site + "search?q=salt")
        page.click(".clear")
        assert page.locator("#q").input_value() == ""
        assert page.evaluate("document.activeElement.id") == "q"
        assert not page.locator(".clear").is_visible()


@widths
def test_everything_works_without_javascript(browser: Any, site: str, look: Look) -> None:
    with Tab(browser, look, java_script_enabled=False) as page:
        page.goto(site)
        page.fill("#q", "salt harbour")
        page.press("#q", "Enter")
        assert page.locator(".result .title").first.is_visible()
        page.locator("#r3 a.why").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**explain=3#r3")
        assert page.locator("#r3 .reasons").is_visible()
        assert not page.locator("#r1 .reasons").is_visible()
        page.locator("#r1 summary").click()
        assert page.locator("#r1 .reasons").is_visible()
        page.get_by_role("link", name="Next").click()
        page.wait_for_url("**start=10*")
        assert page.locator(".result").count() == 10
        page.go_back()
        page.locator(".missing a").click()
        assert page.locator("#q").input_value() == "salt +harbour"


SMALL = """
() => [...document.querySelectorAll("a, button, summary, input")]
  .filter(e => e.checkVisibility() && !e.closest(".unseen, .skip, p:not(.missing), code"))
  .map(e => [e.getBoundingClientRect(), e.className || e.textContent])
  .filter(([box]) => box.height < 40 || box.width < 40)
  .map(([box, name]) => `${name} ${box.width}x${box.height}`)
"""


def test_a_thumb_can_hit_everything_on_a_phone(browser: Any, site: str) -> None:
    with Tab(browser, LOOKS[2]) as page:
        for path in (*PATHS, "search?q=salt+harbour&start=30"):
            page.goto(site + path)
            assert page.evaluate(SMALL) == []


def test_quiet_links_show_on_hover_and_always_on_a_phone(browser: Any, site: str) -> None:
    opacity = "e => getComputedStyle(e).opacity"
    with Tab(browser, LOOKS[0]) as page:
        page.goto(site + "search?q=salt")
        link = page.locator("#r2 .cached")
        assert link.evaluate(opacity) == "0"
        page.hover("#r2")
        assert link.evaluate(opacity) == "1"
    with Tab(browser, LOOKS[2]) as page:
        page.goto(site + "search?q=salt")
        assert page.locator("#r2 .cached").evaluate(opacity) == "1"


def test_the_column_is_narrow_and_the_bar_stays(browser: Any, site: str) -> None:
    with Tab(browser, LOOKS[0]) as page:
        page.goto(site + "search?q=salt")
        zero = page.evaluate(
            "(() => { const s = document.createElement('span'); s.textContent = '0';"
            " document.querySelector('main').append(s); return s.getBoundingClientRect().width; })()"
        )
        assert page.locator(".results").bounding_box()["width"] <= 68 * zero + 1
        page.evaluate("scrollTo(0, 600)")
        assert page.locator(".bar").bounding_box()["y"] == 0


def test_the_skip_link_leads_to_the_content(browser: Any, site: str) -> None:
    with Tab(browser, LOOKS[0]) as page:
        page.goto(site + "search?q=salt")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.locator(".skip").bounding_box()["y"] >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_the_first_run_gives_a_command_to_copy(browser: Any, tmp_path: Path) -> None:
    with background_server(FakeSearcher(documents=0, total=0), ServeSettings(port=0)) as url:
        with Tab(browser, LOOKS[0], permissions=["clipboard-read", "clipboard-write"]) as page:
            page.goto(url)
            page.click(".copy")
            page.wait_for_selector("text=Copied")
            assert "periplus crawl" in page.evaluate("navigator.clipboard.readText()")
        with Tab(browser, LOOKS[2]) as page:
            page.goto(url)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
