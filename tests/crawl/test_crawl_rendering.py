"""Pages rendered in a real Chromium, within the politeness of the crawl."""

import shutil
import time
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from scripted_web import ScriptedWeb

from periplus.crawl import Crawler
from periplus.errors import SettingsError
from periplus.settings import FrontierSettings, HostSettings, RenderSettings, Settings
from periplus.store import PageStore

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")

SHELL = "<!doctype html><title>App</title><div id=app></div><script src=/app.js></script>"
APP = """
fetch('/data' + location.pathname + '.json').then(r => r.json()).then(d => {
  document.title = d.title;
  document.getElementById('app').innerHTML = '<h1>' + d.title + '</h1><p>' + d.text + '</p><a href="/two">two</a>';
});
"""


@pytest.fixture
def web():
    web = ScriptedWeb()
    for name, title in (("/one", "Lighthouses"), ("/two", "Harbours")):
        web.put(f"http://app.test{name}", SHELL)
        data = {"title": title, "text": f"What the page about {title.lower()} shows is made by a script."}
        web.put(f"http://app.test/data{name}.json", msgspec.json.encode(data), "application/json")
    web.put("http://app.test/app.js", APP, "text/javascript")
    yield web
    web.close()


def crawl(web: ScriptedWeb, folder: Path, *hosts: str, delay: float = 0.0, **section) -> tuple[list, tuple[str, ...]]:
    """Crawl from /one; return the records with pages, and the notes of the crawl."""
    settings = web.settings(folder, "app.test", *hosts)
    settings = msgspec.structs.replace(
        settings,
        host={"app.test": HostSettings(render=True, **section)},
        frontier=FrontierSettings(delay=delay, max_delay=delay, back_off=0.01, max_failures=3, retries=0),
        render=RenderSettings(seconds=60),
    )
    notes = Crawler(folder / "data", settings, ["http://app.test/one"]).run().notes
    with PageStore.open(folder / "data" / "store", settings.store) as store:
        return [record for record in store.records() if record.page is not None], notes


def test_what_scripts_show_is_indexed_and_stored_and_their_links_are_followed(tmp_path, web) -> None:
    records, notes = crawl(web, tmp_path)
    assert [record.page.title for record in records] == ["Lighthouses", "Harbours"]
    assert "made by a script" in records[0].page.text
    # Each page is requested once, and the script that both have once.
    assert sorted(web.requests) == [
        "http://app.test/app.js",
        "http://app.test/data/one.json",
        "http://app.test/data/two.json",
        "http://app.test/one",
        "http://app.test/two",
    ]
    assert notes == ()
    with PageStore.open(tmp_path / "data" / "store", Settings().store) as store:
        stored = store.read_response(records[0])
    assert b"made by a script" in stored.body
    assert stored.header("x-rendered-by") == "chromium"


def test_requests_of_a_page_keep_the_delay_of_its_host_one_at_a_time(tmp_path, web) -> None:
    times: list[tuple[float, float]] = []
    answer = web.answer

    def timed(talk) -> None:
        began = time.monotonic()
        answer(talk)
        times.append((began, time.monotonic()))

    web.answer = timed
    crawl(web, tmp_path, delay=0.3)
    times.sort()
    pauses = [later[0] - earlier[1] for earlier, later in pairwise(times)]
    assert len(times) == 6  # robots.txt, two pages, a script and two files of data
    assert min(pauses) >= 0.29


def test_robots_and_other_hosts_bound_what_a_page_loads(tmp_path, web) -> None:
    web.put("http://app.test/robots.txt", "User-agent: *\nDisallow: /data/two.json\n", "text/plain")
    elsewhere = SHELL + "<script src=http://cdn.test/more.js></script><script src=http://other.test/x.js></script>"
    web.put("http://app.test/one", elsewhere)
    web.put("http://cdn.test/robots.txt", "User-agent: *\nDisallow: /private\n", "text/plain")
    web.put("http://cdn.test/more.js", "document.body.append('from the other host')", "text/javascript")
    records, _ = crawl(web, tmp_path, "cdn.test", "other.test", render_from=("cdn.test",))
    assert "from the other host" in records[0].page.text
    assert "http://other.test/x.js" not in web.requests
    assert "http://app.test/data/two.json" not in web.requests
    assert [record.page.title for record in records] == ["Lighthouses", "App"]


def test_a_page_whose_script_never_ends_is_indexed_as_it_was_sent(tmp_path, web) -> None:
    web.put(
        "http://app.test/one", "<title>Loop</title><p>What was sent.</p><a href=/two>two</a><script>for(;;);</script>"
    )
    settings = web.settings(tmp_path, "app.test")
    settings = msgspec.structs.replace(
        settings, host={"app.test": HostSettings(render=True)}, render=RenderSettings(seconds=8)
    )
    statistics = Crawler(tmp_path / "data", settings, ["http://app.test/one"]).run()
    with PageStore.open(tmp_path / "data" / "store", settings.store) as store:
        titles = [record.page.title for record in store.records() if record.page is not None]
    assert titles == ["Loop", "Harbours"]
    assert [note for note in statistics.notes if "could not be rendered" in note]


def test_a_crawl_that_renders_does_not_start_without_chromium(tmp_path, web) -> None:
    settings = web.settings(tmp_path, "app.test")
    settings = msgspec.structs.replace(
        settings, host={"app.test": HostSettings(render=True)}, render=RenderSettings(chromium="/nowhere/chromium")
    )
    with pytest.raises(SettingsError, match="Chromium is needed"):
        Crawler(tmp_path / "data", settings, ["http://app.test/one"])
