"""The client of the official SDK with a real `periplus mcp`: over standard input and output, and over HTTP."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from periplus.files import open_data_folder
from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import FetchRecord, Outcome, Page
from periplus.search import Searcher
from periplus.serve import background_server
from periplus.settings import IndexSettings, ServeSettings, Settings

PERIPLUS = (sys.executable, "-m", "periplus.cli", "mcp")
TOOLS = {"search", "find_in_site", "read_page", "why_not"}
PAGES = {
    "http://a.example/lights": ("Harbour lights", "The lights of the old harbour."),
    "http://b.example/storm": ("Storm", "A storm put out the harbour lights."),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = open_data_folder(tmp_path_factory.mktemp("mcp") / "data", create=True)
    records = [
        FetchRecord(url, fingerprint_text(url), Outcome.OK, 1.7e9, 200, page=Page(url, title=title, text=text))
        for url, (title, text) in PAGES.items()
    ]
    build_index(records, folder / "index", IndexSettings())
    return folder


async def use(server: Any) -> None:
    """List the tools and call each, rightly and wrongly."""
    async with Client(server) as client:
        assert "search" in (client.instructions or "")
        listed = (await client.list_tools()).tools
        assert {tool.name for tool in listed} == TOOLS
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)
        found = await client.call_tool("search", {"query": "harbour lights"})
        assert not found.is_error
        assert found.structured_content is not None
        assert {row["url"] for row in found.structured_content["results"]} == PAGES.keys()
        assert "http://a.example/lights" in text(found)
        page = await client.call_tool("read_page", {"url": "http://b.example/storm"})
        assert "A storm put out the harbour lights." in text(page)
        site = await client.call_tool("find_in_site", {"site": "b.example", "query": "lights"})
        assert "http://a.example" not in text(site)
        why = await client.call_tool("why_not", {"query": "+storm", "url": "http://a.example/lights"})
        if not why.is_error:
            assert "It does not have 'storm'." in text(why)
        wrong = await client.call_tool("search", {"query": "x", "count": 1_000})
        assert wrong.is_error
        assert text(wrong) == "count is invalid. Use a whole number from 1 to 50."
        unknown = await client.call_tool("rm", {})
        assert unknown.is_error
        with pytest.raises(MCPError):
            await client.get_prompt("none")


def text(result: Any) -> str:
    return "".join(part.text for part in result.content)


def test_over_standard_input_and_output(folder: Path) -> None:
    arguments = [*PERIPLUS[1:], "--folder", str(folder)]
    asyncio.run(use(StdioServerParameters(command=PERIPLUS[0], args=arguments)))


@pytest.fixture(scope="module")
def http_server(folder: Path) -> Iterator[str]:
    with background_server(Searcher.open(folder, Settings()), ServeSettings(port=0)) as url:
        command = [*PERIPLUS, "--url", url, "--http", "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            try:
                ready = re.match(r"MCP at (\S+)", process.stderr.readline())
                assert ready
                yield ready[1]
            finally:
                process.terminate()
            assert process.wait() in (0, -15)


def test_over_http_on_a_running_server(http_server: str) -> None:
    asyncio.run(use(http_server))


def test_pages_of_other_sites_cannot_use_it(http_server: str) -> None:
    import urllib.error
    import urllib.request

    for name, value, status in (("Origin", "https://evil.example", 403), ("Host", "evil.example", 421)):
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", name: value}
        request = urllib.request.Request(http_server, b"{}", headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        assert refused.value.code == status
    request = urllib.request.Request(http_server, b" " * (300 << 10), {"content-type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    assert refused.value.code == 413
