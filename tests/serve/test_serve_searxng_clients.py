"""Clients of SearXNG as their authors publish them, with their defaults, against a server."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_searcher import FakeSearcher
from searxng_search import SearXNGSearch

from periplus.serve import background_server
from periplus.settings import ServeSettings

CLIENTS = Path(__file__).parents[2] / ".venv" / "javascript"
TITLE = "Salt harbour, chapter 1"
JAVASCRIPT = """
import { SearxngClient } from '@agentic/searxng'
const client = new SearxngClient({ apiBaseUrl: process.argv[1] })
const plain = await client.search({ query: 'salt harbour' })
const filters = { categories: ['news'], engines: ['google'], language: 'en', pageno: 2 }
const chosen = await client.search({ query: 'salt', ...filters })
console.log(JSON.stringify([plain, chosen]))
"""


@pytest.fixture(scope="module")
def searcher() -> FakeSearcher:
    return FakeSearcher()


@pytest.fixture(scope="module")
def url(searcher: FakeSearcher) -> Iterator[str]:
    with background_server(searcher, ServeSettings(port=0)) as address:
        yield address


def test_the_wrapper_of_langchain(url: str, searcher: FakeSearcher) -> None:
    from langchain_community.utilities import SearxSearchWrapper

    wrapper = SearxSearchWrapper(searx_host=url)
    results = wrapper.results("salt harbour", num_results=4)
    assert results[0]["title"] == TITLE
    assert len(results) == 4
    assert all(result["link"].startswith("https://coast") and result["snippet"] for result in results)
    assert searcher.asked[-1].language in ("", "en")
    assert "salt" in wrapper.run("salt harbour", engines=["wiki"], categories=["general"])
    assert asyncio.run(wrapper.aresults("salt harbour", num_results=4)) == results
    nothing = wrapper.results("nothing", num_results=4)
    assert nothing == [{"Result": "No good Search Result was found"}]


def test_searxng_search_which_posts(url: str) -> None:
    with SearXNGSearch(base_url=url, retries=0) as client:
        found = client.text("salt harbour", max_results=3)
        second = client.text("salt harbour", category="general", language="all", pageno=2)
    assert [sorted(result) for result in found] == [["body", "href", "title"]] * 3
    assert found[0]["title"] == TITLE
    assert second[0]["href"] != found[0]["href"]


def test_a_client_in_javascript(url: str, searcher: FakeSearcher) -> None:
    if not shutil.which("node") or not (CLIENTS / "node_modules" / "@agentic" / "searxng").exists():
        pytest.skip("no npm to install the JavaScript client with: make setup")
    command = ["node", "--input-type=module", "-e", JAVASCRIPT, url.rstrip("/")]
    done = subprocess.run(command, cwd=CLIENTS, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    plain, chosen = json.loads(done.stdout)
    assert plain["results"][0]["title"] == TITLE
    assert plain["query"] == "salt harbour"
    assert chosen["results"]
    assert (searcher.asked[-1].having, searcher.asked[-1].language, searcher.asked[-1].start) == ("news", "en", 10)


def test_what_open_webui_sends(url: str) -> None:
    """Open WebUI is too large to install here: these are the parameters of its requests."""
    import httpx

    parameters = {
        "q": "salt harbour",
        "format": "json",
        "pageno": 1,
        "safesearch": "1",
        "language": "all",
        "time_range": "",
        "categories": "",
        "theme": "simple",
        "image_proxy": 0,
    }
    headers = {"User-Agent": "Open WebUI", "Accept": "text/html", "Accept-Language": "en-US,en;q=0.5"}
    found = httpx.get(url + "search", params=parameters, headers=headers).json()
    assert found["results"][0]["title"] == TITLE
