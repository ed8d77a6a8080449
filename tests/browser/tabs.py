"""A real browser for tests: tabs that fail a test when the page complains, and what axe finds wrong with a page."""

import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("chromium is not installed: apt install chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install periplus[dev]")

DESK, PHONE = (1280, 900), (390, 844)
_LIGHT = ("light", "dark")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-sync", "--no-first-run"]
        )
        yield chromium
        chromium.close()


class Tab:
    """One page; what it complained about fails the test."""

    def __init__(self, browser: Any, size: tuple[int, int] = DESK, scheme: str = "light", **more: Any) -> None:
        phone = size[0] < 600
        view = {"width": size[0], "height": size[1]}
        given = {"viewport": view, "color_scheme": scheme, "is_mobile": phone, "has_touch": phone, **more}
        self.context = browser.new_context(reduced_motion="reduce", **given)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, kind: object, *_: object) -> None:
        self.context.close()
        if kind is None:
            # That a page has the status of an error is said on the console by the browser itself.
            assert [line for line in self.complaints if "404" not in line and "status of 400" not in line] == []


def wait_until(page: Any, expression: str, seconds: float = 60.0) -> None:
    """Wait until something is true in a page. The page's own policy forbids waiting there by `wait_for_function`."""
    ends = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < ends, f"never true: {expression}"
        page.wait_for_timeout(20)


_CONTRAST = "axe.run(document, {runOnly: ['color-contrast'], resultTypes: ['violations']})"


def violations(page: Any) -> list[tuple[str, str]]:
    """Return what axe finds wrong with a page, in light and dark: the page is loaded once.

    Of the other scheme than that of the tab, contrast is checked, the one thing that colours change.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page).response["violations"]
    own, other = ("dark", "light") if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else _LIGHT
    page.emulate_media(color_scheme=other)
    found += page.evaluate(_CONTRAST)["violations"]
    page.emulate_media(color_scheme=own)
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
